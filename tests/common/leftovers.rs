//! What a sandbox must not leave behind: containers, volumes, mounts, processes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Engine;

/// Names of the engine's containers, running or not.
pub fn containers(engine: Engine) -> Vec<String> {
    if !engine.has_images() {
        return Vec::new();
    }
    listing(engine, &["ps", "--all", "--no-trunc", "--format", "{{.Names}}"])
}

/// Names of the networks that belong to sandboxes.
pub fn networks(engine: Engine) -> Vec<String> {
    if !engine.has_images() {
        return Vec::new();
    }
    listing(engine, &["network", "ls", "--filter", "label=cowbox", "--format", "{{.Name}}"])
}

/// Names of the containers that docker's volumes belong to.
pub fn volumes(engine: Engine) -> Vec<String> {
    if engine != Engine::Docker {
        return Vec::new();
    }
    listing(engine, &["volume", "ls", "--filter", "label=cowbox", "--format", "{{.Label \"cowbox\"}}"])
}

fn listing(engine: Engine, args: &[&str]) -> Vec<String> {
    let listed = Command::new(engine.name()).args(args).stdin(Stdio::null()).output().unwrap();
    assert!(listed.status.success(), "{engine} {args:?}: {}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

/// Removes a container, for tests that failed.
pub fn remove_container(engine: Engine, name: &str) {
    let mut command = Command::new(engine.name());
    let _ = command.args(["rm", "--force", "--volumes", name]).stdin(Stdio::null()).output();
}

/// Lines of the mount table that name `root`.
pub fn mounts(root: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = root.to_str().unwrap();
    table.lines().filter(|line| line.contains(root)).map(str::to_owned).collect()
}

/// A process as `/proc` shows it.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: i32,
    pub arguments: String,
}

impl Process {
    /// Every process whose arguments, environment or directory name `mark`. Zombies have none of these.
    pub fn with(mark: &str) -> Vec<Process> {
        let holds = |bytes: &[u8]| bytes.windows(mark.len()).any(|w| w == mark.as_bytes());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let arguments = read("cmdline");
            // Podman's own, one for each user and for good; it comes with whatever called podman first.
            if arguments.ends_with(b"catatonit\0-P\0") {
                continue;
            }
            let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            if pid != std::process::id() as i32
                && (holds(&arguments) || holds(&read("environ")) || holds(cwd.as_os_str().as_encoded_bytes()))
            {
                let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
                found.push(Process { pid, arguments });
            }
        }
        found
    }
}
