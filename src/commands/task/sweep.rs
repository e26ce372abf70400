//! Clears up behind runs while the next ones go on: to give blocks back to a disk can take longer than a small task.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, setpgid, waitpid};
use rustix::thread::UnshareFlags;

use super::told::Note;
use super::worker;
use crate::commands::context::Context;
use crate::engine::native;
use crate::settings::Places;
use crate::sys::process::{Side, exit_now, fork_into};
use crate::sys::signal::unblock_all;
use crate::task::child::die_with;
use crate::ui::Ui;

/// With less room than this, whoever made something clears it away before anything else is written.
const ROOM: u64 = 64 << 20;
/// What a pipe takes in one piece, so that the words of several runs do not mix.
const PIECE: usize = 4096;

/// A process that clears up.
pub struct Sweeper {
    pid: Pid,
    asks: File,
}

impl Sweeper {
    /// Starts it. It dies with us: what it did not get to is found by `--resume`.
    pub fn start(places: &Places, ui: &Ui) -> io::Result<Self> {
        let (heard, asks) = pipe_with(PipeFlags::CLOEXEC)?;
        let parent = rustix::process::getpid();
        match fork_into(UnshareFlags::empty())? {
            Side::Parent(pid) => Ok(Self { pid, asks: asks.into() }),
            Side::Child => {
                drop(asks);
                unblock_all();
                die_with(parent);
                // Ctrl-C is for the batch.
                let _ = setpgid(None, None);
                exit_now(sweep(heard.into(), &Context::at(places.clone(), ui)))
            }
        }
    }

    /// Has a run that is over cleared away by and by. False: it is too much to lie about, or there is nobody to do it.
    pub fn takes(&self, run: &Path) -> bool {
        let words = [run.as_os_str().as_bytes(), b"\0"].concat();
        words.len() <= PIECE && has_room(run) && is_small(run) && (&self.asks).write_all(&words).is_ok()
    }

    /// Waits until all is done; false if something is left.
    pub fn finish(self) -> bool {
        drop(self.asks);
        let ended = waitpid(Some(self.pid), WaitOptions::empty());
        ended.ok().flatten().is_some_and(|(_, status)| status.exit_status() == Some(0))
    }
}

fn sweep(heard: File, context: &Context<'_>) -> i32 {
    let mut left = 0;
    for run in BufReader::new(heard).split(0).map_while(Result::ok) {
        left |= i32::from(worker::clear_away(context, Path::new(OsStr::from_bytes(&run))).is_err());
    }
    left
}

fn has_room(run: &Path) -> bool {
    rustix::fs::statvfs(run).is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) >= ROOM)
}

/// Whether its sessions hold nothing but the directories that every one has.
fn is_small(run: &Path) -> bool {
    worker::notes(run).iter().filter_map(|note| Note::read(note)).all(|note| {
        let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
        let session = &note.dir.0;
        let home = native::home_layer(session).map(|layer| layer.join("upper"));
        note.container.is_none()
            && is_empty(&session.join("upper"))
            && !session.join("mounts").exists()
            && home.is_none_or(|home| !home.exists() || is_empty(&home))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_empty_may_wait() {
        let dir = tempfile::tempdir().unwrap();
        let (run, session) = (dir.path().join("run"), dir.path().join("session"));
        fs::create_dir_all(run.join("work")).unwrap();
        fs::create_dir_all(session.join("upper")).unwrap();
        assert!(is_small(&run));
        let note = |container: Option<&str>| {
            let text = serde_json::json!({
                "session": "x", "dir": crate::paths::BytePath::from(session.as_path()), "container": container,
                "init": null, "interfaces": null, "limits": {},
            });
            fs::write(run.join("work/run.note"), text.to_string()).unwrap();
        };
        note(None);
        assert!(is_small(&run));
        note(Some("c"));
        assert!(!is_small(&run));
        note(None);
        fs::write(session.join("upper/file"), "x").unwrap();
        assert!(!is_small(&run));
    }
}
