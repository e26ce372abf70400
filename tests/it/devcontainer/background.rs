//! What runs beside the command in its own container: the image's command, and entrypoints of features.

use serde_json::json;

use super::images::feature;
use super::{built, up, with};
use crate::common::{Engine, on_containers};

on_containers!(
    the_images_own_command_is_started_before_the_command,
    a_service_has_its_own_command_started,
    entrypoints_of_features_have_run_before_the_command,
    what_features_ask_for_is_merged_on_a_first_run_and_on_a_resumed_one,
    the_label_of_the_image_counts_for_a_resumed_session,
);

/// Waits for a file, for what is in the background takes its time.
const WAIT: &str = "n=0; until [ -s /tmp/it ] || [ $n = 50 ]; do sleep 0.1; n=$((n+1)); done; cat /tmp/it";

fn the_images_own_command_is_started_before_the_command(engine: Engine) {
    let lines = "ENTRYPOINT [\"/bin/sh\", \"-c\", \"echo loud; echo \\\"$0 $1\\\" > /tmp/it; sleep 600\", \"of\"]\nCMD [\"the image\"]";
    let sandbox =
        built(engine, lines, json!({ "overrideCommand": false, "postCreateCommand": format!("({WAIT}) > made") }));
    let _ = up(&sandbox, &["--name", "it"], &format!("cat made; {WAIT}"))
        .output()
        .ok()
        .prints("of the image\nof the image\n");
    let _ = up(&sandbox, &["--resume", "it"], WAIT).output().ok().prints("of the image\n");
    super::rewrite(&sandbox, json!({ "build": { "dockerfile": "Dockerfile" }, "userEnvProbe": "none" }));
    let _ = up(&sandbox, &[], "sleep 1; ls /tmp/it").output().code(1);
}

fn a_service_has_its_own_command_started(engine: Engine) {
    let sandbox = crate::common::Sandbox::new(engine);
    let image = super::image("tiny");
    let command = "command: sh -c 'echo of compose > /tmp/it; sleep 600'";
    sandbox.write(
        "compose.yml",
        format!("services:\n  app:\n    image: {image}\n    volumes: ['.:/code']\n    {command}\n"),
    );
    let config = json!({ "dockerComposeFile": "../compose.yml", "service": "app", "workspaceFolder": "/code", "userEnvProbe": "none" });
    sandbox.write(".devcontainer/devcontainer.json", config.to_string());
    let _ = up(&sandbox, &[], WAIT).output().ok().prints("of compose\n");
}

fn entrypoints_of_features_have_run_before_the_command(engine: Engine) {
    let sandbox = with(engine, json!({ "features": { "./server": {} }, "userEnvProbe": "none" }));
    let install =
        "printf '#!/bin/sh\\necho starts >> /tmp/it\\nsleep 600 &\\nexec \"$@\"\\n' > /bin/serve; chmod 755 /bin/serve";
    feature(&sandbox, "server", json!({ "entrypoint": "/bin/serve" }), install);
    // No waiting here: it came to its end.
    let _ = up(&sandbox, &["--name", "it"], "cat /tmp/it").output().ok().prints("starts\n");
    let _ = up(&sandbox, &["--resume", "it"], "cat /tmp/it").output().ok().prints("starts\n");
}

const LOOK: &str = "cat order; echo $OF_FEATURE; grep -c ' /of-feature tmpfs' /proc/mounts; \
                    printf %d 0x$(awk '/CapBnd/ { print $2 }' /proc/self/status | tail -c 9)";

/// Whether what [`LOOK`] prints tells of SYS_PTRACE, and what else it printed.
fn looked(printed: &str) -> (String, bool) {
    let (rest, capabilities) = printed.rsplit_once('\n').unwrap();
    (rest.to_owned(), capabilities.parse::<u64>().unwrap() & (1 << 19) != 0)
}

fn what_features_ask_for_is_merged_on_a_first_run_and_on_a_resumed_one(engine: Engine) {
    let config =
        json!({ "features": { "./tools": {} }, "remoteUser": "root", "postStartCommand": "echo file >> order" });
    let sandbox = with(engine, config);
    let metadata = json!({
        "init": true, "privileged": true, "capAdd": ["SYS_PTRACE", "SYS_ADMIN"], "securityOpt": ["seccomp=unconfined"],
        "mounts": [{ "type": "tmpfs", "target": "/of-feature" }, { "type": "bind", "source": "/etc", "target": "/of-host" }],
        "containerEnv": { "OF_FEATURE": "yes" }, "postStartCommand": "echo feature >> order",
    });
    feature(&sandbox, "tools", metadata, "true");
    let refused = |output: crate::common::Output| {
        let output = output.ok().says("left out: privileged").says("left out: capAdd").says("left out: securityOpt");
        output.says("left out: mounts[1]")
    };
    let output = refused(up(&sandbox, &["--name", "it"], LOOK).output());
    assert_eq!(looked(&output.stdout()), ("feature\nfile\nyes\n1".to_owned(), true));
    let output = refused(up(&sandbox, &["--resume", "it"], LOOK).output());
    assert_eq!(looked(&output.stdout()), ("feature\nfile\nfeature\nfile\nyes\n1".to_owned(), true));
}

fn the_label_of_the_image_counts_for_a_resumed_session(engine: Engine) {
    let label = json!({ "postStartCommand": "echo label >> order", "remoteEnv": { "ONLY": "label" }, "capAdd": ["SYS_PTRACE"] });
    let config = json!({ "postCreateCommand": "true", "remoteUser": "root" });
    let sandbox = built(engine, &format!("LABEL devcontainer.metadata='{label}'"), config);
    let script = "cat order; echo $ONLY; grep -c ' /of-feature tmpfs' /proc/mounts; \
                  printf '\\n%d' 0x$(awk '/CapBnd/ { print $2 }' /proc/self/status | tail -c 9)";
    let first = up(&sandbox, &["--name", "it"], script).output().ok().stdout();
    assert_eq!(looked(&first), ("label\nlabel\n0\n".to_owned(), true));
    let again = up(&sandbox, &["--resume", "it"], script).output().ok().stdout();
    assert_eq!(looked(&again), ("label\nlabel\nlabel\n0\n".to_owned(), true));
}
