//! What is written down about a session, who can read it, and records that are not as they should be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::common::{Engine, Sandbox, home_layer, on, on_every_engine, wait_until};
use crate::session::{edit_record, is_one_error, session};

on_every_engine!(a_record_holds_no_value_of_a_variable, a_session_is_closed_to_other_users);

on!(native:
    what_was_cut_off_and_completed_is_in_the_history_once,
    a_broken_record_is_one_clear_line_and_hides_nothing_else,
    a_newer_record_is_refused_and_left_as_it_is,
    an_older_record_without_new_keys_is_read,
    a_file_of_no_session_in_the_store_is_passed_over,
);

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

fn what_was_cut_off_and_completed_is_in_the_history_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo session > README.md; rm -r src").done();
    let events = |what: &str| -> Vec<String> {
        let shown = sandbox.cowbox(&["show", "--json"]).output().ok().json();
        let all = shown["history"].as_array().unwrap().iter().map(|entry| entry["event"].as_str().unwrap().to_owned());
        all.filter(|event| event.starts_with(what)).collect()
    };
    let is_killed = |verb: &str, point: usize| {
        let cut_off = sandbox.cowbox(&[verb, "-y"]).env("COWBOX_TEST_CRASH", point.to_string()).output();
        // Whether there was nothing, something or all to be done yet.
        let _ = sandbox.cowbox(&[verb, "-y"]).output();
        cut_off.status.signal() == Some(9)
    };
    sandbox.change_repo(|_| {
        for round in 1.. {
            let apply = is_killed("apply", round);
            assert_eq!(events("applied: ").len(), round);
            let undo = is_killed("undo", round);
            assert_eq!(events("undone: ").len(), round);
            if !apply && !undo {
                break;
            }
        }
    });
    for event in ["applied: 6 paths (recovered)", "undone: 6 paths (recovered)", "applied: 6 changes"] {
        assert!(events("").iter().any(|e| e == event), "{event}: {:?}", events(""));
    }
}
