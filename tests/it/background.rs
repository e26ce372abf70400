//! `--detach`, and what works on a live session: `exec`, `shell`, `stop`.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot, wait_until};

on_every_engine!(
    a_detached_session_runs_on_and_is_stopped,
    exec_is_in_the_same_sandbox,
    exec_gives_the_commands_exit_code,
    exec_passes_bytes_both_ways,
    exec_works_beside_a_command_in_the_foreground,
    exec_is_ended_by_a_signal_and_the_session_goes_on,
    shell_is_a_shell_on_a_terminal,
    exec_on_a_terminal_has_its_size,
    a_detached_command_that_ends_is_stopped_with_its_exit_code,
    a_detached_command_that_is_not_there_is_no_success,
    a_detached_session_outlives_its_terminal,
    a_report_of_a_detached_session_is_written_at_its_start_and_its_end,
    what_needs_a_live_session_says_so,
    what_needs_a_stopped_session_says_so,
    the_end_of_the_session_ends_what_exec_started,
);
on!(native: stopping_a_stubborn_command_takes_its_time_and_works, exec_waits_for_a_command_that_is_slow_to_start);

/// Starts a session in the background; gives its id.
#[track_caller]
fn detach(sandbox: &Sandbox, script: &str) -> String {
    let output = sandbox.shell(&["--name", "live", "--detach"], script).output().ok();
    let id = output.stdout().trim().to_owned();
    assert_eq!(sandbox.session_ids(), std::slice::from_ref(&id));
    id
}

#[track_caller]
fn stop(sandbox: &Sandbox) {
    sandbox.cowbox(&["stop", "live"]).output().done();
}

#[track_caller]
fn state(sandbox: &Sandbox) -> String {
    let json = sandbox.cowbox(&["show", "--json", "live"]).output().ok().json();
    json["state"].as_str().unwrap().to_owned()
}

fn a_detached_session_runs_on_and_is_stopped(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["--name", "live", "--detach"], "echo x > kept; echo out; echo err >&2; sleep 600");
    snapshot!(output.output(), @r"
    exit: 0
    --- stdout
    [ID]
    --- stderr
    cowbox: [ENGINE] · session live
    cowbox: running in the background · `cowbox shell live`, `cowbox stop live`
    ");
    assert_eq!(state(&sandbox), "running");
    let id = sandbox.session_ids().remove(0);
    let log = |name: &str| std::fs::read_to_string(sandbox.session_dir(&id).join("logs").join(name)).unwrap();
    wait_until("its output", || (log("stdout") == "out\n").then_some(()));
    assert!(log("stderr").contains("err\n"));
    let start = Instant::now();
    snapshot!(sandbox.cowbox(&["stop", "live"]).output(), @r"
    exit: 0
    --- stderr
    cowbox: session live is stopped · its changes: `cowbox diff live`
    ");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    sandbox.check_leftovers();
    assert_eq!(state(&sandbox), "stopped");
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn exec_is_in_the_same_sandbox(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "echo x > from-run; echo t > /tmp/private; sleep 600");
    let exec = |script: &str| sandbox.cowbox(&["exec", "live", "--", "sh", "-c", script]).output();
    wait_until("the first command", || exec("cat from-run /tmp/private").status.success().then_some(()));
    let _ = exec("cat from-run /tmp/private; pwd; id -u").ok().prints({
        let uid = if engine == Engine::Podman { 0 } else { rustix::process::geteuid().as_raw() };
        format!("x\nt\n{}\n{uid}\n", sandbox.workspace())
    });
    exec("echo y > from-exec; rm README.md").done();
    // What holds for the first command holds for the others.
    let confinement = "grep -E '^(NoNewPrivs|CapEff|CapBnd|Seccomp):' /proc/self/status";
    let second = exec(confinement).ok().stdout();
    let first = exec("grep -E '^(NoNewPrivs|CapEff|CapBnd|Seccomp):' /proc/$(pidof sleep | cut -d' ' -f1)/status")
        .ok()
        .stdout();
    assert_eq!(first, second);
    stop(&sandbox);
    assert_eq!(sandbox.changes(), ["D  README.md", "A  from-exec", "A  from-run"]);
}

/// A lease keeps the kernel from opening the program until its holder lets go.
fn exec_waits_for_a_command_that_is_slow_to_start(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = sandbox.root().join("tools/slow");
    std::fs::create_dir(sandbox.root().join("tools")).unwrap();
    std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let hold = "import fcntl, signal, sys, time\n\
        file = open(sys.argv[1], 'r+')\n\
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])\n\
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
        print('held', flush=True)\n\
        signal.sigwait([signal.SIGIO])\n\
        time.sleep(1)\n";
    let mut holder = std::process::Command::new("python3");
    let mut holder = holder.args(["-c", hold]).arg(&program).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut said).unwrap();
    let mount = format!("{}:/tmp/tools:ro", sandbox.root().join("tools").display());
    let _ = sandbox.run(&["--name", "live", "--detach", "--mount", &mount], &["/tmp/tools/slow"]).output().ok();
    assert!(holder.try_wait().unwrap().is_none(), "it holds the program");
    let _ = sandbox.cowbox(&["exec", "live", "--", "true"]).output().ok();
    assert!(holder.wait().unwrap().success());
    stop(&sandbox);
}

