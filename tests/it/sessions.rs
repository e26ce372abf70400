//! Sessions: which one is meant, what may be done with it, and that none is ever lost.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Engine, Output, Process, Sandbox, on, on_every_engine, snapshot, wait_until};
use crate::host::Bystander;

on_every_engine!(
    two_sessions_of_one_repo_live_side_by_side,
    what_a_state_does_not_allow_is_refused_by_its_name,
    a_killed_cowbox_leaves_a_stopped_session_with_its_changes,
    a_killed_background_leaves_a_stopped_session_with_its_changes,
    after_a_reboot_a_session_is_stopped_with_its_changes,
    a_session_goes_on_after_a_crash,
    a_record_holds_no_value_of_a_variable,
    a_session_is_closed_to_other_users,
    a_resumed_session_is_the_same_sandbox,
    a_resume_that_cannot_start_loses_nothing,
);

on!(native:
    the_latest_session_of_this_repo_is_meant,
    a_session_is_found_by_name_id_and_unique_prefix,
    a_name_wins_over_what_it_is_the_beginning_of,
    an_ambiguous_prefix_lists_what_it_could_mean,
    an_unknown_session_is_answered_with_a_near_one,
    a_name_is_taken_until_its_session_is_discarded,
    a_name_that_is_none_is_refused,
    a_process_that_got_the_number_of_another_is_left_alone,
    a_broken_record_is_one_clear_line_and_hides_nothing_else,
    a_newer_record_is_refused_and_left_as_it_is,
    an_older_record_without_new_keys_is_read,
    every_record_is_whole_however_often_cowbox_is_killed,
    a_session_that_somebody_works_on_is_refused,
    of_two_resumes_at_once_one_is_refused,
    ls_lists_what_there_is,
    show_tells_everything,
    a_session_outlives_its_repo,
    a_file_of_no_session_in_the_store_is_passed_over,
);

/// A session whose command ends at once.
#[track_caller]
fn session(sandbox: &Sandbox, name: &str, script: &str) -> String {
    sandbox.shell(&["--name", name], script).output().done();
    id_of(sandbox, name)
}

#[track_caller]
fn id_of(sandbox: &Sandbox, name: &str) -> String {
    show(sandbox, name)["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn show(sandbox: &Sandbox, session: &str) -> Value {
    sandbox.cowbox(&["show", "--json", session]).output().ok().json()
}

/// A session in the background that waits, after it has written `marker`.
#[track_caller]
fn background(sandbox: &Sandbox, name: &str) -> String {
    let script = "echo working > marker; while :; do sleep 1; done";
    let output = sandbox.shell(&["--detach", "--name", name], script).output().ok();
    let id = output.stdout().trim().to_owned();
    wait_until("the command to write", || sandbox.session_dir(&id).join("upper/marker").exists().then_some(()));
    id
}

/// `cowbox ARGS` must fail with `code`, say `state`, and give a hint that has `verb`.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], code: i32, state: &str, verb: &str) {
    let output = sandbox.cowbox(args).output().code(code);
    let said = output.stderr();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{args:?}: {said}");
    assert!(lines[0].starts_with("cowbox: error: ") && lines[0].contains(&format!(" is {state}")), "{args:?}: {said}");
    assert!(lines[1].starts_with("cowbox: hint: ") && lines[1].contains(verb), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}: {}", output.stdout());
}

/// Changes the record on disk, as a crash, a reboot or another version would.
fn edit_record(sandbox: &Sandbox, id: &str, edit: impl FnOnce(&mut Value)) {
    let path = sandbox.session_dir(id).join("session.json");
    let mut record = sandbox.record(id).unwrap();
    edit(&mut record);
    fs::write(path, serde_json::to_vec_pretty(&record).unwrap()).unwrap();
}

fn pid_in(record: &Value, who: &str) -> Option<i32> {
    record["incarnation"][who]["pid"].as_i64().map(|pid| pid as i32)
}

