//! No session is lost: cowbox killed at any moment, reboots, numbers of processes that went to others.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Engine, Process, Sandbox, container_name, home_layer, on, on_every_engine, wait_until};
use crate::host::{self, Bystander};
use crate::session::{background, edit_record, session};

on_every_engine!(
    a_killed_cowbox_leaves_a_stopped_session_with_its_changes,
    a_killed_background_leaves_a_stopped_session_with_its_changes,
    after_a_reboot_a_session_is_stopped_with_its_changes,
    a_session_goes_on_after_a_crash,
);

on!(docker: a_volume_that_docker_forgot_goes_with_its_session);

on!(native:
    a_process_that_got_the_number_of_another_is_left_alone,
    every_record_is_whole_however_often_cowbox_is_killed,
);

fn pid_in(record: &Value, who: &str) -> Option<i32> {
    record["incarnation"][who]["pid"].as_i64().map(|pid| pid as i32)
}

/// A session whose cowbox was killed when its script had printed `up`; gives its id.
#[track_caller]
fn killed(sandbox: &Sandbox, script: &str) -> String {
    let mut running = sandbox.shell(&[], &format!("{script}; echo up; while :; do sleep 1; done")).spawn();
    running.expect("up");
    running.signal(Signal::SIGKILL);
    drop(running);
    sandbox.session_ids().remove(0)
}

/// A record that says the session runs, in processes that it does not have.
fn runs_as(record: &mut Value, pid: i32, start: u64, boot: &str) {
    record["state"] = "running".into();
    for who in ["runner", "init"] {
        record["incarnation"][who] = serde_json::json!({ "pid": pid, "start": start, "boot": boot });
    }
}

/// After a crash: the next look says `stopped`, once; the changes are there; nothing runs any more.
#[track_caller]
fn found_stopped(sandbox: &Sandbox, id: &str) {
    let first = sandbox.cowbox(&["ls", "--json"]).output().ok();
    assert_eq!(first.json()["sessions"][0]["state"], "stopped", "{}", first.stdout());
    let said = first.stderr();
    assert!(said.lines().count() == 1 && said.contains("its changes are kept"), "{said}");
    let second = sandbox.cowbox(&["ls"]).output().ok();
    assert_eq!(second.stderr(), "", "it is said once");
    assert_eq!(sandbox.record(id).unwrap()["state"], "stopped");
    sandbox.check_leftovers();
    sandbox.cowbox(&["diff", "--name-status", id]).output().prints("A  marker\n").done();
}

fn a_killed_cowbox_leaves_a_stopped_session_with_its_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = killed(&sandbox, "echo working > marker");
    assert_eq!(sandbox.record(&id).unwrap()["state"], "running", "nobody could write otherwise");
    found_stopped(&sandbox, &id);
}

fn a_killed_background_leaves_a_stopped_session_with_its_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = background(&sandbox, "it");
    let runner = pid_in(&sandbox.record(&id).unwrap(), "runner").unwrap();
    kill(Pid::from_raw(runner), Signal::SIGKILL).unwrap();
    wait_until("the background to die", || (!Path::new(&format!("/proc/{runner}")).exists()).then_some(()));
    found_stopped(&sandbox, &id);
}

/// All that a reboot leaves: a record of another boot, and layers. `show` and `diff` find out as `ls` does.
fn after_a_reboot_a_session_is_stopped_with_its_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "echo working > marker");
    let mut bystander = Bystander::sleeping("reboot");
    for look in [&["show", "--json", "it"][..], &["diff", "--json", "it"], &["ls", "--json"]] {
        edit_record(&sandbox, &id, |record| {
            runs_as(record, bystander.pid(), bystander.start(), "another-boot");
            record["incarnation"]["ended"] = Value::Null;
            record["incarnation"]["exit"] = Value::Null;
        });
        let output = sandbox.cowbox(look).output().ok();
        assert!(output.stderr().contains("is stopped now"), "{look:?}: {}", output.stderr());
        assert_eq!(sandbox.record(&id).unwrap()["state"], "stopped");
        sandbox.cowbox(&["diff", "--name-status"]).output().prints("A  marker\n").done();
    }
    assert!(bystander.is_alive(), "a process of this boot is not one of the last");
}

