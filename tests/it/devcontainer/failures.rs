//! Hooks that fail: which one, how, and what still ran.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{image, run, up, with};
use crate::common::{Engine, Sandbox, on_containers, on_every_engine};

on_every_engine!(
    of_an_object_all_entries_are_awaited_and_later_hooks_left_out,
    a_script_that_is_not_there_is_named,
    a_failing_start_hook_ends_it_before_the_command,
);
on_containers!(what_is_not_in_the_image_is_named, a_hook_has_no_network_where_the_session_has_none);

/// Names and contents of the logs of a setup that failed.
fn logs(sandbox: &Sandbox) -> Vec<(String, String)> {
    let entries = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let dirs = entries(sandbox.prepared_dir()).map(|dir| dir.join("logs")).filter(|dir| dir.is_dir());
    let files = dirs.flat_map(entries).map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned())
    });
    files.collect()
}

fn of_an_object_all_entries_are_awaited_and_later_hooks_left_out(engine: Engine) {
    let sandbox = with(
        engine,
        json!({
            "onCreateCommand": { "bad": "echo broken >&2; exit 3", "good": "sleep 1; echo waited" },
            "postCreateCommand": "echo later",
        }),
    );
    let output = up(&sandbox, &[], "echo never").output().code(125).prints("");
    let _ = output.says("of devcontainer.json failed with exit code 3").says("  | broken\n").says("--setup none");
    let logs = logs(&sandbox);
    let of = |name: &str| logs.iter().find(|(file, _)| file.contains(name)).map(|(_, text)| text.as_str());
    assert_eq!(of("good"), Some("waited\n"), "{logs:?}");
    assert_eq!(of("postcreate"), None, "{logs:?}");
    assert!(sandbox.prepared().is_empty() && sandbox.only_record()["state"] == "failed");
}

fn a_script_that_is_not_there_is_named(engine: Engine) {
    let hooks: [Value; 2] = [json!("./no/such.sh --flag"), json!(["/no/such-program", "x"])];
    for (number, hook) in hooks.into_iter().enumerate() {
        let sandbox = with(engine, json!({ "postCreateCommand": hook, "userEnvProbe": "none" }));
        let output = up(&sandbox, &[], "echo never").output().code(125).prints("").says("was not found in the sandbox");
        let _ = output.says(["`./no/such.sh --flag` of devcontainer.json", "`/no/such-program x`"][number]);
    }
}

fn a_failing_start_hook_ends_it_before_the_command(engine: Engine) {
    let config = json!({ "postStartCommand": "exit 7", "postAttachCommand": "echo no", "userEnvProbe": "none" });
    let sandbox = with(engine, config);
    let output = up(&sandbox, &[], "echo never").output().code(125).prints("");
    let output = output.says("postStartCommand of devcontainer.json failed with exit code 7");
    assert!(!output.stderr().contains("no\n"), "{}", output.stderr());
}

fn what_is_not_in_the_image_is_named(engine: Engine) {
    let config = json!({ "postCreateCommand": "sudo apt-get update", "userEnvProbe": "none" });
    let sandbox = with(engine, config);
    let output = run(&sandbox, &[], &["true"]).output().code(125);
    let _ = output.says("`sudo apt-get update`").says("was not found").says("sudo: not found");
}

fn a_hook_has_no_network_where_the_session_has_none(engine: Engine) {
    let hook = "curl --silent --show-error --max-time 5 http://192.0.2.1/";
    let config = json!({ "image": image("debian"), "postCreateCommand": hook, "userEnvProbe": "none" });
    let sandbox = with(engine, config);
    let output = run(&sandbox, &["--network", "none"], &["true"]).output().code(125);
    let _ = output.says("failed with exit code 7").says("connect to 192.0.2.1");
}
