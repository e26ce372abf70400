//! `run --resume`: the session goes on where it stopped.

use std::fs;

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};
use crate::conflicts::{apply, edit_during, nine, nine_with, read, replace, with_git};
use crate::host::git;
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
    a_resume_that_cannot_start_leaves_the_record,
);
on!(native:
    the_home_is_as_it_was_left,
    what_the_host_puts_below_a_deleted_directory_before_a_resume_stays,
    what_the_session_could_not_see_is_not_overwritten,
    an_edit_of_the_first_run_that_was_committed_is_merged_after_a_resume,
    a_resume_makes_up_for_an_end_that_was_not_noted,
    deletions_stay_listed_where_the_end_was_not_noted,
);

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

/// Deleted, emptied and replaced directories.
fn closed_directories(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    for name in ["gone/old", "emptied/old", "replaced/old"] {
        sandbox.write(name, "x\n");
    }
    session(&sandbox, "it", "rm -r gone emptied replaced; mkdir emptied; echo file > replaced");
    sandbox.change_repo(|repo| {
        for name in ["gone/new", "emptied/new", "replaced/new"] {
            fs::write(repo.join(name), "host\n").unwrap();
        }
    });
    sandbox
}

fn what_the_host_puts_below_a_deleted_directory_before_a_resume_stays(engine: Engine) {
    let sandbox = closed_directories(engine);
    let before = sandbox.changes();
    // Also while it runs nothing of it is the session's.
    let mut running = sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo ready; read line"]).spawn();
    running.expect("ready");
    assert_eq!(sandbox.changes(), before);
    running.write("go on\n");
    running.wait().done();
    assert_eq!(sandbox.changes(), before);
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("replaced: both");
    sandbox.check_repo();
    apply(&sandbox, &["--conflict", "ours"]).done();
    for name in ["gone/new", "emptied/new", "replaced/new"] {
        assert_eq!(read(&sandbox, name), "host\n");
    }
    assert!(!sandbox.repo().join("gone/old").exists() && !sandbox.repo().join("emptied/old").exists());
}

fn what_the_session_could_not_see_is_not_overwritten(engine: Engine) {
    let sandbox = closed_directories(engine);
    let script = "mkdir gone; echo session > gone/new; echo session > emptied/new";
    sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", script]).output().done();
    let output = sandbox.cowbox(&["apply", "-y"]).output().code(3);
    let _ = output.says("gone/new: both").says("emptied/new: both");
    sandbox.check_repo();
}

fn an_edit_of_the_first_run_that_was_committed_is_merged_after_a_resume(engine: Engine) {
    let sandbox = with_git(engine);
    let edit = |repo: &std::path::Path| replace(repo, "nine", &nine_with(8, "host"));
    edit_during(&sandbox, "sed -i 's/line 2/session/' nine; echo 1 > added", edit, "");
    sandbox.change_repo(|repo| {
        // The second one was not in the commit that the session began with.
        fs::write(repo.join("added"), "host\n").unwrap();
        git(repo, &["add", "--all"]);
        git(repo, &["commit", "--quiet", "--message", "the host's"]);
    });
    let id = sandbox.session_ids().remove(0);
    sandbox.cowbox(&["run", "--resume", &id, "--", "sed", "-i", "s/line 5/again/", "nine"]).output().done();
    let output = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("added: both");
    assert_eq!(output.stderr().matches("warning").count(), 1, "{}", output.stderr());
    sandbox.check_repo();
    apply(&sandbox, &["--", "nine"]).done();
    let expected = nine_with(8, "host").replace("line 2\n", "session\n").replace("line 5\n", "again\n");
    assert_eq!(read(&sandbox, "nine"), expected);
}

fn a_resume_that_cannot_start_leaves_the_record(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    let id = session(&sandbox, "it", "sed -i 's/line 2/session/' nine");
    let before = sandbox.record(&id).unwrap();
    let options = ["run", "--resume", "it", "--detach", "--runtime", "/nowhere/runtime", "--", "true"];
    let _ = sandbox.cowbox(&options).output().code(125);
    let after = sandbox.record(&id).unwrap();
    for what in ["incarnation", "command", "policy", "history", "state"] {
        assert_eq!(after[what], before[what], "{what}");
    }
}

/// The end of a run cannot be noted on a full disk.
fn a_resume_makes_up_for_an_end_that_was_not_noted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    sandbox.write("dir/old", "x\n");
    let in_the_way = || sandbox.session_dir(&sandbox.session_ids().remove(0)).join(".new-base.jsonl");
    edit_during(&sandbox, "sed -i 's/line 5/session/' nine; rm -r dir", |_| fs::create_dir(in_the_way()).unwrap(), "");
    sandbox.change_repo(|repo| fs::write(repo.join("nine"), nine_with(5, "host")).unwrap());
    let id = sandbox.session_ids().remove(0);
    let resume = || sandbox.cowbox(&["run", "--resume", &id, "--", "true"]).output();
    let _ = resume().code(125).says("could not be written down");
    fs::remove_dir(in_the_way()).unwrap();
    resume().done();
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("nine: both");
    sandbox.check_repo();
}

fn deletions_stay_listed_where_the_end_was_not_noted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/old", "x\n");
    edit_during(
        &sandbox,
        "rm -r dir; rm README.md; echo new > new",
        // As on a full disk.
        |_| fs::create_dir(sandbox.session_dir(&sandbox.session_ids()[0]).join(".new-base.jsonl")).unwrap(),
        "",
    );
    fs::remove_dir(sandbox.session_dir(&sandbox.session_ids()[0]).join(".new-base.jsonl")).unwrap();
    apply(&sandbox, &["--", "new"]).done();
    assert_eq!(sandbox.changes(), ["D  README.md", "D  dir", "D  dir/old"]);
    apply(&sandbox, &[]).done();
    assert!(!sandbox.repo().join("dir").exists() && !sandbox.repo().join("README.md").exists());
}
