//! Signals to cowbox itself: the sandbox ends, its changes stay, nothing is left.

use std::fs;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;

use crate::common::{Engine, Sandbox, on_every_engine, wait_until};

on_every_engine!(
    sigterm_stops_the_sandbox_and_keeps_the_changes,
    sighup_stops_the_sandbox_and_keeps_the_changes,
    a_command_may_clean_up_when_it_is_stopped,
    a_second_sigterm_does_not_wait_for_a_stubborn_command,
    sigint_by_kill_reaches_the_command_once,
    user_signals_reach_the_command,
    a_killed_cowbox_is_found_stopped_with_its_changes,
    a_signal_at_any_moment_leaves_nothing,
    a_signal_while_the_engine_is_tried_leaves_nothing,
);

fn stopped_by(engine: Engine, signal: Signal) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&[], "echo x > kept; echo ready; sleep 600 & sleep 600").spawn();
    running.expect("ready");
    running.signal(signal);
    let _ = running.wait().code(143);
    sandbox.check_leftovers();
    assert_eq!(sandbox.only_record()["state"], "stopped");
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn sigterm_stops_the_sandbox_and_keeps_the_changes(engine: Engine) {
    stopped_by(engine, Signal::SIGTERM);
}

fn sighup_stops_the_sandbox_and_keeps_the_changes(engine: Engine) {
    stopped_by(engine, Signal::SIGHUP);
}

fn a_command_may_clean_up_when_it_is_stopped(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "trap 'echo x > cleaned; exit 42' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = sandbox.shell(&[], script).spawn();
    running.expect("ready");
    running.signal(Signal::SIGTERM);
    let _ = running.wait().code(42);
    assert_eq!(sandbox.changes(), ["A  cleaned"]);
}

fn a_second_sigterm_does_not_wait_for_a_stubborn_command(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "trap '' TERM; echo x > kept; echo ready; while :; do echo x > kept; sleep 0.05; done";
    let mut running = sandbox.shell(&[], script).spawn();
    running.expect("ready");
    running.signal(Signal::SIGTERM);
    std::thread::sleep(Duration::from_millis(500));
    assert!(running.is_running(), "the first one only asks");
    let second = SystemTime::now();
    running.signal(Signal::SIGTERM);
    let _ = running.wait().code(137);
    // The command itself has ten seconds from the first one on; an engine may take its time to clear away.
    let kept = sandbox.session_dir(&sandbox.session_ids()[0]).join("upper/kept");
    let lived = fs::metadata(kept).unwrap().modified().unwrap().duration_since(second).unwrap_or_default();
    assert!(lived < Duration::from_secs(9), "{lived:?}");
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

/// Counts in the command how often a signal arrives.
fn counted(engine: Engine, signal: Signal) {
    let sandbox = Sandbox::new(engine);
    let name = signal.as_str().trim_start_matches("SIG");
    let script = format!(
        "n=0; trap 'n=$((n+1)); echo got' {name}; echo ready
        i=0; while [ $i -lt 40 ] && [ $n = 0 ]; do sleep 0.1; i=$((i+1)); done
        sleep 1; echo count=$n; exit 9"
    );
    let mut running = sandbox.shell(&[], &script).spawn();
    running.expect("ready");
    running.signal(signal);
    let output = running.wait().code(9);
    assert!(output.stdout().ends_with("count=1\n"), "{output}");
}

fn sigint_by_kill_reaches_the_command_once(engine: Engine) {
    counted(engine, Signal::SIGINT);
    let sandbox = Sandbox::new(engine);
    // Not one long sleep: a shell that is interrupted between fork and exec of its child loses the signal.
    let mut running = sandbox.shell(&[], "echo ready; while :; do sleep 0.1; done").spawn();
    running.expect("ready");
    running.signal(Signal::SIGINT);
    let _ = running.wait().code(130);
}

fn user_signals_reach_the_command(engine: Engine) {
    counted(engine, Signal::SIGUSR1);
    counted(engine, Signal::SIGUSR2);
}

fn a_killed_cowbox_is_found_stopped_with_its_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "trap '' TERM HUP; echo x > kept; rm README.md; echo ready; while :; do sleep 0.1; done";
    let mut running = sandbox.shell(&[], script).spawn();
    running.expect("ready");
    assert_eq!(sandbox.only_record()["state"], "running");
    running.signal(Signal::SIGKILL);
    wait_until("the end of cowbox", || (!running.is_running()).then_some(()));
    let listed = sandbox.cowbox(&["ls", "--json"]).output().ok();
    assert_eq!(listed.json()["sessions"][0]["state"], "stopped");
    sandbox.check_leftovers();
    assert_eq!(sandbox.changes(), ["D  README.md", "A  kept"]);
    // It can go on as if nothing had happened.
    let id = sandbox.session_ids().remove(0);
    let _ = sandbox.cowbox(&["run", "--resume", &id, "--", "cat", "kept"]).output().ok().prints("x\n");
}

fn a_signal_at_any_moment_leaves_nothing(engine: Engine) {
    signals_at(&Sandbox::new(engine), &[0, 5, 20, 50, 100, 150, 200, 250, 300, 400, 600]);
}

fn a_signal_while_the_engine_is_tried_leaves_nothing(engine: Engine) {
    signals_at(&Sandbox::cold(engine), &[50, 200, 400, 600, 800, 1200]);
}

/// SIGTERM so many milliseconds after the start.
#[track_caller]
fn signals_at(sandbox: &Sandbox, delays: &[u64]) {
    for delay in delays {
        let running = sandbox.shell(&[], "sleep 600").spawn();
        std::thread::sleep(Duration::from_millis(*delay));
        running.signal(Signal::SIGTERM);
        let output = running.wait();
        assert!(!output.status.success(), "{delay} ms: {output}");
    }
    sandbox.check_leftovers();
    for id in sandbox.session_ids() {
        assert_eq!(sandbox.record(&id).expect("a record")["state"], "stopped", "{id}");
    }
}