fn the_latest_session_of_this_repo_is_meant(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let other = sandbox.home().join("other");
    fs::create_dir(&other).unwrap();
    session(&sandbox, "one", "echo x > one");
    session(&sandbox, "two", "echo x > two");
    sandbox.shell(&["--name", "three"], "echo x > three").current_dir(&other).output().done();
    assert_eq!(sandbox.changes(), ["A  two"], "a session of another repo does not count");
    let there = sandbox.cowbox(&["diff", "--name-status", "-C", other.to_str().unwrap()]);
    there.output().prints("A  three\n").done();
    sandbox.cowbox(&["discard", "-y"]).output().says("two").done();
    assert_eq!(sandbox.changes(), ["A  one"], "a discarded one does not count");
    // With a name it does not matter where we stand.
    sandbox.cowbox(&["diff", "--name-status", "one"]).current_dir("/").output().prints("A  one\n").done();
    sandbox.cowbox(&["discard", "-y"]).output().done();
    let _ = sandbox.cowbox(&["diff"]).output().code(1).says("there is no session of this repository");
}

fn a_session_is_found_by_name_id_and_unique_prefix(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let first = session(&sandbox, "fix-login", "true");
    let second = session(&sandbox, "docs", "true");
    let common = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    for (wanted, id) in [
        ("fix-login", &first),
        ("fix", &first),
        ("f", &first),
        ("docs", &second),
        (&first[..], &first),
        (&first.to_lowercase()[..], &first),
        (&first[..common + 1], &first),
        (&second[..common + 1].to_lowercase(), &second),
    ] {
        assert_eq!(show(&sandbox, wanted)["id"], id.as_str(), "{wanted}");
    }
    for verb in ["diff", "show", "discard"] {
        let _ = sandbox.cowbox(&[verb, ""]).output().code(1).says("cowbox: error: ").says("cowbox ls --all");
        let _ = sandbox.cowbox(&[verb, "nope"]).output().code(1).says("there is no session `nope`");
    }
}

fn a_name_wins_over_what_it_is_the_beginning_of(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let short = session(&sandbox, "fix", "true");
    session(&sandbox, "fix-more", "true");
    assert_eq!(show(&sandbox, "fix")["id"], short.as_str());
}

