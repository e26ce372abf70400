//! What a failed setup left can be looked at, and goes again without a trace.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{has_run, prepare, with_script};
use crate::common::{Engine, Sandbox, home_layer, on, on_every_engine, wait_until};
use crate::conflicts::replace;

on_every_engine!(
    a_shell_sees_what_there_was_and_changes_nothing,
    what_is_left_of_a_failure_goes_with_its_session,
    a_second_failure_takes_the_place_of_the_first,
    whoever_is_killed_while_looking_leaves_nothing,
    a_report_says_that_the_setup_failed_and_why,
);
on!(native:
    a_failed_session_is_only_for_looking,
    the_name_of_a_failed_session_is_free_again,
    a_failed_prepare_can_be_looked_at_too,
    nothing_is_kept_that_was_to_be_discarded,
    what_is_gone_is_said,
    a_report_tells_of_every_failure_before_the_command,
);

const HALF: &str =
    "echo half > made; rm build.sh; echo x > ~/installed; { echo tool > /usr/bin/half; } 2>/dev/null; exit 3\n";

/// The id of the only session that is not discarded.
#[track_caller]
fn failed(sandbox: &Sandbox) -> String {
    let state = |id: &String| sandbox.record(id).unwrap()["state"].clone();
    let mut ids: Vec<String> = sandbox.session_ids().into_iter().filter(|id| state(id) != "discarded").collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(state(&ids[0]), "failed");
    ids.remove(0)
}

/// A run whose setup fails.
#[track_caller]
fn fails(sandbox: &Sandbox, options: &[&str]) {
    let _ = sandbox.shell(options, "echo never").output().code(125).prints("").says("failed with exit code 3");
}

/// Everything that is left of failed and prepared environments.
fn kept(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.prepared_dir()).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
    names.collect()
}

fn a_shell_sees_what_there_was_and_changes_nothing(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    let said = sandbox.shell(&["--name", "it"], "echo never").output().code(125).prints("").stderr();
    assert!(said.contains("cowbox: hint: `cowbox shell it` looks at what there was by then\n"), "{said}");
    let id = failed(&sandbox);
    let look = "cat made ~/installed; cat /usr/bin/half 2>/dev/null; ls build.sh 2>/dev/null; echo mine > made; \
                echo mine > ~/installed; exit 7";
    let expected = if engine == Engine::Native { "half\nx\n" } else { "half\nx\ntool\n" };
    for _ in 0..2 {
        let output = sandbox.cowbox(&["shell"]).stdin(look).output().code(7).prints(expected);
        assert!(output.stderr().contains("changes are thrown away"), "{}", output.stderr());
        sandbox.check_leftovers();
    }
    sandbox.cowbox(&["exec", "it", "--", "cat", "made"]).output().ok().prints("half\n").done();
    assert_eq!(failed(&sandbox), id);
    assert!(sandbox.prepared().is_empty() && !sandbox.session_dir(&id).join("upper").exists());
    // A look is no preparation: the next run sets up anew.
    sandbox.change_repo(|repo| replace(repo, "setup.sh", "echo whole > made\n"));
    assert!(has_run(&sandbox.sh("cat made; ls build.sh").ok().prints("whole\nbuild.sh\n")));
}

fn what_is_left_of_a_failure_goes_with_its_session(engine: Engine) {
    let mess = "mkdir -p a/b; echo x > a/b/f; chown 5:5 a/b/f a/b 2>/dev/null; chmod 0 a/b/f a/b a\n";
    for verb in [&["discard", "-y"][..], &["gc"]] {
        let sandbox = with_script(engine, &format!("{mess}{HALF}"));
        fails(&sandbox, &[]);
        let id = failed(&sandbox);
        let home = sandbox.record(&id).unwrap()["setup"]["home"].as_str().map(str::to_owned);
        assert_eq!(sandbox.failed_image(&id).is_some(), engine.has_images());
        assert_eq!(home.is_some(), engine == Engine::Native);
        let image = sandbox.failed_image(&id);
        sandbox.cowbox(&["shell"]).stdin("echo x > y").output().ok().done();
        sandbox.cowbox(verb).output().ok().done();
        assert_eq!(kept(&sandbox), [""; 0]);
        assert!(image.is_none_or(|image| !crate::common::has_image(engine, &image)));
        assert!(home.is_none_or(|home| !fs::exists(home).unwrap()) && !home_layer(&id).exists());
    }
}

