//! Answers line by line, for terminals that can do no more and for those who read with their ears.

use std::io;

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;

use crate::sys::signal::Signals;

/// Longer lines are no answers.
const LONGEST: usize = 4096;

/// Lines of stdin.
#[derive(Debug)]
pub struct Answers {
    signals: Signals,
    pending: Vec<u8>,
}

impl Answers {
    /// From now on Ctrl-C and the end of the terminal are answers too. On a terminal what was typed before is none.
    pub fn new() -> io::Result<Self> {
        let _ = rustix::termios::tcflush(stdin(), rustix::termios::QueueSelector::IFlush);
        let watched = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];
        Ok(Self { signals: Signals::collect(&watched)?, pending: Vec::new() })
    }

    /// The next line, without blanks around it; `None`: there will be no more.
    pub fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim().to_owned());
            }
            if self.pending.len() > LONGEST {
                self.pending.clear();
            }
            let mut fds = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                Err(_) => return None,
                Ok(_) if !fds[1].revents().is_empty() => return None,
                Ok(_) => {}
            }
            let mut chunk = [0u8; 1024];
            match rustix::io::read(stdin(), &mut chunk) {
                Ok(length @ 1..) => self.pending.extend_from_slice(&chunk[..length]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                _ => return None,
            }
        }
    }
}
