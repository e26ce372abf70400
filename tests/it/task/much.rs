//! Too much of something: output, files, or too little room for them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Tasks, runs_in};
use crate::common::{Engine, Process, on, on_every_engine};

on_every_engine!(a_long_log_is_kept_in_little_memory, a_full_disk_is_an_infra_error_with_a_record);
on!(native:
    a_full_disk_of_the_sandbox_is_the_commands_to_tell,
    a_full_disk_of_the_state_is_an_infra_error
);

const NONE: &str = "repo: {path: ../home/api}\nsetup: {convention: none}\n";

/// A directory on the small disk of this machine, for one test at a time.
struct SmallDisk {
    dir: PathBuf,
    _lock: File,
}

impl SmallDisk {
    fn take(tasks: &Tasks) -> Self {
        let disk = Path::new("/run/cowbox-test/small");
        let lock = File::open(disk).unwrap_or_else(|e| panic!("{}: {e}: tests/host/setup mounts it", disk.display()));
        lock.lock().unwrap();
        let dir = disk.join(tasks.sandbox.id());
        fs::create_dir(&dir).unwrap();
        Self { dir, _lock: lock }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Has `dir` on a disk of its own, of so many bytes, while cowbox runs.
fn small_disk(dir: &str, size: &str) -> String {
    let inner = format!("mount -t tmpfs -o size={size} none {dir} || exit 99; \"$@\"; code=$?; exit $code");
    format!("exec unshare --user --map-current-user --mount --keep-caps sh -c '{inner}' sh \"$@\"")
}

fn a_full_disk_is_an_infra_error_with_a_record(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("full", &format!("{NONE}run: {{command: 'echo first > made; yes | head -c 20000000; sleep 600'}}\n"));
    let disk = SmallDisk::take(&tasks);
    let output = tasks.run(&["--out", disk.dir.to_str().unwrap()], &["tasks/full.yaml"]).output().code(1);
    assert!(output.stdout().contains("infra-error"), "{output:?}");
    let run = runs_in(&disk.dir).pop().expect("a record").is("infra-error");
    assert!(run.reason().contains("no space left on device"), "{}", run.reason());
    assert_eq!(run.record["ended_in"], "run");
    assert_eq!(run.stages(), ["checkout", "setup", "run"]);
    assert!(run.text("logs/run.stdout").starts_with("y\ny\n"), "what there was by then is kept");
    for report in ["summary.json", "summary.txt", "junit.xml", "report.html"] {
        assert!(disk.dir.join(report).exists(), "no {report}: {output:?}");
    }
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
}

fn a_full_disk_of_the_sandbox_is_the_commands_to_tell(engine: Engine) {
    let tasks = Tasks::new(engine);
    fs::create_dir_all(tasks.sandbox.state()).unwrap();
    tasks.task("full", &format!("{NONE}run: {{command: 'head -c 20000000 /dev/zero > big'}}\n"));
    let state = tasks.sandbox.state();
    let disk = small_disk(state.to_str().unwrap(), "4m");
    let output = tasks.run(&[], &["tasks/full.yaml"]).through(&disk).output().code(1);
    let run = tasks.runs().pop().unwrap_or_else(|| panic!("{output:?}")).is("failed");
    assert!(run.text("logs/run.stderr").to_lowercase().contains("no space left"), "{}", run.text("logs/run.stderr"));
    tasks.sandbox.check_leftovers();
}

fn a_full_disk_of_the_state_is_an_infra_error(engine: Engine) {
    let tasks = Tasks::new(engine);
    fs::create_dir_all(tasks.sandbox.state()).unwrap();
    tasks.task("full", &format!("{NONE}run: {{command: 'true'}}\n"));
    let state = tasks.sandbox.state();
    // Not even a session has room there.
    let fill = format!("head -c 100000 /dev/zero > {}/fill; ", state.display());
    let disk = small_disk(state.to_str().unwrap(), "64k").replace("\"$@\"; code", &format!("{fill}\"$@\"; code"));
    let output = tasks.run(&[], &["tasks/full.yaml"]).through(&disk).output().code(1);
    let run = tasks.runs().pop().unwrap_or_else(|| panic!("{output:?}")).is("infra-error");
    assert!(run.reason().contains("no space left on device"), "{}", run.reason());
    assert!(output.stderr().contains("this batch cannot be resumed"), "{output:?}");
    tasks.sandbox.check_leftovers();
}

/// What cowbox's processes of this test hold at the moment, in kB.
fn memory(of: &str) -> u64 {
    let anonymous = |process: &Process| -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let ours = |process: &&Process| process.arguments.contains("cowbox") && process.arguments.contains("task");
    Process::with(of).iter().filter(ours).filter_map(anonymous).max().unwrap_or(0)
}

fn a_long_log_is_kept_in_little_memory(engine: Engine) {
    let tasks = Tasks::new(engine);
    // Engines carry every byte through several processes of their own.
    let megabytes: u64 = if engine == Engine::Native { 5000 } else { 500 };
    tasks.task(
        "long",
        &format!("{NONE}run: {{command: \"echo first; head -c {megabytes}000000 /dev/zero | tr '\\\\0' x; echo; echo last\"}}\n"),
    );
    let mut running = tasks.run(&[], &["tasks/long.yaml"]).patiently(Duration::from_secs(600)).spawn();
    let mut most = 0;
    while running.is_running() {
        most = most.max(memory(tasks.sandbox.id()));
        std::thread::sleep(Duration::from_millis(200));
    }
    running.wait().done();
    let run = tasks.runs().pop().unwrap().is("passed");
    let log = run.text("logs/run.stdout");
    assert!(log.starts_with("first\n") && log.ends_with("\nlast\n") && log.len() < (16 << 20) + 200, "{}", log.len());
    assert_eq!(run.stage("run")["commands"][0]["stdout"]["cut"]["bytes"], megabytes * 1_000_000 + 12 - (16 << 20));
    assert!(most > 0 && most < 40_000, "{most} kB");
    tasks.nothing_is_left();
}
