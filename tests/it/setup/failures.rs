//! A setup that fails, is interrupted or killed: said, logged, never kept.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::{has_run, with_script};
use crate::common::{Engine, Output, Running, Sandbox, engine_call, on_containers, on_every_engine, wait_until};
use crate::conflicts::replace;

on_every_engine!(
    a_failed_setup_says_its_last_lines_and_where_the_rest_is,
    after_a_failure_it_is_tried_again,
    an_interrupted_setup_leaves_nothing,
    a_killed_setup_is_cleared_away_by_the_next_one,
);
on_containers!(a_killed_setup_is_cleared_away_by_gc);

/// The log that the error names.
#[track_caller]
fn log_of(output: &Output) -> String {
    let said = output.stderr();
    let (_, rest) = said.split_once("its whole output is in ").unwrap_or_else(|| panic!("{said}"));
    fs::read_to_string(PathBuf::from(rest.lines().next().unwrap().trim())).unwrap()
}

fn a_failed_setup_says_its_last_lines_and_where_the_rest_is(engine: Engine) {
    // Docker brings two streams, and not always in order.
    let script = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo out $i; done\nsleep 0.5; echo 'bad \u{1b}[31mnews' >&2\nexit 3\n";
    let sandbox = with_script(engine, script);
    let output = sandbox.sh("echo never").code(125).prints("");
    let said = output.stderr();
    assert!(said.contains("setup step `sh ./setup.sh` of setup.sh failed with exit code 3"), "{said}");
    assert!(said.contains("out 100\n") && said.contains("news") && said.contains("out 85\n"), "{said}");
    assert!(!said.contains("out 1\n") && !said.contains('\u{1b}'), "{said}");
    assert!(said.contains("`--setup none` runs without it"), "{said}");
    let log = log_of(&output);
    assert!(log.starts_with("out 1\nout 2\n") && log.contains("out 100\n") && log.contains("\u{1b}[31mnews"), "{log}");
    assert!(sandbox.prepared().is_empty());
    sandbox.shell(&["--setup", "none"], "echo works").output().ok().prints("works\n").done();
}

/// Whatever it has left, whoever owns it.
fn after_a_failure_it_is_tried_again(engine: Engine) {
    let mess =
        "mkdir -p a/b; echo x > a/b/f; rm -r src; chown 5:5 a/b/f a/b 2>/dev/null; chmod 0 a/b/f a/b a; echo x > ~/f\n";
    let sandbox = with_script(engine, &format!("{mess}exit 1\n"));
    for _ in 0..2 {
        let output = sandbox.sh("true").code(125);
        assert!(has_run(&output), "{}", output.stderr());
        let left: Vec<_> = fs::read_dir(sandbox.prepared_dir()).unwrap().map(|e| e.unwrap().path()).collect();
        let dirs: Vec<_> = left.iter().filter(|path| path.is_dir()).collect();
        assert_eq!(dirs.len(), 1, "{dirs:?}");
        assert!(dirs[0].join("logs").is_dir());
    }
    sandbox.change_repo(|repo| replace(repo, "setup.sh", "echo good > made\n"));
    sandbox.sh("cat made src/main.c > /dev/null && ! test -e a").done();
}

/// Starts a setup that never ends, and gives the container's name where there is one.
fn endless(sandbox: &Sandbox, options: &[&str]) -> (Running, Option<String>) {
    let running = sandbox.shell(options, "echo never").spawn();
    let note = wait_until("the setup to begin", || {
        let dirs = fs::read_dir(sandbox.prepared_dir()).ok()?.flatten().map(|entry| entry.path());
        let dir = dirs.into_iter().find(|path| path.extension().is_some_and(|e| e == "new"))?;
        dir.join("upper/begun").exists().then(|| fs::read(dir.join("room.json")).unwrap())
    });
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap();
    (running, note["incarnation"]["container"].as_str().map(str::to_owned))
}

const ENDLESS: &str = "echo x > begun; while :; do sleep 1; done\n";

fn an_interrupted_setup_leaves_nothing(engine: Engine) {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let sandbox = with_script(engine, ENDLESS);
        let (running, container) = endless(&sandbox, &[]);
        running.signal(signal);
        let output = running.wait().prints("");
        assert_eq!(output.exit_code(), 130, "{}", output.stderr());
        assert!(output.stderr().contains("interrupted; the environment is not prepared"), "{}", output.stderr());
        assert!(container.is_none_or(|name| engine_call(engine, &["container", "inspect", &name]).is_none()));
        assert!(sandbox.prepared().is_empty() && sandbox.session_ids().is_empty());
        sandbox.check_leftovers();
        sandbox.shell(&["--setup", "none"], "true").output().done();
    }
}

fn killed(sandbox: &Sandbox, options: &[&str]) -> Option<String> {
    let (running, container) = endless(sandbox, options);
    running.signal(Signal::SIGKILL);
    drop(running);
    std::thread::sleep(Duration::from_millis(200));
    container
}

fn a_killed_setup_is_cleared_away_by_the_next_one(engine: Engine) {
    let sandbox = with_script(engine, &format!("[ \"$GO\" = yes ] && exit 0\n{ENDLESS}"));
    let container = killed(&sandbox, &["--setup-env", "GO=no"]);
    // The same environment: the value of a secret is no part of it.
    sandbox.shell(&["--setup-env", "GO=yes"], "! test -e begun && echo now").output().ok().prints("now\n").done();
    assert_eq!(sandbox.prepared().len(), 1);
    assert!(container.is_none_or(|name| engine_call(engine, &["container", "inspect", &name]).is_none()));
}

fn a_killed_setup_is_cleared_away_by_gc(engine: Engine) {
    let sandbox = with_script(engine, ENDLESS);
    let container = killed(&sandbox, &[]).unwrap();
    // Its children take a moment to end.
    wait_until("gc to remove it", || {
        sandbox.cowbox(&["gc"]).output().done();
        engine_call(engine, &["container", "inspect", &container]).is_none().then_some(())
    });
    // They tell the engine, which may be busy.
    wait_until("its children to end", || sandbox.leftovers().is_empty().then_some(()));
    sandbox.check_leftovers();
}
