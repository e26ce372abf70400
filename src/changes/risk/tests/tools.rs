//! Tools that load a file by themselves: by its name, or by some of its keys.

use super::documents::check;
use super::*;

#[test]
fn programs_start_from_these_by_themselves() {
    for (code, paths) in [
        (
            "editor-autoload",
            &[
                ".vscode/cmake-kits.json",
                ".bsp/sbt.json",
                "buildServer.json",
                ".merlin",
                ".ycm_extra_conf.py",
                ".project",
                ".externalToolBuilders/x.launch",
                ".factorypath",
                "Session.vim",
                ".formatter.exs",
            ][..],
        ),
        (
            "shell-autoload",
            &[
                ".Rprofile",
                ".irbrc",
                ".pryrc",
                ".iex.exs",
                ".ghci",
                ".ocamlinit",
                ".octaverc",
                ".pdbrc",
                ".perldb",
                ".psysh.php",
                ".rvmrc",
                "devenv.nix",
                "devenv.yaml",
                "devenv.local.nix",
                ".flox/env/manifest.toml",
                "bin/hermit.hcl",
                ".shadowenv.d/500.lisp",
                ".autoenv.zsh",
                ".autoenv_leave.zsh",
                ".direnv/x",
                ".ssh/config",
                ".config/autostart/x.desktop",
                ".config/mise/x",
            ],
        ),
        ("vcs-settings", &[".hg/hgrc", ".hg/store/x", ".jj/repo/config.toml", ".gitconfig", ".gitconfig-work"]),
        (
            "hook-dir",
            &["lefthook.yml", ".lefthook.yml", "lefthook-local.toml", ".lefthook/pre-commit/x", ".huskyrc.js"],
        ),
        (
            "agent-config",
            &[
                ".clinerules/hooks/PreToolUse",
                ".amazonq/mcp.json",
                ".openhands/setup.sh",
                ".pi/extensions/x.ts",
                ".vibe/config.toml",
                ".iflow/settings.json",
                ".codebuddy/settings.json",
                ".qoder/x.yaml",
                ".grok/settings.json",
                ".kilocode/mcp.json",
                ".trae/mcp.json",
                ".serena/project.yml",
                "conductor.json",
            ],
        ),
        (
            "agent-instructions",
            &[".clinerules/style.md", ".amazonq/rules/x.md", ".kilocode/rules/a/b.md", ".serena/memories/x.md"],
        ),
    ] {
        for path in paths {
            for path in [(*path).to_owned(), format!("sub/{path}")] {
                assert_eq!(codes(&edit(&path, "", "x = 1")), [code], "{path}");
            }
        }
    }
}

