//! Bytes between the user's terminal and the sandbox's own.
//!
//! The user's is in raw mode meanwhile, so that every key, Ctrl-C included, is the command's. It is
//! put back as it was when the relay is dropped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

/// The outer end of a sandbox's terminal, connected to ours.
#[derive(Debug)]
pub struct Relay {
    outer: OwnedFd,
    saved: Option<Termios>,
    /// Keys that the sandbox has not taken yet.
    pending: Vec<u8>,
    input_open: bool,
}

impl Relay {
    /// Connects: same size, same settings; ours goes raw.
    pub fn new(outer: OwnedFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&outer)?;
        fcntl_setfl(&outer, flags | OFlags::NONBLOCK)?;
        let saved = tcgetattr(stdin()).ok();
        let mut relay = Self { outer, saved, pending: Vec::new(), input_open: true };
        if let Some(settings) = &relay.saved {
            let _ = tcsetattr(&relay.outer, OptionalActions::Now, settings);
        }
        relay.resize();
        relay.raw();
        Ok(relay)
    }

    /// Raw again, after having been stopped and continued.
    pub fn raw(&mut self) {
        if let Some(saved) = &self.saved {
            let mut settings = saved.clone();
            settings.make_raw();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &settings);
        }
    }

    /// Passes the size of our window on; the kernel tells the command.
    pub fn resize(&mut self) {
        if let Ok(size) = tcgetwinsize(stdin()) {
            let _ = tcsetwinsize(&self.outer, size);
        }
    }

    /// What to wait for.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        let mut events = PollFlags::IN;
        if !self.pending.is_empty() {
            events |= PollFlags::OUT;
        }
        let mut fds = vec![PollFd::new(&self.outer, events)];
        // No more keys than the sandbox takes: typing ahead waits in the kernel.
        if self.input_open && self.pending.is_empty() {
            fds.push(PollFd::from_borrowed_fd(stdin(), PollFlags::IN));
        }
        fds
    }

    /// Moves what can be moved. `readable`: our terminal has something.
    pub fn pump(&mut self, readable: bool) {
        if readable {
            let mut buffer = [0u8; 4096];
            match rustix::io::read(stdin(), &mut buffer) {
                Ok(0) | Err(Errno::IO) => self.input_open = false,
                Ok(n) => self.pending.extend_from_slice(&buffer[..n]),
                Err(_) => {}
            }
        }
        if !self.pending.is_empty()
            && let Ok(n) = rustix::io::write(&self.outer, &self.pending)
        {
            self.pending.drain(..n);
        }
        self.show();
    }

    /// Shows all that the sandbox has written so far.
    fn show(&mut self) {
        let mut buffer = [0u8; 16384];
        while let Ok(n @ 1..) = rustix::io::read(&self.outer, &mut buffer) {
            let mut rest = &buffer[..n];
            while !rest.is_empty() {
                match rustix::io::write(stdout(), rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    // Nobody looks any more: the sandbox must not be held up by that.
                    Err(_) => return,
                }
            }
        }
    }
}

impl AsFd for Relay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.outer.as_fd()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.show();
        if let Some(saved) = &self.saved {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, saved);
        }
    }
}
