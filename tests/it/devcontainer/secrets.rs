//! Secrets that a dev container declares: for the hooks that run once, seen by nobody, gone afterwards.

use serde_json::json;

use super::with;
use crate::common::{Engine, Output, engine_call, on_every_engine};
use crate::setup::holders;

on_every_engine!(a_declared_secret_is_for_the_setup_alone, a_failed_setup_does_not_show_it);

const SECRET: &str = "s3cr3t-of-the-host";

fn unseen(output: &Output) {
    let both = output.stdout() + &output.stderr();
    assert!(!both.contains(SECRET), "{both}");
}

fn a_declared_secret_is_for_the_setup_alone(engine: Engine) {
    let token = "${localEnv:TOKEN}";
    let sandbox = with(
        engine,
        json!({
            "secrets": { "TOKEN": { "description": "of the registry" } },
            "containerEnv": { "OF_CONTAINER": format!("a{token}"), "PLAIN": "plain" },
            "remoteEnv": { "OF_HOOKS": format!("b{token}") },
            "postCreateCommand": format!("echo {token} $TOKEN; echo $OF_CONTAINER $OF_HOOKS | wc -c > length"),
            "postStartCommand": format!("echo {token}"),
        }),
    );
    let options = ["--engine", engine.name(), "--setup-env", "TOKEN"];
    let call =
        |more: &[&str]| sandbox.cowbox(&[&["prepare"], &options[..], more].concat()).env("TOKEN", SECRET).output().ok();
    for more in [&["--dry-run"][..], &["--dry-run", "--json"], &["-v"], &["--json"]] {
        unseen(&call(more));
    }
    let document = call(&["--json"]).json();
    assert_eq!(document["env"], json!({ "PLAIN": "plain" }));
    let notices = document["notices"].to_string();
    assert!(
        notices.contains("a secret is for hooks that run once") && notices.contains("`postStartCommand`"),
        "{notices}"
    );

    let show = "cat length; echo [$OF_CONTAINER$OF_HOOKS$TOKEN] $PLAIN; cat /proc/1/cmdline /proc/1/environ | grep -a -c 's3cr3[t]'";
    let run = [&["run"], &options[..], &["--", "sh", "-c", show]].concat();
    let output = sandbox.cowbox(&run).env("TOKEN", SECRET).output();
    // Two letters, a space and the end of the line.
    let output = output.code(1).prints(format!("{}\n[] plain\n0\n", 2 * SECRET.len() + 4));
    unseen(&output);
    for dir in [sandbox.state(), sandbox.cache()] {
        assert_eq!(holders(&dir, SECRET), Vec::<std::path::PathBuf>::new());
    }
    if let Some(image) = sandbox.prepared()[0]["image"].as_str() {
        let config = engine_call(engine, &["image", "inspect", image]).unwrap();
        let history = engine_call(engine, &["history", "--no-trunc", image]).unwrap();
        assert!(!config.contains(SECRET) && !history.contains(SECRET), "{config}");
    }
}

fn a_failed_setup_does_not_show_it(engine: Engine) {
    let hook = "echo before; printf s3cr3t-; sleep 0.3; printf 'of-the-host\\n'; echo ${localEnv:TOKEN}; exit 3";
    let sandbox = with(engine, json!({ "secrets": { "TOKEN": {} }, "postCreateCommand": hook }));
    let call = ["prepare", "--engine", engine.name(), "--setup-env", "TOKEN"];
    let output = sandbox.cowbox(&call).env("TOKEN", SECRET).output().code(125);
    unseen(&output);
    assert!(output.stderr().contains("before\n") && output.stderr().contains("***\n"), "{}", output.stderr());
    assert_eq!(holders(&sandbox.cache(), SECRET), Vec::<std::path::PathBuf>::new());
}
