//! `--timeout` ends everything that the command started.

use std::time::{Duration, Instant};

use crate::common::{Engine, Process, Sandbox, on_every_engine};

on_every_engine!(
    the_whole_tree_is_killed,
    a_command_that_obeys_is_ended_at_once,
    what_was_changed_before_the_timeout_is_kept,
    a_command_in_time_is_left_alone,
);

/// A number of seconds that nothing else on this machine sleeps.
fn long_sleep() -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("9{}{count:03}", std::process::id())
}

fn the_whole_tree_is_killed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let sleep = format!("sleep {}", long_sleep());
    let script = format!(
        "trap '' TERM HUP INT
        {sleep} &
        setsid sh -c 'trap \"\" TERM; {sleep}' &
        (setsid sh -c '{sleep} & {sleep}' &)
        echo started
        {sleep}; {sleep}; {sleep}"
    );
    let mark = sleep.replace(' ', "\0");
    // Long enough for a busy machine to look at what runs before it is over.
    let mut running = sandbox.shell(&["--timeout", "8s"], &script).spawn();
    running.expect("started");
    assert!(!Process::with(&mark).is_empty(), "the test does not find its own processes");
    let output = running.wait().code(124).says("time ran out");
    assert_eq!(output.stdout(), "started\n");
    let left = Process::with(&mark);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(sandbox.cowbox(&["show", "--json"]).output().ok().json()["exit"], 124);
}

fn a_command_that_obeys_is_ended_at_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // The engine's first start in this state may be slow.
    sandbox.sh("true").done();
    let start = Instant::now();
    let _ = sandbox.run(&["--timeout", "1s"], &["sleep", "600"]).output().code(124);
    let took = start.elapsed();
    // Not killed two seconds later, nor ten: but a busy machine may take its time.
    assert!(took >= Duration::from_secs(1), "{took:?}");
    let word = sandbox.run(&["--timeout", "1s"], &["sh", "-c", "trap 'echo asked; exit' TERM; sleep 600 & wait"]);
    let _ = word.output().code(124).prints("asked\n");
}

fn what_was_changed_before_the_timeout_is_kept(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--timeout", "1500ms"], "echo x > kept; sleep 600").output().code(124);
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn a_command_in_time_is_left_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--timeout", "5m"], "exit 4").output().code(4);
}
