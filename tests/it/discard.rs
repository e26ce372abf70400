//! `discard` throws work away only when somebody said so.

use crate::common::{Engine, Sandbox, on_every_engine, snapshot};

on_every_engine!(
    without_a_terminal_it_needs_a_yes,
    on_a_terminal_it_asks,
    no_input_asks_nothing,
    a_running_session_is_not_discarded,
    discarded_is_the_end,
);

fn without_a_terminal_it_needs_a_yes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > kept").done();
    snapshot!(sandbox.cowbox(&["discard"]).stdin("y\n").output(), @r"
    exit: 4
    --- stderr
    cowbox: error: discarding throws work away, and there is no terminal to ask on
    cowbox: hint: say `-y` to do it without a question
    ");
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn on_a_terminal_it_asks(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > kept").done();
    let mut terminal = sandbox.cowbox(&["discard"]).terminal(24, 80);
    terminal.expect("Throw away 1 change of session api-");
    terminal.send("n\r");
    assert_eq!(terminal.wait(), 1, "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  kept"]);
    let mut terminal = sandbox.cowbox(&["discard"]).terminal(24, 80);
    terminal.expect("Throw away 1 change of session api-");
    terminal.send("\x03");
    assert_eq!(terminal.wait(), 130, "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  kept"]);
    let mut terminal = sandbox.cowbox(&["discard"]).terminal(24, 80);
    terminal.expect("Throw away 1 change of session api-");
    terminal.send("y\r");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    let _ = sandbox.cowbox(&["diff"]).output().code(1);
}

fn no_input_asks_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > kept").done();
    let mut terminal = sandbox.cowbox(&["discard", "--no-input"]).terminal(24, 80);
    assert_eq!(terminal.wait(), 4, "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  kept"]);
}

fn a_running_session_is_not_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&[], "echo x > kept; echo ready; read line; cat kept").spawn();
    running.expect("ready");
    snapshot!(sandbox.cowbox(&["discard", "-y"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: session api-[NAME] is running, it cannot be discarded
    cowbox: hint: stop it first with `cowbox stop api-[NAME]`
    ");
    running.write("\n");
    let _ = running.wait().ok().prints("ready\nx\n");
}

fn discarded_is_the_end(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > gone").done();
    sandbox.cowbox(&["discard", "-y"]).output().done();
    let id = sandbox.session_ids().remove(0);
    let refused = |args: &[&str], code: i32| {
        let output = sandbox.cowbox(&[args, &[&id]].concat()).output();
        let _ = output.code(code).says("is discarded").says("hint: its changes are gone");
    };
    refused(&["discard", "-y"], 1);
    refused(&["diff"], 1);
    refused(&["stop"], 1);
    refused(&["shell"], 125);
    refused(&["run", "--resume"], 125);
    assert!(!sandbox.session_dir(&id).join("upper").exists());
}
