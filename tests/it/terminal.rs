//! With a terminal on all three streams the command has it: size, job control, Ctrl-C.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Engine, Sandbox, on_containers, on_every_engine};

on_every_engine!(
    the_command_has_a_terminal,
    the_terminal_has_a_name,
    the_window_size_is_the_terminals_and_follows_it,
    job_control_works_in_a_shell,
    without_a_command_there_is_a_shell,
    ctrl_c_reaches_the_command_once,
    ctrl_c_ends_the_command_and_leaves_nothing,
    ctrl_backslash_ends_the_command,
    the_terminal_is_as_before_at_the_end,
    a_closed_terminal_stops_the_sandbox_and_keeps_the_changes,
    sigterm_stops_a_command_on_a_terminal,
    keys_that_detach_a_container_reach_the_command,
    redirected_stdout_stays_byte_exact,
    much_output_on_a_terminal_arrives_whole,
    what_is_pasted_arrives_whole,
);
on_containers!(no_terminal_inside_unless_all_three_streams_are_one);

/// Not one long sleep: a shell that is interrupted between fork and exec of its child loses the signal.
const LOOP: &str = "echo ready; while :; do sleep 0.1; done";

fn the_command_has_a_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "test -t 0 && test -t 1 && test -t 2 && echo three terminals; exit 6";
    let mut terminal = sandbox.shell(&[], script).terminal(33, 101);
    terminal.expect("three terminals");
    assert_eq!(terminal.wait(), 6, "{}", terminal.screen());
}

fn the_terminal_has_a_name(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&[], "tty; echo tty=$?; echo x > /dev/tty && echo written").terminal(33, 101);
    terminal.expect("/dev/");
    terminal.expect("tty=0");
    terminal.expect("written");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
}

fn the_window_size_is_the_terminals_and_follows_it(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "
        trap 'echo now $(stty size)' WINCH
        echo first $(stty size)
        i=0; while [ $i -lt 100 ] && ! [ -e end ]; do sleep 0.1; i=$((i+1)); case $(stty size) in '50 120') touch end;; esac; done
        echo last $(stty size)
    ";
    let mut terminal = sandbox.shell(&["--on-exit", "keep"], script).terminal(33, 101);
    terminal.expect("first 33 101");
    terminal.resize(40, 90);
    terminal.expect("now 40 90");
    terminal.resize(50, 120);
    terminal.expect("last 50 120");
    assert_eq!(terminal.wait(), 0);
}

fn job_control_works_in_a_shell(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.run(&[], &["sh", "-i"]).env("PS1", "> ").terminal(24, 80);
    terminal.enter("echo shell is $((40 + 1))");
    terminal.expect("shell is 41");
    terminal.enter("sh -c 'echo asleep $((40 + 2)); exec sleep 600'");
    terminal.expect("asleep 42");
    terminal.send(b"\x1a");
    terminal.expect("Stopped");
    terminal.enter("echo meanwhile $((40 + 3))");
    terminal.expect("meanwhile 43");
    terminal.enter("fg");
    terminal.expect("sleep");
    // The shell prints the job before it continues it.
    std::thread::sleep(Duration::from_millis(300));
    terminal.send(b"\x03");
    terminal.enter("echo back $((40 + 4))");
    terminal.expect("back 44");
    terminal.enter("exit 7");
    assert_eq!(terminal.wait(), 7, "{}", terminal.screen());
    assert!(!terminal.screen().contains("job control"), "{}", terminal.screen());
}

fn without_a_command_there_is_a_shell(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.run(&["--on-exit", "keep"], &[]).terminal(24, 80);
    terminal.enter("echo made > by-hand; echo in $((40 + 2))");
    terminal.expect("in 42");
    // bash sets the terminal up for its next line, and an end that is typed before that is lost.
    terminal.until("a prompt", |screen| screen.text().trim_end().ends_with(['$', '#']));
    terminal.send(b"\x04");
    terminal.expect("1 change kept");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  by-hand"]);
}

fn ctrl_c_reaches_the_command_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "
        n=0; trap 'n=$((n+1))' INT; echo ready
        i=0; while [ $i -lt 30 ]; do sleep 0.1; i=$((i+1)); done
        echo count=$n; exit 9
    ";
    let mut terminal = sandbox.shell(&[], script).terminal(24, 80);
    terminal.expect("ready");
    terminal.send(b"\x03");
    terminal.expect("count=1");
    assert_eq!(terminal.wait(), 9, "{}", terminal.screen());
}

