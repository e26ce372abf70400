//! What the host, another session or another cowbox does between a crash and its recovery is not lost, and not built upon.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use crate::common::{Engine, Fingerprint, Sandbox, on};

on!(native:
    what_another_session_left_is_looked_after_first,
    a_file_that_was_edited_after_it_landed_is_not_rolled_back,
    a_file_that_was_replaced_after_it_landed_is_not_rolled_back,
    what_the_host_put_into_a_new_directory_is_not_rolled_back,
    what_the_host_put_into_a_directory_that_goes_is_not_lost,
    a_file_that_an_undo_brought_back_and_the_host_edited_stays,
    an_edit_before_the_completion_is_not_taken_for_what_was_applied,
    a_file_made_again_before_the_completion_stays,
    an_edit_before_the_completion_of_an_undo_is_a_conflict,
    new_looks_of_what_is_gone_or_something_else_are_none,
    a_dry_run_touches_nothing_that_was_cut_off,
    nothing_starts_while_another_cowbox_writes,
    what_a_newer_cowbox_left_is_not_forgotten,
    without_room_to_write_all_is_as_it_was,
    a_repo_is_healed_without_becoming_somebody_else,
);

/// How far a transaction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Its journal has begun.
    Begun,
    /// Its targets are being touched.
    Middle,
    /// All of them are.
    Committed,
}

fn journal(sandbox: &Sandbox) -> Option<At> {
    let journals = sandbox.session_ids().into_iter().map(|id| sandbox.session_dir(&id).join("journal"));
    let mut files = journals.filter_map(|dir| fs::read_dir(dir).ok()).flatten();
    let text = fs::read_to_string(files.next()?.unwrap().path()).unwrap();
    Some(match text.lines().last()? {
        "\"committed\"" => At::Committed,
        line if line.starts_with("{\"staged\"") => At::Middle,
        _ => At::Begun,
    })
}

/// Has a call killed when the journal is there and `reached` holds.
#[track_caller]
fn cut_off(sandbox: &Sandbox, args: &[&str], at: At, reached: impl Fn(&Path) -> bool) {
    for point in 1..500 {
        let output = sandbox.cowbox(args).env("COWBOX_TEST_CRASH", point.to_string()).output();
        assert_eq!(output.status.signal(), Some(9), "no such point: {}", output.stderr());
        if journal(sandbox) == Some(at) && reached(sandbox.repo()) {
            return;
        }
        // The other way, from the start again.
        let other = if args[0] == "apply" { "undo" } else { "apply" };
        let _ = sandbox.cowbox(&[other, "-y", args[2]]).output().exit_code();
    }
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap_or_else(|e| format!("{path}: {e}"))
}

fn append(sandbox: &Sandbox, path: &str, text: &str) {
    use std::io::Write;
    let mut file = fs::File::options().append(true).open(sandbox.repo().join(path)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn has(path: &'static str, text: &'static str) -> impl Fn(&Path) -> bool {
    move |repo| fs::read_to_string(repo.join(path)).is_ok_and(|content| content == text)
}

/// Nothing is left of any transaction, and the repo may stay as it is.
#[track_caller]
fn end(sandbox: &Sandbox) {
    let leftover = |path: &Path| path.to_string_lossy().contains(".cowbox-");
    assert!(!Fingerprint::of(sandbox.repo()).has(leftover), "something is left in the repo");
    assert_eq!(journal(sandbox), None);
    sandbox.accept_repo();
}

fn what_another_session_left_is_looked_after_first(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("a", "host\n");
    sandbox.write("b", "host\n");
    sandbox.shell(&["--name", "one"], "echo one > one").output().done();
    sandbox.shell(&["--name", "two"], "echo two > a; echo two > b").output().done();
    let cut = || {
        cut_off(&sandbox, &["apply", "-y", "two"], At::Middle, |repo| {
            has("a", "two\n")(repo) && has("b", "host\n")(repo)
        })
    };
    cut();
    for verb in [&["apply", "one"][..], &["undo", "one"], &["apply", "--commits", "one"]] {
        let _ = sandbox.cowbox(verb).output().code(4).says("the apply of session two was cut off in the middle");
    }
    let _ = sandbox.cowbox(&["ls"]).output().ok().says("half done");
    let _ = sandbox.cowbox(&["apply", "-y", "one"]).output().ok().says("the apply of session two had been cut off");
    assert_eq!([read(&sandbox, "one"), read(&sandbox, "a"), read(&sandbox, "b")], ["one\n", "two\n", "two\n"]);
    sandbox.cowbox(&["undo", "-y", "two"]).output().done();
    cut();
    let undo = sandbox.cowbox(&["undo", "-y", "one"]).output().ok();
    let _ = undo.says("the apply of session two had been cut off; it was rolled back").says("1 path taken back");
    assert!(!sandbox.repo().join("one").exists());
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["host\n", "host\n"]);
    end(&sandbox);
}

/// Two files of the host's, of which one has landed.
fn half_landed(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    sandbox.write("a", "host\n");
    sandbox.write("b", "host\n");
    sandbox.shell(&["--name", "it"], "echo session > a; echo session > b").output().done();
    cut_off(&sandbox, &["apply", "-y", "it"], At::Middle, |repo| {
        has("a", "session\n")(repo) && has("b", "host\n")(repo)
    });
    sandbox
}

fn a_file_that_was_edited_after_it_landed_is_not_rolled_back(engine: Engine) {
    let sandbox = half_landed(engine);
    append(&sandbox, "a", "edit\n");
    let undo = sandbox.cowbox(&["undo", "-y", "it"]).output().code(3);
    let _ = undo.says("the host has changed a since").says("`cowbox apply -y it` completes it and keeps that");
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["session\nedit\n", "host\n"]);
    let _ = sandbox.cowbox(&["apply", "-y", "it"]).output().ok().says("it is complete now");
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["session\nedit\n", "session\n"]);
    let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().code(3).says("a was changed on the host since");
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["session\nedit\n", "host\n"]);
    end(&sandbox);
}

