//! `exec --print-argv`: what another program puts before its commands.

use std::process::Command;

use crate::common::{Engine, Sandbox, on_every_engine};

on_every_engine!(another_program_can_run_commands_in_a_live_session);

fn another_program_can_run_commands_in_a_live_session(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let live = sandbox.shell(&["--detach", "--report", "-"], "echo x > made; sleep 600").output().ok().json();
    let id = live["id"].as_str().unwrap();
    let words = |more: &[&str]| -> Vec<String> {
        let json = sandbox.cowbox(&["exec", id, "--print-argv"]).args(more).output().ok().json();
        json.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut argv = words(&[]);
    assert_eq!(words(&["--", "cat", "a b"]), [argv.clone(), vec!["cat".into(), "a b".into()]].concat());
    argv.extend(["sh", "-c", "cat made; cat; exit 7"].map(str::to_owned));
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]);
    // Only native comes back to us, and needs to know where its sessions are.
    command.env("COWBOX_STATE_DIR", sandbox.state()).env("COWBOX_CACHE_DIR", sandbox.cache());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), &b"x\n"[..]), "{output:?}");
    sandbox.cowbox(&["stop", id]).output().done();
    let refused = sandbox.cowbox(&["exec", id, "--print-argv"]).output().code(125);
    assert!(refused.stderr().contains("stopped"), "{refused:?}");
}
