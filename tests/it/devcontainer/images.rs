//! Where the image comes from: named, built, with features; and images that are unlike others.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{built, image, run, up, with};
use crate::common::{Engine, Sandbox, on, on_containers};

on_containers!(
    without_an_image_key_the_user_s_word_counts,
    arguments_and_target_of_a_build_are_honoured,
    a_changed_dockerfile_is_built_again,
    an_entrypoint_that_exits_is_no_obstacle,
    an_image_without_a_shell_can_be_used,
    features_are_installed_in_order_with_options_and_variables,
    a_feature_that_fails_is_named,
    a_copied_file_that_changed_is_built_again,
);
// The docker of the tests knows no mounts.
on!(podman: a_mounted_file_that_changed_is_built_again);

fn without_an_image_key_the_user_s_word_counts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".devcontainer.json", r#"{ "postCreateCommand": "echo x > made" }"#);
    let _ = sandbox.sh("cat made; pwd").ok().prints("x\n/workspaces/api\n").says("setup by .devcontainer.json");
}

fn arguments_and_target_of_a_build_are_honoured(engine: Engine) {
    let lines = "ARG WORD=none\nCOPY file /file\nRUN echo $WORD > /word\nFROM missing:latest AS never\nRUN false";
    let build =
        json!({ "dockerfile": "Dockerfile", "args": { "WORD": "${localWorkspaceFolderBasename}" }, "target": "one" });
    let sandbox = built(engine, lines, json!({ "build": build, "userEnvProbe": "none" }));
    let named = fs::read_to_string(sandbox.repo().join(".devcontainer/Dockerfile")).unwrap();
    sandbox.write(".devcontainer/Dockerfile", named.replacen(":latest\n", ":latest AS one\n", 1));
    sandbox.write(".devcontainer/file", "of the context\n");
    let _ = run(&sandbox, &[], &["cat", "/word", "/file"]).output().ok().prints("api\nof the context\n");
}

fn a_changed_dockerfile_is_built_again(engine: Engine) {
    let sandbox = built(engine, "RUN echo one > /word", json!({ "userEnvProbe": "none" }));
    let _ = run(&sandbox, &[], &["cat", "/word"]).output().ok().prints("one\n");
    sandbox.change_repo(|repo| {
        let text = format!("FROM {}\nRUN echo two > /word\n", image("tiny"));
        crate::conflicts::replace(repo, ".devcontainer/Dockerfile", &text);
    });
    let _ = run(&sandbox, &[], &["cat", "/word"]).output().ok().prints("two\n");
}

/// Builds with these lines, changes the file `word.txt`, and builds again.
fn follows_the_file(engine: Engine, lines: &str) {
    let sandbox = built(engine, lines, json!({ "userEnvProbe": "none" }));
    sandbox.write(".devcontainer/word.txt", "one\n");
    let _ = run(&sandbox, &[], &["cat", "/word"]).output().ok().prints("one\n");
    sandbox.change_repo(|repo| crate::conflicts::replace(repo, ".devcontainer/word.txt", "two\n"));
    let _ = run(&sandbox, &[], &["cat", "/word"]).output().ok().prints("two\n");
}

fn a_copied_file_that_changed_is_built_again(engine: Engine) {
    follows_the_file(engine, "COPY \\\n w*.txt /word");
}

fn a_mounted_file_that_changed_is_built_again(engine: Engine) {
    follows_the_file(engine, "USER 0\nRUN --mount=type=bind,source=word.txt,target=/from cp /from /word");
}

fn an_entrypoint_that_exits_is_no_obstacle(engine: Engine) {
    let lines = "ENTRYPOINT [\"/bin/false\"]\nCMD [\"/bin/false\"]";
    let sandbox = built(engine, lines, json!({ "postCreateCommand": "echo x > made", "overrideCommand": false }));
    let _ = run(&sandbox, &[], &["cat", "made"]).output().ok().prints("x\n");
}

fn an_image_without_a_shell_can_be_used(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".devcontainer/Dockerfile", "FROM scratch\nCOPY cat /bin/cat\n");
    fs::copy("/bin/busybox", sandbox.repo().join(".devcontainer/cat")).unwrap();
    fs::set_permissions(sandbox.repo().join(".devcontainer/cat"), fs::Permissions::from_mode(0o755)).unwrap();
    let config = json!({ "build": { "dockerfile": "Dockerfile" }, "remoteUser": "0" });
    super::write(&sandbox, config.clone());
    let _ = run(&sandbox, &[], &["/bin/cat", "README.md"]).output().ok().prints("# api\n");
    let mut hooked = config;
    hooked["postCreateCommand"] = json!("true");
    super::rewrite(&sandbox, hooked);
    let _ = run(&sandbox, &[], &["/bin/cat", "README.md"]).output().code(125).says("was not found in the sandbox");
}

/// A feature in `.devcontainer/NAME`.
pub(super) fn feature(sandbox: &Sandbox, name: &str, metadata: serde_json::Value, install: &str) {
    let mut all = json!({ "id": name, "version": "1.0.0", "name": name });
    all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    sandbox.write(format!(".devcontainer/{name}/devcontainer-feature.json"), all.to_string());
    sandbox.write(format!(".devcontainer/{name}/install.sh"), format!("#!/bin/sh\nset -e\n{install}\n"));
}

fn features_are_installed_in_order_with_options_and_variables(engine: Engine) {
    let config = json!({
        "features": { "./second": { "word": "it's $HOME" }, "./first": {} },
        "overrideFeatureInstallOrder": ["./first"],
        "remoteUser": "agent",
        "postCreateCommand": "cat /installed > seen; echo file >> seen",
    });
    let sandbox = with(engine, config);
    feature(&sandbox, "first", json!({ "containerEnv": { "OF_FIRST": "1" } }), "echo first $(id -un) >> /installed");
    let metadata = json!({
        "options": { "word": { "type": "string", "default": "none" }, "other": { "type": "boolean", "default": true } },
        "postCreateCommand": "echo feature > order",
        "postStartCommand": "echo feature starts >> order",
    });
    let install = "echo \"second [$WORD] [$OTHER] [$OF_FIRST] $_REMOTE_USER $_REMOTE_USER_HOME $(ls)\" >> /installed";
    feature(&sandbox, "second", metadata, install);
    let printed = up(&sandbox, &[], "cat seen order; echo $OF_FIRST").output().ok().stdout();
    let expected = "first root\nsecond [it's $HOME] [true] [1] agent /home/agent ";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(printed.ends_with("\nfile\nfeature\nfeature starts\n1\n") && printed.contains("install.sh"), "{printed}");
    // A changed script is another feature.
    sandbox.change_repo(|repo| {
        crate::conflicts::replace(repo, ".devcontainer/first/install.sh", "#!/bin/sh\necho again >> /installed\n");
    });
    let printed = run(&sandbox, &[], &["cat", "/installed"]).output().ok().stdout();
    assert!(printed.starts_with("again\nsecond"), "{printed}");
}

fn a_feature_that_fails_is_named(engine: Engine) {
    let sandbox = with(engine, json!({ "features": { "./bad": {} } }));
    feature(&sandbox, "bad", json!({}), "echo the reason; exit 9");
    let output = run(&sandbox, &[], &["true"]).output().code(125);
    let _ = output.says("the reason");
}