/// As most editors do it.
fn a_file_that_was_replaced_after_it_landed_is_not_rolled_back(engine: Engine) {
    let sandbox = half_landed(engine);
    fs::write(sandbox.repo().join("a~"), "edit\n").unwrap();
    fs::rename(sandbox.repo().join("a~"), sandbox.repo().join("a")).unwrap();
    let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().code(3).says("the host has changed a since");
    assert_eq!(read(&sandbox, "a"), "edit\n");
    let _ = sandbox.cowbox(&["apply", "-y", "it"]).output().ok().says("it is complete now");
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["edit\n", "session\n"]);
    end(&sandbox);
}

fn what_the_host_put_into_a_new_directory_is_not_rolled_back(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("z", "host\n");
    sandbox.shell(&["--name", "it"], "mkdir -p new/deep; echo x > new/deep/f; echo session > z").output().done();
    cut_off(&sandbox, &["apply", "-y", "it"], At::Middle, |repo| repo.join("new").exists() && has("z", "host\n")(repo));
    let (own, away) = (sandbox.repo().join("new/deep/own"), sandbox.repo().join("own"));
    fs::write(&own, "host\n").unwrap();
    let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().code(3).says("the host has changed new since");
    assert_eq!(fs::read_to_string(&own).unwrap(), "host\n");
    fs::rename(own, &away).unwrap();
    let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().ok().says("it was rolled back");
    assert!(!sandbox.repo().join("new").exists());
    assert_eq!([read(&sandbox, "own"), read(&sandbox, "z")], ["host\n", "host\n"]);
    end(&sandbox);
}

fn what_the_host_put_into_a_directory_that_goes_is_not_lost(engine: Engine) {
    for script in ["rm a; rm -r gone", "rm a; rm -r gone; echo session > gone"] {
        let sandbox = Sandbox::new(engine);
        for path in ["a", "gone/f", "gone/deep/f"] {
            sandbox.write(path, "host\n");
        }
        sandbox.shell(&["--name", "it"], script).output().done();
        cut_off(&sandbox, &["apply", "-y", "it"], At::Middle, |repo| {
            !repo.join("a").exists() && repo.join("gone/f").exists()
        });
        fs::write(sandbox.repo().join("gone/deep/own"), "host\n").unwrap();
        let _ = sandbox.cowbox(&["apply", "-y", "it"]).output().code(1).says("gone: the host has changed it meanwhile");
        assert_eq!(read(&sandbox, "gone/deep/own"), "host\n");
        let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().ok().says("it was rolled back");
        for path in ["a", "gone/f", "gone/deep/f", "gone/deep/own"] {
            assert_eq!(read(&sandbox, path), "host\n", "{path} after {script}");
        }
        end(&sandbox);
    }
}

fn a_file_that_an_undo_brought_back_and_the_host_edited_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("a", "host\n");
    sandbox.write("b", "host\n");
    sandbox.shell(&["--name", "it"], "echo session > a; echo session > b").output().done();
    sandbox.cowbox(&["apply", "-y", "it"]).output().done();
    cut_off(&sandbox, &["undo", "-y", "it"], At::Middle, |repo| {
        has("a", "host\n")(repo) && has("b", "session\n")(repo)
    });
    append(&sandbox, "a", "edit\n");
    let _ = sandbox.cowbox(&["apply", "-y", "it"]).output().code(3).says("the host has changed a since");
    assert_eq!(read(&sandbox, "a"), "host\nedit\n");
    let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().ok().says("it is complete now");
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["host\nedit\n", "host\n"]);
    end(&sandbox);
}

