//! Real projects, one for each ecosystem: prepared in cowbox's own images with their package managers, used without a
//! network, reviewed and applied. What the setup installed is never part of the changes.
//!
//! The images are built by whoever needs them first and stay for the others; `tests/run` removes them at its end.
//! Registries must be within reach: the distribution's, PyPI, npm's, crates.io.

mod go;
mod gradle;
mod maven;
mod node;
mod python;
mod ruby;
mod rust;
mod tasks;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::common::{Engine, Output, Sandbox};
use crate::conflicts::apply;

/// Longer than any image takes on a busy machine.
const BUILDING: Duration = Duration::from_secs(900);

/// One project.
struct Project<'a> {
    /// The image that it needs.
    runtime: &'static str,
    /// Its files.
    files: &'a [(&'a str, &'a str)],
    /// The file that gives it away.
    evidence: &'a str,
    /// A command that works with its dependencies alone, and writes `out.txt`.
    command: &'a str,
    /// What is in `out.txt` then.
    output: &'a str,
}

/// Prepared by the strict command, verified, used offline, reviewed, applied.
fn serves_a_command_offline(engine: Engine, project: &Project<'_>) {
    serves_a_command_in(&Sandbox::new(engine), project);
}

/// The same with what was configured before.
fn serves_a_command_in(sandbox: &Sandbox, project: &Project<'_>) {
    sandbox.write("out.txt", "old\n");
    project.files.iter().for_each(|(path, content)| sandbox.write(path, content));
    let said = prepare(sandbox, project.runtime, &[]).ok().stderr();
    assert!(said.contains(&format!("setup by what was found: {}", project.evidence)), "{said}");
    assert!(said.contains("setup 2/2: "), "nothing was verified: {said}");
    assert!(!said.contains("; trying `") && !said.contains("left out"), "not by the strict command: {said}");

    let run = ["run", "--engine", sandbox.engine().name(), "--network", "none", "--", "sh", "-c", project.command];
    let output = sandbox.cowbox(&run).output().ok();
    assert!(!output.stderr().contains("cowbox: setup 1/"), "prepared again: {}", output.stderr());

    let shown = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let paths: Vec<_> = shown["changes"].as_array().unwrap().iter().map(|c| (&c["path"], &c["kind"])).collect();
    assert_eq!(paths, [(&json!("out.txt"), &json!("modified"))]);
    apply(sandbox, &[]).done();
    assert_eq!(std::fs::read_to_string(sandbox.repo().join("out.txt")).unwrap(), project.output);
    assert!(sandbox.cowbox(&["gc", "--force"]).output().ok().stdout().contains("environment"));
}

/// `cowbox prepare` with an image of ours. Two at a time would build the same image twice.
fn prepare(sandbox: &Sandbox, runtime: &'static str, options: &[&str]) -> Output {
    let engine = sandbox.engine();
    have_base(engine);
    let _turn = turn(engine, runtime);
    sandbox.cowbox(&["prepare", "--engine", engine.name()]).args(options).patiently(BUILDING).output()
}

/// What all images lie on.
fn have_base(engine: Engine) {
    static BASES: [OnceLock<()>; 3] = [const { OnceLock::new() }; 3];
    BASES[engine as usize].get_or_init(|| {
        let sandbox = Sandbox::new(engine);
        let prepare = ["prepare", "--engine", engine.name(), "--setup", "none"];
        sandbox.cowbox(&prepare).patiently(BUILDING).output().done();
    });
}

fn turn(engine: Engine, runtime: &str) -> MutexGuard<'static, ()> {
    const RUNTIMES: [&str; 6] = ["go", "java", "node", "python", "ruby", "rust"];
    static TURNS: [[Mutex<()>; 6]; 3] = [const { [const { Mutex::new(()) }; 6] }; 3];
    let at = RUNTIMES.iter().position(|known| *known == runtime).unwrap();
    TURNS[engine as usize][at].lock().unwrap_or_else(PoisonError::into_inner)
}
