//! Bytes between our streams and the sandbox's own.
//!
//! A sandbox never gets a descriptor of a host file: whoever has one can open it again through
//! `/proc/self/fd`, for writing, past every read-only mount. It gets pipes, or a terminal of its own.
//! With a terminal ours is in raw mode meanwhile, so that every key, Ctrl-C included, is the
//! command's; it is put back as it was when the relay is dropped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// How much is under way in one direction.
const CHUNK: usize = 64 * 1024;

/// What passes between the sandbox and us.
#[derive(Debug, Default)]
pub struct Relay {
    input: Option<Input>,
    output: Vec<Output>,
    terminal: Option<Terminal>,
}

/// Our stdin, on its way in.
#[derive(Debug)]
struct Input {
    to: OwnedFd,
    /// What the sandbox has not taken yet.
    pending: Vec<u8>,
    /// Our side has ended.
    ended: bool,
}

/// Something that the sandbox writes, and which of our streams it goes to.
#[derive(Debug)]
struct Output {
    from: OwnedFd,
    to: Stream,
    ended: bool,
}

/// Our output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// stdout
    Out,
    /// stderr
    Err,
}

/// The user's terminal as it was.
#[derive(Debug)]
struct Terminal {
    outer: OwnedFd,
    saved: Option<Termios>,
}

impl Relay {
    /// Pipes: the sandbox's stdin, and what it writes. Those that are not given are its own already.
    pub fn pipes(input: Option<OwnedFd>, output: Vec<(OwnedFd, Stream)>) -> io::Result<Self> {
        let mut relay = Self::default();
        if let Some(to) = input {
            unblock(to.as_fd())?;
            relay.input = Some(Input { to, pending: Vec::new(), ended: false });
        }
        for (from, to) in output {
            unblock(from.as_fd())?;
            relay.output.push(Output { from, to, ended: false });
        }
        Ok(relay)
    }

    /// The outer end of a terminal: same size, same settings; ours goes raw.
    pub fn terminal(outer: OwnedFd) -> io::Result<Self> {
        let mut relay = Self::pipes(Some(outer.try_clone()?), vec![(outer.try_clone()?, Stream::Out)])?;
        let saved = tcgetattr(stdin()).ok();
        if let Some(settings) = &saved {
            let _ = tcsetattr(&outer, OptionalActions::Now, settings);
        }
        relay.terminal = Some(Terminal { outer, saved });
        relay.refresh();
        Ok(relay)
    }

    /// Passes the size of our window on, and goes raw again after having been stopped.
    pub fn refresh(&mut self) {
        let Some(terminal) = &self.terminal else { return };
        if let Ok(size) = tcgetwinsize(stdin()) {
            let _ = tcsetwinsize(&terminal.outer, size);
        }
        if let Some(saved) = &terminal.saved {
            let mut settings = saved.clone();
            settings.make_raw();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &settings);
        }
    }

    /// What to wait for; our stdin is the last, if it is among them.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        let open = self.output.iter().filter(|output| !output.ended);
        let mut fds: Vec<PollFd<'_>> = open.map(|output| PollFd::new(&output.from, PollFlags::IN)).collect();
        match &self.input {
            // No more than the sandbox takes: the rest waits in the kernel.
            Some(input) if !input.pending.is_empty() => fds.push(PollFd::new(&input.to, PollFlags::OUT)),
            Some(input) if !input.ended => fds.push(PollFd::from_borrowed_fd(stdin(), PollFlags::IN)),
            _ => {}
        }
        fds
    }

    /// Whether our stdin is being waited for.
    pub fn wants_input(&self) -> bool {
        self.input.as_ref().is_some_and(|input| input.pending.is_empty() && !input.ended)
    }

    /// Moves what can be moved. `readable`: our stdin has something.
    pub fn pump(&mut self, readable: bool) {
        if let Some(input) = &mut self.input {
            if readable && input.pending.is_empty() && !input.ended {
                input.read();
            }
            input.write();
            // The sandbox sees the end of its input; a terminal has none.
            if input.ended && input.pending.is_empty() && self.terminal.is_none() {
                self.input = None;
            }
        }
        self.output.iter_mut().for_each(Output::show);
    }
}

impl Input {
    fn read(&mut self) {
        self.pending.resize(CHUNK, 0);
        let got = rustix::io::read(stdin(), &mut self.pending);
        self.pending.truncate(*got.as_ref().unwrap_or(&0));
        // A directory or a closed stream is an end like any other.
        self.ended = matches!(got, Ok(0)) || matches!(got, Err(e) if e != Errno::INTR && e != Errno::AGAIN);
    }

    fn write(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        match rustix::io::write(&self.to, &self.pending) {
            Ok(n) => drop(self.pending.drain(..n)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Nobody reads it any more.
            Err(_) => {
                self.pending.clear();
                self.ended = true;
            }
        }
    }
}

impl Output {
    /// Shows all that has been written so far.
    fn show(&mut self) {
        let mut buffer = [0u8; CHUNK];
        while !self.ended {
            match rustix::io::read(&self.from, &mut buffer) {
                Ok(n @ 1..) => self.put(&buffer[..n]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Ok(_) | Err(_) => self.ended = true,
            }
        }
    }

    fn put(&mut self, mut rest: &[u8]) {
        let to = match self.to {
            Stream::Out => stdout(),
            Stream::Err => stderr(),
        };
        while !rest.is_empty() {
            match rustix::io::write(to, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                // Our reader went away: with our end closed the command learns of it as it should.
                Err(_) => {
                    self.ended = true;
                    if let Ok(nothing) = std::fs::File::open("/dev/null") {
                        self.from = nothing.into();
                    }
                    return;
                }
            }
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.output.iter_mut().for_each(Output::show);
        if let Some(saved) = self.terminal.as_ref().and_then(|terminal| terminal.saved.as_ref()) {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, saved);
        }
    }
}

fn unblock(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}