fn an_ambiguous_prefix_lists_what_it_could_mean(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let ids = [session(&sandbox, "fix-a", "true"), session(&sandbox, "fix-b", "true"), session(&sandbox, "x", "true")];
    for verb in ["show", "diff", "discard"] {
        snapshot!(sandbox.cowbox(&[verb, "fix"]).output(), @r"
        exit: 1
        --- stderr
        cowbox: error: `fix` is the beginning of several sessions: fix-b ([ID]), fix-a ([ID])
        cowbox: hint: type more of the name or of the id
        ");
    }
    // The beginning of an id can mean several as well.
    let _ = sandbox.cowbox(&["show", "0"]).output().code(1).says(&ids[0]).says(&ids[1]).says(&ids[2]);
    let _ = sandbox.cowbox(&["exec", "fix", "--", "true"]).output().code(125).says("several sessions");
    let _ = sandbox.cowbox(&["run", "--resume", "fix", "--", "true"]).output().code(125).says("several sessions");
    // Discarded ones are no longer meant.
    sandbox.cowbox(&["discard", "-y", "fix-a"]).output().done();
    assert_eq!(show(&sandbox, "fix")["name"], "fix-b");
}

fn an_unknown_session_is_answered_with_a_near_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "fix-login", "true");
    snapshot!(sandbox.cowbox(&["show", "fix-logn"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: there is no session `fix-logn`
    cowbox: hint: did you mean `fix-login`?
    ");
    snapshot!(sandbox.cowbox(&["exec", "nothing-like-it\u{1b}[31m", "--", "true"]).output(), @r"
    exit: 125
    --- stderr
    cowbox: error: there is no session `nothing-like-it\u{1b}[31m`
    cowbox: hint: `cowbox ls --all` lists them
    ");
}

fn a_name_is_taken_until_its_session_is_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "fix", "true");
    snapshot!(sandbox.shell(&["--name", "fix"], "true").output(), @r"
    exit: 125
    --- stderr
    cowbox: error: there is a session fix already
    cowbox: hint: choose another name, or discard it with `cowbox discard fix`
    ");
    sandbox.cowbox(&["discard", "-y", "fix"]).output().done();
    let second = session(&sandbox, "fix", "true");
    assert_eq!(id_of(&sandbox, "fix"), second, "the one that lives is meant");
}

fn a_name_that_is_none_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let long = "x".repeat(65);
    for name in ["", "-x", "a b", "a/b", "..", "é", "a\nb", "\u{1b}[31m", &long] {
        let option = format!("--name={name}");
        let output = sandbox.shell(&[&option], "true").output().code(125);
        assert!(!output.stderr().contains('\u{1b}'), "{:?}", output.stderr());
    }
    assert!(sandbox.session_ids().is_empty());
}

fn two_sessions_of_one_repo_live_side_by_side(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let one = background(&sandbox, "one");
    let two = background(&sandbox, "two");
    sandbox.cowbox(&["exec", "one", "--", "sh", "-c", "echo 1 > only-one; ls"]).output().done();
    let listing = sandbox.cowbox(&["exec", "two", "--", "ls"]).output().ok().stdout();
    assert!(listing.contains("marker") && !listing.contains("only-one"), "{listing}");
    sandbox.cowbox(&["diff", "--name-status", "one"]).output().prints("A  marker\nA  only-one\n").done();
    sandbox.cowbox(&["diff", "--name-status", "two"]).output().prints("A  marker\n").done();
    for id in [&one, &two] {
        assert_eq!(show(&sandbox, id)["state"], "running");
    }
    sandbox.cowbox(&["stop", "one"]).output().done();
    assert_eq!(show(&sandbox, "one")["state"], "stopped");
    assert_eq!(show(&sandbox, "two")["state"], "running");
    // The latest is meant, running or not.
    sandbox.cowbox(&["stop"]).output().says("two").done();
}

fn what_a_state_does_not_allow_is_refused_by_its_name(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = background(&sandbox, "it");
    refused(&sandbox, &["discard", "-y", "it"], 1, "running", "cowbox stop it");
    refused(&sandbox, &["discard", "-y"], 1, "running", "cowbox stop it");
    refused(&sandbox, &["run", "--resume", "it", "--", "true"], 125, "running", "cowbox stop it");
    assert!(sandbox.session_dir(&id).join("upper/marker").exists());
    assert_eq!(show(&sandbox, "it")["state"], "running");

    sandbox.cowbox(&["stop", "it"]).output().done();
    refused(&sandbox, &["exec", "it", "--", "true"], 125, "stopped", "cowbox run --resume it");
    refused(&sandbox, &["shell", "it"], 125, "stopped", "cowbox run --resume it");
    refused(&sandbox, &["stop", "it"], 1, "stopped", "cowbox diff it");
    sandbox.cowbox(&["diff", "--name-status", "it"]).output().prints("A  marker\n").done();

    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    for args in [&["stop", &id][..], &["diff", &id], &["discard", "-y", &id]] {
        refused(&sandbox, args, 1, "discarded", "cowbox run");
    }
    for args in [&["exec", &id, "--", "true"][..], &["shell", &id], &["run", "--resume", &id, "--", "true"]] {
        refused(&sandbox, args, 125, "discarded", "cowbox run");
    }
    assert_eq!(show(&sandbox, &id)["state"], "discarded");
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
    let mut running = sandbox.shell(&[], "echo working > marker; echo up; while :; do sleep 1; done").spawn();
    running.expect("up");
    running.signal(Signal::SIGKILL);
    drop(running);
    let id = sandbox.session_ids().remove(0);
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
            record["state"] = "running".into();
            record["incarnation"]["ended"] = Value::Null;
            record["incarnation"]["exit"] = Value::Null;
            for who in ["runner", "init"] {
                record["incarnation"][who] = serde_json::json!({
                    "pid": bystander.pid(), "start": bystander.start(), "boot": "another-boot"
                });
            }
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
            record["state"] = "running".into();
            for who in ["runner", "init"] {
                record["incarnation"][who] = serde_json::json!({
                    "pid": bystander.pid(), "start": bystander.start() - 1, "boot": boot.trim()
                });
            }
        });
        let _ = sandbox.cowbox(&[verb, "it"]).output();
        assert!(bystander.is_alive(), "{verb} killed a process of somebody else");
    }
}

