//! What an editor loads when it opens the folder.

use super::Risk;
use super::codes::{BUILD_ENTRY, EDITOR_AUTOLOAD};
use super::doc::Format;
use super::keys::{How, KeyRules, Keys, describe, listed, short};
use super::rule::{Judged, Rule, Sides};

const VIM: &str = "is run by vim or neovim when it starts here";
const IDEA: &str = "is read by IntelliJ, which can start programs from it";

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::own(".vscode/tasks.json", EDITOR_AUTOLOAD, tasks),
    Rule::own(".vscode/settings.json", EDITOR_AUTOLOAD, settings),
    Rule::own("*.code-workspace", EDITOR_AUTOLOAD, workspace),
    Rule::keys(".vscode/launch.json", BUILD_ENTRY, Format::Json, KeyRules::all_but(&["version", "*.name"])),
    Rule::own(".zed/settings.json", EDITOR_AUTOLOAD, settings),
    Rule::keys(".zed/tasks.json", BUILD_ENTRY, Format::Json, KeyRules::all_but(&["*.label"])),
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
    Rule::any(".dir-locals.el", EDITOR_AUTOLOAD, "is read by emacs when it visits a file here"),
    Rule::any(".dir-locals-2.el", EDITOR_AUTOLOAD, "is read by emacs when it visits a file here"),
    Rule::any("*.sublime-project", EDITOR_AUTOLOAD, "holds build systems and settings of Sublime Text"),
    Rule::any(".kateproject", EDITOR_AUTOLOAD, "holds programs that Kate starts"),
];

/// Prefixes of settings that are about looks and files, whatever words follow.
const LOOKS: &[&str] =
    &["files.", "search.", "editor.", "workbench.", "explorer.", "window.", "diffEditor.", "cSpell."];
/// A setting with one of these words in its name says which program runs, how, or without asking.
const PROGRAM_WORDS: &[&str] = &[
    "path",
    "paths",
    "command",
    "commands",
    "cmd",
    "exec",
    "executable",
    "program",
    "binary",
    "bin",
    "interpreter",
    "runtime",
    "shell",
    "args",
    "arguments",
    "env",
    "environment",
    "tool",
    "tools",
    "compiler",
    "server",
    "servers",
    "script",
    "scripts",
    "home",
    "sdk",
    "tsdk",
    "gopath",
    "goroot",
    "hook",
    "hooks",
    "task",
    "tasks",
    "launch",
    "proxy",
    "approve",
    "trust",
    "allow",
    "mcp",
    "run",
    "profiles",
    "automatic",
    "plugins",
    "override",
    "yolo",
];

/// Whether the name of a setting, cut into words at dots and capitals, has such a word.
fn names_program(key: &str) -> bool {
    if LOOKS.iter().any(|prefix| key.starts_with(prefix)) {
        return false;
    }
    let mut word = String::new();
    let mut previous_lower = false;
    for c in key.chars().chain(['.']) {
        let boundary = !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && previous_lower;
        if boundary {
            if PROGRAM_WORDS.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        }
        previous_lower = c.is_ascii_lowercase();
    }
    false
}

fn settings(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    Ok(program_settings(sides, &old, &new, "").into_iter().collect())
}

/// Settings below `prefix` that name programs.
fn program_settings(sides: &Sides<'_>, old: &Keys, new: &Keys, prefix: &str) -> Option<Risk> {
    let mut found = new.since(old);
    let named = |key: &str| key.strip_prefix(prefix).is_some_and(names_program);
    found.retain(|(key, how)| *how != How::Removed && named(key));
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
    if !changed.iter().any(|(key, how)| *how != How::Removed && key.starts_with(prefix)) {
        return None;
    }
    let opens = |(key, value): &(&str, &str)| key.ends_with(".runOn") && *value != "default" && key.starts_with(prefix);
    let own: Vec<String> =
        new.iter().filter(opens).map(|(key, _)| format!("`{}` starts it by itself", short(key))).collect();
    if own.is_empty() {
        return sides.by_keys(BUILD_ENTRY, old, new, &NO_LABELS);
    }
    Some(Risk::of(EDITOR_AUTOLOAD, listed(&sides.name, own.into_iter())))
}

const WORKSPACE_REST: KeyRules = KeyRules::only(&["launch.*", "folders*", "remoteAuthority"]);

fn workspace(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    let tasks = new.since(&old).iter().any(|(key, _)| key.starts_with("tasks."));
    let risks = [
        program_settings(sides, &old, &new, "settings."),
        tasks.then(|| task_risk(sides, &old, &new, "tasks.")).flatten(),
        sides.by_keys(BUILD_ENTRY, &old, &new, &WORKSPACE_REST),
    ];
    Ok(risks.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::names_program;

    #[test]
    fn words_of_a_setting_tell_whether_it_names_a_program() {
        for key in [
            "python.defaultInterpreterPath",
            "terminal.integrated.profiles.linux.bash.path",
            "rust-analyzer.check.overrideCommand[0]",
            "task.allowAutomaticTasks",
            "chat.tools.autoApprove",
            "eslint.nodePath",
            "typescript.tsdk",
            "go.alternateTools.go",
        ] {
            assert!(names_program(key), "{key}");
        }
        for key in ["editor.tabSize", "files.exclude.**/bin", "[rust].editor.formatOnSave", "git.autofetch"] {
            assert!(!names_program(key), "{key}");
        }
    }
}
