//! Scripts in a sandbox, and what they print.

use crate::common::{Output, Sandbox};
use crate::host::python;

/// Runs a script and gives what it printed.
#[track_caller]
pub fn inside(sandbox: &Sandbox, options: &[&str], script: &str) -> String {
    sandbox.shell(options, script).output().ok().stdout()
}

/// Runs a python program in a native sandbox.
#[track_caller]
pub fn python_inside(sandbox: &Sandbox, options: &[&str], program: &str) -> Output {
    sandbox.run(options, &[python(), "-c", program]).output()
}

/// A session in the background that waits; its name is `it`.
#[track_caller]
pub fn background(sandbox: &Sandbox, options: &[&str]) {
    let options = [&["--detach", "--name", "it"], options].concat();
    sandbox.shell(&options, "while :; do sleep 1; done").output().done();
}

#[track_caller]
pub fn exec(sandbox: &Sandbox, script: &str) -> String {
    sandbox.cowbox(&["exec", "it", "--", "sh", "-c", script]).output().ok().stdout()
}