fn exec_gives_the_commands_exit_code(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    let exec = |command: &[&str]| sandbox.cowbox(&[&["exec", "live", "--"], command].concat()).output();
    for code in [0, 1, 3, 125, 255] {
        let _ = exec(&["sh", "-c", &format!("exit {code}")]).code(code);
    }
    let _ = exec(&["sh", "-c", "kill -9 $$"]).code(137);
    let _ = exec(&["sh", "-c", "kill -15 $$"]).code(143);
    let _ = exec(&["no-such-command"]).code(127).says("not found");
    let _ = exec(&["/no/such/command"]).code(127);
    let _ = exec(&["./README.md"]).code(126).says("executable");
    stop(&sandbox);
}

fn exec_passes_bytes_both_ways(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let exec = sandbox.cowbox(&["exec", "live", "--", "cat"]).stdin(bytes.clone()).output().ok();
    assert!(exec.stdout == bytes);
    assert_eq!(exec.stderr(), "");
    let exec = sandbox.cowbox(&["exec", "live", "--", "sh", "-c", "echo out; echo err >&2"]).output().ok();
    assert_eq!((exec.stdout().as_str(), exec.stderr().as_str()), ("out\n", "err\n"));
    stop(&sandbox);
}

fn exec_works_beside_a_command_in_the_foreground(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&["--name", "live"], "echo ready; read line; cat handed").spawn();
    running.expect("ready");
    sandbox.cowbox(&["exec", "live", "--", "sh", "-c", "echo over > handed"]).output().done();
    running.write("\n");
    let _ = running.wait().ok().prints("ready\nover\n");
}

fn exec_is_ended_by_a_signal_and_the_session_goes_on(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let script = "trap 'echo x >> ended; exit 42' TERM INT; echo ready; while :; do sleep 0.05; done";
        let mut running = sandbox.cowbox(&["exec", "live", "--", "sh", "-c", script]).spawn();
        running.expect("ready");
        running.signal(signal);
        let _ = running.wait().code(42);
    }
    assert_eq!(state(&sandbox), "running");
    let _ = sandbox.cowbox(&["exec", "live", "--", "cat", "ended"]).output().ok().prints("x\nx\n");
    stop(&sandbox);
}

fn shell_is_a_shell_on_a_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    let mut terminal = sandbox.cowbox(&["shell"]).terminal(24, 80);
    terminal.enter("echo by hand > made; test -t 0 && echo in $((40 + 2))");
    terminal.expect("in 42");
    terminal.enter("exit 5");
    assert_eq!(terminal.wait(), 5, "{}", terminal.screen());
    assert_eq!(state(&sandbox), "running");
    stop(&sandbox);
    assert_eq!(sandbox.changes(), ["A  made"]);
}

