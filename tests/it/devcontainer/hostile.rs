//! A devcontainer that wants out: nothing of it reaches the host.

use std::fs;

use serde_json::json;

use super::{image, run, up, with};
use crate::common::{Engine, Sandbox, on, on_containers, on_every_engine};
use crate::host::Canary;

on_every_engine!(a_hostile_file_reaches_nothing, a_context_outside_of_the_repo_is_refused);
on_containers!(
    a_build_cannot_write_to_the_repo,
    a_hostile_compose_file_reaches_nothing,
    a_build_step_cannot_mount_the_host,
    an_archive_in_the_repo_is_no_image,
);
on!(podman: a_step_of_a_build_is_not_taken_from_another_repository);

const SECRET: &str = "planted-by-the-test";

/// A directory of the host with something in it to steal or to break.
fn prey(sandbox: &Sandbox) -> std::path::PathBuf {
    let dir = sandbox.root().join("prey");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("file"), SECRET).unwrap();
    dir
}

fn a_hostile_file_reaches_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let prey = prey(&sandbox);
    let canary = Canary::at(&prey);
    let path = prey.to_str().unwrap();
    super::write(
        &sandbox,
        json!({
            "initializeCommand": { "a": format!("touch {path}/initialized"), "b": ["touch", format!("{path}/again")] },
            "privileged": true,
            "capAdd": ["ALL"],
            "securityOpt": ["seccomp=unconfined", "apparmor=unconfined", "label=disable"],
            "mounts": ["source=/,target=/host,type=bind", { "type": "bind", "source": path, "target": "/prey" }],
            "workspaceMount": format!("source={path},target=/workspaces/api,type=bind"),
            "runArgs": ["-v", "/:/host2", "--volume=/:/host3", "--pid=host", "--network=host", "--device=/dev/mem", "--env-file=/etc/passwd", "-e", "SECRET_TOKEN"],
            "containerEnv": { "STOLEN": "${localEnv:SECRET_TOKEN}" },
            "remoteEnv": { "STOLEN2": "${env:SECRET_TOKEN}" },
            "postCreateCommand": "env > seen; ls -d /host /host2 /host3 /prey >> seen 2>/dev/null; touch /host/x /prey/x; true",
            "postStartCommand": "touch /prey/started /host3/started 2>/dev/null; true",
        }),
    );
    let script =
        "cat seen; env; ls -d /host /host2 /host3 /prey 2>/dev/null; cat /proc/1/comm; grep CapBnd /proc/self/status";
    let output = up(&sandbox, &[], script).env("SECRET_TOKEN", SECRET).output().ok();
    let said = output.stdout() + &output.stderr();
    assert!(!said.contains(SECRET), "{said}");
    for place in ["/host", "/host2", "/host3", "/prey"] {
        assert!(!output.stdout().lines().any(|line| line == place), "{place} in\n{said}");
    }
    let capabilities = output.stdout().lines().find_map(|l| l.strip_prefix("CapBnd:")?.trim().parse::<String>().ok());
    let capabilities = u64::from_str_radix(&capabilities.unwrap(), 16).unwrap();
    assert_eq!(capabilities & (1 << 21), 0, "CAP_SYS_ADMIN in\n{said}");
    let _ = output.says("left out: initializeCommand").says("left out: privileged").says("left out: mounts[0]");
    canary.check();
}

fn a_context_outside_of_the_repo_is_refused(engine: Engine) {
    for (key, build) in [
        ("build.context", json!({ "dockerfile": "Dockerfile", "context": "../../prey" })),
        ("build.dockerfile", json!({ "dockerfile": "../../../prey/file" })),
    ] {
        let sandbox = with(engine, json!({ "build": build }));
        sandbox.write(".devcontainer/Dockerfile", format!("FROM {}\nCOPY file /file\n", image("tiny")));
        let prey = prey(&sandbox);
        let canary = Canary::at(&prey);
        let output = run(&sandbox, &[], &["cat", "/file"]).output().code(125).prints("");
        let _ = output.says(key).says("leads out of the repo");
        canary.check();
    }
    // Nor by a link.
    let sandbox = with(engine, json!({ "build": { "dockerfile": "Dockerfile", "context": "context" } }));
    let prey = prey(&sandbox);
    sandbox.write(".devcontainer/Dockerfile", format!("FROM {}\nCOPY file /file\n", image("tiny")));
    std::os::unix::fs::symlink(&prey, sandbox.repo().join(".devcontainer/context")).unwrap();
    let output = run(&sandbox, &[], &["cat", "/file"]).output().code(125).prints("");
    assert!(!output.stderr().contains(SECRET));
}

