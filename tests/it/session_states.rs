//! What may be done with a session, alone and beside others, and what `ls` and `show` say of it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Engine, Output, Running, Sandbox, on, on_every_engine, wait_until};
use crate::session::{background, is_one_error, session, show};

on_every_engine!(two_sessions_of_one_repo_live_side_by_side, what_a_state_does_not_allow_is_refused_by_its_name,);

on!(native:
    a_session_that_somebody_works_on_is_refused,
    what_was_stopped_can_be_worked_on_at_once,
    of_two_resumes_at_once_one_is_refused,
    ls_lists_what_there_is,
    show_tells_everything,
    a_session_outlives_its_repo,
);

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
    // Closing is not enough: what another test is starting has a copy until its exec.
    lock.unlock().unwrap();
    sandbox.cowbox(&["run", "--resume", "it", "--", "true"]).output().done();
}

/// The supervisor has said "stopped" and still has its report to write, to a pipe that is full.
fn what_was_stopped_can_be_worked_on_at_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let path = sandbox.root().join("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let nonblocking = nix::libc::O_NONBLOCK;
    let mut pipe = File::options().read(true).write(true).custom_flags(nonblocking).open(&path).unwrap();
    let options = ["--detach", "--name", "it", "--report", path.to_str().unwrap()];
    sandbox.shell(&options, "while :; do sleep 1; done").output().done();
    while pipe.write(&[b' '; 4096]).is_ok() {}
    let mut stop = sandbox.cowbox(&["stop", "it"]).spawn();
    wait_until("the record to say so", || (sandbox.only_record()["state"] == "stopped").then_some(()));
    std::thread::sleep(Duration::from_millis(300));
    assert!(stop.is_running(), "it did not wait for the supervisor");
    while pipe.read(&mut [0; 4096]).is_ok() {}
    let _ = stop.wait().ok();
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
}

fn of_two_resumes_at_once_one_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "it", "true");
    for _ in 0..5 {
        let start = || sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo got it; sleep 0.4"]).spawn();
        let outputs: Vec<Output> = [start(), start(), start()].map(Running::wait).into();
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
    assert!(lines[0].starts_with("NAME") && lines[0].contains("  REPO  ") && lines[0].ends_with("COMMAND"), "{all}");
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