#[test]
fn language_tools_by_their_keys() {
    let editor = &["editor-autoload"][..];
    let properties = ".vscode/c_cpp_properties.json";
    check(&[
        (properties, "{}", r#"{"configurations": [{"compilerPath": "./x"}]}"#, editor),
        (properties, "{}", r#"{"configurations": [{"includePath": ["x"], "cppStandard": "c++20"}]}"#, &[]),
        ("hie.yaml", "", "cradle: {bios: {shell: x}}", editor),
        ("hie.yaml", "", "cradle: {stack: {component: x}}", &[]),
        ("rust-project.json", "{}", r#"{"crates": [{"proc_macro_dylib_path": "x.so"}]}"#, editor),
        ("rust-project.json", "{}", r#"{"crates": [{"root_module": "x.rs"}]}"#, &[]),
        ("rust-analyzer.toml", "", "check.overrideCommand = [\"x\"]", editor),
        ("rust-analyzer.toml", "", "[imports]\nprefix = \"self\"", &[]),
        (".luarc.json", "{}", r#"{"runtime.plugin": "x.lua"}"#, editor),
        (".luarc.json", "{}", r#"{"diagnostics.globals": ["vim"]}"#, &[]),
        (".phpactor.json", "{}", r#"{"language_server_phpstan.bin": "x"}"#, editor),
        (".phpactor.json", "{}", r#"{"indexer.exclude_patterns": ["x"]}"#, &[]),
        (".solargraph.yml", "", "plugins: [x]", editor),
        (".solargraph.yml", "", "exclude: [x]", &[]),
        (".pylintrc", "", "[MASTER]\ninit-hook=import os", editor),
        (".pylintrc", "", "[MAIN]\ninit-hook: import os", editor),
        (".pylintrc", "", "[FORMAT]\nmax-line-length=100", &[]),
        ("pylintrc.toml", "", "main = { init-hook = \"x\" }", editor),
        (".rubocop.yml", "a: 1", "a: 1\nrequire: ./x", editor),
        (".rubocop.yml", "a: 1", "a: 1\nplugins: [x]", editor),
        (".rubocop.yml", "a: 1", "a: <%= `x` %>", editor),
        (".rubocop.yml", "require: x", "require: x\nStyle/StringLiterals:\n  Enabled: false", &[]),
    ]);
}

#[test]
fn settings_of_editors_by_the_words_of_their_keys() {
    let editor = &["editor-autoload"][..];
    let (code, zed) = (".vscode/settings.json", ".zed/settings.json");
    check(&[
        (code, "{}", r#"{"cmake.configureOnOpen": true}"#, editor),
        (code, "{}", r#"{"npm.autoDetect": "on"}"#, editor),
        (code, "{}", r#"{"java.jdt.ls.vmargs": "-javaagent:x"}"#, editor),
        (code, "{}", r#"{"go.testFlags": ["-exec=x"]}"#, editor),
        (code, "{}", r#"{"claudeCode.initialPermissionMode": "bypassPermissions"}"#, editor),
        (code, "{}", r#"{"direnv.restart.automatic": true}"#, editor),
        (zed, "{}", r#"{"lsp": {"x": {"binary": {"path": "./x"}}}}"#, editor),
        (zed, "{}", r#"{"terminal": {"shell": {"program": "x"}}}"#, editor),
        (zed, "{}", r#"{"context_servers": {"x": {"source": "custom"}}}"#, editor),
        (zed, "{}", r#"{"agent": {"always_allow_tool_actions": true}}"#, editor),
        (zed, "{}", r#"{"tab_size": 2, "languages": {"Rust": {"format_on_save": "off"}}}"#, &[]),
        (".zed/tasks.json", "[]", r#"[{"label": "a", "command": "x"}]"#, &["build-entry"]),
        (".zed/tasks.json", "[]", r#"[{"command": "x", "hooks": ["create_worktree"]}]"#, editor),
    ]);
}

#[test]
fn mise_by_its_keys() {
    let (shell, both) = (&["shell-autoload"][..], &["shell-autoload", "build-entry"][..]);
    check(&[
        ("mise.toml", "", "[tools]\nnode = \"path:./x\"", both),
        ("mise.toml", "", "[tools]\nnode = [\"22\", \"path:./x\"]", both),
        ("mise.toml", "", "[tools]\nnode = { version = \"22\", postinstall = \"x\" }", both),
        ("mise.toml", "", "[tools]\n\"asdf:x/y\" = \"1\"", both),
        ("mise.toml", "", "[tools]\n\"npm:prettier\" = \"3\"", &["build-entry"]),
        ("mise.toml", "", "[hooks]\nenter = \"x\"", shell),
        ("mise.toml", "", "[env]\n_.source = \"x.sh\"", shell),
        ("mise.toml", "", "[env._]\npath = [\"x\"]", shell),
        ("mise.toml", "", "\"tools.x\" = \"path:x\"", both),
        ("mise/config.local.toml", "", "[env]\nA = \"1\"", shell),
        (".mise/config.local.toml", "", "[env]\nA = \"1\"", shell),
        (".config/mise/config.toml", "", "[env]\nA = \"1\"", shell),
        (".config/mise/tasks/x", "", "x", &["build-entry"]),
        (".rtx.toml", "", "[env]\nA = \"1\"", shell),
        (".tool-versions", "", "nodejs path:./x", shell),
        ("pixi.toml", "", "[activation]\nscripts = [\"x.sh\"]", shell),
        ("pixi.toml", "", "[tasks]\nx = \"y\"", &["build-entry"]),
        ("pixi.toml", "", "[dependencies]\nx = \"1\"", &[]),
    ]);
}

#[test]
fn loud_variables() {
    for name in [
        "XDG_CONFIG_HOME",
        "HOME",
        "AWS_CONFIG_FILE",
        "MAKEFILES",
        "DOTNET_STARTUP_HOOKS",
        "RIPGREP_CONFIG_PATH",
        "TAR_OPTIONS",
        "LESSOPEN",
        "VIMINIT",
        "EXINIT",
        "LUA_INIT_5_4",
        "R_PROFILE_USER",
        "OPENSSL_CONF",
        "GOTOOLCHAIN",
        "GOENV",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GH_HOST",
    ] {
        assert_eq!(codes(&edit(".env", "A=1", &format!("A=1\n{name}=./x"))), ["shell-autoload"], "{name}");
    }
    assert_eq!(codes(&edit(".env", "A=1", "A=1\nAPP_HOME=x\nAWS_REGION=x")), [""; 0]);
}

#[test]
fn a_dot_in_a_key_is_not_a_step() {
    let compose = ".devcontainer/stack.yaml";
    let host = &["devcontainer-host"][..];
    check(&[
        (compose, "services: {a: {image: x}}", "services: {a: {image: y}}", &[]),
        (compose, "services: {a: {image: x}}", "services: {a: {image: x}, b.image: {privileged: true}}", host),
        (compose, "services: {a: {image: x}}", "services: {a: {image: x}, b: {volumes.image: x}}", host),
        (compose, "services: {a: {image: x}}", "services: {a: {image: x, devices: {labels: x}}}", host),
        (compose, "services.a.privileged: true", "services: {a: {privileged: true}}", host),
        (".devcontainer/deep/er/x.yml", "", "volumes: {a: {driver_opts: {device: /}}}", host),
        (".devcontainer/lint.yml", "", "rules: {a: 1}", &["devcontainer"]),
    ]);
}
