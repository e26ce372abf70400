//! `mounts`, `runArgs`, `capAdd` and what else a container may be given; and what only with consent.

use serde_json::json;

use super::{run, up, with};
use crate::common::{Engine, Sandbox, on, on_containers};

on_containers!(
    memory_and_volumes_are_places_of_the_session,
    memory_in_the_workspace_lies_over_what_was_prepared,
    harmless_arguments_reach_the_engine,
    the_debugger_s_capability_is_given_and_no_other,
    with_consent_capabilities_and_confinement_change,
);

/// A line of `/proc/self/status` inside.
fn status(sandbox: &Sandbox, key: &str) -> String {
    let text = run(sandbox, &[], &["cat", "/proc/self/status"]).output().ok().stdout();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().to_owned()
}

/// Whether a capability, by its number, can be had inside.
fn can_have(sandbox: &Sandbox, number: u32) -> bool {
    u64::from_str_radix(&status(sandbox, "CapBnd"), 16).unwrap() & (1 << number) != 0
}

// The daemon of a test machine may itself lack what it would have to give.
on!(podman: with_consent_a_container_is_privileged);

const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;
const SYS_NICE: u32 = 23;

fn memory_and_volumes_are_places_of_the_session(engine: Engine) {
    let mounts = json!([
        "type=tmpfs,target=/scratch",
        "source=history,target=/data/history,type=volume",
        { "type": "volume", "source": "modules", "target": "${containerWorkspaceFolder}/node_modules" },
        { "type": "tmpfs", "target": "/memory" },
    ]);
    let hook = "echo kept > /data/history/f; echo inside > node_modules/f; echo gone > /scratch/f";
    let sandbox = with(engine, json!({ "mounts": mounts, "remoteUser": "agent", "postCreateCommand": hook }));
    let script = "cat /data/history/f node_modules/f; ls /scratch; echo x > /scratch/y; echo x > /memory/y; \
                  grep -c -E ' (/scratch|/memory) tmpfs ' /proc/mounts; echo more >> /data/history/f";
    let _ = up(&sandbox, &[], script).output().ok().prints("kept\ninside\n2\n");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    // Nobody else's: the next one begins as the setup left it.
    let _ = run(&sandbox, &[], &["cat", "/data/history/f"]).output().ok().prints("kept\n");
}

fn harmless_arguments_reach_the_engine(engine: Engine) {
    let mut arguments = json!([
        "--hostname",
        "box",
        "--shm-size=32m",
        "--add-host=peer:10.1.2.3",
        "--init",
        "--tmpfs",
        "/memory",
        "-e",
        "WORD=of runArgs",
        "--name",
        "mine",
        "--network=host",
        "-v",
        "/etc:/host-etc"
    ]);
    // With one limit given podman raises others, and the root of a test machine may lack the right to.
    let can_limit = engine == Engine::Docker || !crate::host::is_root();
    if can_limit {
        arguments.as_array_mut().unwrap().extend([json!("--ulimit"), json!("nofile=500:500")]);
    }
    let sandbox = with(engine, json!({ "runArgs": arguments, "userEnvProbe": "none" }));
    let script = "hostname; grep -w peer /etc/hosts | head -c 8; echo; echo $WORD; df -k /dev/shm | tail -n 1 | \
                  awk '{ print $2 }'; grep -c ' /memory tmpfs' /proc/mounts; ls /host-etc 2>/dev/null; true";
    let output = up(&sandbox, &[], script).output().ok().prints("box\n10.1.2.3\nof runArgs\n32768\n1\n");
    let output = output.says("left out: runArgs[11] (changes the network)");
    let _ = output.says("left out: runArgs[12] (mounts files of the host)").says("`cowbox trust` shows");
    if can_limit {
        let _ = run(&sandbox, &[], &["sh", "-c", "ulimit -n"]).output().ok().prints("500\n");
    }
}

fn the_debugger_s_capability_is_given_and_no_other(engine: Engine) {
    let config = json!({ "capAdd": ["SYS_PTRACE", "SYS_ADMIN"], "privileged": true, "userEnvProbe": "none" });
    let sandbox = with(engine, config);
    assert!(can_have(&sandbox, SYS_PTRACE) && !can_have(&sandbox, SYS_ADMIN));
    let output = run(&sandbox, &[], &["true"]).output().ok();
    let _ = output.says("left out: capAdd (gives the container more rights)").says("left out: privileged");
}

fn with_consent_capabilities_and_confinement_change(engine: Engine) {
    let config = json!({ "capAdd": ["CAP_SYS_NICE"], "securityOpt": ["seccomp=unconfined"], "userEnvProbe": "none" });
    let sandbox = with(engine, config);
    assert!(!can_have(&sandbox, SYS_NICE));
    assert_eq!(status(&sandbox, "Seccomp"), "2");
    sandbox.cowbox(&["trust", "-y"]).output().done();
    assert!(can_have(&sandbox, SYS_NICE) && !can_have(&sandbox, SYS_ADMIN));
    assert_eq!(status(&sandbox, "Seccomp"), "0");
}

fn with_consent_a_container_is_privileged(engine: Engine) {
    let sandbox = with(engine, json!({ "privileged": true, "userEnvProbe": "none" }));
    sandbox.cowbox(&["trust", "-y"]).output().done();
    assert!(can_have(&sandbox, SYS_ADMIN));
    sandbox.cowbox(&["trust", "--revoke"]).output().done();
    assert!(!can_have(&sandbox, SYS_ADMIN));
}

fn memory_in_the_workspace_lies_over_what_was_prepared(engine: Engine) {
    let mounts = json!([{ "type": "tmpfs", "target": "${containerWorkspaceFolder}/cache" }]);
    let sandbox =
        with(engine, json!({ "mounts": mounts, "remoteUser": "agent", "postCreateCommand": "echo made > made" }));
    let script = "cat made; grep -c '/cache tmpfs ' /proc/mounts; echo x > cache/x && echo y > y && ls cache";
    let _ = up(&sandbox, &["--name", "it"], script).output().ok().prints("made\n1\nx\n");
    assert_eq!(sandbox.changes(), ["A  y"]);
    let _ = up(&sandbox, &["--resume", "it"], "cat made; ls cache; cat y").output().ok().prints("made\ny\n");
}
