//! Ending a build so that it cleans up after itself.
//!
//! Podman told to end does so at once and leaves a container of the build behind, for good. If what it runs
//! ends instead, the build fails as any other does, and nothing is left.

use std::fs;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// What podman calls the process that looks after a step of a build.
const STEP: &[u8] = b"buildah-oci-runtime\0";

/// Asks the steps that run in a process group to end; whether there were any.
pub fn steps(group: Pid) -> bool {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    let steps = pids.filter(|pid| is_step(*pid, group));
    steps.map(|pid| kill_process(pid, Signal::TERM).is_ok()).fold(false, |any, sent| any | sent)
}

/// Sends a signal to all of a group.
pub fn group(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}

fn is_step(pid: Pid, group: Pid) -> bool {
    let read = |name: &str| fs::read(format!("/proc/{}/{name}", pid.as_raw_nonzero())).unwrap_or_default();
    let stat = read("stat");
    // Fields 3, 4, 5 are state, parent, group; the name before them may hold anything, so count from its end.
    let after_name = stat.iter().rposition(|b| *b == b')').map_or(&[][..], |at| &stat[at + 1..]);
    let field = after_name.split(|b| *b == b' ').nth(3).and_then(|field| std::str::from_utf8(field).ok());
    field.and_then(|field| field.parse().ok()) == Some(group.as_raw_nonzero().get())
        && read("cmdline").starts_with(STEP)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_a_step_of_the_same_group_is_ended() {
        let start = |name: &str| {
            let mut command = Command::new("sleep");
            command.arg0(name).arg("100").process_group(0);
            command.spawn().unwrap()
        };
        let (mut step, mut other) = (start("buildah-oci-runtime"), start("podman"));
        let pid = |child: &std::process::Child| Pid::from_raw(child.id() as i32).unwrap();
        // A child is itself only after its exec.
        while !fs::read(format!("/proc/{}/cmdline", other.id())).unwrap().starts_with(b"podman\0") {}
        while !fs::read(format!("/proc/{}/cmdline", step.id())).unwrap().starts_with(STEP) {}
        assert!(!steps(pid(&other)));
        assert!(steps(pid(&step)));
        step.wait().unwrap();
        assert!(other.try_wait().unwrap().is_none());
        group(pid(&other), Signal::KILL);
        other.wait().unwrap();
    }
}
