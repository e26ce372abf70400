//! Files that something on the host runs or obeys by their names. Cases 20 to 24.

use std::collections::BTreeMap;
use std::fs;

use super::Arena;
use crate::common::{Engine, on};

on!(native:
    case_20_shells_and_toolchains,
    case_21_editors,
    case_22_agents_and_devcontainers,
    case_22_a_compose_file_that_a_dev_container_names,
    case_22_our_own_file_never_widens,
    case_23_build_entries_and_shadow_binaries,
    case_24_ci_locks_and_secrets,
);

/// Writes the files inside, and compares each one's code in `diff --json`. `lands`: whether an apply takes it unasked.
#[track_caller]
fn judged(arena: &Arena, files: &[(&str, &str, &str)], lands: bool) {
    let mut script = String::from("set -e\n");
    for (path, content, _) in files {
        script += &format!("mkdir -p \"$(dirname '{path}')\"; printf '%s' '{content}' > '{path}'\n");
    }
    arena.sh(&format!("{script}echo x > plain")).done();
    let json = arena.cowbox(&["diff", "--json"]).output().ok().json();
    let codes: BTreeMap<&str, String> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["path"].as_str().unwrap(), change["risks"].to_string()))
        .collect();
    for (path, _, code) in files {
        let risks = codes.get(path).unwrap_or_else(|| panic!("{path} is no change"));
        assert!(risks.contains(&format!("\"{code}\"")), "{path}: {code} is not in {risks}");
    }
    let _ = arena.apply(&[]).code(if lands { 0 } else { 4 });
    assert!(arena.has("plain"));
    for (path, _, code) in files {
        assert_eq!(arena.has(path), lands, "{path} ({code})");
    }
}

fn case_20_shells_and_toolchains(engine: Engine) {
    let code = "shell-autoload";
    let files = [
        (".envrc", "evil", code),
        ("sub/.envrc", "evil", code),
        ("mise.toml", "[hooks]\nenter = \"evil\"\n", code),
        (".bashrc", "evil", code),
        ("flake.nix", "{ }", code),
    ];
    judged(&Arena::new(engine), &files, false);
}

fn case_21_editors(engine: Engine) {
    let code = "editor-autoload";
    let files = [
        (
            ".vscode/tasks.json",
            r#"{"tasks":[{"label":"x","command":"evil","runOptions":{"runOn":"folderOpen"}}]}"#,
            code,
        ),
        (".vscode/settings.json", r#"{"git.path":"./evil"}"#, code),
        ("x.code-workspace", r#"{"settings":{"git.path":"./evil"}}"#, code),
        (".exrc", "!evil", code),
        (".nvim.lua", "os.execute()", code),
        (".dir-locals.el", "((nil . ((eval . (evil)))))", code),
    ];
    judged(&Arena::new(engine), &files, false);
}

fn case_22_agents_and_devcontainers(engine: Engine) {
    let files = [
        (
            ".claude/settings.json",
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"evil"}]}]}}"#,
            "agent-config",
        ),
        (".mcp.json", r#"{"mcpServers":{"x":{"command":"evil"}}}"#, "agent-config"),
        (".devcontainer/devcontainer.json", r#"{"initializeCommand":"evil"}"#, "devcontainer-host"),
    ];
    judged(&Arena::new(engine), &files, false);
    judged(
        &Arena::new(engine),
        &[("CLAUDE.md", "obey", "agent-instructions"), ("AGENTS.md", "obey", "agent-instructions")],
        true,
    );
}

fn case_22_a_compose_file_that_a_dev_container_names(engine: Engine) {
    let config = |name: &str| format!("{{\"dockerComposeFile\": \"../deploy/{name}\"}}");
    let service = r#"services: {a: {privileged: true}}"#;
    let arena = Arena::new(engine);
    let script = format!(
        "mkdir .devcontainer deploy; echo '{}' > .devcontainer/devcontainer.json
        for file in host session other; do echo '{service}' > deploy/$file; done",
        config("session")
    );
    arena.sh(&script).done();
    let json = |arena: &Arena| arena.cowbox(&["diff", "--json", "--", "deploy/host"]).output().ok().stdout().to_owned();
    assert!(!json(&arena).contains("devcontainer-host"), "{}", json(&arena));
    arena.change_repo(|repo| fs::write(repo.join(".devcontainer.json"), config("host").replace("../", "")).unwrap());
    assert!(json(&arena).contains("devcontainer-host"), "{}", json(&arena));
    let _ = arena.apply(&[]).code(4).says("--allow devcontainer-host");
    assert!(!arena.has("deploy/host") && !arena.has("deploy/session") && arena.has("deploy/other"));
}