/// The harness compares the repo's fingerprint at the end.
fn a_build_cannot_write_to_the_repo(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let lines = "RUN --mount=type=bind,rw,target=/context echo owned > /context/owned; rm -f /context/victim; true";
    sandbox.write(".devcontainer/Dockerfile", format!("FROM {}\n{lines}\n", image("tiny")));
    sandbox.write(".devcontainer/victim", "x\n");
    super::write(&sandbox, json!({ "build": { "dockerfile": "Dockerfile" }, "userEnvProbe": "none" }));
    // An old docker does not know it.
    let output = run(&sandbox, &[], &["true"]).output();
    assert!([0, 125].contains(&output.exit_code()), "{}", output.stderr());
    sandbox.check_repo();
    assert!(sandbox.repo().join(".devcontainer/victim").exists());
}

fn a_hostile_compose_file_reaches_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let prey = prey(&sandbox);
    let canary = Canary::at(&prey);
    let path = prey.to_str().unwrap();
    sandbox.write(
        "compose.yml",
        format!(
            "services:\n  app:\n    image: {}\n    privileged: true\n    pid: host\n    network_mode: host\n    cap_add: [ALL]\n    \
             volumes:\n      - .:/code\n      - /:/host\n      - {path}:/prey\n    environment:\n      - STOLEN=${{SECRET_TOKEN}}\n      \
             - SECRET_TOKEN\n    devices: [/dev/mem]\n",
            image("tiny")
        ),
    );
    let config = json!({ "dockerComposeFile": "../compose.yml", "service": "app", "workspaceFolder": "/code", "userEnvProbe": "none" });
    super::write(&sandbox, config);
    let script = "env; ls -d /host /prey 2>/dev/null; touch /prey/x /host/x 2>/dev/null; cat README.md";
    let output = up(&sandbox, &[], script).env("SECRET_TOKEN", SECRET).output().ok();
    let said = output.stdout() + &output.stderr();
    assert!(!said.contains(SECRET) && said.contains("# api\n"), "{said}");
    assert!(!output.stdout().lines().any(|line| line == "/host" || line == "/prey"), "{said}");
    let _ = output.says("left out: services.app.privileged").says("left out: services.app.volumes");
    canary.check();
}

/// Podman 4.3 follows the link, and the way up.
fn a_build_step_cannot_mount_the_host(engine: Engine) {
    for mount in [
        "type=bind,source=link,target=/prey",
        "type=bind,from=first,source=/link,target=/prey,rw",
        "type=cache,id=../../../../../../../../../../../../../../PREY,target=/prey",
    ] {
        let sandbox = Sandbox::new(engine);
        let prey = prey(&sandbox);
        let canary = Canary::at(&prey);
        let path = prey.to_str().unwrap();
        let mount = mount.replace("/PREY", path);
        let first = format!("FROM {} AS first\nUSER 0\nRUN ln -s {path} /link", image("tiny"));
        let step = format!("RUN --mount={mount} cp /prey/file /stolen; touch /prey/owned; true");
        sandbox.write(".devcontainer/Dockerfile", format!("{first}\nFROM {}\nUSER 0\n{step}\n", image("tiny")));
        std::os::unix::fs::symlink(&prey, sandbox.repo().join(".devcontainer/link")).unwrap();
        super::write(&sandbox, json!({ "build": { "dockerfile": "Dockerfile" }, "userEnvProbe": "none" }));
        // Docker's builder, where it knows mounts, looks for the link's end in the context.
        let output = run(&sandbox, &[], &["sh", "-c", "cat /stolen; true"]).output();
        assert!(!output.stdout().contains(SECRET), "{mount}");
        if engine == Engine::Podman {
            let _ = output.code(125).says("a build with podman could reach the host by this");
        }
        canary.check();
    }
}

/// To load one would give names of others to the images in it.
fn an_archive_in_the_repo_is_no_image(engine: Engine) {
    let sandbox = with(engine, json!({ "image": "docker-archive:proc/..${localWorkspaceFolder}/evil.tar" }));
    let _ = run(&sandbox, &[], &["true"]).output().code(125).says("it is a file of this system");
    let sandbox = Sandbox::new(engine);
    sandbox.write("compose.yml", format!("services:\n  app:\n    image: oci-archive:{}\n", sandbox.root().display()));
    super::write(&sandbox, json!({ "dockerComposeFile": "../compose.yml", "service": "app" }));
    let _ = run(&sandbox, &[], &["true"]).output().code(125).says("it is a file of this system");
}

fn a_step_of_a_build_is_not_taken_from_another_repository(engine: Engine) {
    let lines = "USER 0\nRUN --mount=type=bind,source=script,target=/script sh /script >/made";
    for word in ["evil", "good"] {
        let sandbox = super::built(engine, lines, json!({ "userEnvProbe": "none" }));
        sandbox.write(".devcontainer/script", format!("echo {word}\n"));
        let _ = run(&sandbox, &[], &["cat", "/made"]).output().ok().prints(format!("{word}\n"));
    }
}
