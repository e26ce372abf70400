//! Image, features and config, one over the other.

use serde_json::json;

use super::*;
use crate::setup::plan::{EnvProbe, Hook, MountKind, StepCommand};

#[test]
fn hooks_run_by_hook_and_then_image_features_config() {
    let both =
        |who: &str| json!({ "postCreateCommand": format!("create {who}"), "onCreateCommand": format!("on {who}") });
    let parts = [image(both("image")), feature("./a", both("a")), feature("./b", both("b"))];
    let plan = case().planned(&both("config"), &parts).plan;
    let found = plan.steps.iter().map(|step| match &step.command {
        StepCommand::Shell(text) => (step.hook, step.origin.as_str(), text.as_str()),
        StepCommand::Argv(_) => panic!(),
    });
    let found = found.collect::<Vec<_>>();
    let order = |hook, verb: [&'static str; 4]| {
        ["the image", "feature ./a", "feature ./b", "devcontainer.json"]
            .into_iter()
            .zip(verb)
            .map(move |(o, v)| (hook, o, v))
    };
    let expected: Vec<_> = order(Hook::OnCreateCommand, ["on image", "on a", "on b", "on config"])
        .chain(order(Hook::PostCreateCommand, ["create image", "create a", "create b", "create config"]))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn an_object_of_commands_is_one_group_with_names() {
    let config = json!({
        "updateContentCommand": { "b": "x", "a": ["y", "${localWorkspaceFolderBasename}"] },
        "postStartCommand": { "c": "z" }, "postAttachCommand": "w", "onCreateCommand": " "
    });
    let plan = case().plan(&config);
    let found: Vec<_> = plan.steps.iter().map(|s| (s.hook, s.parallel_group, s.name.as_deref())).collect();
    assert_eq!(
        found,
        [
            (Hook::UpdateContentCommand, Some(1), Some("a")),
            (Hook::UpdateContentCommand, Some(1), Some("b")),
            (Hook::PostStartCommand, Some(2), Some("c")),
            (Hook::PostAttachCommand, None, None),
        ]
    );
    assert_eq!(plan.steps[0].command, StepCommand::Argv(vec!["y".into(), "app".into()]));
}

#[test]
fn the_last_that_says_something_counts() {
    let parts = [
        image(json!({ "remoteUser": "a", "containerUser": "b", "userEnvProbe": "none", "overrideCommand": false })),
        image(json!({ "remoteUser": "c", "updateRemoteUserUID": false })),
        feature("f", json!({ "remoteUser": "evil", "init": true })),
    ];
    let plan = case().planned(&json!({ "remoteUser": "", "overrideCommand": true, "init": false }), &parts).plan;
    assert_eq!((plan.remote_user.as_deref(), plan.container_user.as_deref()), (Some("c"), Some("b")));
    assert_eq!(plan.user_env_probe, EnvProbe::None);
    assert!(!plan.update_remote_user_uid && !plan.container.image_command);
    assert_eq!(plan.container.run_args, ["--init"]);
}

#[test]
fn without_a_word_the_defaults_hold() {
    let plan = case().plan(&json!({}));
    assert_eq!(plan.user_env_probe, EnvProbe::LoginInteractiveShell);
    assert!(plan.update_remote_user_uid && !plan.container.image_command);
    assert_eq!((plan.remote_user, plan.container_user), (None, None));
    assert!(plan.notices.is_empty() && plan.refused.is_empty() && plan.ignored.is_empty());
}

#[test]
fn variables_are_merged_by_name() {
    let parts = [
        image(json!({ "containerEnv": { "A": "1", "B": 2 }, "remoteEnv": { "C": "x", "D": "y" } })),
        feature("f", json!({ "containerEnv": { "A": "$PATH" }, "remoteEnv": { "C": "no" } })),
    ];
    let config = json!({ "containerEnv": { "A": true }, "remoteEnv": { "C": null, "P": "/x:${containerEnv:PATH}" } });
    let plan = case().planned(&config, &parts).plan;
    assert_eq!(plan.env, BTreeMap::from([("A".into(), "true".into()), ("B".into(), "2".into())]));
    let remote = [("C", None), ("D", Some("y")), ("P", Some("/x:${containerEnv:PATH}"))];
    assert_eq!(plan.remote_env, remote.map(|(k, v)| (k.to_owned(), v.map(str::to_owned))).into());
}

#[test]
fn of_mounts_with_one_target_the_last_stays_at_its_place() {
    let parts = [
        image(json!({ "mounts": ["type=bind,source=/etc,target=/a", "type=volume,target=/b"] })),
        feature("f", json!({ "mounts": [{ "type": "tmpfs", "target": "/a/" }] })),
    ];
    let plan = case().planned(&json!({ "mounts": ["target=/c,source=x", "type=tmpfs,target=/c"] }), &parts).plan;
    let found: Vec<_> = plan.mounts.iter().map(|mount| (mount.target.as_str(), &mount.what)).collect();
    assert_eq!(found, [("/b", &MountKind::Volume), ("/a", &MountKind::Tmpfs), ("/c", &MountKind::Tmpfs)]);
    assert!(plan.refused.is_empty(), "a bind that was replaced is not asked about");
}

#[test]
fn lists_are_united_in_the_order_of_appearance() {
    let parts = [
        image(json!({ "capAdd": ["B", "A"], "securityOpt": ["x"], "entrypoint": "/i" })),
        feature("f", json!({ "capAdd": ["A", "C"], "securityOpt": ["x", "y"], "entrypoint": "/f" })),
    ];
    let plan = case().allow(&[""]).planned(&json!({ "capAdd": ["B", "cap_sys_ptrace"] }), &parts).plan;
    assert_eq!(plan.container.cap_add, ["SYS_PTRACE", "B", "A", "C"]);
    assert_eq!(plan.container.security_opt, ["x", "y"]);
    assert_eq!(plan.container.entrypoints, ["/i", "/f"]);
}

#[test]
fn ports_and_wishes_are_united_into_one_notice_each() {
    let parts =
        [image(json!({ "forwardPorts": [3000, "db:5432"], "hostRequirements": { "cpus": 8, "memory": "4gb" } }))];
    let config = json!({
        "forwardPorts": ["localhost:3000", 80], "appPort": "9:9", "hostRequirements": { "memory": "16gb", "gpu": "optional" }
    });
    let plan = case().planned(&config, &parts).plan;
    assert_eq!(
        plan.notices,
        [
            "ports are not forwarded: 3000, db:5432, 80, 9:9",
            "the devcontainer asks for 8 cpus (there are 4), 16.0 GiB of memory (there are 8.0 GiB)",
        ]
    );
}

#[test]
fn our_own_customizations_are_kept_from_all() {
    let parts = [image(json!({ "customizations": { "cowbox": 1, "vscode": {} } }))];
    let planned = case().planned(&json!({ "customizations": { "cowbox": { "a": 2 }, "vscode": {} } }), &parts);
    assert_eq!(planned.customizations, [json!(1), json!({ "a": 2 })]);
    assert_eq!(planned.plan.ignored.len(), 1);
}

#[test]
fn a_wrong_key_of_a_part_is_left_out_alone() {
    let parts = [image(json!({ "privileged": "yes", "remoteUser": "u" })), image(json!({ "remoteUser": "\0" }))];
    let plan = case().planned(&json!({}), &parts).plan;
    assert_eq!(plan.remote_user.as_deref(), Some("u"));
    assert_eq!(
        plan.notices,
        [
            "the image: `privileged` must be true or false; left out",
            "the image: its settings are left out: they hold the character NUL",
        ]
    );
}
