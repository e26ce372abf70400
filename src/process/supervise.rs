//! Waiting for a sandbox: signals, timeout, and the end.
//!
//! | signal | what happens |
//! | --- | --- |
//! | INT, QUIT from the terminal | passed on, unless the terminal sent it to the command as well |
//! | INT, QUIT, USR1, USR2 by `kill` | passed on |
//! | TERM, HUP | the sandbox is asked to end, and killed ten seconds later; its changes are kept |
//! | a second TERM or HUP | killed at once |
//! | WINCH, CONT | with a terminal of our own to serve: its size, and raw mode again |
//! | WINCH at the start | repeated to an engine's client, which may have missed it |

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{WaitOptions, WaitStatus, waitpid};

use crate::engine::Sandbox;
use crate::error::{Error, Kind, Result, reason};
use crate::process::relay::Relay;
use crate::sys::signal::Signals;

/// How long a command may take to end after SIGTERM.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// How long after a timeout.
const TIMEOUT_GRACE: Duration = Duration::from_secs(2);
/// The kernel drops a SIGTERM for a pid 1 that does not listen yet: in this time it is sent twice.
const EARLY: Duration = Duration::from_secs(1);
/// docker's client looks at the size of the terminal, and only some time later starts to listen for changes:
/// one in between is lost. So it is told again, until it has been up for this long.
const CLIENT_IS_UP: Duration = Duration::from_secs(3);
/// The first time after this long, and then as often.
const TELL_AGAIN: Duration = Duration::from_millis(400);
/// How long whoever is beside waits for a turn at most.
const TURN: Duration = Duration::from_millis(500);
/// How long an engine's client may outlive the container that was killed.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Signals that we answer to while a sandbox runs.
const WATCHED: [Signal; 9] = [
    Signal::SIGCHLD,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code, or 124.
    pub code: u8,
    /// Whether `--timeout` ended it.
    pub timed_out: bool,
    /// The last signal that was meant to end it, by whoever sent it.
    pub ended_by: Option<Signal>,
}

/// Somebody in this process who has something to do while a sandbox runs.
pub trait Beside {
    /// What it waits for.
    fn waits_for(&self) -> Vec<BorrowedFd<'_>>;

    /// Its turn: something of that is there, or a while has passed. False: the sandbox is to end.
    fn turn(&mut self) -> bool;
}

/// Starts to collect signals. To be done before the sandbox exists, so that none is lost.
pub fn watch() -> Result<Signals> {
    Signals::collect(&WATCHED).map_err(|e| Error::new(format!("cannot watch for signals: {}", reason(&e))))
}

/// Waits for the end of a sandbox.
pub fn wait(sandbox: &mut dyn Sandbox, signals: &Signals, timeout: Option<Duration>) -> Result<Outcome> {
    wait_beside(sandbox, signals, timeout, None)
}

/// The same for who has something to do meanwhile.
pub fn wait_beside(
    sandbox: &mut dyn Sandbox,
    signals: &Signals,
    timeout: Option<Duration>,
    mut beside: Option<&mut dyn Beside>,
) -> Result<Outcome> {
    let now = Instant::now();
    let deadline = timeout.map(|t| (now + t, Stage::Running));
    let mut watch = Watch { started: now, deadline, resized: None, timed_out: false, stopped: false, ended_by: None };
    loop {
        if let Some(status) = ended(sandbox)? {
            return watch.outcome(sandbox, status);
        }
        let mut relay = sandbox.relay();
        let readable = watch.pause(signals, relay.as_deref(), beside.as_deref())?;
        if let Some(relay) = &mut relay {
            relay.pump(readable);
        }
        if beside.as_mut().is_some_and(|beside| !beside.turn()) && !watch.stopped {
            watch.ended_by = Some(Signal::SIGTERM);
            watch.stop(sandbox);
        }
        while let Ok(Some(arrived)) = signals.next() {
            if matches!(arrived.signal, Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM | Signal::SIGHUP) {
                watch.ended_by = Some(arrived.signal);
            }
            match arrived.signal {
                Signal::SIGCHLD => {}
                Signal::SIGTERM | Signal::SIGHUP => watch.stop(sandbox),
                Signal::SIGINT | Signal::SIGQUIT if arrived.from_terminal && sandbox.shares_group() => {}
                Signal::SIGWINCH | Signal::SIGCONT => match sandbox.relay() {
                    Some(relay) => relay.refresh(),
                    None => watch.resized = Some(Instant::now() + TELL_AGAIN),
                },
                other => sandbox.signal(other),
            }
        }
        watch.tell_size(sandbox);
        watch.check_deadline(sandbox);
    }
}