fn a_session_goes_on_after_a_crash(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&[], "echo one > marker; echo up; while :; do sleep 1; done").spawn();
    running.expect("up");
    running.signal(Signal::SIGKILL);
    drop(running);
    let id = sandbox.session_ids().remove(0);
    let again =
        sandbox.cowbox(&["run", "--resume", &id, "--", "sh", "-c", "cat marker; echo two >> marker; echo x > more"]);
    again.output().prints("one\n").done();
    sandbox.cowbox(&["run", "--resume", &id, "--", "cat", "marker"]).output().prints("one\ntwo\n").done();
    assert_eq!(sandbox.changes(), ["A  marker", "A  more"]);
    assert_eq!(sandbox.session_ids(), [id], "it is the same session");
}

/// The directory of a session, but for the layers, as one text.
fn everything_written(dir: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            if !["upper", "work", "mounts", "home"].contains(&name.as_str()) {
                text.push_str(&everything_written(&entry.path()));
            }
        } else if let Ok(bytes) = fs::read(entry.path()) {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text
}

fn a_record_holds_no_value_of_a_variable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let secret = "hunter2-the-secret";
    let run = sandbox.shell(&["--env", "TOKEN", "--env", &format!("GIVEN={secret}")], "echo $TOKEN $GIVEN");
    run.env("TOKEN", secret).env("LC_PRIVATE", secret).output().prints(format!("{secret} {secret}\n")).done();
    let id = sandbox.session_ids().remove(0);
    let shown = [&["show"][..], &["show", "--json"], &["ls", "--json"], &["ls", "--all"]];
    let mut all: String = shown.iter().map(|args| sandbox.cowbox(args).output().ok().stdout()).collect();
    all.push_str(&everything_written(&sandbox.state()));
    all.push_str(&everything_written(&sandbox.cache()));
    assert!(!all.contains(secret), "the value was written down");
    let record = sandbox.record(&id).unwrap();
    assert_eq!(record["format"], 1);
    let names: Vec<&str> = record["policy"]["env"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert!(names.contains(&"TOKEN") && names.contains(&"GIVEN"), "{names:?}");
}

fn a_session_is_closed_to_other_users(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Whatever the umask says.
    let run = sandbox.shell(&["--detach"], "umask 0; mkdir -m 777 open; echo x > open/file; sleep 1000");
    let id = run.through("umask 0; exec \"$@\"").output().ok().stdout().trim().to_owned();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    let dir = sandbox.session_dir(&id);
    wait_until("the command to write", || dir.join("upper/open/file").exists().then_some(()));
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("session.json")), 0o600);
    assert_eq!(mode(&dir.join("lock")), 0o600);
    if engine == Engine::Native {
        assert_eq!(mode(home_layer(&id).parent().unwrap()), 0o700);
    }
    sandbox.cowbox(&["stop"]).output().done();
    assert_eq!(mode(&dir), 0o700);
}

