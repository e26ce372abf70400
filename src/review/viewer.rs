//! A viewer of the user's for changes: one that reads a patch, or one that compares two directories.
//!
//! Only the user names one, never a file of the repo. It gets nothing that could act on the terminal, starts outside of
//! the repo, and finds no git settings but the user's own.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Child, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, poll};

use super::{export, pager, tool};
use crate::changes::Change;
use crate::changes::contents::Contents;
use crate::diff::{Failed, Style, patch};
use crate::error::reason;
use crate::sys::signal::Signals;
use crate::ui::{Ui, sanitize};

/// What stands for the two directories in a viewer's command.
const PLACES: [&[u8]; 2] = [b"{a}", b"{b}"];

/// How a viewer is given something to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// A patch on its stdin.
    Pipe(OsString),
    /// Two directories, by these words.
    Directories(OsString),
}

impl Viewer {
    /// From the user's words; `None` for no viewer.
    pub fn parse(value: &OsStr) -> Option<Self> {
        let bytes = value.as_bytes();
        if bytes.trim_ascii().is_empty() {
            return None;
        }
        let has = |place: &[u8]| bytes.windows(place.len()).any(|part| part == place);
        if !PLACES.iter().all(|place| has(place)) {
            return Some(Viewer::Pipe(value.to_owned()));
        }
        // The names are relative to where it starts: there is nothing in them that a shell could misread.
        let words = PLACES
            .iter()
            .zip(export::NAMES)
            .fold(bytes.to_vec(), |words, (place, name)| replace(&words, place, name.as_bytes()));
        Some(Viewer::Directories(OsString::from_vec(words)))
    }

    /// Shows the changes. `false`: it could not be started or given anything, which is said.
    pub fn show(
        &self,
        changes: &[&Change],
        contents: &dyn Contents,
        ui: &Ui,
        repo: &Path,
        session_dir: &Path,
    ) -> Result<bool, Failed> {
        match self {
            Viewer::Pipe(words) => {
                // Escaped, and the colours are the viewer's.
                let style = Style { color: false, escape: true };
                let mut render = |out: &mut dyn Write| patch::write(changes.iter().copied(), contents, style, out);
                let shown = pager::through("viewer", words, ui, repo, &mut render);
                shown.map_or(Ok(false), |shown| shown.map(|_| true))
            }
            Viewer::Directories(words) => match directories(words, changes, contents, repo, session_dir) {
                Err(Failed::Write(e)) => {
                    let name = sanitize::bytes(words.as_bytes());
                    ui.warn(&format!("cannot use the viewer {name}: {}; this is the output without it", reason(&e)));
                    Ok(false)
                }
                other => other.map(|()| true),
            },
        }
    }
}

/// Copies in the session's directory, which is private and outside of the repo; gone when the viewer is.
fn directories(
    words: &OsStr,
    changes: &[&Change],
    contents: &dyn Contents,
    repo: &Path,
    session_dir: &Path,
) -> Result<(), Failed> {
    let dir = tempfile::Builder::new().prefix("view-").tempdir_in(session_dir)?;
    export::write(changes.iter().copied(), contents, dir.path())?;
    let Some(mut command) = tool::command(words, &tool::search_path(repo), repo).map_err(io::Error::other)? else {
        return Ok(());
    };
    command.current_dir(dir.path()).env("GIT_CEILING_DIRECTORIES", session_dir);
    let mut child = command.spawn()?;
    let wanted = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD];
    // Only now: a child starts with the mask of its parent.
    let signals = Signals::collect(&wanted)?;
    let status = wait(&mut child, &signals)?;
    tool::started(status).map_err(io::Error::other)?;
    Ok(())
}

/// Waits for the viewer. A key is its own affair, and whoever ends us ends it: the copies must not stay.
fn wait(child: &mut Child, signals: &Signals) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        poll(&mut [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)], None)?;
        while let Some(arrived) = signals.next()? {
            if matches!(arrived.signal, Signal::SIGTERM | Signal::SIGHUP) {
                let _ = kill(Pid::from_raw(child.id() as i32), arrived.signal);
            }
        }
    }
}

fn replace(text: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(what.len()).position(|part| part == what) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(with);
        rest = &rest[at + what.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_make_it_a_tool_for_directories() {
        let parse = |value: &str| Viewer::parse(OsStr::new(value));
        assert_eq!(parse(" "), None);
        assert_eq!(parse("delta -s"), Some(Viewer::Pipe("delta -s".into())));
        assert_eq!(parse("difft {a} {b} {a}"), Some(Viewer::Directories("difft a b a".into())));
        assert_eq!(parse("tool {a}"), Some(Viewer::Pipe("tool {a}".into())));
    }
}
