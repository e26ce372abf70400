//! `--memory`, `--cpus`, `--pids`: enforced, or refused before anything starts.

use crate::common::{Engine, Output, Sandbox, on_every_engine};

on_every_engine!(
    pids_are_limited_or_refused,
    memory_is_limited_or_refused,
    cpus_are_limited_or_refused,
    without_limits_nothing_is_refused,
);

/// Whether this engine must be able to: a daemon, or anything of root's. Elsewhere it depends on the machine.
fn must_enforce(engine: Engine) -> bool {
    engine == Engine::Docker || rustix::process::geteuid().is_root()
}

/// A limit was refused: then in time, with a reason and what to do.
fn refused(sandbox: &Sandbox, output: &Output, option: &str) -> bool {
    if output.exit_code() != 125 {
        return false;
    }
    let said = output.stderr();
    assert!(!must_enforce(sandbox.engine()), "{said}");
    assert!(said.contains("cannot enforce") && said.contains(option) && said.contains("hint:"), "{said}");
    assert!(output.stdout().is_empty());
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
    true
}

fn pids_are_limited_or_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "i=0; while [ $i -lt 60 ]; do sleep 3 & i=$((i+1)); done 2>/dev/null; echo all started";
    let output = sandbox.shell(&["--pids", "24"], script).output();
    if !refused(&sandbox, &output, "--pids") {
        assert!(!output.stdout().contains("all started"), "{output}");
    }
}

fn memory_is_limited_or_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // `tail` keeps a line whole.
    let script = "head -c 300000000 /dev/zero | tail -n 1 | wc -c";
    let output = sandbox.shell(&["--memory", "64m"], script).output();
    if !refused(&sandbox, &output, "--memory") {
        assert!(!output.stdout().contains("300000000"), "{output}");
        let _ = sandbox.shell(&["--memory", "1g"], script).output().ok().prints("300000000\n");
    }
}

fn cpus_are_limited_or_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Two seconds of wanting all of one processor. A busy machine only gives less.
    let script = "timeout 2 sh -c 'while :; do :; done'; cat /proc/self/stat >/dev/null; times | tail -n 1";
    let output = sandbox.shell(&["--cpus", "0.2"], script).output();
    if !refused(&sandbox, &output, "--cpus") {
        // `0m0.40s 0m0.01s` of the children.
        let text = output.stdout();
        let user = text.split_whitespace().next().and_then(|t| t.strip_prefix("0m")?.strip_suffix('s'));
        let user: f64 = user.and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("{output}"));
        assert!(user < 0.9, "{user} seconds of processor time in two seconds");
    }
}

fn without_limits_nothing_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done; wait").done();
}
