//! Hooks: when they run, in which order, and where their output goes.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{run, up, with};
use crate::common::{Engine, on_every_engine};
use crate::host::git_init;

on_every_engine!(
    hooks_run_in_order_and_in_all_three_forms,
    a_hook_that_reads_finds_its_input_closed,
    a_hook_may_leave_a_server_behind,
    a_server_of_a_start_hook_is_there_for_the_command,
    much_output_is_all_in_the_log,
    a_tracked_file_that_a_hook_changes_is_told_and_no_change,
);

fn hooks_run_in_order_and_in_all_three_forms(engine: Engine) {
    let sandbox = with(
        engine,
        json!({
            "postAttachCommand": { "one": "echo attached; echo attach >> starts" },
            "postStartCommand": "echo started; cat log post-* > seen; echo start >> starts",
            "postCreateCommand": { "a": "cat log > post-a; echo a >> post-a", "b": ["sh", "-c", "echo 'b # c' > post-b"] },
            "updateContentCommand": ["sh", "-c", "echo update >> log"],
            "onCreateCommand": "echo create >> log",
        }),
    );
    let expected = "create\nupdate\ncreate\nupdate\na\nb # c\nstart\nattach\n";
    let output = up(&sandbox, &["--name", "first"], "cat seen starts").output().ok().prints(expected);
    let output = output.says("setup 1/3").says("setup 3/3").says("started\n").says("attached\n");
    assert!(output.stderr().find("started\n") < output.stderr().find("attached\n"));
    assert_eq!(sandbox.changes(), ["A  seen", "A  starts"]);
    // What is done once is not done again; the rest is, in a new session and in one that goes on.
    let again = up(&sandbox, &[], "cat seen starts").output().ok().prints(expected).says("started\n");
    assert!(!again.stderr().contains("setup 1/"), "{}", again.stderr());
    let resumed = sandbox.cowbox(&["run", "--resume", "first", "--", "cat", "starts"]).output().ok();
    let _ = resumed.prints("start\nattach\nstart\nattach\n").says("started\n");
}

fn a_hook_that_reads_finds_its_input_closed(engine: Engine) {
    let hook = "if read line; then echo got $line; else echo closed; fi";
    let config =
        json!({ "postCreateCommand": format!("{hook} > create"), "postStartCommand": format!("{hook} > start") });
    let sandbox = with(engine, config);
    // The command has its own.
    let run = up(&sandbox, &[], "cat create start; cat").stdin("for the command\n");
    let _ = run.output().ok().prints("closed\nclosed\nfor the command\n");
}

fn a_hook_may_leave_a_server_behind(engine: Engine) {
    let sandbox = with(engine, json!({ "postCreateCommand": "sleep 500 & echo $! > pid; echo up" }));
    let started = Instant::now();
    let _ = run(&sandbox, &[], &["cat", "pid"]).output().ok();
    assert!(started.elapsed() < Duration::from_secs(40), "the server was waited for");
}

fn a_server_of_a_start_hook_is_there_for_the_command(engine: Engine) {
    let config = json!({ "postStartCommand": "sleep 500 & echo $! > pid", "userEnvProbe": "none" });
    let sandbox = with(engine, config);
    let started = Instant::now();
    let _ = up(&sandbox, &[], "kill -0 $(cat pid) && echo alive").output().ok().prints("alive\n");
    assert!(started.elapsed() < Duration::from_secs(40), "the server was waited for");
}

fn much_output_is_all_in_the_log(engine: Engine) {
    let bytes = 200_000_000;
    let hook = format!("yes 0123456789abcdef | head -c {bytes}; echo the end");
    let sandbox = with(engine, json!({ "postCreateCommand": hook, "userEnvProbe": "none" }));
    let output = run(&sandbox, &[], &["true"]).output().ok();
    assert!(output.stderr.len() < 10_000, "{} bytes on stderr", output.stderr.len());
    let made = std::fs::read_dir(sandbox.prepared_dir()).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir());
    let log = std::fs::read(made.unwrap().join("logs/01-postcreatecommand.log")).unwrap();
    assert_eq!(log.len(), bytes + "the end\n".len());
    assert!(log.ends_with(b"the end\n"));
}

fn a_tracked_file_that_a_hook_changes_is_told_and_no_change(engine: Engine) {
    let sandbox = with(engine, json!({ "postCreateCommand": "echo more >> README.md; echo x > made" }));
    git_init(sandbox.repo());
    let output = up(&sandbox, &[], "cat README.md; echo new > new").output().ok().prints("# api\nmore\n");
    let _ = output.says("the setup changed files that git knows: README.md").says("cowbox diff --setup");
    assert_eq!(sandbox.changes(), ["A  new"]);
    let shown = sandbox.cowbox(&["diff", "--setup", "--name-status"]).output().ok();
    let _ = shown.prints("M  README.md\nA  made\n");
}
