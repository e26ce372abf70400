//! However a review ends, nothing is lost and the terminal is as it was.

use nix::sys::signal::Signal;

use super::run;
use crate::common::{Engine, Sandbox, Terminal, on, on_every_engine};

on_every_engine!(ctrl_c_keeps, a_closed_terminal_keeps);
on!(native:
    signals_keep_and_the_cursor_comes_back,
    a_closed_terminal_in_the_picker_keeps,
    ctrl_z_stops_and_fg_asks_again,
    ctrl_z_in_the_picker_gives_the_screen_back,
    another_size_is_drawn_anew,
    a_closed_terminal_in_the_shell_keeps,
    ctrl_c_at_the_question_for_consent_applies_nothing,
    the_report_tells_of_the_command_and_not_of_the_shell,
    another_command_can_use_the_session_meanwhile,
    what_the_session_became_meanwhile_is_not_applied,
);

fn ctrl_c_keeps(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added; exit 6");
    assert!(!terminal.now().cursor);
    terminal.send("\x03");
    assert_eq!(terminal.wait(), 6, "{}", terminal.screen());
    assert!(terminal.now().cursor && terminal.screen().contains("kept · go on with"), "{}", terminal.screen());
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn a_closed_terminal_keeps(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    terminal.close();
    terminal.wait();
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn a_closed_terminal_in_the_picker_keeps(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    terminal.send("h");
    terminal.until("the picker", |screen| screen.is_full());
    terminal.close();
    terminal.wait();
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn a_closed_terminal_in_the_shell_keeps(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    terminal.send("s");
    terminal.until_shown("leave it to come back");
    terminal.enter("echo in-$((40 + 2))");
    terminal.expect("in-42");
    terminal.close();
    terminal.wait();
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn signals_keep_and_the_cursor_comes_back(engine: Engine) {
    for (signal, full) in
        [(Signal::SIGTERM, false), (Signal::SIGHUP, false), (Signal::SIGINT, false), (Signal::SIGTERM, true)]
    {
        let sandbox = Sandbox::new(engine);
        let mut terminal = run(&sandbox, "echo x > added");
        if full {
            terminal.send("f");
            terminal.until("the picker", |screen| screen.is_full());
        }
        terminal.signal(signal);
        assert_eq!(terminal.wait(), 0, "{signal} {}", terminal.screen());
        assert!(terminal.now().cursor && !terminal.now().is_full());
        assert_eq!(sandbox.changes(), ["A  added"]);
    }
}

/// A shell with job control, and cowbox as its job: on its own nobody could continue it.
fn job(sandbox: &Sandbox) -> Terminal {
    let cowbox = sandbox.shell(&["--name", "it"], "echo x > added").env("TERM", "xterm").env("PS1", "$ ");
    let mut terminal = cowbox.through("set -m; \"$@\"; echo status-$?; fg; echo again-$?").terminal(40, 100);
    terminal.until("the question", |screen| screen.text().ends_with("d  discard"));
    terminal.expect("d  discard");
    terminal
}

fn ctrl_z_stops_and_fg_asks_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = job(&sandbox);
    terminal.send("\x1a");
    terminal.expect("\x1b[?25h");
    terminal.expect("status-1");
    terminal.expect("d  discard");
    terminal.send("k");
    terminal.expect("again-0");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    assert!(terminal.now().cursor);
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn ctrl_z_in_the_picker_gives_the_screen_back(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = job(&sandbox);
    terminal.send("f");
    terminal.expect("? help");
    terminal.send("\x1a");
    terminal.expect("\x1b[?1049l");
    terminal.expect("status-1");
    terminal.expect("\x1b[?1049h");
    terminal.expect("? help");
    terminal.send("q");
    terminal.expect("d  discard");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    assert!(terminal.now().cursor && !terminal.now().is_full());
}

fn another_size_is_drawn_anew(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal =
        run(&sandbox, "echo x > a-name-that-is-long-enough-to-be-cut; for n in 1 2 3 4 5 6 7; do echo > f$n; done");
    terminal.expect("d  discard");
    terminal.send("f");
    terminal.expect("8 of 8 chosen");
    terminal.resize(6, 30);
    terminal.expect("\x1b[H");
    terminal.until("a small screen", |screen| {
        let text = screen.text();
        text.lines().count() <= 6 && text.lines().all(|line| line.chars().count() < 30) && text.contains("8 of 8")
    });
    // The cursor stays in sight.
    terminal.send("G");
    terminal.until_shown("f7");
    terminal.resize(40, 100);
    terminal.until_shown("a-name-that-is-long-enough-to-be-cut");
    terminal.send("q");
    terminal.until("the question", |screen| screen.text().ends_with("d  discard"));
    terminal.resize(40, 12);
    terminal.expect("d  disca");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
}

fn another_command_can_use_the_session_meanwhile(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    terminal.send("a");
    terminal.until_shown("is discarded, it cannot be applied");
    let _ = terminal.wait();
    sandbox.check_repo();
}

fn what_the_session_became_meanwhile_is_not_applied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo worse > added"]).output().done();
    terminal.send("a");
    terminal.until_shown("has changed since it was last looked at");
    sandbox.check_repo();
    // It is looked at again, and that is what lands then.
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
}

fn ctrl_c_at_the_question_for_consent_applies_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo 'echo hi' > .envrc; echo x > added; exit 6");
    terminal.send("a");
    terminal.until_shown("Apply it all the same?");
    terminal.send("\x03");
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 6, "{}", terminal.screen());
    assert!(terminal.now().cursor);
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  .envrc", "A  added"]);
}

fn the_report_tells_of_the_command_and_not_of_the_shell(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let report = sandbox.root().join("report.json");
    let mut terminal = sandbox
        .shell(&["--name", "it", "--report", report.to_str().unwrap()], "echo x > added; exit 5")
        .env("TERM", "xterm")
        .terminal(40, 100);
    terminal.until_shown("d  discard");
    terminal.send("s");
    terminal.until_shown("leave it to come back");
    terminal.enter("echo in-$((40 + 2)); exit 3");
    terminal.expect("in-42");
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 5);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["exit"], 5);
}