fn a_process_that_got_the_number_of_another_is_left_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "true");
    let mut bystander = Bystander::sleeping("number");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for verb in ["stop", "show", "discard"] {
        edit_record(&sandbox, &id, |record| {
            runs_as(record, bystander.pid(), bystander.start() - 1, boot.trim());
        });
        let _ = sandbox.cowbox(&[verb, "it"]).output();
        assert!(bystander.is_alive(), "{verb} killed a process of somebody else");
    }
}

fn a_session_goes_on_after_a_crash(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = killed(&sandbox, "echo one > marker");
    let again =
        sandbox.cowbox(&["run", "--resume", &id, "--", "sh", "-c", "cat marker; echo two >> marker; echo x > more"]);
    again.output().prints("one\n").done();
    sandbox.cowbox(&["run", "--resume", &id, "--", "cat", "marker"]).output().prints("one\ntwo\n").done();
    assert_eq!(sandbox.changes(), ["A  marker", "A  more"]);
    assert_eq!(sandbox.session_ids(), [id], "it is the same session");
}

/// A volume of docker's own; it is removed at the end, should cowbox not do it.
struct Volume(String);

impl Volume {
    fn with_label(label: &str) -> Self {
        Self(host::sh(&format!("docker volume create --label {label}")).trim().to_owned())
    }

    fn exists(&self) -> bool {
        host::sh("docker volume ls --quiet").lines().any(|name| name == self.0)
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["volume", "rm", "--force", &self.0]).output();
    }
}

/// Its own `--rm` and the `rm` of the next cowbox meet, and it leaves a volume that only the label ties to the session.
fn a_volume_that_docker_forgot_goes_with_its_session(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = killed(&sandbox, "echo working > marker");
    let forgotten = Volume::with_label(&format!("cowbox={}", container_name(&id)));
    let of_another = Volume::with_label(&format!("cowbox={}-other", container_name(&id)));
    assert!(forgotten.exists() && of_another.exists());
    found_stopped(&sandbox, &id);
    assert!(!forgotten.exists(), "the volume is still there");
    assert!(of_another.exists(), "the volume of another session was removed");
}

fn every_record_is_whole_however_often_cowbox_is_killed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let base = session(&sandbox, "base", "true");
    let mut ids = Vec::new();
    for round in 0..60u64 {
        let doomed = (round % 4 == 3).then(|| session(&sandbox, &format!("doomed-{round}"), "echo x > f"));
        let running = match (round % 4, &doomed) {
            (3, Some(id)) => sandbox.cowbox(&["discard", "-y", id]),
            (2, _) => sandbox.cowbox(&["run", "--resume", &base, "--", "true"]),
            (1, _) => sandbox.shell(&["--on-exit", "discard"], "echo x > f"),
            _ => sandbox.shell(&[], "echo x > f"),
        }
        .spawn();
        // Through every moment of them: none takes longer than this.
        std::thread::sleep(Duration::from_micros(400 * round));
        let _ = kill(Pid::from_raw(running.pid()), Signal::SIGKILL);
        drop(running);
        ids.extend(sandbox.session_ids());
        for id in sandbox.session_ids() {
            let Ok(text) = fs::read(sandbox.session_dir(&id).join("session.json")) else { continue };
            let parsed: Result<Value, _> = serde_json::from_slice(&text);
            let state = parsed.map(|r| r["state"].clone());
            assert!(state.is_ok(), "round {round}: {}", String::from_utf8_lossy(&text));
            if doomed.as_ref() == Some(&id) && state.unwrap() == "stopped" {
                // Not discarded, so not harmed either.
                sandbox.cowbox(&["diff", "--name-status", &id]).output().prints("A  f\n").done();
            }
        }
    }
    wait_until("everything to end", || Process::with(sandbox.id()).is_empty().then_some(()));
    let listed = sandbox.cowbox(&["ls", "--json"]).output().ok().json();
    for session in listed["sessions"].as_array().unwrap() {
        assert_eq!(session["state"], "stopped", "{session}");
    }
    // What never became a session is no session, and gc clears it away, with its layers.
    sandbox.cowbox(&["gc", "--force"]).output().done();
    assert!(sandbox.session_ids().is_empty());
    for id in ids {
        let home = home_layer(&id);
        assert!(!home.exists(), "{} is left", home.display());
    }
}