fn an_edit_before_the_completion_is_not_taken_for_what_was_applied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("f", "host\n");
    sandbox.shell(&["--name", "it"], "echo session > f").output().done();
    cut_off(&sandbox, &["apply", "-y", "it"], At::Committed, |_| true);
    fs::write(sandbox.repo().join("f"), "edit\n").unwrap();
    let _ = sandbox.cowbox(&["show", "it"]).output().ok().says("it is complete now");
    sandbox.accept_repo();
    sandbox.shell(&["--resume", "it"], "echo more > f").output().done();
    let _ = sandbox.cowbox(&["apply", "-y", "it"]).output().code(3);
    assert_eq!(read(&sandbox, "f"), "edit\n");
    end(&sandbox);
}

fn a_file_made_again_before_the_completion_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("x", "host\n");
    sandbox.write("d/y", "host\n");
    sandbox.shell(&["--name", "it"], "rm -r x d").output().done();
    cut_off(&sandbox, &["apply", "-y", "it"], At::Committed, |_| true);
    fs::create_dir(sandbox.repo().join("d")).unwrap();
    for path in ["x", "d/y"] {
        fs::write(sandbox.repo().join(path), "again\n").unwrap();
    }
    let _ = sandbox.cowbox(&["show", "it"]).output().ok().says("it is complete now");
    sandbox.cowbox(&["apply", "-y", "it"]).output().done();
    assert_eq!([read(&sandbox, "x"), read(&sandbox, "d/y")], ["again\n", "again\n"]);
    end(&sandbox);
}

fn an_edit_before_the_completion_of_an_undo_is_a_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("f", "host\n");
    sandbox.shell(&["--name", "it"], "echo session > f").output().done();
    sandbox.cowbox(&["apply", "-y", "it"]).output().done();
    cut_off(&sandbox, &["undo", "-y", "it"], At::Committed, |_| true);
    fs::write(sandbox.repo().join("f"), "edit\n").unwrap();
    let _ = sandbox.cowbox(&["show", "it"]).output().ok().says("it is complete now");
    let _ = sandbox.cowbox(&["apply", "-y", "it"]).output().code(3);
    assert_eq!(read(&sandbox, "f"), "edit\n");
    end(&sandbox);
}