fn ctrl_c_ends_the_command_and_leaves_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&["--on-exit", "keep"], &format!("echo x > kept; {LOOP}")).terminal(24, 80);
    terminal.expect("ready");
    terminal.send(b"\x03");
    assert_eq!(terminal.wait(), 130, "{}", terminal.screen());
    sandbox.check_leftovers();
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn ctrl_backslash_ends_the_command(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&[], "ulimit -c 0; echo ready; exec sleep 600").terminal(24, 80);
    terminal.expect("ready");
    // Shells survive it; until the exec it would be lost.
    std::thread::sleep(Duration::from_millis(500));
    terminal.send(b"\x1c");
    assert_eq!(terminal.wait(), 131, "{}", terminal.screen());
}

fn the_terminal_is_as_before_at_the_end(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = sandbox.root().display();
    let around = format!(r#"stty -a > {dir}/before; "$@"; code=$?; stty -a > {dir}/after; exit $code"#);
    let call = sandbox.shell(&[], "echo $((40 + 2)); exit 3").through(&around);
    let mut terminal = call.terminal(24, 80);
    terminal.expect("cowbox:");
    let code = terminal.wait();
    let read = |name: &str| std::fs::read_to_string(sandbox.root().join(name)).unwrap();
    assert_eq!(code, 3, "{}", terminal.screen());
    assert_eq!(read("before"), read("after"));
}

fn a_closed_terminal_stops_the_sandbox_and_keeps_the_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&[], "echo x > kept; echo ready; sleep 600 & sleep 600").terminal(24, 80);
    terminal.expect("ready");
    terminal.close();
    terminal.wait();
    sandbox.check_leftovers();
    assert_eq!(sandbox.only_record()["state"], "stopped");
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn sigterm_stops_a_command_on_a_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&[], "echo x > kept; echo ready; sleep 600").terminal(24, 80);
    terminal.expect("ready");
    terminal.signal(Signal::SIGTERM);
    assert_eq!(terminal.wait(), 143, "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn keys_that_detach_a_container_reach_the_command(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Ctrl-P Ctrl-Q, which by default detaches from a container and leaves it running.
    let script = "stty raw -echo; echo ready; head -c 3 | od -An -tx1; stty sane; exit 5";
    let mut terminal = sandbox.shell(&[], script).terminal(24, 80);
    terminal.expect("ready");
    terminal.send(b"\x10\x11x");
    terminal.expect("10 11 78");
    assert_eq!(terminal.wait(), 5, "{}", terminal.screen());
}

fn redirected_stdout_stays_byte_exact(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("out");
    let call = sandbox.shell(&[], "printf 'a\\nb\\r\\n\\004c'").through(&format!(r#"exec "$@" > {}"#, file.display()));
    let mut terminal = call.terminal(24, 80);
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    assert_eq!(std::fs::read(file).unwrap(), b"a\nb\r\n\x04c");
}

fn much_output_on_a_terminal_arrives_whole(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&["-q"], "seq 1 30000; echo the end; exit 3").terminal(24, 80);
    terminal.expect("the end");
    assert_eq!(terminal.wait(), 3, "{}", terminal.screen());
    let screen = terminal.screen();
    let expected = (1..=30000).map(|n| n.to_string());
    assert!(screen.lines().zip(expected).all(|(shown, number)| shown == number), "{screen}");
}

fn what_is_pasted_arrives_whole(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal =
        sandbox.shell(&["--on-exit", "keep"], "stty -echo; echo ready; cat > pasted; wc -c < pasted").terminal(24, 80);
    terminal.expect("ready");
    let text: String = (0..2000).map(|line| format!("line {line} of what is pasted\n")).collect();
    terminal.send(&text);
    terminal.send("\x04");
    terminal.expect(&text.len().to_string());
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
}

fn no_terminal_inside_unless_all_three_streams_are_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("out");
    for redirection in ["</dev/null", ">>$OUT", "2>>$OUT"] {
        let redirection = redirection.replace("$OUT", file.to_str().unwrap());
        let script = "if test -t 0 || test -t 1 || test -t 2; then exit 1; else exit 0; fi";
        let mut terminal = sandbox.shell(&[], script).through(&format!(r#"exec "$@" {redirection}"#)).terminal(24, 80);
        assert_eq!(terminal.wait(), 0, "{redirection}: {}", terminal.screen());
    }
}
