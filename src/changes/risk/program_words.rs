//! Settings of editors that name a program, by the words in their names: there are too many to list.

/// Prefixes of settings that are about looks and files, whatever words follow.
const LOOKS: &[&str] =
    &["files.", "search.", "editor.", "workbench.", "explorer.", "window.", "diffEditor.", "cSpell."];
/// Which of those start a program all the same.
const NOT_LOOKS: &[&str] = &["workbench.externalBrowser"];

/// A setting with one of these words in its name says which program runs, how, or without asking.
const WORDS: &[&str] = &[
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
    "flags",
    "vmargs",
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
    "permission",
    "permissions",
    "dangerously",
    "bypass",
    "mcp",
    "run",
    "runnables",
    "profiles",
    "automatic",
    "plugin",
    "plugins",
    "override",
    "yolo",
    "direnv",
];
/// The same for two words in a row.
const PAIRS: &[(&str, &str)] = &[
    ("on", "open"),
    ("on", "startup"),
    ("auto", "detect"),
    ("auto", "start"),
    ("auto", "install"),
    ("auto", "accept"),
];
/// Words that are often written as one with the word before.
const ENDS: &[&str] = &["path", "args", "flags", "command", "executable"];

/// Whether the name of a setting has such a word.
pub(super) fn names_program(key: &str) -> bool {
    if NOT_LOOKS.contains(&key) {
        return true;
    }
    if LOOKS.iter().any(|prefix| key.starts_with(prefix)) {
        return false;
    }
    let words = words(key);
    let is_loud = |word: &String| WORDS.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end));
    let is_pair = |pair: &[String]| PAIRS.iter().any(|(first, second)| pair[0] == *first && pair[1] == *second);
    words.iter().any(is_loud) || words.windows(2).any(is_pair)
}

/// Cut at dots, dashes and capitals: `LSPServer.nodePath` is `lsp server node path`.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = key.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let ends_capitals =
            before.is_some_and(|b| b.is_ascii_uppercase()) && chars.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let starts = c.is_ascii_uppercase() && (before.is_some_and(|b| b.is_ascii_lowercase()) || ends_capitals);
        if !c.is_ascii_alphanumeric() || starts {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
            "eslint.nodepath",
            "typescript.tsdk",
            "go.alternateTools.go",
            "go.buildFlags[0]",
            "go.testFlags[0]",
            "java.jdt.ls.vmargs",
            "cmake.configureOnOpen",
            "task.autoDetect",
            "npm.autoDetect",
            "direnv.restart.automatic",
            "claudeCode.initialPermissionMode",
            "claudeCode.allowDangerouslySkipPermissions",
            "x.YOLO",
            "x.LSPServer",
            "workbench.externalBrowser",
            "lsp.rust-analyzer.binary.path",
            "terminal.shell.program",
            "context_servers.a.command",
            "agent.always_allow_tool_actions",
            "load_direnv",
        ] {
            assert!(names_program(key), "{key}");
        }
        for key in [
            "editor.tabSize",
            "files.exclude.**/bin",
            "[rust].editor.formatOnSave",
            "git.autofetch",
            "git.openRepositoryInParentFolders",
            "workbench.startupEditor",
            "tab_size",
            "theme.mode",
            "languages.Rust.format_on_save",
            "python.analysis.typeCheckingMode",
            "typescript.preferences.quoteStyle",
        ] {
            assert!(!names_program(key), "{key}");
        }
    }
}
