//! `run --resume`: the session goes on where it stopped.

use std::fs;

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};
use crate::session::session;

on_every_engine!(
    what_was_there_is_there_again,
    the_policy_is_the_same_again,
    a_session_is_named_by_a_part_of_its_id,
    another_engine_is_refused,
    what_cannot_change_is_refused,
    a_session_can_be_resumed_in_the_background,
    a_resumed_session_is_the_latest_only_if_it_is_the_newest,
    a_resumed_session_is_the_same_sandbox,
    a_resume_that_cannot_start_loses_nothing,
);
on!(native: the_home_is_as_it_was_left);

fn what_was_there_is_there_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox
        .shell(&["--name", "task"], "echo one > count; rm README.md; mkdir -p deep/er; chmod 700 deep")
        .output()
        .done();
    let script = "cat count; ls README.md 2>/dev/null || echo no README; echo two >> count; rm -r deep; exit 4";
    snapshot!(sandbox.cowbox(&["run", "--resume", "task", "--", "sh", "-c", script]).output(), @r"
    exit: 4
    --- stdout
    one
    no README
    --- stderr
    cowbox: [ENGINE] · session task
    cowbox: 2 changes kept · review with `cowbox diff task`
    ");
    assert_eq!(sandbox.changes(), ["D  README.md", "A  count"]);
    let _ = sandbox.cowbox(&["run", "--resume", "task", "--", "cat", "count"]).output().ok().prints("one\ntwo\n");
    assert_eq!(sandbox.session_ids().len(), 1);
    let json = sandbox.cowbox(&["show", "--json"]).output().ok().json();
    assert_eq!(json["exit"], 0);
    let events: Vec<&str> = json["history"].as_array().unwrap().iter().map(|e| e["event"].as_str().unwrap()).collect();
    assert_eq!(events.iter().filter(|e| **e == "running").count(), 3, "{events:?}");
}

fn the_policy_is_the_same_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let data = sandbox.root().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("file"), "mounted\n").unwrap();
    let mount = format!("{}:/tmp/data", data.display());
    let options = ["--name", "task", "--user", "root", "--workdir", "src", "--mount", &mount];
    sandbox.run(&options, &["true"]).output().done();
    let again = sandbox.cowbox(&["run", "--resume", "task", "--", "sh", "-c", "id -u; pwd; cat /tmp/data/file"]);
    let _ = again.output().ok().prints(format!("0\n{}/src\nmounted\n", sandbox.workspace()));
    // What is said again is new.
    let again = sandbox.cowbox(&["run", "--resume", "task", "--workdir", ".", "--", "pwd"]).output();
    let _ = again.ok().prints(format!("{}\n", sandbox.workspace()));
}

fn a_session_is_named_by_a_part_of_its_id(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("touch new").done();
    let id = sandbox.session_ids().remove(0);
    for name in [&id[..], &id[..10], &id.to_lowercase()[..12]] {
        sandbox.cowbox(&["run", "--resume", name, "--", "ls", "new"]).output().done();
    }
    let _ = sandbox.cowbox(&["run", "--resume", "nobody", "--", "true"]).output().code(125).says("nobody");
}

fn another_engine_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&["--name", "task"], &["true"]).output().done();
    let other = if engine == Engine::Native { "podman" } else { "native" };
    let output = sandbox.cowbox(&["run", "--engine", other, "--resume", "task", "--", "true"]).output().code(125);
    let _ = output.says(&format!("belongs to {engine}")).says("hint:");
    // Said, but the same.
    sandbox.cowbox(&["run", "--engine", engine.name(), "--resume", "task", "--", "true"]).output().done();
}

fn what_cannot_change_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&["--name", "task"], &["true"]).output().done();
    for options in [["--name", "other"], ["--mount", "/usr:/tmp/usr"], ["--image", "debian:12"]] {
        let args = [&["run", "--resume", "task"], &options[..], &["--", "true"]].concat();
        let _ = sandbox.cowbox(&args).output().code(125);
    }
}

fn a_session_can_be_resumed_in_the_background(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "task"], "echo x > kept").output().done();
    let id = sandbox.session_ids().remove(0);
    let output = sandbox.cowbox(&["run", "--resume", "task", "--detach", "--", "sleep", "600"]).output().ok();
    assert_eq!(output.stdout().trim(), id);
    let _ = sandbox.cowbox(&["exec", "task", "--", "cat", "kept"]).output().ok().prints("x\n");
    sandbox.cowbox(&["stop", "task"]).output().done();
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn a_resumed_session_is_the_latest_only_if_it_is_the_newest(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&["--name", "old"], &["touch", "old"]).output().done();
    sandbox.run(&["--name", "new"], &["touch", "new"]).output().done();
    assert_eq!(sandbox.changes(), ["A  new"]);
    let _ = sandbox.cowbox(&["diff", "--name-status", "old"]).output().ok().prints("A  old\n");
}

fn the_home_is_as_it_was_left(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    fs::write(sandbox.home().join("mine"), "mine\n").unwrap();
    let script = "echo changed >> ~/mine; echo x > ~/.made";
    sandbox.shell(&["--name", "task"], script).output().done();
    let again = sandbox.cowbox(&["run", "--resume", "task", "--", "sh", "-c", "cat ~/mine ~/.made"]).output();
    let _ = again.ok().prints("mine\nchanged\nx\n");
    assert_eq!(fs::read_to_string(sandbox.home().join("mine")).unwrap(), "mine\n");
    assert!(!sandbox.home().join(".made").exists());
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