fn a_second_failure_takes_the_place_of_the_first(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    fails(&sandbox, &[]);
    let (first, image) = (failed(&sandbox), sandbox.failed_image(&failed(&sandbox)));
    assert!(has_run(&sandbox.sh("true").code(125)));
    assert_ne!(failed(&sandbox), first);
    assert_eq!(kept(&sandbox).len(), 1);
    assert!(image.is_none_or(|image| !crate::common::has_image(engine, &image)));
}

fn whoever_is_killed_while_looking_leaves_nothing(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    fails(&sandbox, &[]);
    let id = failed(&sandbox);
    let looking = sandbox.cowbox(&["exec", &id, "--", "sh", "-c", "echo x > begun; sleep 1000"]).spawn();
    let begun = sandbox.session_dir(&id).join("upper/begun");
    wait_until("the look to begin", || begun.exists().then_some(()));
    // Nobody else meanwhile: not even to remove it.
    let _ = sandbox.cowbox(&["discard", "-y", &id]).output().code(1).says("another cowbox is working on session");
    looking.signal(Signal::SIGKILL);
    drop(looking);
    wait_until("the next look", || {
        let output = sandbox.cowbox(&["exec", &id, "--", "sh", "-c", "ls begun; cat made"]).output();
        (output.stdout() == "half\n").then(|| output.done())
    });
    sandbox.check_leftovers();
}

fn a_failed_session_is_only_for_looking(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    fails(&sandbox, &["--name", "it"]);
    for (args, code) in [
        (&["diff"][..], 1),
        (&["apply", "-y"], 1),
        (&["undo", "-y"], 1),
        (&["stop"], 1),
        (&["run", "--resume", "it", "--", "true"], 125),
    ] {
        let output = sandbox.cowbox(args).output().code(code).prints("");
        let said = output.stderr();
        assert!(said.contains("session it is failed") && said.contains("`cowbox shell it`"), "{args:?}: {said}");
    }
    let listing = sandbox.cowbox(&["ls"]).output().ok().stdout();
    assert!(listing.contains("it") && listing.contains("failed"), "{listing}");
    assert_eq!(sandbox.cowbox(&["show", "--json"]).output().ok().json()["state"], "failed");
    let shown = sandbox.cowbox(&["show"]).output().ok().says("next: `cowbox shell it` looks at what the setup left");
    let logs = shown.stdout().lines().find_map(|line| line.strip_prefix("setup log  ").map(str::to_owned)).unwrap();
    assert!(fs::read_dir(logs).unwrap().count() > 0);
}

fn the_name_of_a_failed_session_is_free_again(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    fails(&sandbox, &["--name", "it"]);
    sandbox.change_repo(|repo| replace(repo, "setup.sh", "true\n"));
    sandbox.shell(&["--name", "it"], "echo x > new").output().ok().done();
    sandbox.cowbox(&["diff", "--name-status", "it"]).output().ok().prints("A  new\n").done();
    let _ = sandbox.shell(&["--name", "it"], "true").output().code(125).says("there is a session it already");
}

fn a_failed_prepare_can_be_looked_at_too(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    let _ = prepare(&sandbox, &[]).output().code(125).says("looks at what there was by then");
    sandbox.cowbox(&["exec", &failed(&sandbox), "--", "cat", "made"]).output().ok().prints("half\n").done();
}

