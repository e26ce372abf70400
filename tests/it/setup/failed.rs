//! What a failed setup left can be looked at, and goes again without a trace.

use std::fs;

use nix::sys::signal::Signal;

use super::{has_run, prepare, with_script};
use crate::common::{Engine, Sandbox, home_layer, on, on_every_engine, wait_until};
use crate::conflicts::replace;

on_every_engine!(
    a_shell_sees_what_there_was_and_changes_nothing,
    what_is_left_of_a_failure_goes_with_its_session,
    a_second_failure_takes_the_place_of_the_first,
    whoever_is_killed_while_looking_leaves_nothing,
);
on!(native:
    a_failed_session_is_only_for_looking,
    the_name_of_a_failed_session_is_free_again,
    a_failed_prepare_can_be_looked_at_too,
    nothing_is_kept_that_was_to_be_discarded,
    what_is_gone_is_said,
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
