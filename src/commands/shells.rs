//! Shells in a session, opened from its review.
//!
//! Reading a session may take this process into a user namespace, from which no engine can be started any more. So
//! a process of its own waits outside, made before anything was read.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use nix::sys::signal::{Signal, kill};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal as Death, WaitOptions, set_parent_process_death_signal, waitpid};
use rustix::thread::UnshareFlags;

use super::run;
use crate::cli::{self, Verb};
use crate::error::{Error, Result, reason};
use crate::sys::process::{Side, close_all_except, exit_now, fork_into};
use crate::sys::signal::Signals;
use crate::ui::Ui;

/// The process that waits. It goes when this is dropped.
pub struct Shells {
    ask: Option<File>,
    answer: File,
    pid: Pid,
}

impl Shells {
    /// Makes it, for a session.
    pub fn new(name: &str, ui: &Ui) -> Result<Self> {
        let failed = |e: io::Error| Error::new(format!("cannot start a helper process: {}", reason(&e)));
        let (asked, ask) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let (answer, answers) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        match fork_into(UnshareFlags::empty()).map_err(failed)? {
            Side::Child => {
                // The session's lock among them: it would stay taken.
                close_all_except(&[asked.as_raw_fd(), answers.as_raw_fd()]);
                let _ = set_parent_process_death_signal(Some(Death::TERM));
                let mut answers = File::from(answers);
                let _ = answers.write_all(b"r");
                wait(File::from(asked), answers, name, ui);
                exit_now(0)
            }
            Side::Parent(pid) => {
                drop(answers);
                let mut shells = Self { ask: Some(ask.into()), answer: answer.into(), pid };
                // Until it has let go of the session's lock, we could not take that again.
                shells.answer.read_exact(&mut [0]).map_err(failed)?;
                Ok(shells)
            }
        }
    }

    /// Opens a shell and waits for its end. `false`: somebody wants all of this to end.
    pub fn open(&mut self) -> Result<bool> {
        let failed = |e: io::Error| Error::new(format!("cannot open a shell: {}", reason(&e)));
        let ended = || failed(io::Error::other("the helper process has ended"));
        let signals =
            Signals::collect(&[Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT]).map_err(failed)?;
        self.ask.as_mut().ok_or_else(ended)?.write_all(b"s").map_err(|_| ended())?;
        let mut goes_on = true;
        loop {
            let mut fds = [PollFd::new(&self.answer, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
            let _ = poll(&mut fds, None);
            let (answered, signalled) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if signalled && let Ok(Some(arrived)) = signals.next() {
                if matches!(arrived.signal, Signal::SIGTERM | Signal::SIGHUP) {
                    goes_on = false;
                    let _ = kill(nix::unistd::Pid::from_raw(self.pid.as_raw_nonzero().get()), arrived.signal);
                }
            } else if answered {
                let mut byte = [0u8; 1];
                return match self.answer.read(&mut byte) {
                    Ok(1) => Ok(goes_on),
                    _ if !goes_on => Ok(false),
                    _ => Err(ended()),
                };
            }
        }
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        // The end of its input is the end of it.
        drop(self.ask.take());
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// The helper's side: one shell for every byte that comes in.
fn wait(mut asked: File, mut answers: File, name: &str, ui: &Ui) {
    let mut byte = [0u8; 1];
    loop {
        // Ctrl-C is for whoever has the terminal.
        let Ok(signals) = Signals::collect(&[Signal::SIGINT, Signal::SIGQUIT]) else { return };
        if !matches!(asked.read(&mut byte), Ok(1)) {
            return;
        }
        while let Ok(Some(_)) = signals.next() {}
        drop(signals);
        ui.say("a shell over the session; leave it to come back to the question");
        if let Err(error) = shell(name, ui) {
            ui.error(&error);
        }
        if answers.write_all(b"d").is_err() {
            return;
        }
    }
}

fn shell(name: &str, ui: &Ui) -> Result<u8> {
    let words = ["cowbox", "run", "--resume", name, "--on-exit", "keep"].map(Into::into);
    match cli::parse(&words).map(|cli| cli.verb) {
        Ok(Verb::Run(args)) => run::run(*args, ui),
        _ => Err(Error::new("the command for the shell cannot be read")),
    }
}
