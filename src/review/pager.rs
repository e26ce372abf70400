//! Showing long output: through a pager on a terminal, as it is elsewhere.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use super::tool;
use crate::diff::Failed;
use crate::error::reason;
use crate::sys::signal::Signals;
use crate::ui::{Ui, sanitize};

/// Quits if it fits on one screen, passes colours on, leaves the text on the screen.
const DEFAULT: &str = "less -FRX";

/// Writes with `render`, through the pager if there is one to use. `None`: the reader went away
/// before the end, which is no failure. `render` is called again if the pager could not be started.
pub fn show<T>(
    ui: &Ui,
    repo: &Path,
    mut render: impl FnMut(&mut dyn Write) -> Result<T, Failed>,
) -> Result<Option<T>, Failed> {
    if ui.may_page()
        && let Some(shown) = through("pager", &value(|name| std::env::var_os(name)), ui, repo, &mut render)
    {
        return shown;
    }
    plain(render)
}

/// Writes with `render` to a program of the user's. `None`: none is wanted, or it cannot be started, which is said.
pub fn through<T>(
    what: &str,
    value: &OsStr,
    ui: &Ui,
    repo: &Path,
    render: &mut impl FnMut(&mut dyn Write) -> Result<T, Failed>,
) -> Option<Result<Option<T>, Failed>> {
    let started = tool::command(value, &tool::search_path(repo), repo).and_then(|found| match found {
        Some(program) => paged(program, render).map(Some),
        None => Ok(None),
    });
    let name = || sanitize::bytes(value.as_bytes());
    started
        .inspect_err(|why| {
            ui.warn(&format!("cannot start the {what} {}: {why}; this is the output without it", name()))
        })
        .ok()
        .flatten()
}

/// Writes with `render` to stdout, as it is.
pub fn plain<T>(render: impl FnOnce(&mut dyn Write) -> Result<T, Failed>) -> Result<Option<T>, Failed> {
    finished(&mut BufWriter::new(io::stdout().lock()), render)
}

fn finished<T>(
    out: &mut dyn Write,
    render: impl FnOnce(&mut dyn Write) -> Result<T, Failed>,
) -> Result<Option<T>, Failed> {
    let rendered = render(out).and_then(|value| Ok(out.flush().map(|()| value)?));
    match rendered {
        Ok(value) => Ok(Some(value)),
        Err(Failed::Write(e)) if e.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        Err(error) => Err(error),
    }
}

/// The outer error: the pager did not start, and nothing was shown.
fn paged<T>(
    mut pager: Command,
    render: &mut impl FnMut(&mut dyn Write) -> Result<T, Failed>,
) -> Result<Result<Option<T>, Failed>, String> {
    let mut child = pager.stdin(Stdio::piped()).spawn().map_err(|e| reason(&e))?;
    // Ctrl-C is for the pager. Only now: a child starts with the mask of its parent.
    let signals = Signals::collect(&[Signal::SIGINT, Signal::SIGQUIT]);
    let shown = match child.stdin.take() {
        Some(pipe) => finished(&mut BufWriter::new(pipe), &mut *render),
        None => Ok(None),
    };
    let status = child.wait().map_err(|e| reason(&e))?;
    if let Ok(signals) = signals {
        // What came in meanwhile was not meant for us.
        while let Ok(Some(_)) = signals.next() {}
    }
    tool::started(status).map(|()| shown)
}

/// Our own variable, then the common one, then the default.
fn value(variable: impl Fn(&str) -> Option<OsString>) -> OsString {
    variable("COWBOX_PAGER").or_else(|| variable("PAGER")).unwrap_or_else(|| DEFAULT.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::tool::command;
    use super::*;

    #[test]
    fn our_variable_wins_and_empty_or_cat_is_none() {
        let with = |own: Option<&str>, common: Option<&str>| {
            value(|name| if name == "PAGER" { common } else { own }.map(OsString::from))
        };
        assert_eq!(with(Some("own"), Some("common")), "own");
        assert_eq!(with(None, Some("common")), "common");
        assert_eq!(with(Some(""), Some("common")), "");
        assert_eq!(with(None, None), DEFAULT);
        for none in ["", " ", "cat"] {
            assert!(command(OsStr::new(none), &[], Path::new("/repo")).unwrap().is_none());
        }
    }

    #[test]
    fn the_pager_is_kept_from_starting_anything() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let text = format!("{{ pwd; echo $LESSSECURE ${{LESSOPEN-unset}}; cat; }} > {}", out.display());
        fs::write(dir.path().join("page"), &text).unwrap();
        let value = format!("/bin/sh {}", dir.path().join("page").display());
        let pager = command(OsStr::new(&value), &["/bin".into()], Path::new("/repo")).unwrap().unwrap();
        let shown = paged(pager, &mut |out| Ok(out.write_all(b"shown\n")?)).unwrap().unwrap();
        assert_eq!((shown, fs::read_to_string(out).unwrap().as_str()), (Some(()), "/\n1 unset\nshown\n"));
    }

    #[test]
    fn a_reader_that_goes_is_fine_and_a_pager_that_is_missing_is_told() {
        let endless = &mut |out: &mut dyn Write| -> Result<(), Failed> {
            loop {
                out.write_all(&[b'x'; 4096])?;
            }
        };
        let pager = |value: &str| command(OsStr::new(value), &["/bin".into()], Path::new("/repo")).unwrap().unwrap();
        assert!(paged(pager("true"), endless).unwrap().unwrap().is_none());
        assert!(paged(pager("no-such-pager; exit $?"), endless).unwrap_err().contains("not found"));
    }
}