fn exec_on_a_terminal_has_its_size(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    let script =
        "echo first $(stty size); while [ \"$(stty size)\" != '40 90' ]; do sleep 0.1; done; echo resized; tty";
    let mut terminal = sandbox.cowbox(&["exec", "live", "--", "sh", "-c", script]).terminal(33, 101);
    terminal.expect("first 33 101");
    terminal.resize(40, 90);
    terminal.expect("resized");
    terminal.expect("/dev/");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    let script = "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.05; done";
    let mut terminal = sandbox.cowbox(&["exec", "live", "--", "sh", "-c", script]).terminal(33, 101);
    terminal.expect("ready");
    terminal.send("\x03");
    terminal.expect("interrupted");
    assert_eq!(terminal.wait(), 9, "{}", terminal.screen());
    stop(&sandbox);
}

fn a_detached_command_that_ends_is_stopped_with_its_exit_code(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 0.5; echo x > kept; exit 9");
    wait_until("its end", || (state(&sandbox) == "stopped").then_some(()));
    let json = sandbox.cowbox(&["show", "--json", "live"]).output().ok().json();
    assert_eq!(json["exit"], 9);
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn a_detached_command_that_is_not_there_is_no_success(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.run(&["--name", "live", "--detach", "--user", "no-such-user"], &["true"]).output().code(125);
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
    let _ = sandbox.run(&["--name", "live", "--detach"], &["no-such-command"]).output();
    wait_until("its end", || (state(&sandbox) == "stopped").then_some(()));
    let json = sandbox.cowbox(&["show", "--json", "live"]).output().ok().json();
    assert_eq!(json["exit"], 127);
}

fn a_detached_session_outlives_its_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&["--name", "live", "--detach"], "sleep 600").terminal(24, 80);
    terminal.expect("running in the background");
    assert_eq!(terminal.wait(), 0);
    terminal.close();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(state(&sandbox), "running");
    sandbox.cowbox(&["exec", "live", "--", "true"]).output().done();
    stop(&sandbox);
}

fn a_report_of_a_detached_session_is_written_at_its_start_and_its_end(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("report.json");
    let options = ["--name", "live", "--detach", "--report", file.to_str().unwrap()];
    sandbox.shell(&options, "sleep 600").output().done();
    let read = || -> serde_json::Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
    assert_eq!(read()["state"], "running");
    stop(&sandbox);
    wait_until("the report of the end", || (read()["state"] == "stopped").then_some(()));
    assert_eq!(read()["exit"], 143);
}

fn what_needs_a_live_session_says_so(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&["--name", "live"], &["true"]).output().done();
    for enter in [&["exec", "live", "--", "true"][..], &["shell"]] {
        snapshot!(sandbox.cowbox(enter).output(), @r"
        exit: 125
        --- stderr
        cowbox: error: session live is stopped, it cannot be entered
        cowbox: hint: go on in it with `cowbox run --resume live`
        ");
    }
    snapshot!(sandbox.cowbox(&["stop"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: session live is stopped, it cannot be stopped
    cowbox: hint: look at its changes with `cowbox diff live`
    ");
}

fn what_needs_a_stopped_session_says_so(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    snapshot!(sandbox.cowbox(&["run", "--resume", "live", "--", "true"]).output(), @r"
    exit: 125
    --- stderr
    cowbox: error: session live is running, it cannot be resumed
    cowbox: hint: stop it first with `cowbox stop live`
    ");
    assert_eq!(state(&sandbox), "running");
    stop(&sandbox);
}

fn the_end_of_the_session_ends_what_exec_started(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "sleep 600");
    let mut running = sandbox.cowbox(&["exec", "live", "--", "sh", "-c", "echo ready; sleep 600"]).spawn();
    running.expect("ready");
    stop(&sandbox);
    let output = running.wait();
    assert!(!output.status.success());
}

fn stopping_a_stubborn_command_takes_its_time_and_works(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    detach(&sandbox, "trap '' TERM HUP INT; echo x > kept; while :; do sleep 0.1; done");
    stop(&sandbox);
    assert_eq!(state(&sandbox), "stopped");
    assert_eq!(sandbox.changes(), ["A  kept"]);
}
