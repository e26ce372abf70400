//! `cowbox trust`: exactly what is asked for, and nothing without a yes.

use std::fs;

use serde_json::json;

use super::{rewrite, run, up, with};
use crate::common::{Engine, Sandbox, on_containers, on_every_engine, snapshot};

on_every_engine!(
    what_is_asked_is_listed_and_needs_a_yes,
    with_consent_a_command_runs_on_the_host_before,
    a_script_that_changed_is_asked_for_again,
    a_command_on_the_host_that_fails_is_the_end,
);
on_containers!(with_consent_a_directory_of_the_host_is_there, consent_is_not_asked_for_a_link_out_of_the_repo);

/// `cowbox trust ARGS`
fn trust(sandbox: &Sandbox, args: &[&str]) -> crate::common::Output {
    sandbox.cowbox(&["trust"]).args(args).output()
}

fn what_is_asked_is_listed_and_needs_a_yes(engine: Engine) {
    let sandbox = with(
        engine,
        json!({
            "initializeCommand": "touch /somewhere",
            "privileged": true,
            "mounts": ["source=/etc,target=/host-etc,type=bind,readonly"],
            "capAdd": ["SYS_PTRACE", "NET_ADMIN"],
            "securityOpt": ["seccomp=unconfined"],
            "runArgs": ["--network=host"],
        }),
    );
    snapshot!(trust(&sandbox, &[]), @r#"
    exit: 4
    --- stdout
    asked    privileged: true
             takes nearly all walls between the container and the host away
    asked    capAdd: "NET_ADMIN"
             gives the container more rights
    asked    securityOpt: "seccomp=unconfined"
             changes what protects the host
    asked    mounts: {"readonly":true,"source":"/etc","target":"/host-etc","type":"bind"}
             mounts files of the host
    asked    runArgs: "--network=host"
             changes the network
    asked    initializeCommand: "touch /somewhere"
             runs on the host, outside the sandbox
             your yes is for this text and for files of the repository that stand in it, as they are now;
             files that it runs in turn are not part of it and may change later: read those, too
    --- stderr
    cowbox: error: 6 things need your consent; nothing was allowed
    cowbox: hint: `cowbox trust -y` allows exactly what is listed, until it changes
    "#);
    let listed = trust(&sandbox, &["--json"]).ok().json();
    assert_eq!((listed["asked"].as_array().unwrap().len(), &listed["agreed"]), (6, &json!([])));
    trust(&sandbox, &["-y"]).says("6 of 6 allowed; `cowbox trust --revoke` takes it back").done();
    let allowed = trust(&sandbox, &[]).ok().says("asks for nothing that needs your consent").stdout();
    assert_eq!(allowed.lines().filter(|line| line.starts_with("allowed  ")).count(), 6, "{allowed}");
    assert!(allowed.contains("allowed  runArgs: \"--network=host\"\n") && !allowed.contains("asked"), "{allowed}");
    // One thing more, and a change: only these are asked for.
    rewrite(&sandbox, json!({ "privileged": true, "runArgs": ["--network=none", "--pid=host"] }));
    let listed = trust(&sandbox, &["--json"]).ok().json();
    let asked: Vec<&str> = listed["asked"].as_array().unwrap().iter().map(|a| a["consent"].as_str().unwrap()).collect();
    assert_eq!(asked, ["runArgs: \"--network=none\"", "runArgs: \"--pid=host\""]);
    trust(&sandbox, &["--revoke"]).says("6 agreements").done();
    assert_eq!(trust(&sandbox, &["--json"]).ok().json()["asked"].as_array().unwrap().len(), 3);
    trust(&sandbox, &["--revoke"]).says("nothing was allowed to this repository").done();
    let dry = sandbox.cowbox(&["prepare", "--dry-run", "--engine", engine.name()]).output().ok();
    let _ = dry.says("`cowbox trust` shows what is asked for, and allows it");
}

fn with_consent_a_command_runs_on_the_host_before(engine: Engine) {
    let config = json!({
        "initializeCommand": "pwd > ../trace; if read x; then echo open; else echo closed; fi >> ../trace; echo said",
        "postStartCommand": "true",
        "userEnvProbe": "none",
    });
    let sandbox = with(engine, config);
    let trace = sandbox.home().join("trace");
    let output = run(&sandbox, &[], &["echo", "hi"]).output().ok().prints("hi\n");
    let _ = output.says("left out: initializeCommand (runs on the host, outside the sandbox)");
    assert!(!trace.exists());
    trust(&sandbox, &["-y"]).done();
    let output = run(&sandbox, &[], &["echo", "hi"]).stdin("x\n").output().ok().prints("hi\n").says("said\n");
    assert!(!output.stderr().contains("left out"));
    let expected = format!("{}\nclosed\n", sandbox.repo().canonicalize().unwrap().display());
    assert_eq!(fs::read_to_string(&trace).unwrap(), expected);
    // Nothing of it for others: not with another setup, not with a plan alone.
    fs::remove_file(&trace).unwrap();
    let mut options = vec!["--setup", "none"];
    if engine.has_images() {
        options.extend(["--image", "localhost/cowbox-test/tiny:latest"]);
    }
    run(&sandbox, &options, &["true"]).output().done();
    sandbox.cowbox(&["prepare", "--dry-run", "--engine", engine.name()]).output().done();
    assert!(!trace.exists());
    trust(&sandbox, &["--revoke"]).done();
    run(&sandbox, &[], &["true"]).output().done();
    assert!(!trace.exists());
}

fn a_script_that_changed_is_asked_for_again(engine: Engine) {
    let sandbox = with(engine, json!({ "initializeCommand": ["sh", "./init.sh"], "userEnvProbe": "none" }));
    sandbox.write("init.sh", "echo one > ../trace\n");
    let trace = sandbox.home().join("trace");
    trust(&sandbox, &["-y"]).done();
    run(&sandbox, &[], &["true"]).output().done();
    assert_eq!(fs::read_to_string(&trace).unwrap(), "one\n");
    sandbox.change_repo(|repo| crate::conflicts::replace(repo, "init.sh", "echo two > ../trace\n"));
    let _ = run(&sandbox, &[], &["true"]).output().ok().says("left out: initializeCommand");
    assert_eq!(fs::read_to_string(&trace).unwrap(), "one\n");
    trust(&sandbox, &["-y"]).done();
    run(&sandbox, &[], &["true"]).output().done();
    assert_eq!(fs::read_to_string(&trace).unwrap(), "two\n");
}

fn a_command_on_the_host_that_fails_is_the_end(engine: Engine) {
    let commands = json!({ "bad": "exit 3", "good": ["sh", "-c", "sleep 0.3; echo waited > ../trace"] });
    let sandbox = with(engine, json!({ "initializeCommand": commands, "userEnvProbe": "none" }));
    trust(&sandbox, &["-y"]).done();
    let output = run(&sandbox, &[], &["echo", "never"]).output().code(125).prints("");
    let _ = output.says("initializeCommand `exit 3` on the host failed with exit code 3");
    assert_eq!(fs::read_to_string(sandbox.home().join("trace")).unwrap(), "waited\n");
    assert!(sandbox.session_ids().is_empty());
}

fn with_consent_a_directory_of_the_host_is_there(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let shared = sandbox.home().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("file"), "of the host\n").unwrap();
    let mount = format!("source={},target=/shared,type=bind,readonly", shared.display());
    super::write(&sandbox, json!({ "mounts": [mount], "userEnvProbe": "none" }));
    let script = "cat /shared/file || echo none; echo x > /shared/new";
    let _ = up(&sandbox, &[], script).output().code(1).prints("none\n").says("left out: mounts[0]");
    trust(&sandbox, &["-y"]).done();
    let _ = up(&sandbox, &[], script).output().code(1).prints("of the host\n");
    assert!(!shared.join("new").exists());
}

/// Who says yes to a directory of the repo means no other.
fn consent_is_not_asked_for_a_link_out_of_the_repo(engine: Engine) {
    let mount = json!({ "type": "bind", "source": "${localWorkspaceFolder}/data", "target": "/data" });
    let sandbox = with(engine, json!({ "mounts": [mount], "userEnvProbe": "none" }));
    fs::create_dir(sandbox.root().join("prey")).unwrap();
    fs::write(sandbox.root().join("prey/file"), "x").unwrap();
    std::os::unix::fs::symlink(sandbox.root().join("prey"), sandbox.repo().join("data")).unwrap();
    trust(&sandbox, &["-y"]).ok().says("asks for nothing that needs your consent").done();
    run(&sandbox, &[], &["test", "!", "-e", "/data"]).output().ok().done();
}