fn a_resumed_session_is_the_same_sandbox(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let run = sandbox.shell(&["--name", "it", "--network", "none"], "pwd; cut -d: -f1 /proc/net/dev; echo one > file");
    let first = run.current_dir(sandbox.repo().join("src")).output().ok().stdout();
    assert!(first.contains("/src\n") && first.contains("lo\n") && !first.contains("eth0"), "{first}");
    let script = "pwd; cut -d: -f1 /proc/net/dev; cat file; ls ../README.md";
    let again = sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", script]);
    let second = again.current_dir("/").output().ok().stdout();
    assert_eq!(second, format!("{first}one\n../README.md\n"));
    let record = sandbox.only_record();
    assert_eq!(record["policy"]["network"], "none");
    let states: Vec<&str> =
        record["history"].as_array().unwrap().iter().map(|h| h["event"].as_str().unwrap()).collect();
    assert_eq!(states, ["preparing", "ready", "running", "stopped", "running", "stopped"]);
    let _ = sandbox
        .cowbox(&["run", "--resume", "it", "--mount", "/etc:/mnt", "--", "true"])
        .output()
        .code(125)
        .says("cannot change");
}

/// The repo is gone, or has a mount inside: the session and its changes stay.
fn a_resume_that_cannot_start_loses_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "echo working > marker");
    let away = sandbox.root().join("away");
    sandbox.change_repo(|repo| {
        fs::rename(repo, &away).unwrap();
        let failed = sandbox.cowbox(&["run", "--resume", "it", "--", "true"]).current_dir("/").output().code(125);
        assert!(failed.stderr().starts_with("cowbox: error: "), "{}", failed.stderr());
        fs::rename(&away, repo).unwrap();
    });
    assert_eq!(sandbox.record(&id).unwrap()["state"], "stopped");
    let _ = sandbox.cowbox(&["run", "--resume", "it", "--workdir", "nowhere", "--", "true"]).output().code(125);
    assert_eq!(sandbox.record(&id).unwrap()["state"], "stopped");
    sandbox.cowbox(&["diff", "--name-status", "it"]).output().prints("A  marker\n").done();
    sandbox
        .cowbox(&["run", "--resume", "it", "--workdir", "src", "--", "cat", "../marker"])
        .output()
        .prints("working\n")
        .done();
}

/// A record that cannot be read, put back at the end.
struct Broken<'a> {
    sandbox: &'a Sandbox,
    id: &'a str,
    original: Vec<u8>,
}

impl<'a> Broken<'a> {
    fn new(sandbox: &'a Sandbox, id: &'a str) -> Self {
        let original = fs::read(sandbox.session_dir(id).join("session.json")).unwrap();
        Self { sandbox, id, original }
    }

    fn write(&self, content: &[u8]) {
        fs::write(self.sandbox.session_dir(self.id).join("session.json"), content).unwrap();
    }
}

impl Drop for Broken<'_> {
    fn drop(&mut self) {
        self.write(&self.original);
    }
}

