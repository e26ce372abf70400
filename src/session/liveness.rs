//! Telling a process from another one that got its number later.

use std::fs;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::{Deserialize, Serialize};

/// A process for good: its number, when it started, in which boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Number.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// The kernel's boot id.
    pub boot: String,
}

impl ProcessId {
    /// The calling process.
    pub fn current() -> Self {
        Self::of(rustix::process::getpid().as_raw_pid())
    }

    /// A process that is alive now.
    pub fn of(pid: i32) -> Self {
        Self { pid, start: start_time(pid).unwrap_or(0), boot: boot_id() }
    }

    /// Whether this very process is still there.
    pub fn is_alive(&self) -> bool {
        self.boot == boot_id()
            && self.raw().is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
            && start_time(self.pid) == Some(self.start)
    }

    /// Sends a signal, if it is still there.
    pub fn signal(&self, signal: Signal) -> bool {
        self.is_alive() && self.raw().is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    fn raw(&self) -> Option<Pid> {
        Pid::from_raw(self.pid)
    }
}

/// Field 22 of `/proc/PID/stat`; the name in field 2 may hold anything, so count from its end.
fn start_time(pid: i32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = text.iter().rposition(|b| *b == b')')?;
    let fields = String::from_utf8_lossy(&text[after + 1..]).into_owned();
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|t| t.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_another_with_its_number() {
        let me = ProcessId::current();
        assert!(me.is_alive());
        assert!(!ProcessId { start: me.start + 1, ..me.clone() }.is_alive());
        assert!(!ProcessId { boot: "another".into(), ..me }.is_alive());
    }
}
