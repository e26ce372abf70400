//! Prepared once: the second start runs nothing, and a miss says why.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{STAMP, has_run, prepare, with_script};
use crate::common::{Engine, Sandbox, on, on_containers, on_every_engine};
use crate::conflicts::replace;

on_every_engine!(
    the_second_start_runs_nothing,
    two_starts_at_once_prepare_once,
    an_edit_of_a_file_that_the_setup_changes_prepares_again,
);
on_containers!(
    a_start_with_a_prepared_environment_takes_two_calls_of_the_engine,
    an_engine_that_starts_the_setup_is_asked_nothing,
    what_the_files_of_another_repository_made_is_not_used,
);
on!(native: what_has_changed_is_named, a_change_that_decides_nothing_is_no_reason);

fn the_second_start_runs_nothing(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let first = sandbox.sh("cat stamp; rm stamp").ok();
    assert!(has_run(&first));
    let second = sandbox.sh("cat stamp").ok();
    assert!(!has_run(&second) && !second.stderr().contains("prepar"), "{}", second.stderr());
    assert_eq!(first.stdout(), second.stdout());
    assert_eq!(sandbox.prepared().len(), 1);
    prepare(&sandbox, &[]).output().ok().says("it is prepared already").done();
}

fn what_has_changed_is_named(engine: Engine) {
    let sandbox = with_script(engine, "touch made\n");
    sandbox.write("requirements.txt", "");
    sandbox.sh("true").done();
    sandbox.change_repo(|repo| replace(repo, "setup.sh", "touch made more\n"));
    sandbox.sh("true").ok().says("cowbox: preparing again: setup.sh changed\n").done();
    sandbox.change_repo(|repo| {
        fs::remove_file(repo.join("requirements.txt")).unwrap();
        fs::write(repo.join("uv.lock"), "version = 1\n").unwrap();
    });
    let output = sandbox.sh("true").ok();
    for part in ["uv.lock is new", "requirements.txt is gone"] {
        assert!(output.stderr().contains(part), "{}", output.stderr());
    }
    sandbox.shell(&["--setup", "touch it"], "true").output().ok().says("the steps changed").done();
    // What was there before is still there.
    assert!(!has_run(&sandbox.sh("true").ok()));
}

fn a_change_that_decides_nothing_is_no_reason(engine: Engine) {
    let sandbox = with_script(engine, "touch made\n");
    sandbox.sh("true").done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("README.md"), "other\n").unwrap();
        fs::write(repo.join("new.c"), "x\n").unwrap();
    });
    assert!(!has_run(&sandbox.sh("test -e new.c && grep other README.md").ok()));
}

fn two_starts_at_once_prepare_once(engine: Engine) {
    let sandbox = with_script(engine, "sleep 1\ncat /proc/sys/kernel/random/uuid > stamp\n");
    let start = || sandbox.shell(&[], "cat stamp").spawn();
    let (one, two) = (start(), start());
    let outputs = [one.wait().ok(), two.wait().ok()];
    assert_eq!(outputs[0].stdout(), outputs[1].stdout());
    assert_eq!(outputs.iter().filter(|output| has_run(output)).count(), 1);
    let waited = outputs.iter().filter(|o| o.stderr().contains("another cowbox is preparing the same")).count();
    assert_eq!(waited, 1);
    assert_eq!(sandbox.prepared().len(), 1);
}

/// The layer would hide the host's edit.
fn an_edit_of_a_file_that_the_setup_changes_prepares_again(engine: Engine) {
    let sandbox = with_script(engine, "sed -i 's/api/API/' README.md\n");
    sandbox.sh("grep -q API README.md").done();
    let old = sandbox.session_ids()[0].clone();
    sandbox.change_repo(|repo| replace(repo, "README.md", "# api, new\n"));
    let output = sandbox.sh("cat README.md").ok();
    let output = output.says("preparing again: README.md changed, which the setup changes too");
    output.prints("# API, new\n").done();
    assert!(!has_run(&sandbox.sh("true").ok()));
    // The session from before goes on over what it was made with.
    // Its image may be named again: it is the one that was prepared from.
    sandbox.run(&["--resume", &old], &["cat", "README.md"]).output().ok().prints("# API\n").done();
    if engine.has_images() {
        let other = ["run", "--resume", &old, "--image", "localhost/cowbox-test/debian:latest", "--", "true"];
        let _ = sandbox.cowbox(&other).output().code(125).says("a resumed session keeps its image");
    }
}

/// A shim that writes down every call before it is the engine itself.
fn counted(sandbox: &Sandbox) -> (String, std::path::PathBuf) {
    let name = sandbox.engine().name();
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.exists()).unwrap();
    let (bin, log) = (sandbox.root().join("bin"), sandbox.root().join("calls"));
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", log.display(), real.display());
    fs::write(bin.join(name), script).unwrap();
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    (format!("{}:{path}", bin.display()), log)
}

fn a_start_with_a_prepared_environment_takes_two_calls_of_the_engine(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let (path, log) = counted(&sandbox);
    let run = || sandbox.shell(&[], "test -e stamp && echo x > new").env("PATH", &path).output().done();
    run();
    assert!(fs::read_to_string(&log).unwrap().contains("commit"), "the shim is in use");
    fs::write(&log, "").unwrap();
    run();
    let calls = fs::read_to_string(&log).unwrap();
    assert!((1..=2).contains(&calls.lines().count()), "{calls}");
}

/// It may be busy for long with a new image, and a second podman can spoil that.
fn an_engine_that_starts_the_setup_is_asked_nothing(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let (path, log) = counted(&sandbox);
    prepare(&sandbox, &[]).env("PATH", &path).output().done();
    let calls = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = calls.lines().collect();
    let start = lines.iter().position(|call| call.ends_with(" hold")).expect("a sandbox that is held");
    assert!(lines[start + 1].starts_with("exec "), "{calls}");
}

/// The same plan in another place: but what its script calls is somebody else's.
fn what_the_files_of_another_repository_made_is_not_used(engine: Engine) {
    let sandbox = with_script(engine, ". ./part\n");
    sandbox.write("part", "echo good > made\n");
    let other = sandbox.root().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("setup.sh"), ". ./part\n").unwrap();
    fs::write(other.join("part"), "echo evil > made; echo evil > /tmp/evil\n").unwrap();
    sandbox.shell(&["-C", other.to_str().unwrap()], "cat made").output().ok().prints("evil\n").done();
    sandbox.sh("cat made; ls /tmp").ok().prints("good\n").done();
}