#[track_caller]
fn is_one_error(output: &Output, holds: &str) {
    let said = output.stderr();
    let errors: Vec<&str> = said.lines().filter(|l| l.starts_with("cowbox: error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains(holds), "{said}");
    assert!(said.lines().all(|l| l.starts_with("cowbox: ")), "{said}");
}

fn a_broken_record_is_one_clear_line_and_hides_nothing_else(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "old", "echo x > old");
    let id = session(&sandbox, "new", "echo x > new");
    let record = sandbox.record(&id).unwrap();
    let broken = Broken::new(&sandbox, &id);
    let whole = broken.original.clone();
    let mut typed = record.clone();
    typed["created"] = "yesterday".into();
    let mut stateless = record;
    stateless["state"] = "dancing".into();
    for content in [
        &b""[..],
        &whole[..whole.len() / 2],
        &whole[..1],
        b"\x00\x00\x00\x00",
        b"\xff\xfe garbage",
        b"null",
        b"[]",
        b"{}",
        b"{\"format\": 1}",
        b"{\"format\": \"one\"}",
        &serde_json::to_vec(&typed).unwrap(),
        &serde_json::to_vec(&stateless).unwrap(),
    ] {
        broken.write(content);
        let ls = sandbox.cowbox(&["ls"]).output().ok();
        assert!(ls.stdout().contains("old") && !ls.stdout().contains("new"), "{}", ls.stdout());
        assert_eq!(ls.stderr().lines().count(), 1, "{}", ls.stderr());
        assert!(ls.stderr().starts_with("cowbox: warning: ") && ls.stderr().contains(&id), "{}", ls.stderr());
        // It was the latest: passing it over is said.
        let diff = sandbox.cowbox(&["diff", "--name-status"]).output().prints("A  old\n").ok();
        assert!(diff.stderr().contains(&id), "{}", diff.stderr());
        for verb in ["show", "diff"] {
            is_one_error(&sandbox.cowbox(&[verb, &id]).output().code(1), &id);
        }
        is_one_error(&sandbox.cowbox(&["discard", "-y", &id]).output().code(1), &id);
        is_one_error(&sandbox.cowbox(&["run", "--resume", &id, "--", "true"]).output().code(125), &id);
        assert!(sandbox.session_dir(&id).join("upper/new").exists(), "the changes are still there");
        // A new session is not disturbed.
        sandbox.shell(&["--on-exit", "discard"], "true").output().done();
    }
    drop(broken);
    assert_eq!(sandbox.changes(), ["A  new"]);
}

fn a_newer_record_is_refused_and_left_as_it_is(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "old", "echo x > old");
    let id = session(&sandbox, "new", "echo x > new");
    let broken = Broken::new(&sandbox, &id);
    // A newer one may have anything else in it.
    let newer = b"{\"format\": 99, \"id\": 7, \"state\": \"frozen\"}";
    broken.write(newer);
    let ls = sandbox.cowbox(&["ls"]).output().says("newer cowbox (format 99").ok();
    assert!(ls.stdout().contains("old"), "{}", ls.stdout());
    let _ = sandbox.cowbox(&["diff", &id]).output().code(1).says("newer cowbox").says("cowbox: hint: update cowbox");
    let _ = sandbox.cowbox(&["discard", "-y", &id]).output().code(1).says("newer cowbox");
    let _ = sandbox.cowbox(&["gc"]).output().ok();
    assert_eq!(fs::read(sandbox.session_dir(&id).join("session.json")).unwrap(), newer);
    assert!(sandbox.session_dir(&id).join("upper/new").exists());
}

fn an_older_record_without_new_keys_is_read(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "echo x > new");
    // A key that a later version adds must not make this one refuse the record.
    edit_record(&sandbox, &id, |record| record["a_key_of_later"] = "x".into());
    sandbox.cowbox(&["diff", "--name-status", "it"]).output().prints("A  new\n").done();
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

/// Where native keeps what a session writes to a home that holds the state directory.
fn home_layer(id: &str) -> PathBuf {
    PathBuf::from(format!("/var/tmp/cowbox-{}/{id}", rustix::process::geteuid().as_raw()))
}

fn a_session_that_somebody_works_on_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "echo working > marker");
    let lock = File::options().write(true).open(sandbox.session_dir(&id).join("lock")).unwrap();
    lock.lock().unwrap();
    for (args, code) in [(&["discard", "-y", "it"][..], 1), (&["run", "--resume", "it", "--", "true"], 125)] {
        let _ = sandbox
            .cowbox(args)
            .output()
            .code(code)
            .says("another cowbox is working on session it")
            .says("cowbox: hint: ");
    }
    // Looking is no work.
    sandbox.cowbox(&["diff", "--name-status"]).output().prints("A  marker\n").done();
    assert_eq!(show(&sandbox, "it")["state"], "stopped");
    drop(lock);
    sandbox.cowbox(&["run", "--resume", "it", "--", "true"]).output().done();
}

fn of_two_resumes_at_once_one_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "true");
    for _ in 0..5 {
        let start = || sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo got it; sleep 0.4"]).spawn();
        let outputs: Vec<Output> = [start(), start(), start()].map(crate::common::Running::wait).into();
        let (won, lost): (Vec<_>, Vec<_>) = outputs.iter().partition(|o| o.exit_code() == 0);
        assert_eq!(won.len(), 1, "{outputs:?}");
        for output in lost {
            assert_eq!(output.exit_code(), 125);
            is_one_error(output, "session it");
            assert!(output.stdout.is_empty());
        }
        assert_eq!(sandbox.record(&id).unwrap()["state"], "stopped");
    }
}

