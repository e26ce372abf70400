//! Showing long output: through a pager on a terminal, as it is elsewhere.
//!
//! The pager is the user's, from outside of the repo, and nothing that it shows can start anything.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::diff::Failed;
use crate::engine::client;
use crate::error::reason;
use crate::sys::signal::Signals;
use crate::ui::{Ui, sanitize};

/// Quits if it fits on one screen, passes colours on, leaves the text on the screen.
const DEFAULT: &str = "less -FRX";

/// What makes a value more than words: then a shell reads it, as git does it.
const SHELL_SIGNS: &[u8] = b"|&;<>()$`\\\"'\n*?[#~=%";

/// Writes with `render`, through the pager if there is one to use. `None`: the reader went away
/// before the end, which is no failure. `render` is called again if the pager could not be started.
pub fn show<T>(
    ui: &Ui,
    repo: &Path,
    mut render: impl FnMut(&mut dyn Write) -> Result<T, Failed>,
) -> Result<Option<T>, Failed> {
    if ui.may_page() {
        let value = value(|name| std::env::var_os(name));
        match command(&value, &search_path(repo), repo).and_then(|found| match found {
            Some(pager) => paged(pager, &mut render).map(Some),
            None => Ok(None),
        }) {
            Ok(Some(shown)) => return shown,
            Ok(None) => {}
            Err(why) => ui.warn(&format!(
                "cannot start the pager {}: {why}; this is the output without it",
                sanitize::bytes(value.as_bytes())
            )),
        }
    }
    plain(render)
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
    match status.code() {
        Some(126) => Err("it cannot be executed".to_owned()),
        Some(127) => Err("it was not found".to_owned()),
        _ => Ok(shown),
    }
}

/// Our own variable, then the common one, then the default.
fn value(variable: impl Fn(&str) -> Option<OsString>) -> OsString {
    variable("COWBOX_PAGER").or_else(|| variable("PAGER")).unwrap_or_else(|| DEFAULT.into())
}

/// The command to run; `None` if none is wanted.
fn command(value: &OsStr, search: &[PathBuf], repo: &Path) -> Result<Option<Command>, String> {
    let value = value.as_bytes().trim_ascii();
    if value.is_empty() || value == b"cat" {
        return Ok(None);
    }
    let mut command = if value.iter().any(|b| SHELL_SIGNS.contains(b)) {
        let mut shell = Command::new(program(OsStr::new("sh"), search, repo)?);
        shell.arg("-c").arg(OsStr::from_bytes(value));
        shell
    } else {
        let mut words = value.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).map(OsStr::from_bytes);
        let mut pager = Command::new(program(words.next().unwrap_or_default(), search, repo)?);
        pager.args(words);
        pager
    };
    // Relative names must not lead into the repo, neither for a shell nor for what it starts.
    command.current_dir("/").env("PATH", std::env::join_paths(search).unwrap_or_default());
    // What is shown must not make `less` start a program: no preprocessor, no `!`, no editor.
    command.env("LESSSECURE", "1").env_remove("LESSOPEN").env_remove("LESSCLOSE");
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    Ok(Some(command))
}

fn program(name: &OsStr, search: &[PathBuf], repo: &Path) -> Result<PathBuf, String> {
    if !name.as_bytes().contains(&b'/') {
        let found = search.iter().map(|dir| dir.join(name)).find(|file| client::is_executable(file));
        return found.ok_or_else(|| "it was not found outside of the repository".to_owned());
    }
    let path = Path::new(name);
    let refused = || "it must be an absolute path outside of the repository".to_owned();
    if !path.is_absolute() {
        return Err(refused());
    }
    let real = path.canonicalize().map_err(|e| reason(&e))?;
    if path.starts_with(repo) || real.starts_with(repo) { Err(refused()) } else { Ok(real) }
}

fn search_path(repo: &Path) -> Vec<PathBuf> {
    let outside = |dir: &PathBuf| !dir.canonicalize().is_ok_and(|real| real.starts_with(repo));
    client::search_path().into_iter().filter(outside).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn words(command: &Command) -> Vec<String> {
        let all = [command.get_program()].into_iter().chain(command.get_args());
        all.map(|word| word.to_string_lossy().into_owned()).collect()
    }

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
    fn a_shell_reads_only_what_needs_one() {
        let dir = tempfile::tempdir().unwrap();
        let search = [dir.path().join("bin"), "/bin".into()];
        script(&search[0].join("page"), "");
        let parsed = |value: &str| command(OsStr::new(value), &search, Path::new("/repo")).map(|c| words(&c.unwrap()));
        let page = search[0].join("page").to_str().unwrap().to_owned();
        assert_eq!(parsed(" page  -a b").unwrap(), [page.as_str(), "-a", "b"]);
        assert_eq!(parsed("page | tee $X").unwrap()[1..], ["-c", "page | tee $X"]);
        assert!(parsed("missing-pager").unwrap_err().contains("not found"));
    }

    #[test]
    fn nothing_is_taken_from_the_repo() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().canonicalize().unwrap().join("repo");
        script(&repo.join("bin/page"), "");
        std::os::unix::fs::symlink(repo.join("bin/page"), dir.path().join("link")).unwrap();
        for name in [repo.join("bin/page"), dir.path().join("link"), "./page".into()] {
            assert!(command(name.as_os_str(), &[], &repo).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_pager_is_kept_from_starting_anything() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let text = format!("{{ pwd; echo $LESSSECURE ${{LESSOPEN-unset}}; cat; }} > {}", out.display());
        script(&dir.path().join("page"), &text);
        // Read by a shell, not executed: a fork of another test may still hold it open for writing.
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
