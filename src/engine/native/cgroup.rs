//! Limits of a native sandbox: a control group of its own, where we may make one.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::error::{Error, Result, reason};
use crate::policy::limits::Limits;

const ROOT: &str = "/sys/fs/cgroup";

/// The groups of one sandbox; dropped, they are removed.
#[derive(Debug)]
pub struct Group {
    dirs: Vec<PathBuf>,
}

/// One value to write: controller, file and text for version 2, then for version 1.
struct Value {
    controller: &'static str,
    v2: (&'static str, String),
    v1: (&'static str, String),
}

fn values(limits: &Limits) -> Vec<Value> {
    let mut values = Vec::new();
    if let Some(memory) = limits.memory {
        let text = memory.to_string();
        values.push(Value {
            controller: "memory",
            v2: ("memory.max", text.clone()),
            v1: ("memory.limit_in_bytes", text),
        });
    }
    if let Some(cpus) = limits.cpus {
        let quota = (cpus * 100_000.0) as u64;
        values.push(Value {
            controller: "cpu",
            v2: ("cpu.max", format!("{quota} 100000")),
            v1: ("cpu.cfs_quota_us", quota.to_string()),
        });
    }
    if let Some(pids) = limits.pids {
        let text = pids.to_string();
        values.push(Value { controller: "pids", v2: ("pids.max", text.clone()), v1: ("pids.max", text) });
    }
    values
}

/// Version 2 has its list of controllers at the top.
fn is_v2() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

fn dir_of(controller: &str, name: &str) -> PathBuf {
    let root = Path::new(ROOT);
    if is_v2() { root.join(name) } else { root.join(controller).join(name) }
}

/// Refuses limits that could not be enforced, before anything is created.
pub fn check(limits: &Limits) -> Result<()> {
    let probe = Group::make("cowbox-probe", limits);
    probe.map(drop)
}

/// Removes what a crashed session left.
pub fn remove(id: &str) {
    let name = format!("cowbox-{id}");
    for controller in ["memory", "cpu", "pids"] {
        let _ = fs::remove_dir(dir_of(controller, &name));
    }
}

/// Puts this process under the limits of a session, if it has any.
pub fn join(id: &str) -> std::io::Result<()> {
    let name = format!("cowbox-{id}");
    let dirs = ["memory", "cpu", "pids"].map(|controller| dir_of(controller, &name));
    dirs.iter().filter(|dir| dir.exists()).try_for_each(|dir| fs::write(dir.join("cgroup.procs"), "0"))
}

impl Group {
    /// Makes the group of the session in `session_dir`.
    pub fn create(session_dir: &Path, limits: &Limits) -> Result<Self> {
        let id = session_dir.file_name().unwrap_or_default().to_string_lossy();
        Self::make(&format!("cowbox-{id}"), limits)
    }

    fn make(name: &str, limits: &Limits) -> Result<Self> {
        let refused = |what: &str, e: &std::io::Error| {
            Error::new(format!("the native engine cannot enforce --{what} here: {}", reason(e)))
                .hint("leave the limit out, run as root, or use an engine that can (`cowbox doctor`)")
        };
        let mut group = Self { dirs: Vec::new() };
        for value in values(limits) {
            let what = if value.controller == "cpu" { "cpus" } else { value.controller };
            let dir = dir_of(value.controller, name);
            if !group.dirs.contains(&dir) {
                match fs::create_dir(&dir) {
                    Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(refused(what, &e)),
                    _ => group.dirs.push(dir.clone()),
                }
            }
            let (file, text) = if is_v2() { value.v2 } else { value.v1 };
            fs::write(dir.join(file), text).map_err(|e| refused(what, &e))?;
        }
        Ok(group)
    }

    /// Puts a process, and all that it will start, under the limits.
    pub fn add(&self, pid: Pid) -> Result<()> {
        for dir in &self.dirs {
            fs::write(dir.join("cgroup.procs"), pid.as_raw_pid().to_string())
                .map_err(|e| Error::io("limit", dir, e))?;
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for dir in &self.dirs {
            // A group stays busy for a moment after its last process has ended.
            for _ in 0..50 {
                match fs::remove_dir(dir) {
                    Err(e) if e.kind() == std::io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    _ => break,
                }
            }
        }
    }
}
