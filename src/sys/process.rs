//! Creating processes without exec in between. Callers are single-threaded, which is what makes
//! running Rust code in the child sound.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, dumpable_behavior, getrlimit, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::UnshareFlags;

/// For what happens between a fork and an exec: a few calls, and words where one fails.
const STACK: usize = 128 << 10;

/// Which side of a fork we are on.
#[derive(Debug)]
pub enum Side {
    /// The parent, with the child's id.
    Parent(Pid),
    /// The child.
    Child,
}

/// Forks into new namespaces (none for a plain fork). The child shares nothing but descriptors.
pub fn fork_into(namespaces: UnshareFlags) -> io::Result<Side> {
    let flags = u64::from(namespaces.bits()) | nix::libc::SIGCHLD as u64;
    // SAFETY: no CLONE_VM and no new stack, so this is fork(2): the child runs on a copy of this
    // stack. The process has one thread, so no lock of another thread can be left held in the child.
    let pid = unsafe { nix::libc::syscall(nix::libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => Ok(Side::Parent(Pid::from_raw(pid as i32).ok_or(io::ErrorKind::InvalidData)?)),
    }
}

/// Starts a child that `work` turns into another program; what that returns is its exit code if it could not. Our memory
/// is its own until then, and we wait: a copy would cost more than all that is done in it. What `work` says about the
/// memory (whether it may be looked at) is undone for us.
pub fn start_program(work: &mut dyn FnMut() -> i32) -> io::Result<Pid> {
    use nix::sched::{CloneFlags, clone};
    let dumpable = dumpable_behavior()?;
    let mut stack = vec![0; STACK];
    let body = Box::new(|| exit_now(work()));
    let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
    // SAFETY: the child has a stack of its own, and we go on only when it has let go of our memory. This process has one
    // thread, so nobody else is in the middle of anything. The child never returns from `body`.
    let started = unsafe { clone(body, &mut stack, flags, Some(nix::libc::SIGCHLD)) };
    set_dumpable_behavior(dumpable)?;
    Pid::from_raw(started?.as_raw()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Ends this process at once: no destructor of the parent's copied state may run in a forked child.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches no memory.
    unsafe { nix::libc::_exit(code) }
}

/// Lets go of stdin, stdout and stderr: they lead nowhere from here on.
pub fn let_go_of_streams() {
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Closes every descriptor from 3 on except `keep`.
pub fn close_all_except(keep: &[RawFd]) {
    let mut keep: Vec<RawFd> = keep.to_vec();
    keep.sort_unstable();
    let mut first: u32 = 3;
    for fd in keep.into_iter().filter(|fd| *fd >= 3) {
        let fd = fd as u32;
        if fd > first {
            close_range(first, fd - 1);
        }
        first = fd + 1;
    }
    close_range(first, u32::MAX);
}

fn close_range(first: u32, last: u32) {
    // SAFETY: called in a forked child before it uses any descriptor besides the kept ones.
    unsafe { nix::libc::syscall(nix::libc::SYS_close_range, first, last, 0) };
}

/// Makes a descriptor survive exec in the child of `command`, under the same number.
pub fn inherit(command: &mut Command, fd: BorrowedFd<'_>) {
    let raw = fd.as_raw_fd();
    // SAFETY: fcntl is async-signal-safe; the caller keeps the descriptor open until spawn.
    unsafe {
        command.pre_exec(move || {
            if nix::libc::fcntl(raw, nix::libc::F_SETFD, 0) == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
        });
    }
}

/// Has the kernel send `signal` to the child of `command` when we die, however we die.
pub fn die_with_parent(command: &mut Command, signal: Signal) {
    // SAFETY: prctl is async-signal-safe.
    unsafe {
        command.pre_exec(move || Ok(set_parent_process_death_signal(Some(signal))?));
    }
}

/// Gives the child of `command` a session of its own: it has no terminal to ask at, and leads a process group.
pub fn without_terminal(command: &mut Command) {
    // SAFETY: setsid is async-signal-safe.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
}

/// Has the child of `command` use no more of a resource than `most`, and no more than we may ourselves.
pub fn bound(command: &mut Command, resource: Resource, most: u64) {
    let ours = getrlimit(resource);
    let limit = [ours.current, ours.maximum].into_iter().flatten().fold(most, u64::min);
    // SAFETY: setrlimit is async-signal-safe.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?));
    }
}

/// Has the child of `command` start without the signals blocked that we wait for.
pub fn unblock_signals(command: &mut Command) {
    // SAFETY: sigprocmask is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            super::signal::unblock_all();
            Ok(())
        });
    }
}

/// Joins the namespaces behind a pidfd.
pub fn join_namespaces(pidfd: BorrowedFd<'_>, namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: setns changes only this (single-threaded) process; the descriptor is open.
    let done = unsafe { nix::libc::setns(pidfd.as_raw_fd(), namespaces.bits() as i32) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Moves this process into new namespaces.
pub fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: single-threaded, and CLONE_FILES is never asked for, so no descriptor changes owner.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(Into::into)
}
