//! Rules that look into files.

use super::*;

fn reason(path: &str, old: &str, new: &str) -> String {
    let risks = edit(path, old, new);
    assert_eq!(risks.len(), 1, "{risks:?}");
    risks[0].reason.clone()
}

/// Path, before, after, codes.
pub(super) type Sample = (&'static str, &'static str, &'static str, &'static [&'static str]);

pub(super) fn check(samples: &[Sample]) {
    for (path, old, new, expected) in samples {
        let risks = edit(path, old, new);
        assert_eq!(codes(&risks), *expected, "{path}: {old} -> {new}: {risks:?}");
        let nested = format!("a/b/{path}");
        assert_eq!(codes(&edit(&nested, old, new)), *expected, "{nested}");
    }
}

#[test]
fn keys_are_named_in_the_reason() {
    assert_eq!(
        reason("package.json", r#"{"scripts": {"test": "a"}}"#, r#"{"scripts": {"test": "b", "postinstall": "x"}}"#),
        "`package.json`: `scripts.postinstall` added, `scripts.test` changed"
    );
    let many = r#"{"scripts": {"a": "1", "b": "1", "c": "1", "d": "1", "e": "1", "f": "1"}}"#;
    assert!(reason("package.json", "", many).ends_with("`scripts.d` added and 2 more"));
    assert_eq!(reason(".envrc", "", "x"), "`.envrc` is run by direnv when you enter the folder");
    assert_eq!(reason(".mcp.json", "{}", "{"), "`.mcp.json` cannot be parsed, so it is judged by its name");
    let long = format!(r#"{{"scripts": {{"{}": ""}}}}"#, "x".repeat(500));
    assert!(reason("package.json", "", &long).chars().count() < 120);
}

#[test]
fn manifests() {
    check(&[
        ("package.json", r#"{"version": "1"}"#, r#"{"version": "2", "dependencies": {"a": "^1"}}"#, &[]),
        ("package.json", r#"{"scripts": {"a": "b"}}"#, r#"{}"#, &[]),
        ("package.json", "{}", r#"{"dependencies": {"a": "git+https://evil/x"}}"#, &["lockfile-source"]),
        ("package.json", "{}", r#"{"devDependencies": {"a": "someone/repo"}}"#, &["lockfile-source"]),
        ("package.json", "{}", r#"{"dependencies": {"a": "workspace:*"}}"#, &[]),
        (".npmrc", "fund=false", "fund=false\nscript-shell=./x", &["build-entry"]),
        (".npmrc", "fund=false", "fund=true\n; registry=x", &[]),
        (".yarnrc.yml", "nodeLinker: pnp", "nodeLinker: pnp\n\"yarnPath\": x.cjs", &["build-entry"]),
        (".yarnrc.yml", "nodeLinker: pnp", "{nodeLinker: pnp, plugins: [x]}", &["build-entry"]),
        (".yarnrc.yml", "nodeLinker: pnp", "nodeLinker: node-modules", &[]),
        ("pyproject.toml", "", "[build-system]\nrequires = [\"x\"]", &["build-entry"]),
        ("pyproject.toml", "", "[project]\nversion = \"1\"", &[]),
        ("pyproject.toml", "", "[[tool.uv.index]]\nurl = \"https://x\"", &["lockfile-source"]),
        (".cargo/config.toml", "", "[target.'cfg(unix)']\nrunner = \"x\"", &["build-entry"]),
        (".cargo/config.toml", "", "[build]\nrustc-wrapper = \"x\"", &["build-entry"]),
        (".cargo/config.toml", "", "[term]\ncolor = \"auto\"\n[build]\njobs = 2", &[]),
        ("Cargo.toml", "[package]\nname = \"a\"", "[package]\nname = \"a\"\nbuild = \"x.rs\"", &["build-entry"]),
        ("Cargo.toml", "[dependencies]\na = \"1\"", "[dependencies]\na = \"2\"", &[]),
        ("Cargo.toml", "", "[dependencies]\na = { git = \"https://x\" }", &["lockfile-source"]),
        ("composer.json", "{}", r#"{"scripts": {"post-install-cmd": "x"}}"#, &["build-entry"]),
    ]);
}

#[test]
fn shells() {
    check(&[
        (".env", "A=1", "A=2\nNAME=x", &[]),
        (".env", "A=1", "A=1\nexport LD_PRELOAD=./x.so", &["shell-autoload"]),
        (".env.local", "A=1", "A=$(curl x)", &["shell-autoload"]),
        (".env", "A=1", "A=1\ncurl x | sh", &["shell-autoload"]),
        (".env", "A=1", "A=1; touch x", &["shell-autoload"]),
        (".env", "A=1", "A=1 PATH=/evil", &["shell-autoload"]),
        (".env", "A=1", "A='x' curl evil", &["shell-autoload"]),
        (".env", "A=1", "A=\"x\";id", &["shell-autoload"]),
        (".env", "A=1", "A='a b;c' # a note\nB=x # another\nC=a=b&amp", &["shell-autoload"]),
        (".env", "A=1", "A='a b;c' # a note\nB=x # another\nC=https://a/b?c=d", &[]),
        ("mise.toml", "", "[tools]\nnode = \"22\"", &["build-entry"]),
        ("mise.toml", "", "[env]\nA = \"1\"", &["shell-autoload"]),
        (".mise.toml", "", "[hooks]\nenter = \"x\"\n[tools]\nnode = \"1\"", &["shell-autoload", "build-entry"]),
        (".tool-versions", "", "nodejs 22.0.0", &["build-entry"]),
        (".tool-versions", "", "nodejs path:./evil", &["shell-autoload"]),
        ("devbox.json", "{}", r#"{"shell": {"init_hook": ["x"]}}"#, &["shell-autoload"]),
        ("devbox.json", "{}", r#"{"packages": ["jq"]}"#, &[]),
    ]);
}

#[test]
fn editors() {
    let opens = r#"{"tasks": [{"label": "a", "command": "x", "runOptions": {"runOn": "folderOpen"}}]}"#;
    let opens_other = r#"{"tasks": [{"label": "a", "command": "y", "runOptions": {"runOn": "folderOpen"}}]}"#;
    check(&[
        (".vscode/tasks.json", "{}", opens, &["editor-autoload"]),
        (".vscode/tasks.json", opens, opens_other, &["editor-autoload"]),
        (".vscode/tasks.json", opens, r#"{"tasks": []}"#, &["build-entry"]),
        (".vscode/tasks.json", "{}", "// c\n{\"tasks\": [{\"command\": \"x\"},]}", &["build-entry"]),
        (".vscode/tasks.json", r#"{"version": "1"}"#, r#"{"version": "2.0.0"}"#, &[]),
        (".vscode/settings.json", "{}", r#"{"python.defaultInterpreterPath": "./x"}"#, &["editor-autoload"]),
        (".vscode/settings.json", "{}", r#"{"git": {"path": "./x"}}"#, &["editor-autoload"]),
        (".vscode/settings.json", "{}", r#"{"editor.tabSize": 2, /* c */ "files.eol": "\n",}"#, &[]),
        (".vscode/launch.json", "{}", r#"{"configurations": [{"program": "x"}]}"#, &["build-entry"]),
        (".vscode/mcp.json", "{}", r#"{"servers": {"a": {"command": "x"}}}"#, &["agent-config"]),
        ("x.code-workspace", "{}", r#"{"settings": {"git.path": "x"}}"#, &["editor-autoload"]),
        ("x.code-workspace", "{}", r#"{"settings": {"editor.tabSize": 2}}"#, &[]),
        (
            "x.code-workspace",
            "{}",
            r#"{"tasks": {"tasks": [{"command": "x", "runOptions": {"runOn": "folderOpen"}}]}}"#,
            &["editor-autoload"],
        ),
    ]);
}

#[test]
fn agents() {
    check(&[
        (".claude/settings.json", "{}", r#"{"hooks": {"Stop": [{"command": "x"}]}}"#, &["agent-config"]),
        (".claude/settings.local.json", "{}", r#"{"permissions": {"allow": ["Bash"]}}"#, &["agent-config"]),
        (".claude/settings.json", r#"{"permissions": {"deny": ["a"]}}"#, "{}", &["agent-config"]),
        (".claude/settings.json", r#"{"hooks": {"Stop": "x"}}"#, "{}", &[]),
        (".claude/settings.json", "{}", r#"{"model": "x"}"#, &[]),
        (".mcp.json", "{}", r#"{"mcpServers": {"a": {"command": "x"}}}"#, &["agent-config"]),
        (".codex/config.toml", "", "approval_policy = \"never\"", &["agent-config"]),
        (".codex/config.toml", "", "model = \"x\"", &[]),
        (".aider.conf.yml", "", "test-cmd: x", &["agent-config"]),
        (".aider.conf.yml", "", "dark-mode: true", &[]),
        ("opencode.json", "{}", r#"{"mcp": {"a": {"command": ["x"]}}}"#, &["agent-config"]),
    ]);
}

#[test]
fn devcontainers() {
    check(&[
        (".devcontainer/devcontainer.json", "{}", r#"{"initializeCommand": "x"}"#, &["devcontainer-host"]),
        (".devcontainer/a/devcontainer.json", "{}", r#"{"runArgs": ["--privileged"]}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"mounts": ["source=/,target=/h,type=bind"]}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"mounts": ["source=/,target=/h"]}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"mounts": [{"source": "/", "type": "bind"}]}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"mounts": [{"source": "v", "type": "volume"}]}"#, &["devcontainer"]),
        (".devcontainer.json", "{}", r#"{"mounts": ["source=v,target=/h,type=volume"]}"#, &["devcontainer"]),
        (".devcontainer.json", "{}", r#"{"containerEnv": {"A": "${localEnv:TOKEN}"}}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"features": {"ghcr.io/x/y": {}}}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"build": {"context": "../.."}}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"privileged": true}"#, &["devcontainer-host"]),
        (".devcontainer.json", "{}", r#"{"privileged": false}"#, &["devcontainer"]),
        (".devcontainer.json", "{}", r#"{"postCreateCommand": "x"}"#, &["devcontainer"]),
        (".devcontainer.json", r#"{"runArgs": ["x"]}"#, "{}", &[]),
        (
            ".devcontainer/docker-compose.yml",
            "services: {a: {image: x}}",
            "services: {a: {image: x, volumes: ['/:/host']}}",
            &["devcontainer-host", "build-entry"],
        ),
        (".devcontainer/compose.yml", "services: {a: {image: x}}", "services: {a: {image: y}}", &["build-entry"]),
    ]);
}

#[test]
fn files_of_git() {
    check(&[
        (".gitattributes", "* text", "* text\n*.bin filter=lfs", &["git-attributes"]),
        (".gitattributes", "* text", "*.md diff=evil", &["git-attributes"]),
        (".gitattributes", "* text", "*.md merge=ours", &["git-attributes"]),
        (".gitattributes", "* text", "* ident", &["git-attributes"]),
        (".gitattributes", "* text", "\u{c}#* filter=evil", &["git-attributes"]),
        (".gitattributes", "[attr]x filter=y", "[attr]x filter=y\n* x", &["git-attributes"]),
        (".gitattributes", "*.bin filter=lfs", "# c\n*.bin filter=lfs\n*.x -diff", &[]),
        (".gitattributes", "* text", "*.rs diff=rust merge=union eol=lf\n# * filter=x", &[]),
        (".gitmodules", "", "[submodule \"a\"]\n\tupdate = !touch x", &["git-attributes"]),
        (".gitmodules", "", "[submodule \"a]\"] URL = -x", &["git-attributes"]),
        (".gitmodules", "[submodule \"a\"]\n\turl = x", "[submodule \"a\"]\n\turl = x\n\tshallow = true", &[]),
    ]);
}

#[test]
fn own_file() {
    check(&[
        (".cowbox.toml", "", "network = \"none\"", &["cowbox-settings"]),
        (".cowbox.toml", "", "mounts = [\"/:/x\"]", &["cowbox-policy"]),
        (".cowbox.toml", "network = \"none\"", "network = ", &["cowbox-policy"]),
    ]);
}
