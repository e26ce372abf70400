//! What an editor loads when it opens the folder.

use super::Risk;
use super::codes::{BUILD_ENTRY, EDITOR_AUTOLOAD};
use super::doc::Format;
use super::keys::{How, KeyRules, Keys, describe, listed, short};
use super::program_words::names_program;
use super::rule::{Judged, Rule, Sides};

const VIM: &str = "is run by vim or neovim when it starts here";
const ECLIPSE: &str = "is read by Eclipse, which can start programs from it";
const IDEA: &str = "is read by IntelliJ, which can start programs from it";

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::own(".vscode/tasks.json", EDITOR_AUTOLOAD, tasks),
    Rule::own(".vscode/settings.json", EDITOR_AUTOLOAD, settings),
    Rule::own("*.code-workspace", EDITOR_AUTOLOAD, workspace),
    Rule::keys(".vscode/launch.json", BUILD_ENTRY, Format::Json, KeyRules::all_but(&["version", "*.name"])),
    Rule::keys(".vscode/c_cpp_properties.json", EDITOR_AUTOLOAD, Format::Json, C_CPP),
    Rule::any(".vscode/cmake-kits.json", EDITOR_AUTOLOAD, "holds compilers and scripts that the editor runs"),
    Rule::own(".zed/settings.json", EDITOR_AUTOLOAD, settings),
    Rule::own(".zed/tasks.json", EDITOR_AUTOLOAD, zed_tasks),
    Rule::keys(".zed/debug.json", BUILD_ENTRY, Format::Json, KeyRules::all_but(&["*.label"])),
    Rule::keys(
        ".helix/languages.toml",
        EDITOR_AUTOLOAD,
        Format::Toml,
        KeyRules::only(&["*command*", "*args*", "*.environment*"]),
    ),
    Rule::any(".helix/config.toml", EDITOR_AUTOLOAD, "is read by helix, whose keys can start programs"),
    Rule::harmless(".idea/.gitignore"),
    Rule::harmless(".idea/.name"),
    Rule::harmless(".idea/codeStyles/**"),
    Rule::harmless(".idea/inspectionProfiles/**"),
    Rule::harmless(".idea/dictionaries/**"),
    Rule::harmless(".idea/encodings.xml"),
    Rule::any(".idea/**", EDITOR_AUTOLOAD, IDEA),
    Rule::any(".run/*.run.xml", EDITOR_AUTOLOAD, IDEA),
    Rule::any(".fleet/**", EDITOR_AUTOLOAD, "is read by Fleet, which can start programs from it"),
    Rule::any(".exrc", EDITOR_AUTOLOAD, VIM),
    Rule::any(".vimrc", EDITOR_AUTOLOAD, VIM),
    Rule::any("_vimrc", EDITOR_AUTOLOAD, VIM),
    Rule::any(".lvimrc", EDITOR_AUTOLOAD, VIM),
    Rule::any(".gvimrc", EDITOR_AUTOLOAD, VIM),
    Rule::any(".nvimrc", EDITOR_AUTOLOAD, VIM),
    Rule::any(".nvim.lua", EDITOR_AUTOLOAD, VIM),
    Rule::any(".nvim/**", EDITOR_AUTOLOAD, VIM),
    Rule::any(".vim/**", EDITOR_AUTOLOAD, VIM),
    Rule::any(".lazy.lua", EDITOR_AUTOLOAD, VIM),
    Rule::any(".neoconf.json", EDITOR_AUTOLOAD, VIM),
    Rule::any("Session.vim", EDITOR_AUTOLOAD, VIM),
    Rule::any(".dir-locals.el", EDITOR_AUTOLOAD, "is read by emacs when it visits a file here"),
    Rule::any(".dir-locals-2.el", EDITOR_AUTOLOAD, "is read by emacs when it visits a file here"),
    Rule::any("*.sublime-project", EDITOR_AUTOLOAD, "holds build systems and settings of Sublime Text"),
    Rule::any(".kateproject", EDITOR_AUTOLOAD, "holds programs that Kate starts"),
    Rule::any(".project", EDITOR_AUTOLOAD, ECLIPSE),
    Rule::any(".externalToolBuilders/**", EDITOR_AUTOLOAD, ECLIPSE),
    Rule::any(".factorypath", EDITOR_AUTOLOAD, ECLIPSE),
    Rule::any(".settings/org.eclipse.jdt.apt.core.prefs", EDITOR_AUTOLOAD, ECLIPSE),
];

/// Of the C++ extension's settings, those that start a compiler or choose what is started.
const C_CPP: KeyRules =
    KeyRules::only(&["*compilerPath", "*compilerArgs*", "*compileCommands*", "*configurationProvider", "env.*"]);

fn settings(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    Ok(program_settings(sides, &old, &new, "").into_iter().collect())
}

/// Settings below `prefix` that name programs.
fn program_settings(sides: &Sides<'_>, old: &Keys, new: &Keys, prefix: &str) -> Option<Risk> {
    let mut found = new.since(old);
    let named = |key: &str| key.strip_prefix(prefix).is_some_and(names_program);
    found.retain(|(key, how)| *how != How::Removed && named(&key.shown()));
    (!found.is_empty()).then(|| Risk::of(EDITOR_AUTOLOAD, describe(&sides.name, &found)))
}

fn tasks(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    Ok(task_risk(sides, &old, &new, "").into_iter().collect())
}

const NO_LABELS: KeyRules = KeyRules::all_but(&["version", "*.label", "*.detail"]);

/// With a task that runs by itself, any change counts: it may depend on the others. Without, they run when asked for.
fn task_risk(sides: &Sides<'_>, old: &Keys, new: &Keys, prefix: &str) -> Option<Risk> {
    let changed = new.since(old);
    if !changed.iter().any(|(key, how)| *how != How::Removed && key.shown().starts_with(prefix)) {
        return None;
    }
    let opens = |key: &str, value| key.ends_with(".runOn") && value != "default" && key.starts_with(prefix);
    let keys = new.iter().map(|(key, value)| (key.shown(), value)).filter(|(key, value)| opens(key, *value));
    let own: Vec<String> = keys.map(|(key, _)| format!("`{}` starts it by itself", short(&key))).collect();
    if own.is_empty() {
        return sides.by_keys(BUILD_ENTRY, old, new, &NO_LABELS);
    }
    Some(Risk::of(EDITOR_AUTOLOAD, listed(&sides.name, own.into_iter())))
}

const ZED_TASKS: KeyRules = KeyRules::all_but(&["*.label"]);

/// A hook of Zed starts a task by itself.
fn zed_tasks(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    let hooks = new.iter().any(|(key, _)| key.names().any(|name| name == "hooks"));
    let code = if hooks { EDITOR_AUTOLOAD } else { BUILD_ENTRY };
    Ok(sides.by_keys(code, &old, &new, &ZED_TASKS).into_iter().collect())
}

const WORKSPACE_REST: KeyRules = KeyRules::only(&["launch.*", "folders*", "remoteAuthority"]);

fn workspace(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    let tasks = new.since(&old).iter().any(|(key, _)| key.shown().starts_with("tasks."));
    let risks = [
        program_settings(sides, &old, &new, "settings."),
        tasks.then(|| task_risk(sides, &old, &new, "tasks.")).flatten(),
        sides.by_keys(BUILD_ENTRY, &old, &new, &WORKSPACE_REST),
    ];
    Ok(risks.into_iter().flatten().collect())
}
