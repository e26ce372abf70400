//! What a shell, or a tool hooked into it, loads when you enter the folder.

use super::Risk;
use super::codes::{BUILD_ENTRY, SHELL_AUTOLOAD};
use super::doc::Format;
use super::keys::KeyRules;
use super::lines;
use super::rule::{Judged, Rule, Sides};

const DIRENV: &str = "is run by direnv when you enter the folder";
const NIX: &str = "is evaluated when a nix shell starts here";
const STARTUP: &str = "is a startup file of a shell";
const VERSION: &str = "chooses the version of a tool that is run here";

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::any(".envrc", SHELL_AUTOLOAD, DIRENV),
    Rule::any(".envrc.*", SHELL_AUTOLOAD, DIRENV),
    Rule::any(".direnvrc", SHELL_AUTOLOAD, DIRENV),
    Rule::any(".autoenv", SHELL_AUTOLOAD, "is run by autoenv when you enter the folder"),
    Rule::any(".autoenv.*", SHELL_AUTOLOAD, "is run by autoenv when you enter or leave the folder"),
    Rule::harmless(".env.example"),
    Rule::harmless(".env.sample"),
    Rule::harmless(".env.template"),
    Rule::own(".env", SHELL_AUTOLOAD, variables),
    Rule::own(".env.*", SHELL_AUTOLOAD, variables),
    Rule::any("flake.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("shell.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("devenv.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("devenv.yaml", SHELL_AUTOLOAD, NIX),
    Rule::keys(
        "devbox.json",
        SHELL_AUTOLOAD,
        Format::Json,
        KeyRules::only(&["shell.*", "env.*", "env_from", "include*"]),
    ),
    Rule::own("mise.toml", SHELL_AUTOLOAD, mise),
    Rule::own(".mise.toml", SHELL_AUTOLOAD, mise),
    Rule::own("mise.*.toml", SHELL_AUTOLOAD, mise),
    Rule::own(".mise.*.toml", SHELL_AUTOLOAD, mise),
    Rule::own("mise/config.toml", SHELL_AUTOLOAD, mise),
    Rule::own(".mise/config.toml", SHELL_AUTOLOAD, mise),
    Rule::own("mise/conf.d/*.toml", SHELL_AUTOLOAD, mise),
    Rule::any("mise-tasks/**", BUILD_ENTRY, "is a task of mise"),
    Rule::any(".mise/tasks/**", BUILD_ENTRY, "is a task of mise"),
    Rule::own(".tool-versions", SHELL_AUTOLOAD, tool_versions),
    Rule::any(".nvmrc", BUILD_ENTRY, VERSION),
    Rule::any(".node-version", BUILD_ENTRY, VERSION),
    Rule::any(".python-version", BUILD_ENTRY, VERSION),
    Rule::any(".ruby-version", BUILD_ENTRY, VERSION),
    Rule::any(".java-version", BUILD_ENTRY, VERSION),
    Rule::any(".sdkmanrc", BUILD_ENTRY, VERSION),
    Rule::any("rust-toolchain", BUILD_ENTRY, VERSION),
    Rule::any("rust-toolchain.toml", BUILD_ENTRY, VERSION),
    Rule::any("global.json", BUILD_ENTRY, VERSION),
    Rule::any(".bashrc", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".bash_profile", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".bash_login", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".bash_logout", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".bash_aliases", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".profile", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".zshrc", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".zshenv", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".zprofile", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".zlogin", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".zlogout", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".kshrc", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".inputrc", SHELL_AUTOLOAD, STARTUP),
    Rule::any("config.fish", SHELL_AUTOLOAD, STARTUP),
    Rule::any("fish/conf.d/*.fish", SHELL_AUTOLOAD, STARTUP),
    Rule::any(".tmux.conf", SHELL_AUTOLOAD, "is a startup file of tmux"),
    Rule::any(".gdbinit", SHELL_AUTOLOAD, "is run by gdb when it starts here"),
    Rule::any(".lldbinit", SHELL_AUTOLOAD, "is run by lldb when it starts here"),
];

/// Variables that make some program load or run what they name, or send it elsewhere.
const LOUD_VARIABLES: KeyRules = KeyRules::only(&[
    "line *",
    "PATH",
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "ENV",
    "ZDOTDIR",
    "PROMPT_COMMAND",
    "PS1",
    "PS4",
    "IFS",
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "GIT_*",
    "SSH_*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "PYTHON*",
    "VIRTUAL_ENV",
    "PERL5*",
    "RUBY*",
    "BUNDLE_*",
    "GEM_*",
    "JAVA_*",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "*_OPTS",
    "GOFLAGS",
    "GOPROXY",
    "GONOSUMDB",
    "GOROOT",
    "RUSTC*",
    "RUSTFLAGS",
    "CARGO_*",
    "CC",
    "CXX",
    "MAKEFLAGS",
    "NPM_CONFIG_*",
    "npm_config_*",
    "YARN_*",
    "PIP_*",
    "UV_*",
    "DOCKER_*",
    "CONTAINER_*",
    "COMPOSE_*",
    "KUBECONFIG",
    "*_PROXY",
    "*_proxy",
    "*_BASE_URL",
    "COWBOX_*",
]);

fn variables(sides: &Sides<'_>) -> Judged {
    let (old, new) = lines::both(sides, lines::env)?;
    Ok(sides.by_keys(SHELL_AUTOLOAD, &old, &new, &LOUD_VARIABLES).into_iter().collect())
}

const MISE_TOOLS: KeyRules = KeyRules::only(&["tools.*"]);
const MISE_REST: KeyRules = KeyRules::all_but(&["tools.*", "min_version"]);

/// Environment, hooks, tasks and plugins act by themselves; tools are installed when asked for.
fn mise(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Toml)?;
    let risks =
        [sides.by_keys(SHELL_AUTOLOAD, &old, &new, &MISE_REST), sides.by_keys(BUILD_ENTRY, &old, &new, &MISE_TOOLS)];
    Ok(risks.into_iter().flatten().collect())
}

/// A version is a choice; a path is a program.
fn tool_versions(sides: &Sides<'_>) -> Judged {
    let text = String::from_utf8_lossy(sides.new.unwrap_or_default());
    if sides.new.is_none() {
        return Ok(Vec::new());
    }
    let path = text.split_ascii_whitespace().any(|word| word.starts_with("path:") || word.starts_with("ref:"));
    let (code, words) =
        if path { (SHELL_AUTOLOAD, "names a tool by its path or revision") } else { (BUILD_ENTRY, VERSION) };
    Ok(vec![Risk::of(code, format!("`{}` {words}", sides.name))])
}
