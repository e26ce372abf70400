//! pid 1 of a native sandbox: sets it up, starts the command, passes signals on, reaps orphans.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, WaitOptions, set_parent_process_death_signal, wait};
use rustix::thread::CapabilitySet;

use super::confine::Program;
use super::root::Root;
use super::streams::Inside;
use crate::engine::plain_exit_code;
use crate::error::{Error, Result, reason, show};
use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::sys::process::{close_all_except, exit_now, let_go_of_streams, start_program};
use crate::sys::signal::Signals;
use crate::sys::{capabilities, loopback, seccomp};

/// Signals that are passed on to the command.
pub const FORWARDED: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
];

/// Everything that pid 1 needs. What costs time it makes itself, while its id maps are written.
#[derive(Debug)]
pub struct Init {
    pub(super) root: Root,
    pub(super) command: Vec<OsString>,
    pub(super) env: Environment,
    pub(super) network: Network,
    pub(super) workdir: PathBuf,
    pub(super) streams: Inside,
}

/// What pid 1 tells its parent, one line each.
pub const READY: &str = "ready";

impl Init {
    /// The whole life of pid 1. `go` is written to twice: when the id maps are there, and when the
    /// session is recorded.
    pub fn run(self, go: OwnedFd, status: OwnedFd) -> ! {
        let mut keep = vec![go.as_raw_fd(), status.as_raw_fd()];
        keep.extend(self.streams.descriptors().iter().map(AsRawFd::as_raw_fd));
        close_all_except(&keep);
        let mut go = std::fs::File::from(go);
        let mut status = std::fs::File::from(status);
        let code = match self.live(&mut go, &mut status) {
            Ok(code) => code,
            Err(error) => {
                let hint = error.hints().first().map(String::as_str).unwrap_or_default();
                let _ = writeln!(status, "failed {}\t{hint}", error.message().replace(['\n', '\t'], " "));
                125
            }
        };
        exit_now(i32::from(code))
    }

    fn live(self, go: &mut std::fs::File, status: &mut std::fs::File) -> Result<u8> {
        let os = |e: std::io::Error| Error::new(reason(&e));
        // A group of its own: `kill 0` inside must not reach cowbox, nor what it was started by.
        rustix::process::setsid().map_err(|e| os(e.into()))?;
        let program = Program::new(&self.command, &self.env)?;
        let filter = seccomp::compile()?;
        wait_for(go)?;
        set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(|e| os(e.into()))?;
        if self.network == Network::None {
            loopback::up().map_err(|e| os(e).context("cannot bring the loopback up"))?;
        }
        self.root.build()?;
        std::env::set_current_dir(&self.workdir)
            .map_err(|e| Error::new(format!("cannot start in {}: {}", show(&self.workdir), reason(&e))))?;
        let streams = self.streams.open().map_err(|e| os(e).context("cannot open a terminal"))?;
        let signals = Signals::collect(&[&FORWARDED[..], &[Signal::SIGCHLD]].concat()).map_err(os)?;
        writeln!(status, "{READY}").map_err(os)?;
        wait_for(go)?;
        let command = start_program(&mut || {
            let _ = writeln!(status, "{}", program.become_it(&filter, self.network, &streams));
            125
        });
        let command = command.map_err(os)?;
        // With our ends open, nothing would hang up when the command lets go of its own. Ours may be host
        // files, which nothing in here should hold.
        drop(streams);
        let_go_of_streams();
        // One capability more than the command has: that alone keeps it from tracing us.
        capabilities::keep_only(CapabilitySet::KILL).map_err(os)?;
        Ok(supervise(&signals, command, status))
    }
}

/// A closed pipe means that the parent is gone.
fn wait_for(go: &mut std::fs::File) -> Result<()> {
    let mut byte = [0u8; 1];
    match go.read_exact(&mut byte) {
        Ok(()) => Ok(()),
        Err(_) => exit_now(125),
    }
}

fn supervise(signals: &Signals, command: Pid, status: &mut std::fs::File) -> u8 {
    loop {
        let mut fds = [rustix::event::PollFd::new(signals, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut fds, None);
        while let Ok(Some(arrived)) = signals.next() {
            if arrived.signal == Signal::SIGCHLD {
                while let Ok(Some((pid, ended))) = wait(WaitOptions::NOHANG) {
                    if pid == command {
                        let code = plain_exit_code(ended);
                        let _ = writeln!(status, "exit {code}");
                        return code;
                    }
                }
            } else if !arrived.from_terminal {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(command.as_raw_pid()), arrived.signal);
            }
        }
    }
}
