//! Without containers: hooks run over this system's own files, and an image is never passed over in silence.

use serde_json::json;

use super::{run, up, with};
use crate::common::{Engine, on};

on!(native:
    a_configured_image_is_an_error_that_names_the_choice,
    without_an_image_hooks_run_on_this_system,
    what_needs_a_container_is_told,
);

fn a_configured_image_is_an_error_that_names_the_choice(engine: Engine) {
    for config in [json!({ "image": "some/image:1" }), json!({ "build": { "dockerfile": "Dockerfile" } })] {
        let sandbox = with(engine, config);
        sandbox.write(".devcontainer/Dockerfile", "FROM x\n");
        let output = run(&sandbox, &[], &["echo", "never"]).output().code(125).prints("");
        let _ = output.says("the native engine has no images").says("--image none").says("--engine podman");
        let dry = sandbox.cowbox(&["prepare", "--dry-run", "--engine", "native"]);
        let _ = dry.output().ok().says("warning").says("the native engine has no images");
        let _ = run(&sandbox, &["--setup", "none"], &["echo", "hi"]).output().ok().prints("hi\n");
    }
}

fn without_an_image_hooks_run_on_this_system(engine: Engine) {
    let config = json!({
        "image": "some/image:1",
        "containerEnv": { "A": "a" },
        "remoteEnv": { "B": "${containerEnv:A}b" },
        "postCreateCommand": "echo $A$B > made; echo home > ~/made",
        "postStartCommand": "echo started",
    });
    let sandbox = with(engine, config);
    let output = up(&sandbox, &["--image", "none"], "cat made ~/made; echo $A$B; pwd").output().ok();
    let place = sandbox.repo().display();
    let _ = output.prints(format!("aab\nhome\naab\n{place}\n")).says("started\n");
    assert!(!sandbox.home().join("made").exists());
    let again = run(&sandbox, &["--image", "none"], &["cat", "made"]).output().ok().prints("aab\n");
    assert!(!again.stderr().contains("setup 1/"), "{}", again.stderr());
}

fn what_needs_a_container_is_told(engine: Engine) {
    let config = json!({
        "remoteUser": "vscode",
        "mounts": ["type=tmpfs,target=/scratch"],
        "capAdd": ["SYS_PTRACE"],
        "runArgs": ["--init", "--shm-size=1g"],
        "features": { "./tool": {} },
    });
    let sandbox = with(engine, config);
    let output = run(&sandbox, &[], &["echo", "hi"]).output().ok().prints("hi\n");
    let output = output.says("not applied without a container: remoteUser, mounts, capAdd, runArgs");
    let _ = output.says("features need an image, and are left out: ./tool");
}
