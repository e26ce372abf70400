//! A native sandbox, or a command in one, while it runs.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;

use nix::sys::signal::{Signal, kill};
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use super::cgroup::Group;
use super::init::READY;
use crate::engine::{Sandbox, plain_exit_code};
use crate::error::{Error, Kind, Result};
use crate::process::relay::Relay;

/// A running native sandbox; dropped before its end, it is killed.
pub struct Live {
    pid: Pid,
    command: String,
    status: BufReader<File>,
    ended: bool,
    /// What passes its bytes, once it is connected.
    pub relay: Option<Relay>,
    /// Its limits; they go with it.
    pub group: Option<Group>,
}

impl Live {
    /// The process behind `pid`, which tells on `status` how it goes.
    pub fn new(pid: Pid, command: &[OsString], status: OwnedFd) -> Self {
        let status = BufReader::new(status.into());
        Self { pid, command: command_name(command), status, ended: false, relay: None, group: None }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.status.read_line(&mut line);
        line.trim_end().to_owned()
    }

    /// Waits for the word that the sandbox is complete.
    pub fn expect_ready(&mut self) -> Result<()> {
        match self.line() {
            line if line == READY => Ok(()),
            line => {
                let said = line.strip_prefix("failed ").unwrap_or("the sandbox's first process died");
                let (message, hint) = said.split_once('\t').unwrap_or((said, ""));
                let usual = "`cowbox doctor` tries everything that the native engine needs";
                Err(Error::new(message).hint(if hint.is_empty() { usual } else { hint }))
            }
        }
    }
}

impl Sandbox for Live {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn signal(&mut self, signal: Signal) {
        let _ = kill(nix::unistd::Pid::from_raw(self.pid.as_raw_pid()), signal);
    }

    fn kill(&mut self) {
        // pid 1 takes its whole namespace along.
        self.signal(Signal::SIGKILL);
    }

    fn shares_group(&self) -> bool {
        false
    }

    fn relay(&mut self) -> Option<&mut Relay> {
        self.relay.as_mut()
    }

    fn exit_code(&mut self, status: WaitStatus) -> Result<u8> {
        self.ended = true;
        // The last output is shown, and our terminal is as it was, before anything else is said.
        drop(self.relay.take());
        let line = self.line();
        match line.split_once(' ') {
            Some(("exit", code)) => Ok(code.parse().unwrap_or(125)),
            Some(("exec", errno)) => Err(not_started(&self.command, errno.parse().unwrap_or(0))),
            Some((_, message)) => Err(Error::of(Kind::NotStarted, message)),
            None => Ok(plain_exit_code(status)),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
        }
        drop(self.group.take());
    }
}

/// What a command is called in messages.
fn command_name(command: &[OsString]) -> String {
    command.first().map_or_else(|| "the shell".to_owned(), |name| crate::ui::sanitize::text(&name.to_string_lossy()))
}

/// Why a command could not be executed; the words are those of the helper in containers.
fn not_started(command: &str, errno: i32) -> Error {
    use nix::errno::Errno;
    let (kind, why) = match Errno::from_raw(errno) {
        Errno::ENOENT | Errno::ENOTDIR => (Kind::NotFound, "not found"),
        Errno::EACCES => (Kind::NotExecutable, "not executable"),
        _ => (Kind::NotExecutable, "cannot be executed"),
    };
    Error::of(kind, format!("{command}: {why} in the sandbox"))
}
