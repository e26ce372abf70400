//! Getting the environment ready before the hand-over: everything but devcontainers.

mod changes;
mod choice;
mod detection;
mod environments;
mod failed;
mod failures;
mod once;
mod phases;
mod steps;
mod users;

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Engine, Output, Sandbox};

/// Leaves something that no two runs of it have in common.
const STAMP: &str = "cat /proc/sys/kernel/random/uuid > stamp\n";

/// A repo that prepares itself by a script.
fn with_script(engine: Engine, script: &str) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    sandbox.write("setup.sh", script);
    sandbox
}

/// `cowbox VERB --engine … --image … OPTIONS`: the options of `run` for another verb.
fn prepare(sandbox: &Sandbox, options: &[&str]) -> crate::common::Cowbox {
    let mut cowbox = sandbox.cowbox(&["prepare", "--engine", sandbox.engine().name()]);
    if sandbox.engine().has_images() {
        cowbox = cowbox.args(&["--image", "localhost/cowbox-test/tiny:latest"]);
    }
    cowbox.args(options)
}

/// Every file below a directory that can be read, as far as it holds the text.
pub fn holders(dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            found.extend(holders(&path, text));
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            found.extend(bytes.windows(text.len()).any(|w| w == text.as_bytes()).then_some(path));
        }
    }
    found
}

/// Whether steps were run.
fn has_run(output: &Output) -> bool {
    output.stderr().lines().any(|line| line.starts_with("cowbox: setup 1/"))
}
