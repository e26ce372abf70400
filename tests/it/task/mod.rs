//! `cowbox task`: from a task file to a record, on every engine.

mod bad_input;
mod batch;
mod environments;
mod examples;
mod flow;
mod hostile;
mod much;
mod prefix;
mod reports;
mod spec;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Cowbox, Engine, Sandbox};

/// A place for tasks, code and runs.
pub struct Tasks {
    pub sandbox: Sandbox,
}

impl Tasks {
    pub fn new(engine: Engine) -> Self {
        Self::with_image(engine, "tiny")
    }

    /// With one of the test images, where the engine has images.
    pub fn with_image(engine: Engine, image: &str) -> Self {
        let tasks = Self::without_image(engine);
        if engine.has_images() {
            tasks.sandbox.configure(&format!("image = \"localhost/cowbox-test/{image}:latest\"\n"));
        }
        tasks
    }

    /// With whatever image cowbox chooses for the code.
    pub fn without_image(engine: Engine) -> Self {
        let sandbox = Sandbox::new(engine);
        fs::create_dir(sandbox.root().join("tasks")).unwrap();
        Self { sandbox }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.sandbox.root().join(name)
    }

    /// Writes a file, with what it lies in.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A git repository with these files in one commit; its id.
    pub fn code(&self, name: &str, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            self.write(&format!("{name}/{path}"), content);
        }
        git(&self.path(name), "git init -q -b main; git add -A; git commit -qm one; git rev-parse HEAD")
    }

    /// A task file `tasks/NAME.yaml`.
    pub fn task(&self, name: &str, yaml: &str) {
        self.write(&format!("tasks/{name}.yaml"), format!("id: {name}\n{yaml}"));
    }

    /// `cowbox task run --engine … --out runs FILES`
    pub fn run(&self, options: &[&str], files: &[&str]) -> Cowbox {
        let engine = self.sandbox.engine().name();
        let mut cowbox = self.sandbox.cowbox(&["task", "run", "--engine", engine]).current_dir(self.sandbox.root());
        if !options.contains(&"--resume") && !options.contains(&"--out") {
            cowbox = cowbox.args(&["--out", "runs"]);
        }
        cowbox.args(options).args(files)
    }

    /// Runs one task to its end; its record.
    #[track_caller]
    pub fn one(&self, name: &str, yaml: &str) -> Run {
        self.task(name, yaml);
        let output = self.run(&[], &[&format!("tasks/{name}.yaml")]).output();
        let found: Vec<Run> = self.runs().into_iter().filter(|run| run.record["task"] == name).collect();
        let [run] = <[Run; 1]>::try_from(found).unwrap_or_else(|all| panic!("{} records: {output:?}", all.len()));
        let good = matches!(run.outcome(), "passed" | "expected-failure");
        assert_eq!(output.exit_code(), i32::from(!good), "{output:?}");
        run
    }

    /// Every run that has a record, in the order of their directories.
    pub fn runs(&self) -> Vec<Run> {
        runs_in(&self.path("runs"))
    }

    /// That no sandbox of a run is left: no session, no container.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        assert_eq!(self.sandbox.session_ids(), Vec::<String>::new());
        let engine = self.sandbox.engine();
        if !engine.has_images() {
            return;
        }
        let containers = crate::common::leftovers::containers(engine);
        for run in self.runs() {
            for stage in run.record["stages"].as_array().unwrap() {
                let Some(session) = stage["session"].as_str() else { continue };
                let name = crate::common::container_name(session);
                assert!(!containers.iter().any(|container| container.starts_with(&name)), "{name} is left");
            }
        }
    }
}

fn runs_in(out: &Path) -> Vec<Run> {
    let Ok(listing) = fs::read_dir(out) else { return Vec::new() };
    let mut dirs: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    dirs.sort();
    let read = |dir: PathBuf| {
        let text = fs::read(dir.join("run.json")).ok()?;
        Some(Run { record: serde_json::from_slice(&text).unwrap(), dir })
    };
    dirs.into_iter().filter_map(read).collect()
}

/// A run that has ended.
#[derive(Debug)]
pub struct Run {
    pub dir: PathBuf,
    pub record: Value,
}

impl Run {
    pub fn outcome(&self) -> &str {
        self.record["outcome"].as_str().unwrap()
    }

    pub fn reason(&self) -> &str {
        self.record["reason"].as_str().unwrap_or_default()
    }

    #[track_caller]
    pub fn is(self, outcome: &str) -> Self {
        assert_eq!(self.outcome(), outcome, "{}", serde_json::to_string_pretty(&self.record).unwrap());
        self
    }

    /// Names of the stages that it went through.
    pub fn stages(&self) -> Vec<&str> {
        self.record["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect()
    }

    #[track_caller]
    pub fn stage(&self, name: &str) -> &Value {
        let mut stages = self.record["stages"].as_array().unwrap().iter();
        stages.find(|stage| stage["stage"] == name).unwrap_or_else(|| panic!("no stage {name}: {:?}", self.stages()))
    }

    /// What one layer changed.
    #[track_caller]
    pub fn changed_by(&self, by: &str) -> Vec<&str> {
        let mut changes = self.record["changes"].as_array().unwrap().iter();
        let layer = changes.find(|layer| layer["by"] == by).unwrap_or_else(|| panic!("nothing by {by}"));
        layer["files"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect()
    }

    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let path = self.dir.join(path);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The lines of `events.jsonl`, checked for their numbers.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let events: Vec<Value> =
            self.text("events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], number + 1);
            assert_eq!((&event["schema"], &event["run"]), (&Value::from(1), &self.record["id"]));
        }
        events
    }
}

/// Runs a script of git on the host; what it printed.
#[track_caller]
fn git(dir: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
