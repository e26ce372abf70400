//! Whether a batch is to stop, or has died. All of its processes can see that: signals do not tell, for anybody may send
//! those to one of them, and two of a kind count as one.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getppid};

use crate::error::{Error, Result, reason};
use crate::task::desk::Desk;
use crate::task::halt::Halt;

/// A pipe that nothing is ever written to. While somebody wants the runs, its other end is held.
#[derive(Debug)]
pub struct Stopping {
    end: OwnedFd,
    held: RefCell<Option<OwnedFd>>,
}

impl Stopping {
    /// Nothing is to stop yet; this process wants it so.
    pub fn new() -> Result<Self> {
        let failed = |e: rustix::io::Errno| Error::new(format!("cannot begin a batch: {}", reason(&e.into())));
        let (end, held) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        Ok(Self { end, held: RefCell::new(Some(held)) })
    }

    /// This process wants nothing any more: all is to stop. One that does the runs never wanted anything.
    pub fn let_go(&self) {
        drop(self.held.take());
    }

    /// Whether it is to stop, or comes to be within that time. A batch may be too busy to see that it was asked to.
    pub fn within(&self, time: Duration) -> bool {
        self.has_ended(Duration::ZERO) || is_asked_to(getppid()) || self.has_ended(time)
    }

    fn has_ended(&self, time: Duration) -> bool {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&time)) == Ok(1)
    }

    /// For who begins something: a signal that came before was not meant for that, unless all is to stop.
    pub fn heed(&self, desk: &Desk) -> Result<(), Halt> {
        desk.forget_signals();
        if self.has_ended(Duration::ZERO) { Err(Halt::Stopped) } else { Ok(()) }
    }
}

/// Whether a process has been sent a signal to end that it has not taken yet.
fn is_asked_to(process: Option<Pid>) -> bool {
    let Some(process) = process else { return true };
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_pid())).unwrap_or_default();
    let mask = |line: &str| {
        let set = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(set.trim(), 16).ok()
    };
    let wanted =
        [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM].map(|signal| 1 << (signal as u64 - 1));
    status.lines().filter_map(mask).any(|pending| wanted.iter().any(|bit| pending & bit != 0))
}

#[cfg(test)]
mod tests {
    use nix::sys::pthread::{pthread_kill, pthread_self};

    use super::*;
    use crate::process::supervise;
    use crate::task::events::Events;
    use crate::task::record::RunRecord;
    use crate::task::spec;

    #[test]
    fn it_is_to_stop_when_nobody_wants_it() {
        let stopping = Stopping::new().unwrap();
        let other = stopping.held.take().unwrap().try_clone().unwrap();
        stopping.let_go();
        assert!(!stopping.within(Duration::ZERO));
        drop(other);
        assert!(stopping.within(Duration::ZERO) && stopping.within(Duration::ZERO));
    }

    #[test]
    fn a_signal_for_one_run_says_nothing_about_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("t.yaml");
        std::fs::write(&task, "id: t\nrepo: {path: .}\nrun: {command: x}\n").unwrap();
        let record = RunRecord::begun("r", &spec::read(&task).unwrap(), 1, "b", 1);
        let events = Events::create(&dir.path().join("events.jsonl"), "r", None).unwrap();
        let desk = Desk::new(dir.path().to_path_buf(), record, events, supervise::watch().unwrap(), 1, false);
        let signals = supervise::watch().unwrap();
        let ask = || pthread_kill(pthread_self(), Signal::SIGTERM).unwrap();
        let stopping = Stopping::new().unwrap();
        ask();
        assert!(stopping.heed(&desk).is_ok());
        assert!(signals.next().unwrap().is_none(), "it is forgotten");
        ask();
        stopping.let_go();
        assert!(matches!(stopping.heed(&desk), Err(Halt::Stopped)));
    }
}
