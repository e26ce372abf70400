//! stdin, stdout and stderr are the command's, to the byte.

use crate::common::{Engine, Sandbox, on_every_engine};

on_every_engine!(
    bytes_of_every_value_pass_both_ways,
    stdout_is_the_commands_alone,
    stderr_is_kept_apart,
    the_end_of_stdin_reaches_the_command,
    a_closed_stdin_is_an_empty_one,
    an_open_stdin_that_nobody_reads_holds_nothing_up,
    much_output_on_both_streams_arrives_whole,
    a_reader_that_goes_away_ends_the_run,
    a_report_on_stdout_comes_after_the_output,
    orphans_are_reaped,
    the_command_is_not_the_first_process,
    arguments_reach_the_command_as_they_are,
);

/// Random enough, and the same every time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn bytes_of_every_value_pass_both_ways(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let every: Vec<u8> = (0..=255).collect();
    let _ = sandbox.run(&[], &["cat"]).stdin(every.clone()).output().ok().prints(every);
    let noise = noise(5 << 20);
    let output = sandbox.run(&[], &["cat"]).stdin(noise.clone()).output().ok();
    assert_eq!(output.stdout.len(), noise.len());
    assert!(output.stdout == noise, "the bytes differ");
}

fn stdout_is_the_commands_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.sh("printf 'no newline'").ok().prints("no newline").says(" · session api-");
    assert!(!output.stderr().contains("no newline"));
    // Also with everything that cowbox has to say.
    let _ = sandbox.shell(&["-vv"], "echo out; touch new").output().ok().prints("out\n");
}

fn stderr_is_kept_apart(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["--quiet"], "echo out; echo err >&2; touch new").output().ok().prints("out\n");
    assert_eq!(output.stderr(), "err\n");
}

fn the_end_of_stdin_reaches_the_command(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&[], "cat; echo the end").output().ok().prints("the end\n");
    let _ = sandbox.shell(&[], "wc -l").stdin("a\nb\n").output().ok().prints("2\n");
}

fn a_closed_stdin_is_an_empty_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let closed = sandbox.shell(&[], "cat; echo the end").through(r#"exec "$@" <&-"#);
    let _ = closed.output().ok().prints("the end\n");
}

fn an_open_stdin_that_nobody_reads_holds_nothing_up(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let running = sandbox.shell(&[], "echo done").spawn();
    let _ = running.wait().ok().prints("done\n");
}

fn much_output_on_both_streams_arrives_whole(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "head -c 20000000 /dev/zero & head -c 10000000 /dev/zero >&2 & wait";
    let output = sandbox.shell(&["--quiet"], script).output().ok();
    assert_eq!((output.stdout.len(), output.stderr.len()), (20_000_000, 10_000_000));
}

fn a_reader_that_goes_away_ends_the_run(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&[], "while echo y; do :; done").spawn();
    running.expect("y\n");
    running.close_stdout();
    let output = running.wait();
    assert!(!output.status.success(), "{output}");
}

fn a_report_on_stdout_comes_after_the_output(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["--report", "-"], "echo out; exit 3").output().code(3);
    let text = output.stdout();
    let report = text.strip_prefix("out\n").unwrap_or_else(|| panic!("{text}"));
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    assert_eq!(report["exit"], 3);
}

fn orphans_are_reaped(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "
        for i in 1 2 3 4 5 6 7 8; do (sleep 0.2 &); done
        sleep 1
        cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true
    ";
    let _ = sandbox.sh(script).ok().prints("0\n");
}

fn the_command_is_not_the_first_process(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.sh("echo $$; echo $PPID").ok();
    let text = output.stdout();
    let (own, parent) = text.trim().split_once('\n').unwrap();
    assert_ne!(own, "1");
    assert_eq!(parent, "1");
}

fn arguments_reach_the_command_as_they_are(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let odd = ["", " ", "a b", "--help", "-v", "'\"`$(x)", "*", "é\u{1f600}", "new\nline", "\\", "--", "\t"];
    let command = [&["printf", "[%s]"], &odd[..]].concat();
    let expected: String = odd.iter().map(|word| format!("[{word}]")).collect();
    let _ = sandbox.run(&[], &command).output().ok().prints(expected);
}
