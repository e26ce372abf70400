//! `gc`: frees what nobody needs, and never anybody's work.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::common::{Engine, Output, Sandbox, home_layer, on, on_every_engine, wait_until};

on_every_engine!(
    discarded_sessions_go_and_stopped_ones_stay,
    a_forced_gc_takes_stopped_sessions_whatever_they_hold,
    a_running_session_is_left_alone_even_by_force,
    a_crashed_session_is_not_lost_to_gc,
);

on!(native:
    a_leftover_without_a_record_goes_with_all_its_layers,
    a_session_that_is_being_made_is_left_alone,
    a_dry_run_removes_nothing,
    the_json_document_says_what_was_removed,
    an_unreadable_session_goes_only_by_force,
    nothing_to_do_is_no_failure,
    what_lies_beside_the_sessions_is_left_alone,
);

/// `gc`. Other runs of the tests may leave layers whose state is gone; what it says of those is none of a test's business.
#[track_caller]
fn gc(sandbox: &Sandbox, options: &[&str]) -> Output {
    let ids = sandbox.session_ids();
    let mut output = sandbox.cowbox(&[&["gc"], options].concat()).output();
    let own = |line: &&str| !line.contains("  leftover  ") || ids.iter().any(|id| line.starts_with(id.as_str()));
    let text = output.stdout();
    output.stdout = text.split_inclusive('\n').filter(own).collect::<String>().into_bytes();
    output
}

/// The same for its JSON, in tests that leave no leftover themselves.
fn own(mut report: Value) -> Value {
    let is_own = |removed: &Value| removed["why"] != "leftover";
    let (own, others): (Vec<Value>, Vec<Value>) =
        report["removed"].as_array().unwrap().iter().cloned().partition(is_own);
    let freed: u64 = others.iter().map(|removed| removed["bytes"].as_u64().unwrap()).sum();
    report["freed"] = (report["freed"].as_u64().unwrap() - freed).into();
    report["removed"] = own.into();
    report
}

/// A discarded session and a stopped one with a change.
#[track_caller]
fn one_of_each(sandbox: &Sandbox) -> (String, String) {
    sandbox.shell(&["--name", "gone"], "echo x > gone").output().done();
    sandbox.cowbox(&["discard", "-y", "gone"]).output().done();
    sandbox.shell(&["--name", "kept"], "echo x > kept").output().done();
    let ids = sandbox.session_ids();
    (ids[0].clone(), ids[1].clone())
}

fn discarded_sessions_go_and_stopped_ones_stay(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let (_, kept) = one_of_each(&sandbox);
    let output = gc(&sandbox, &[]).ok();
    assert!(output.stdout().starts_with("gone  discarded  "), "{}", output.stdout());
    assert_eq!(output.stdout().lines().count(), 1, "{}", output.stdout());
    assert!(output.stderr().starts_with("cowbox: ") && output.stderr().contains(" freed"), "{}", output.stderr());
    assert_eq!(sandbox.session_ids(), [kept]);
    assert_eq!(sandbox.changes(), ["A  kept"]);
    gc(&sandbox, &[]).prints("").done();
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

/// Files of other ids, closed directories, deletions, a home layer: all of it goes.
fn a_forced_gc_takes_stopped_sessions_whatever_they_hold(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let options: &[&str] = if engine == Engine::Native { &[] } else { &["--user", "root"] };
    let script = "mkdir -p a/b; echo x > a/b/f; chown 5:5 a/b/f a/b 2>/dev/null; chmod 0 a/b/f a/b a; rm -r src; echo x > ~/home-file";
    sandbox.shell(options, script).output().done();
    let id = sandbox.session_ids().remove(0);
    let output = gc(&sandbox, &["--force"]).ok();
    assert!(output.stdout().contains("  forced  "), "{}", output.stdout());
    assert!(sandbox.session_ids().is_empty());
    assert!(!home_layer(&id).exists());
}

fn a_running_session_is_left_alone_even_by_force(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["--detach", "--name", "it"], "echo x > marker; while :; do sleep 1; done").output();
    let id = output.ok().stdout().trim().to_owned();
    wait_until("the command to write", || sandbox.session_dir(&id).join("upper/marker").exists().then_some(()));
    for options in [&[][..], &["--force"]] {
        gc(&sandbox, options).prints("").done();
        sandbox.cowbox(&["exec", "it", "--", "cat", "marker"]).output().prints("x\n").done();
    }
    sandbox.cowbox(&["stop"]).output().done();
    assert_eq!(sandbox.changes(), ["A  marker"]);
}

/// Nobody has looked at it since its cowbox was killed: its record still says that it runs.
fn a_crashed_session_is_not_lost_to_gc(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&[], "echo x > marker; echo up; while :; do sleep 1; done").spawn();
    running.expect("up");
    running.signal(nix::sys::signal::Signal::SIGKILL);
    drop(running);
    gc(&sandbox, &[]).done();
    assert_eq!(sandbox.changes(), ["A  marker"]);
}