fn ls_lists_what_there_is(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    snapshot!(sandbox.cowbox(&["ls"]).output(), @r"
    exit: 0
    --- stderr
    cowbox: no sessions of this repository; start one with `cowbox run`, or see all with `cowbox ls --all`
    ");
    let empty = sandbox.cowbox(&["ls", "--json"]).output().ok().json();
    assert_eq!(empty, serde_json::json!({"schema": 1, "sessions": []}));
    let other = sandbox.home().join("other");
    fs::create_dir(&other).unwrap();
    session(&sandbox, "one", "true");
    sandbox.shell(&["--name", "two"], "true\u{1b}[31m").current_dir(&other).output().code(127).stdout();
    let here = sandbox.cowbox(&["ls"]).output().ok().stdout();
    assert!(here.contains("one") && !here.contains("two"), "{here}");
    let all = sandbox.cowbox(&["ls", "--all"]).output().ok().stdout();
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 3, "{all}");
    assert!(lines[0].starts_with("NAME") && lines[0].ends_with("REPO"), "{all}");
    assert!(lines[1].starts_with("two") && lines[1].contains(other.to_str().unwrap()), "the newest first: {all}");
    assert!(lines[2].starts_with("one") && lines[2].contains("stopped"), "{all}");
    assert!(!all.contains('\u{1b}'), "{all:?}");
    sandbox.cowbox(&["discard", "-y", "one"]).output().done();
    assert!(!sandbox.cowbox(&["ls", "--all"]).output().ok().stdout().contains("one"));
}

fn show_tells_everything(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "exit 0");
    let _ = sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "exit 7"]).output().code(7);
    let shown = show(&sandbox, "it");
    for (key, value) in [
        ("schema", Value::from(1)),
        ("id", id.as_str().into()),
        ("name", "it".into()),
        ("state", "stopped".into()),
        ("engine", "native".into()),
        ("repo", sandbox.repo().to_str().unwrap().into()),
        ("exit", 7.into()),
        ("command", serde_json::json!(["sh", "-c", "exit 7"])),
        ("dir", sandbox.session_dir(&id).to_str().unwrap().into()),
    ] {
        assert_eq!(shown[key], value, "{key}");
    }
    let text = sandbox.cowbox(&["show"]).output().ok().stdout();
    for word in ["it", &id, "stopped", "native", "sh -c exit 7", sandbox.repo().to_str().unwrap()] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

fn a_session_outlives_its_repo(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let other = sandbox.home().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "x\n").unwrap();
    sandbox.shell(&["--name", "it"], "echo x > new").current_dir(&other).output().done();
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(show(&sandbox, "it")["state"], "stopped");
    assert!(sandbox.cowbox(&["ls", "--all"]).output().ok().stdout().contains("it"));
    let diff = sandbox.cowbox(&["diff", "--name-status", "it"]).output();
    assert!(diff.exit_code() == 0 || diff.stderr().contains("cowbox: error: "), "{}", diff.stderr());
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
}

fn a_file_of_no_session_in_the_store_is_passed_over(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "it", "true");
    let store = sandbox.state().join("sessions");
    fs::write(store.join("notes.txt"), "x").unwrap();
    fs::create_dir(store.join("lost+found")).unwrap();
    fs::write(store.join("01HF7YAT00ZZZZZZZZZZZZZZZZ"), "a file with the name of a session").unwrap();
    let ls = sandbox.cowbox(&["ls"]).output().ok();
    assert!(ls.stdout().contains("it"), "{}", ls.stdout());
    assert_eq!(sandbox.cowbox(&["diff", "--name-status"]).output().ok().stdout(), "");
    for name in ["notes.txt", "01HF7YAT00ZZZZZZZZZZZZZZZZ"] {
        fs::remove_file(store.join(name)).unwrap();
    }
    fs::remove_dir(store.join("lost+found")).unwrap();
}