fn nothing_is_kept_that_was_to_be_discarded(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    let said = sandbox.shell(&["--on-exit", "discard"], "true").output().code(125).stderr();
    assert!(!said.contains("cowbox shell"), "{said}");
    assert!(sandbox.session_ids().is_empty());
    let left = sandbox.prepared_dir().join(&kept(&sandbox)[0]);
    assert!(left.join("logs").is_dir() && !left.join("upper").exists());
}

fn what_is_gone_is_said(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    fails(&sandbox, &[]);
    fs::remove_dir_all(sandbox.prepared_dir()).unwrap();
    let output = sandbox.cowbox(&["shell"]).output().code(125);
    assert!(
        output.stderr().contains("left is gone") && output.stderr().contains("`cowbox run`"),
        "{}",
        output.stderr()
    );
}

/// Runs with a report, and reads it.
fn report(sandbox: &Sandbox, options: &[&str], command: &[&str], code: i32) -> Value {
    let file = sandbox.root().join("report.json");
    let _ = sandbox.run(&[&["--report", file.to_str().unwrap()], options].concat(), command).output().code(code);
    let read = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    fs::remove_file(file).unwrap();
    read
}

fn a_report_says_that_the_setup_failed_and_why(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    for detach in [&[][..], &["--detach"]] {
        let said = report(&sandbox, &[&["--name", "it"], detach].concat(), &["echo", "never"], 125);
        assert_eq!(said["id"], failed(&sandbox));
        assert_eq!((&said["name"], &said["state"], &said["exit"]), (&json!("it"), &json!("failed"), &json!(125)));
        assert_eq!((&said["engine"], &said["command"]), (&json!(engine.name()), &json!(["echo", "never"])));
        let why = said["error"]["message"].as_str().unwrap();
        assert!(why.contains("setup.sh") && why.contains("failed with exit code 3"), "{why}");
        let hints = said["error"]["hints"].to_string();
        assert!(hints.contains("`cowbox shell it` looks at what there was by then"), "{hints}");
    }
    // A run that works says nothing of the kind.
    sandbox.change_repo(|repo| replace(repo, "setup.sh", "true\n"));
    let said = report(&sandbox, &[], &["true"], 0);
    assert_eq!((&said["state"], said.get("error")), (&json!("stopped"), None));
}

fn a_report_tells_of_every_failure_before_the_command(engine: Engine) {
    let sandbox = with_script(engine, HALF);
    let unkept = report(&sandbox, &["--on-exit", "discard", "--name", "it"], &["true"], 125);
    let repo = sandbox.repo().canonicalize().unwrap();
    assert_eq!((&unkept["id"], &unkept["name"], &unkept["state"]), (&Value::Null, &json!("it"), &json!("failed")));
    assert_eq!((&unkept["repo"], &unkept["engine"]), (&json!(repo.to_str().unwrap()), &json!("native")));
    assert!(unkept["error"]["message"].as_str().unwrap().contains("failed with exit code 3"), "{unkept}");
    let early = report(&sandbox, &["--profile", "nobody-knows"], &["true"], 125);
    assert_eq!((&early["engine"], &early["exit"]), (&Value::Null, &json!(125)));
    assert!(early["error"]["message"].as_str().unwrap().contains("nobody-knows"), "{early}");
    // The sandbox was there, the command is not.
    let missing = report(&sandbox, &["--setup", "none", "--name", "other"], &["no-such-command"], 127);
    assert_eq!((&missing["name"], &missing["exit"]), (&json!("other"), &json!(127)));
    let again = ["run", "--resume", "other", "--engine", "podman", "--report", "-", "--", "true"];
    let resumed = sandbox.cowbox(&again).output().code(125).json();
    assert_eq!((&resumed["name"], &resumed["state"]), (&json!("other"), &json!("stopped")));
    assert!(resumed["error"]["message"].as_str().unwrap().contains("belongs to native"), "{resumed}");
}
