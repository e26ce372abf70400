//! What is done, left out with a word, or left out without one.

use serde_json::json;

use super::*;
use crate::setup::plan::{MountKind, MountRequest, Source};

#[test]
fn what_only_an_editor_needs_is_ignored() {
    let plan = case().plan(&json!({
        "$schema": "x", "name": "y", "shutdownAction": "none", "waitFor": "onCreateCommand",
        "portsAttributes": {}, "otherPortsAttributes": {}, "customizations": { "vscode": {} }, "settings": {}
    }));
    let ignored: Vec<_> = plan.ignored.iter().map(|ignored| ignored.key.as_str()).collect();
    assert_eq!(ignored, ["otherPortsAttributes", "portsAttributes", "customizations.vscode"]);
    assert!(plan.notices.is_empty());
    assert_eq!((plan.source, plan.config_file.as_deref()), (Some(Source::Devcontainer), Some(Path::new(PATH))));
}

#[test]
fn what_is_not_known_is_a_notice() {
    let plan = case().plan(&json!({ "extends": "x", "postCreateComand": "y", "entrypoint": "z" }));
    assert_eq!(plan.notices.len(), 2);
    assert!(plan.notices[0].contains("`entrypoint`, `postCreateComand` (`postCreateCommand`?)"), "{:?}", plan.notices);
    assert!(plan.container.entrypoints.is_empty());
}

#[test]
fn volumes_and_memory_are_the_sessions_own() {
    let plan = case().plan(&json!({ "mounts": [
        "source=${devcontainerId}-cache,target=/cache,type=volume",
        "source=x,target=${containerWorkspaceFolder}/node_modules",
        { "type": "tmpfs", "target": "/tmp/x" },
        "type=bind,source=relative,target=/r", "type=npipe,source=/x,target=/n", "type=volume,target=rel",
        "type=volume,target=/workspaces/app/", "type=volume,target=/"
    ] }));
    let volume = |target: &str| MountRequest { target: target.into(), what: MountKind::Volume };
    let tmpfs = MountRequest { target: "/tmp/x".into(), what: MountKind::Tmpfs };
    assert_eq!(plan.mounts, [volume("/cache"), volume("/workspaces/app/node_modules"), tmpfs]);
    let ignored: Vec<_> = plan.ignored.iter().map(|ignored| ignored.key.as_str()).collect();
    assert_eq!(ignored, ["mounts[3]", "mounts[4]", "mounts[5]", "mounts[6]", "mounts[7]"]);
}

#[test]
fn a_bind_needs_consent_even_inside_the_repo() {
    let config = json!({ "mounts": ["source=${localWorkspaceFolder}/a,target=/b,type=bind,readonly"] });
    assert_eq!(keys(&case().file("a").plan(&config)), ["mounts[0]"]);
    let case = case().file("a").allow(&["\"readonly\":true"]);
    let source = case.root().join("a").display().to_string();
    assert_eq!(case.plan(&config).mounts[0].what, MountKind::Bind { source, readonly: true });
}

#[test]
fn raw_build_arguments_need_consent() {
    let config = json!({ "build": {
        "dockerfile": "D", "target": "dev", "cacheFrom": ["x:1", "type=local,src=/etc"],
        "options": ["--network", "host", "--no-cache", "."]
    } });
    let plan = case().file(".devcontainer/D").plan(&config);
    assert_eq!(keys(&plan), ["build.cacheFrom[1]", "build.options[0]", "build.options[2]"]);
    let allowed = case().file(".devcontainer/D").allow(&["--network=host"]).plan(&config);
    let crate::setup::plan::ImageRequest::Build(build) = allowed.image else { panic!() };
    assert_eq!((build.options, build.cache_from), (vec!["--network=host".to_owned()], vec!["x:1".to_owned()]));
    assert_eq!(build.target.as_deref(), Some("dev"));
}

#[test]
fn features_and_compose_are_handed_over_with_tokens_replaced() {
    let planned = case().planned(
        &json!({
            "features": { "./z": { "v": "${localEnv:USER}" }, "./a": "1" }, "overrideFeatureInstallOrder": ["./a"],
            "dockerComposeFile": ["${localWorkspaceFolder}/c.yml"], "service": "app", "runArgs": ["--privileged"],
            "workspaceMount": "", "overrideCommand": true
        }),
        &[],
    );
    assert!(planned.features.contains(&("./z".into(), json!({ "v": "u" }))));
    assert_eq!(planned.override_feature_install_order, ["./a"]);
    assert!(planned.compose.unwrap().files[0].ends_with("/app/c.yml"));
    assert_eq!(planned.plan.workspace.unwrap().folder, Path::new("/"));
    let ignored: Vec<_> = planned.plan.ignored.iter().map(|ignored| ignored.key.as_str()).collect();
    assert_eq!(ignored, ["workspaceMount", "runArgs"]);
    assert!(planned.plan.refused.is_empty() && !planned.plan.container.image_command);
}

#[test]
fn the_images_own_command_is_started_when_asked_for() {
    assert!(case().plan(&json!({ "overrideCommand": false })).container.image_command);
    assert!(case().plan(&json!({ "dockerComposeFile": [], "service": "a" })).container.image_command);
}

#[test]
fn consents_do_not_depend_on_the_place_in_a_list() {
    let first = case().plan(&json!({ "capAdd": ["A", "B"] }));
    let second = case().plan(&json!({ "capAdd": ["B", "A"] }));
    assert_eq!(first.refused[0], second.refused[1]);
    let moved = case().plan(&json!({ "runArgs": ["--init", "--x=1"] }));
    let alone = case().plan(&json!({ "runArgs": ["--x", "1"] }));
    assert_eq!(moved.refused[0].consent, alone.refused[0].consent);
}
