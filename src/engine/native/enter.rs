//! Another command in a live native sandbox.

use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, WaitOptions, pidfd_open, set_dumpable_behavior, waitpid};
use rustix::thread::UnshareFlags;

use super::confine::{Program, command_or_shell};
use super::live::Live;
use super::{cgroup, namespaces, streams};
use crate::engine::{ExecSpec, Sandbox, plain_exit_code};
use crate::error::{Error, Result, reason};
use crate::policy::Network;
use crate::session::Record;
use crate::sys::process::{Side, close_all_except, exit_now, fork_into, join_namespaces};
use crate::sys::seccomp;

/// How long a first command may take to start, and how often somebody looks.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Joins the namespaces of the session's pid 1 and starts the command there, confined as the first.
pub fn start(record: &Record, spec: &ExecSpec<'_>) -> Result<Box<dyn Sandbox>> {
    let os = |e: std::io::Error| Error::new(format!("cannot enter the sandbox: {}", reason(&e)));
    let gone = || {
        Error::new(format!("the sandbox of session {} has just ended", record.name))
            .hint(format!("go on in it with `cowbox run --resume {}`", record.name))
    };
    let init = record.incarnation.as_ref().and_then(|i| i.init.clone()).ok_or_else(gone)?;
    let network = record.policy.network.unwrap_or(Network::None);
    let program = Program::new(&command_or_shell(spec.command, spec.env), spec.env)?;
    let filter = seccomp::compile()?;
    let pid = Pid::from_raw(init.pid).ok_or_else(gone)?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| gone())?;
    // Only after the descriptor is held does the check say something about that very process.
    if !init.is_alive() {
        return Err(gone());
    }
    let workdir = spec.workdir.unwrap_or(&record.policy.workdir.0).to_path_buf();
    let (outside, inside) = streams::make(spec.terminal)?;
    let (status, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| os(e.into()))?;

    // The first child joins; a pid namespace holds for children only, so its child is the command.
    match fork_into(UnshareFlags::empty()).map_err(os)? {
        Side::Parent(child) => {
            drop((writer, inside));
            let mut entered = Live::new(child, spec.command, status);
            entered.relay = Some(outside.connect()?);
            Ok(Box::new(entered))
        }
        Side::Child => {
            let mut report = std::fs::File::from(writer);
            let mut keep = vec![report.as_raw_fd(), pidfd.as_raw_fd()];
            keep.extend(inside.descriptors().iter().map(AsRawFd::as_raw_fd));
            close_all_except(&keep);
            let _ = rustix::process::setsid();
            // Hostile processes are in there already: see `become_it`.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
            let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
            // Under the same limits as everything else in there.
            let joined = cgroup::join(record.id.as_str()).and_then(|()| join(pidfd.as_fd(), namespaces(network)));
            let joined = joined.and_then(|()| std::env::set_current_dir(&workdir));
            let opened = joined.and_then(|()| inside.open());
            let forked = opened.and_then(|streams| Ok((fork_into(UnshareFlags::empty())?, streams)));
            match forked {
                Ok((Side::Child, streams)) => {
                    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
                    let _ = writeln!(report, "{}", program.become_it(&filter, network, &streams));
                    exit_now(125)
                }
                Ok((Side::Parent(command), streams)) => {
                    drop(streams);
                    exit_now(middle(command))
                }
                Err(e) => {
                    let _ = writeln!(report, "failed cannot enter the sandbox: {}", reason(&e));
                    exit_now(125)
                }
            }
        }
    }
}

/// Joins them. Nobody may look at pid 1 while it starts its command, which is in its memory until then: reading that from
/// a disk can take a moment.
fn join(pidfd: BorrowedFd<'_>, namespaces: UnshareFlags) -> std::io::Result<()> {
    let began = Instant::now();
    loop {
        match join_namespaces(pidfd, namespaces) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied && began.elapsed() < PATIENCE => {
                std::thread::sleep(LOOK_AGAIN);
            }
            joined => return joined,
        }
    }
}

/// The process between: passes signals on and ends as the command does.
fn middle(command: Pid) -> i32 {
    use crate::sys::signal::Signals;
    let wanted = [&super::init::FORWARDED[..], &[Signal::SIGCHLD]].concat();
    let Ok(signals) = Signals::collect(&wanted) else { return 125 };
    loop {
        if let Ok(Some((_, ended))) = waitpid(Some(command), WaitOptions::NOHANG) {
            return i32::from(plain_exit_code(ended));
        }
        let mut fds = [rustix::event::PollFd::new(&signals, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut fds, None);
        while let Ok(Some(arrived)) = signals.next() {
            if arrived.signal != Signal::SIGCHLD && !arrived.from_terminal {
                let _ = kill(nix::unistd::Pid::from_raw(command.as_raw_pid()), arrived.signal);
            }
        }
    }
}
