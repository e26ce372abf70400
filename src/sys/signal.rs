//! Signals as something to wait for, instead of handlers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// One signal that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Which one.
    pub signal: Signal,
    /// Whether the kernel sent it: a terminal does so to the whole foreground group.
    pub from_terminal: bool,
}

/// Blocks signals and hands them out through a descriptor; dropped, the old mask is back.
#[derive(Debug)]
pub struct Signals {
    fd: SignalFd,
    before: SigSet,
}

impl Signals {
    /// Starts to collect `wanted`, less those that our caller chose to ignore (`nohup`).
    pub fn collect(wanted: &[Signal]) -> io::Result<Self> {
        let set: SigSet = wanted.iter().copied().filter(|s| *s == Signal::SIGCHLD || !is_ignored(*s)).collect();
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), Some(&mut before))?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { fd, before })
    }

    /// The next one that is pending.
    pub fn next(&self) -> io::Result<Option<Arrived>> {
        let Some(info) = self.fd.read_signal()? else { return Ok(None) };
        let signal = Signal::try_from(info.ssi_signo as i32)?;
        Ok(Some(Arrived { signal, from_terminal: info.ssi_code == libc::SI_KERNEL }))
    }
}

/// Whether somebody asks this process to end, and whoever waits for signals has not come to it yet.
pub fn is_asked_to_end() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let pending = status.lines().filter_map(|line| line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:")));
    let pending = pending.filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok()).fold(0, |all, mask| all | mask);
    let asked = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
    asked.into_iter().any(|signal| pending & (1 << (signal as i32 - 1)) != 0)
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}

/// Unblocks everything: what a command expects to start with.
pub fn unblock_all() {
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
}

/// SIGPIPE to its default: Rust ignores it, commands expect it.
pub fn default_sigpipe() {
    // SAFETY: setting a default disposition runs no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Dies of a signal, as if it had never been caught: the caller's shell must see it.
pub fn die_of(signal: Signal) -> ! {
    // SAFETY: a default disposition runs no code of ours.
    unsafe { libc::signal(signal as i32, libc::SIG_DFL) };
    unblock_all();
    let _ = nix::sys::signal::raise(signal);
    super::process::exit_now(128 + signal as i32)
}

fn is_ignored(signal: Signal) -> bool {
    // SAFETY: with a null new action sigaction only reads; all-zero is a valid sigaction to fill.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal as i32, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}