/// What a cowbox leaves that is killed before its session exists.
fn a_leftover_without_a_record_goes_with_all_its_layers(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let (_, kept) = one_of_each(&sandbox);
    let id = "01HF7YAT00ZZZZZZZZZZZZZZZZ";
    let dir = sandbox.session_dir(id);
    for part in ["upper", "work/work", "links"] {
        fs::create_dir_all(dir.join(part)).unwrap();
    }
    fs::write(dir.join("lock"), "").unwrap();
    fs::write(dir.join(".new-Xq3bd1"), "{\"format\"").unwrap();
    fs::set_permissions(dir.join("work/work"), fs::Permissions::from_mode(0o000)).unwrap();
    // The layer of the home lies elsewhere, and nobody else will ever name it.
    let home = home_layer(id);
    fs::create_dir_all(home.join("upper")).unwrap();
    fs::create_dir_all(home.join("work")).unwrap();
    let ls = sandbox.cowbox(&["ls", "--all"]).output().ok();
    assert!(!ls.stdout().contains(id) && ls.stderr().is_empty(), "it is no session: {} {}", ls.stdout(), ls.stderr());
    let output = gc(&sandbox, &[]).ok();
    assert!(output.stdout().contains(&format!("{id}  leftover  ")), "{}", output.stdout());
    assert_eq!(sandbox.session_ids(), [kept]);
    let left = home.exists();
    let _ = fs::remove_dir_all(&home);
    assert!(!left, "{} was left", home.display());
}

fn a_session_that_is_being_made_is_left_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.cowbox(&["ls"]).output().done();
    let dir = sandbox.session_dir("01HF7YAT00ZZZZZZZZZZZZZZZZ");
    fs::create_dir_all(&dir).unwrap();
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    gc(&sandbox, &["--force"]).prints("").done();
    assert!(dir.join("lock").exists());
    // Closing is not enough: what another test is starting has a copy until its exec.
    lock.unlock().unwrap();
    gc(&sandbox, &[]).done();
    assert!(!dir.exists());
}

fn a_dry_run_removes_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let (gone, kept) = one_of_each(&sandbox);
    let output = gc(&sandbox, &["--dry-run"]).says("would be freed").ok();
    assert!(output.stdout().starts_with("gone  discarded"), "{}", output.stdout());
    let output = gc(&sandbox, &["--dry-run", "--force"]).ok();
    assert_eq!(output.stdout().lines().count(), 2, "{}", output.stdout());
    assert_eq!(sandbox.session_ids(), [gone, kept]);
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn the_json_document_says_what_was_removed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let (gone, _) = one_of_each(&sandbox);
    for dry_run in [true, false] {
        let options: &[&str] = if dry_run { &["--json", "--dry-run"] } else { &["--json"] };
        let report = own(gc(&sandbox, options).ok().json());
        assert_eq!(report["schema"], 1);
        assert_eq!(report["dry_run"], dry_run);
        let removed = report["removed"].as_array().unwrap();
        assert_eq!(removed.len(), 1, "{report}");
        assert_eq!(removed[0]["id"], gone.as_str());
        assert_eq!(removed[0]["name"], "gone");
        assert_eq!(removed[0]["why"], "discarded");
        assert!(removed[0]["bytes"].as_u64().unwrap() > 0 && removed[0]["bytes"] == report["freed"], "{report}");
    }
    let empty = own(gc(&sandbox, &["--json"]).ok().json());
    assert_eq!(empty, serde_json::json!({"schema": 1, "removed": [], "freed": 0, "dry_run": false}));
}

fn an_unreadable_session_goes_only_by_force(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let (_, kept) = one_of_each(&sandbox);
    sandbox.shell(&["--name", "torn"], "echo x > ~/f; echo x > torn").output().done();
    let torn = sandbox.session_ids().pop().unwrap();
    fs::write(sandbox.session_dir(&torn).join("session.json"), "{\"format\": 1, \"id\"").unwrap();
    let output = gc(&sandbox, &[]).says(&torn).ok();
    assert_eq!(output.stdout().lines().count(), 1, "the others go all the same: {}", output.stdout());
    assert!(sandbox.session_dir(&torn).join("upper/torn").exists(), "it may hold work");
    let output = gc(&sandbox, &["--force"]).ok();
    assert!(output.stdout().contains(&format!("{torn}  unreadable")), "{}", output.stdout());
    assert!(!sandbox.session_dir(&torn).exists() && !sandbox.session_dir(&kept).exists());
    let home = home_layer(&torn);
    let left = home.exists();
    let _ = fs::remove_dir_all(&home);
    assert!(!left, "{} was left", home.display());
}

fn nothing_to_do_is_no_failure(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = gc(&sandbox, &[]).prints("").ok();
    assert!(output.stderr().starts_with("cowbox: ") && output.stderr().ends_with("B freed\n"), "{}", output.stderr());
    assert!(!sandbox.state().exists(), "looking creates nothing");
}

fn what_lies_beside_the_sessions_is_left_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    one_of_each(&sandbox);
    let notes = sandbox.state().join("sessions/notes.txt");
    fs::write(&notes, "mine").unwrap();
    let link = sandbox.state().join("sessions/01HF7YAT00ZZZZZZZZZZZZZZZZ");
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let _ = gc(&sandbox, &["--force"]);
    assert!(outside.join("kept").exists(), "no link is followed");
    assert_eq!(fs::read(&notes).unwrap(), b"mine");
    let _ = fs::remove_file(&link);
    fs::remove_file(&notes).unwrap();
}