/// What the next deadline means.
#[derive(Clone, Copy)]
enum Stage {
    Running,
    /// Asked so early that pid 1 may not have been listening yet.
    AskedEarly,
    Asked,
    Killed,
}

struct Watch {
    started: Instant,
    deadline: Option<(Instant, Stage)>,
    /// When to tell the client of a new size again.
    resized: Option<Instant>,
    timed_out: bool,
    stopped: bool,
    ended_by: Option<Signal>,
}

impl Watch {
    /// Waits for a signal, a deadline, or bytes; whether our terminal has some.
    fn pause(&self, signals: &Signals, relay: Option<&Relay>, beside: Option<&dyn Beside>) -> Result<bool> {
        let turn = beside.map(|_| Instant::now() + TURN);
        let next = [self.deadline.map(|(at, _)| at), self.resized, turn].into_iter().flatten().min();
        let left = next.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: i64::from(d.subsec_nanos()) });
        let others = beside.map(|beside| beside.waits_for()).unwrap_or_default();
        let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
        fds.extend(others.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        // Last, for our terminal is the last of them.
        fds.extend(relay.map(Relay::poll_fds).unwrap_or_default());
        match poll(&mut fds, left.as_ref()) {
            Ok(_) => {
                let wanted = relay.is_some_and(Relay::wants_input);
                Ok(wanted && fds.last().is_some_and(|stdin| !stdin.revents().is_empty()))
            }
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(Error::new(format!("cannot wait for the command: {}", reason(&e.into())))),
        }
    }

    fn stop(&mut self, sandbox: &mut dyn Sandbox) {
        if self.stopped {
            self.kill(sandbox);
        } else {
            self.stopped = true;
            self.ask(sandbox, STOP_GRACE);
        }
    }

    fn ask(&mut self, sandbox: &mut dyn Sandbox, grace: Duration) {
        let early = self.started.elapsed() < EARLY;
        sandbox.signal(Signal::SIGTERM);
        let (wait, stage) = if early { (EARLY.min(grace), Stage::AskedEarly) } else { (grace, Stage::Asked) };
        self.deadline = Some((Instant::now() + wait, stage));
    }

    fn kill(&mut self, sandbox: &mut dyn Sandbox) {
        sandbox.kill();
        self.deadline = Some((Instant::now() + KILL_GRACE, Stage::Killed));
    }

    fn tell_size(&mut self, sandbox: &dyn Sandbox) {
        if self.resized.is_some_and(|at| Instant::now() >= at) {
            let client = nix::unistd::Pid::from_raw(sandbox.pid().as_raw_nonzero().get());
            // It has just been found alive, and nobody but us waits for it.
            let _ = nix::sys::signal::kill(client, Signal::SIGWINCH);
            self.resized = (self.started.elapsed() < CLIENT_IS_UP).then(|| Instant::now() + TELL_AGAIN);
        }
    }

    fn check_deadline(&mut self, sandbox: &mut dyn Sandbox) {
        let Some((at, stage)) = self.deadline else { return };
        if Instant::now() < at {
            return;
        }
        match stage {
            Stage::Running => {
                self.timed_out = true;
                self.ask(sandbox, TIMEOUT_GRACE);
            }
            Stage::AskedEarly => {
                sandbox.signal(Signal::SIGTERM);
                let grace = if self.timed_out { TIMEOUT_GRACE } else { STOP_GRACE };
                self.deadline = Some((Instant::now() + grace, Stage::Asked));
            }
            Stage::Asked | Stage::Killed => self.kill(sandbox),
        }
    }

    fn outcome(self, sandbox: &mut dyn Sandbox, status: WaitStatus) -> Result<Outcome> {
        let code = sandbox.exit_code(status);
        let code = if self.timed_out { Kind::Timeout.exit_code() } else { code? };
        Ok(Outcome { code, timed_out: self.timed_out, ended_by: self.ended_by })
    }
}

fn ended(sandbox: &dyn Sandbox) -> Result<Option<WaitStatus>> {
    match waitpid(Some(sandbox.pid()), WaitOptions::NOHANG) {
        Ok(ended) => Ok(ended.map(|(_, status)| status)),
        Err(e) => Err(Error::new(format!("cannot wait for the command: {}", reason(&e.into())))),
    }
}
