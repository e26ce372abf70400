//! The user's terminal, key by key. It is put back as it was, however a question ends.

use std::io::{self, Write};
use std::os::fd::AsFd;

use nix::sys::signal::{Signal, raise};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::key::{Key, parse};
use crate::sys::signal::Signals;

/// How long the rest of a key may take.
const REST_OF_A_KEY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Signals that end a question, or change how it looks.
const WATCHED: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGWINCH, Signal::SIGCONT];

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A few lines below what is there.
    Lines,
    /// All of the screen; what was there comes back.
    Screen,
    /// Nothing but text: it is a terminal that can do no more.
    Plain,
}

impl Extent {
    fn enter(self) -> &'static str {
        match self {
            Extent::Lines => "\x1b[?25l",
            Extent::Screen => "\x1b[?1049h\x1b[?25l",
            Extent::Plain => "",
        }
    }

    fn leave(self) -> &'static str {
        match self {
            Extent::Lines => "\x1b[?25h",
            Extent::Screen => "\x1b[?25h\x1b[?1049l",
            Extent::Plain => "",
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// The window has another size, or we were stopped: everything must be drawn again.
    Redraw,
    /// The terminal is gone, or somebody asked us to end.
    Gone,
}

/// The terminal while keys are read from it.
#[derive(Debug)]
pub struct Tty {
    saved: Termios,
    signals: Signals,
    extent: Extent,
    pending: Vec<u8>,
}

impl Tty {
    /// Takes the terminal. stdin and stderr are known to be one.
    pub fn open(extent: Extent) -> io::Result<Self> {
        let saved = tcgetattr(stdin())?;
        let signals = Signals::collect(&WATCHED)?;
        let tty = Self { saved, signals, extent, pending: Vec::new() };
        // What was typed before a question was shown is no answer to it.
        tty.enter(OptionalActions::Flush)?;
        Ok(tty)
    }

    fn enter(&self, when: OptionalActions) -> io::Result<()> {
        let mut settings = self.saved.clone();
        settings.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdin(), when, &settings)?;
        self.write(self.extent.enter())
    }

    fn leave(&self) {
        let _ = self.write(self.extent.leave());
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.saved);
    }

    /// Draws.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let mut out = io::stderr().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Rows and columns; those of an old terminal if it does not tell.
    pub fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(stdin()).map_or((0, 0), |size| (usize::from(size.ws_row), usize::from(size.ws_col)));
        (if size.0 == 0 { 24 } else { size.0 }, if size.1 == 0 { 80 } else { size.1 })
    }

    /// Waits for what happens next. Being suspended is done here.
    pub fn event(&mut self) -> Event {
        loop {
            if let Some((key, length)) = parse(&self.pending) {
                self.pending.drain(..length);
                if key == Key::Suspend {
                    self.suspend();
                    return Event::Redraw;
                }
                return Event::Key(key);
            }
            // An escape that nothing follows is the key of that name.
            let patience = (!self.pending.is_empty()).then_some(&REST_OF_A_KEY);
            let mut fds = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            let ready = poll(&mut fds, patience);
            let (keys, signal) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            match ready {
                Err(Errno::INTR) => continue,
                Err(_) => return Event::Gone,
                Ok(0) => {
                    let first = self.pending.remove(0);
                    return Event::Key(if first == 0x1b { Key::Escape } else { Key::Other });
                }
                Ok(_) => {}
            }
            if signal && let Some(event) = self.signal() {
                return event;
            }
            if keys && !self.read() {
                return Event::Gone;
            }
        }
    }

    fn signal(&self) -> Option<Event> {
        let arrived = self.signals.next().ok().flatten()?;
        Some(match arrived.signal {
            Signal::SIGINT | Signal::SIGQUIT => Event::Key(Key::Interrupt),
            Signal::SIGWINCH => Event::Redraw,
            Signal::SIGCONT => {
                // Whoever had the terminal meanwhile may have left it in any state.
                let _ = self.enter(OptionalActions::Now);
                Event::Redraw
            }
            _ => Event::Gone,
        })
    }

    fn read(&mut self) -> bool {
        let mut chunk = [0u8; 256];
        match rustix::io::read(stdin().as_fd(), &mut chunk) {
            Ok(length @ 1..) => {
                self.pending.extend_from_slice(&chunk[..length]);
                true
            }
            Err(Errno::INTR | Errno::AGAIN) => true,
            _ => false,
        }
    }

    /// Stops, as any program does on Ctrl-Z; goes on here when it is continued.
    fn suspend(&self) {
        self.leave();
        let _ = raise(Signal::SIGTSTP);
        let _ = self.enter(OptionalActions::Now);
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
    }
}