fn new_looks_of_what_is_gone_or_something_else_are_none(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for path in ["gone", "link", "changed", "other", "plain", "dir/f"] {
        sandbox.write(format!("looks/{path}"), "host\n");
    }
    sandbox.shell(&["--name", "it"], "chmod 700 looks/* looks/dir/f").output().done();
    cut_off(&sandbox, &["apply", "-y", "it"], At::Committed, |_| true);
    let at = |path: &str| sandbox.repo().join("looks").join(path);
    let mode = |path: &str| fs::metadata(at(path)).unwrap().permissions().mode() & 0o777;
    fs::remove_file(at("gone")).unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("plain", at("link")).unwrap();
    fs::set_permissions(at("changed"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_dir_all(at("dir")).unwrap();
    fs::remove_file(at("other")).unwrap();
    fs::write(at("other"), "another one\n").unwrap();
    let before = mode("other");
    let _ = sandbox.cowbox(&["show", "it"]).output().ok().says("it is complete now");
    assert_eq!([mode("plain"), mode("changed"), mode("other")], [0o700, 0o640, before]);
    let _ = sandbox.cowbox(&["diff", "it"]).output().ok();
    end(&sandbox);
}

fn a_dry_run_touches_nothing_that_was_cut_off(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("a", "host\n");
    sandbox.shell(&["--name", "other"], "echo x > other").output().done();
    sandbox.shell(&["--name", "it"], "echo session > a; echo session > b").output().done();
    for at in [At::Begun, At::Middle, At::Committed] {
        cut_off(&sandbox, &["apply", "-y", "it"], at, |_| true);
        let before = Fingerprint::of(sandbox.repo());
        for args in [&["it"][..], &["-y", "it"], &["-y", "other"]] {
            let output = sandbox.cowbox(&["apply", "--dry-run"]).args(args).output();
            let _ = output.code(4).says("an apply of session it was cut off in the middle");
        }
        let differences = before.differences(&Fingerprint::of(sandbox.repo()));
        assert!(differences.is_empty(), "{at:?}: {}", differences.join("\n"));
        assert_eq!(journal(&sandbox), Some(at));
        sandbox.cowbox(&["undo", "-y", "it"]).output().done();
    }
    end(&sandbox);
}

fn repo_state(sandbox: &Sandbox) -> PathBuf {
    fs::read_dir(sandbox.state().join("repos")).unwrap().next().unwrap().unwrap().path()
}

fn nothing_starts_while_another_cowbox_writes(engine: Engine) {
    let sandbox = half_landed(engine);
    let lock = fs::File::open(repo_state(&sandbox).join("lock")).unwrap();
    lock.lock().unwrap();
    let _ = sandbox.sh("true").code(125).says("another cowbox is writing to");
    sandbox.cowbox(&["show", "it"]).output().done();
    drop(lock);
    sandbox.cowbox(&["undo", "-y", "it"]).output().done();
    end(&sandbox);
}

fn what_a_newer_cowbox_left_is_not_forgotten(engine: Engine) {
    let sandbox = half_landed(engine);
    let dir = sandbox.session_dir(&sandbox.session_ids()[0]);
    let journal = fs::read_dir(dir.join("journal")).unwrap().next().unwrap().unwrap().path();
    for (path, what) in [(dir.join("session.json"), "\"format\":"), (journal, "\"format\":")] {
        let text = fs::read_to_string(&path).unwrap();
        let number = text.find(what).unwrap() + what.len();
        let end = number + text[number..].find([',', '\n']).unwrap();
        fs::write(&path, format!("{}99{}", &text[..number], &text[end..])).unwrap();
        for _ in 0..2 {
            let _ = sandbox.sh("true").code(125).says("newer cowbox");
        }
        assert!(path.exists() && repo_state(&sandbox).join("pending").exists());
        fs::write(&path, text).unwrap();
    }
    // Others can be looked at all the same.
    let _ = sandbox.cowbox(&["ls"]).output().ok().says("half done");
    sandbox.cowbox(&["undo", "-y", "it"]).output().done();
    assert_eq!([read(&sandbox, "a"), read(&sandbox, "b")], ["host\n", "host\n"]);
    end(&sandbox);
}

/// As on a full disk, wherever the room ends: in what is staged, in the journal, or in what is noted at the end.
fn without_room_to_write_all_is_as_it_was(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("a", "host\n");
    sandbox.shell(&["--name", "it"], "for i in $(seq 40); do echo $i > new-$i; done; echo session > a").output().done();
    let before = Fingerprint::of(sandbox.repo()).but_for_ctime();
    let mut said = 0;
    for blocks in 1..200 {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let output = sandbox.cowbox(&["apply", "-y", "it"]).through(&script).output();
        if output.status.success() {
            break;
        }
        if output.stderr().contains("everything is as it was") {
            said += 1;
            let differences = before.differences(&Fingerprint::of(sandbox.repo()).but_for_ctime());
            assert!(differences.is_empty(), "{blocks} blocks: {}\n{}", output.stderr(), differences.join("\n"));
            assert_eq!(journal(&sandbox), None, "{blocks} blocks: {}", output.stderr());
        } else {
            assert!(output.stderr().contains("the next cowbox command here"), "{}", output.stderr());
        }
        let _ = sandbox.cowbox(&["undo", "-y", "it"]).output().exit_code();
        let differences = before.differences(&Fingerprint::of(sandbox.repo()).but_for_ctime());
        assert!(differences.is_empty(), "{blocks} blocks, undone: {}", differences.join("\n"));
    }
    assert!(said > 5, "only {said} times");
    end(&sandbox);
}

fn a_repo_is_healed_without_becoming_somebody_else(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/f", "host\n");
    let me = sandbox.run(&[], &["id", "-u"]).output().ok().stdout();
    sandbox.shell(&["--name", "it"], "echo session > dir/f; chmod 000 dir").output().done();
    let dir = sandbox.repo().join("dir");
    let is_closed = || fs::metadata(&dir).unwrap().permissions().mode() & 0o777 == 0;
    // Once where nothing is closed, once where no file in it can be reached any more.
    for closed in [false, true] {
        cut_off(&sandbox, &["apply", "-y", "it"], At::Committed, |_| is_closed() == closed);
        let output = sandbox.run(&["--on-exit", "discard"], &["id", "-u"]).output().ok();
        assert_eq!(output.stdout(), me);
        let _ = output.says("it is complete now");
        assert!(is_closed());
        sandbox.cowbox(&["undo", "-y", "it"]).output().done();
        assert_eq!(read(&sandbox, "dir/f"), "host\n");
    }
    end(&sandbox);
}