fn case_22_our_own_file_never_widens(engine: Engine) {
    for content in ["network = \"full\"", "mounts = [\"/:/host:rw\"]", "not toml [", "[run]\nengine = \"native\""] {
        let arena = Arena::new(engine);
        arena.sh(&format!("printf '%s\\n' '{content}' > .cowbox.toml; echo x > plain")).done();
        let _ = arena.apply(&["--allow", "all", "--include-ignored"]).ok().says("cowbox-policy");
        assert!(!arena.has(".cowbox.toml") && arena.has("plain"), "{content}");
    }
    // Nor by another name or as a link.
    let arena = Arena::new(engine);
    arena.write(".cowbox.toml", "network = \"none\"\n");
    arena.sh("mv .cowbox.toml old.toml; ln -s src/main.c .cowbox.toml").done();
    let _ = arena.apply(&["--allow", "all"]);
    assert_eq!(arena.read(".cowbox.toml"), "network = \"none\"\n");
    let arena = Arena::new(engine);
    arena.write(".cowbox.toml", "network = \"none\"\n");
    arena.sh("rm .cowbox.toml").done();
    let _ = arena.apply(&["--allow", "all"]);
    assert_eq!(arena.read(".cowbox.toml"), "network = \"none\"\n");
}

fn case_23_build_entries_and_shadow_binaries(engine: Engine) {
    let code = "build-entry";
    let files = [
        ("Makefile", "all:\n\tevil\n", code),
        ("package.json", r#"{"scripts":{"postinstall":"evil"}}"#, code),
        ("build.rs", "fn main() {}", code),
        ("conftest.py", "import os", code),
        (".cargo/config.toml", "[target.x]\nrunner = \"evil\"\n", code),
        ("setup.py", "evil()", code),
    ];
    judged(&Arena::new(engine), &files, true);
    let arena = Arena::with_git(engine);
    arena.write(".gitignore", "node_modules\n.venv\n");
    arena
        .sh("mkdir -p .venv/bin node_modules/.bin; for f in .venv/bin/python node_modules/.bin/tsc; do
        printf '#!/bin/sh\\n' > $f; chmod +x $f; done; cp /bin/true tool")
        .done();
    let json = arena.cowbox(&["diff", "--json"]).output().ok().stdout();
    assert!(json.contains("shadow-binary") && json.contains("new-executable"), "{json}");
    let _ = arena.apply(&[]).ok().says("ignored by git");
    assert!(!arena.has(".venv") && !arena.has("node_modules") && arena.has("tool"));
}

fn case_24_ci_locks_and_secrets(engine: Engine) {
    let key = "AKIA\u{0}IOSFODNN7EXAMPLQ".replace('\u{0}', "");
    let arena = Arena::new(engine);
    let files = [
        (".github/workflows/ci.yml", "on: push", "ci"),
        (".gitlab-ci.yml", "x: 1", "ci"),
        ("CODEOWNERS", "* @evil", "ci"),
        ("settings.txt", key.as_str(), "secret"),
    ];
    judged(&arena, &files, true);
    let arena = Arena::with_git(engine);
    arena.write("package-lock.json", r#"{"lockfileVersion":3,"packages":{"node_modules/a":{"version":"1.0.0","resolved":"https://registry.npmjs.org/a/-/a-1.0.0.tgz","integrity":"sha512-x"}}}"#);
    arena.write("tests/a_test.py", "def test(): pass\n");
    arena.sh("sed -i s/registry.npmjs.org/evil.example/ package-lock.json; rm tests/a_test.py").done();
    let json = arena.cowbox(&["diff", "--json"]).output().ok().stdout();
    assert!(json.contains("lockfile-source") && json.contains("tests-deleted"), "{json}");
}
