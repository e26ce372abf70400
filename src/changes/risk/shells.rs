//! What a shell, or a tool hooked into it, loads when you enter the folder.

use super::Risk;
use super::codes::{BUILD_ENTRY, SHELL_AUTOLOAD};
use super::doc::Format;
use super::keys::KeyRules;
use super::mise;
use super::rule::{Judged, Rule, Sides};
use super::variables;

const DIRENV: &str = "is run by direnv when you enter the folder";
const HERMIT: &str = "is what hermit runs when you enter the folder";
const MISE_TASK: &str = "is a task of mise";
const NIX: &str = "is evaluated when a nix shell starts here";
const STARTUP: &str = "is a startup file of a shell";
const VERSION: &str = "chooses the version of a tool that is run here";

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::any(".envrc", SHELL_AUTOLOAD, DIRENV),
    Rule::any(".envrc.*", SHELL_AUTOLOAD, DIRENV),
    Rule::any(".direnvrc", SHELL_AUTOLOAD, DIRENV),
    Rule::any(".direnv/**", SHELL_AUTOLOAD, "is what direnv loads when you enter the folder"),
    Rule::any(".autoenv*", SHELL_AUTOLOAD, "is run by autoenv when you enter or leave the folder"),
    Rule::any(".shadowenv.d/**", SHELL_AUTOLOAD, "is run by shadowenv when you enter the folder"),
    Rule::any(".rvmrc", SHELL_AUTOLOAD, "is run by rvm when you enter the folder"),
    Rule::any(".flox/**", SHELL_AUTOLOAD, "is what flox runs when the environment is activated"),
    Rule::any("bin/hermit.hcl", SHELL_AUTOLOAD, HERMIT),
    Rule::any("bin/hermit", SHELL_AUTOLOAD, HERMIT),
    Rule::any("bin/activate-hermit", SHELL_AUTOLOAD, HERMIT),
    Rule::harmless(".env.example"),
    Rule::harmless(".env.sample"),
    Rule::harmless(".env.template"),
    Rule::own(".env", SHELL_AUTOLOAD, variables::judge),
    Rule::own(".env.*", SHELL_AUTOLOAD, variables::judge),
    Rule::own(".Renviron", SHELL_AUTOLOAD, variables::judge),
    Rule::any("flake.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("shell.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("devenv.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("devenv.yaml", SHELL_AUTOLOAD, NIX),
    Rule::any("devenv.local.nix", SHELL_AUTOLOAD, NIX),
    Rule::any("devenv.local.yaml", SHELL_AUTOLOAD, NIX),
    Rule::keys(
        "devbox.json",
        SHELL_AUTOLOAD,
        Format::Json,
        KeyRules::only(&["shell.*", "env.*", "env_from", "include*"]),
    ),
    Rule::keys("pixi.toml", SHELL_AUTOLOAD, Format::Toml, KeyRules::only(&["activation*", "*.activation*"])),
    Rule::keys("pyproject.toml", SHELL_AUTOLOAD, Format::Toml, KeyRules::only(&["tool.pixi.*activation*"])),
    Rule::own("mise.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".mise.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own("mise.*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".mise.*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".rtx.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".rtx.*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own("mise/config.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own("mise/config.*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".mise/config.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".mise/config.*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own("mise/conf.d/*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::own(".mise/conf.d/*.toml", SHELL_AUTOLOAD, mise::judge),
    Rule::any("mise-tasks/**", BUILD_ENTRY, MISE_TASK),
    Rule::any(".mise-tasks/**", BUILD_ENTRY, MISE_TASK),
    Rule::any(".mise/tasks/**", BUILD_ENTRY, MISE_TASK),
    Rule::any(".config/mise/tasks/**", BUILD_ENTRY, MISE_TASK),
    Rule::any(".config/mise/**", SHELL_AUTOLOAD, "is loaded by mise when you enter the folder"),
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
    Rule::any(".ssh/**", SHELL_AUTOLOAD, "is read by ssh, whose settings can run programs and let others in"),
    Rule::any(".config/autostart/**", SHELL_AUTOLOAD, "is started when you log in"),
    Rule::any(".tmux.conf", SHELL_AUTOLOAD, "is a startup file of tmux"),
    Rule::any(".gdbinit", SHELL_AUTOLOAD, "is run by gdb when it starts here"),
    Rule::any(".lldbinit", SHELL_AUTOLOAD, "is run by lldb when it starts here"),
];

/// A version is a choice; a path is a program.
fn tool_versions(sides: &Sides<'_>) -> Judged {
    let text = String::from_utf8_lossy(sides.new.unwrap_or_default());
    if sides.new.is_none() {
        return Ok(Vec::new());
    }
    let path = text.split_ascii_whitespace().any(mise::is_program);
    let (code, words) =
        if path { (SHELL_AUTOLOAD, "names a tool by its path or revision") } else { (BUILD_ENTRY, VERSION) };
    Ok(vec![Risk::of(code, format!("`{}` {words}", sides.name))])
}
