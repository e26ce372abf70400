//! Rules by name, type, mode and place.

use std::path::PathBuf;

use super::super::Tier;
use super::*;

#[test]
fn a_name_alone_is_a_risk_at_any_depth() {
    for (path, code) in [
        (".envrc", "shell-autoload"),
        ("flake.nix", "shell-autoload"),
        (".bashrc", "shell-autoload"),
        (".nvimrc", "editor-autoload"),
        (".exrc", "editor-autoload"),
        (".idea/workspace.xml", "editor-autoload"),
        (".dir-locals.el", "editor-autoload"),
        (".husky/pre-commit", "hook-dir"),
        (".pre-commit-config.yaml", "hook-dir"),
        (".githooks/a/b", "hook-dir"),
        (".claude/hooks/run.sh", "agent-config"),
        (".claude/commands/x.md", "agent-config"),
        (".codex/prompts/x.md", "agent-config"),
        (".agents/skills/x/SKILL.md", "agent-config"),
        (".cursor/hooks.json", "agent-config"),
        ("AGENTS.md", "agent-instructions"),
        (".cursor/rules/x.mdc", "agent-instructions"),
        (".claude/rules/x.md", "agent-instructions"),
        (".devcontainer/setup.sh", "devcontainer"),
        (".github/workflows/ci.yml", "ci"),
        (".gitlab-ci.yml", "ci"),
        ("Jenkinsfile", "ci"),
        ("CODEOWNERS", "ci"),
        ("Makefile", "build-entry"),
        ("build.rs", "build-entry"),
        ("conftest.py", "build-entry"),
        ("x.pth", "build-entry"),
        ("gradle/wrapper/gradle-wrapper.jar", "build-entry"),
        (".mvn/jvm.config", "build-entry"),
        (".bazelrc", "build-entry"),
        (".pre-commit-hooks.yaml", "build-entry"),
        ("docker-compose.override.yml", "build-entry"),
        (".python-version", "build-entry"),
    ] {
        for path in [path.to_owned(), format!("sub/dir/{path}")] {
            assert_eq!(codes(&assess(&added(&path), None, Some(b"x"))), [code], "{path}");
            assert_eq!(codes(&assess(&modified(&path), Some(b"y"), Some(b"x"))), [code], "{path}");
        }
    }
}

#[test]
fn cases_and_invisible_characters_hide_no_name() {
    for (path, code) in [
        (".ENVRC", "shell-autoload"),
        (".en\u{200c}vrc", "shell-autoload"),
        (".VSCode/cmake-kits.json", "editor-autoload"),
        (".Claude/Commands/x.md", "agent-config"),
        (".HUSKY/pre-commit", "hook-dir"),
        ("MAKEFILE", "build-entry"),
        ("GITMOD~1", "git-attributes"),
        ("gi7d29~1", "git-attributes"),
        (".GIT/config", "git-dir"),
        ("git~1/config", "git-dir"),
        (".git /config", "git-dir"),
        (".g\u{200c}it/config", "git-dir"),
    ] {
        assert_eq!(codes(&assess(&added(path), None, Some(b"x"))), [code], "{path}");
    }
    assert_eq!(codes(&edit(".VSCode/Tasks.json", "{}", r#"{"tasks": [{"command": "x"}]}"#)), ["build-entry"]);
    // Names of tests are told apart by their case.
    assert_eq!(codes(&assess(&deleted("src/latest.java"), None, None)), [""; 0]);
    assert_eq!(codes(&assess(&deleted("src/LaTest.java"), None, None)), ["tests-deleted"]);
}

#[test]
fn names_that_only_resemble_are_none() {
    for path in [
        "envrc",
        ".envrc/x",
        "husky/pre-commit",
        "docs/claude/settings.md",
        ".idea/codeStyles/Project.xml",
        "Makefile.md",
        "builder.rs",
        "src/workflows/ci.yml",
        ".github/ISSUE_TEMPLATE/bug.md",
        "pth",
        "my-AGENTS.md",
        ".vscode/extensions.json",
        ".vscode/x.code-snippets",
        ".env.example",
        "src/main.rs",
        "docs/lefthook.md",
        "src/session.rs",
        "pi/config.json",
        "ssh/config",
        "bin/tool",
        "irbrc.rb",
    ] {
        assert_eq!(codes(&assess(&added(path), None, Some(b"PATH=/x"))), [""; 0], "{path}");
    }
}

#[test]
fn a_deletion_is_a_risk_only_where_it_takes_a_guard_away() {
    assert_eq!(codes(&assess(&deleted(".github/workflows/ci.yml"), Some(b"x"), None)), ["ci"]);
    assert_eq!(codes(&assess(&deleted("CODEOWNERS"), Some(b"x"), None)), ["ci"]);
    assert_eq!(codes(&assess(&deleted("tests/a.rs"), None, None)), ["tests-deleted"]);
    for path in
        ["Makefile", ".envrc", ".husky/pre-commit", ".mcp.json", ".gitattributes", "package.json", "a/latest.rs"]
    {
        assert_eq!(codes(&assess(&deleted(path), Some(b"{}"), None)), [""; 0], "{path}");
    }
    let settings = br#"{"permissions": {"deny": ["Read(.env)"]}}"#;
    assert_eq!(codes(&assess(&deleted(".claude/settings.json"), Some(settings), None)), ["agent-config"]);
    let cowbox = |old: Option<&[u8]>| codes(&assess(&deleted(".cowbox.toml"), old, None));
    assert_eq!(cowbox(Some(b"network = \"none\"")), ["cowbox-policy"]);
    assert_eq!(cowbox(None), ["cowbox-policy"]);
    assert_eq!(cowbox(Some(b"env = [\"A\"]")), ["cowbox-settings"]);
}

#[test]
fn a_rename_is_judged_at_both_ends() {
    let renamed = |from: &str, to: &str| Change {
        from: Some(PathBuf::from(from)),
        ..change(to, ChangeKind::Renamed, file(), file())
    };
    let judge = |from, to| codes(&assess(&renamed(from, to), Some(b"x = 1"), Some(b"x = 1")));
    assert_eq!(judge("a", ".envrc"), ["shell-autoload"]);
    assert_eq!(judge("a.json", "package.json"), ["build-entry", "lockfile-source"]);
    assert_eq!(judge(".github/workflows/a.yml", "old.yml"), ["ci"]);
    assert_eq!(judge(".cowbox.toml", "x.toml"), ["cowbox-policy"]);
    assert_eq!(judge("tests/a.rs", "attic/a.rs"), ["tests-deleted"]);
    assert_eq!(judge("tests/a.rs", "tests/b.rs"), [""; 0]);
}

#[test]
fn gitdirs_are_blocked_whatever_else_they_are() {
    for path in [".git/hooks/pre-commit", ".git", "sub/.git", "sub/.git/config"] {
        let risks = assess(&added(path), None, Some(b"x"));
        assert_eq!((codes(&risks), risks[0].tier), (vec!["git-dir"], Tier::Blocked), "{path}");
        assert!(!needs_content(&added(path)));
    }
    let alike = Change { class: Class::Vcs, ..added("git~1/config") };
    assert_eq!(codes(&assess(&alike, None, None)), ["git-dir"]);
    assert_eq!(codes(&assess(&added("x.git/config"), None, None)), [""; 0]);
    assert_eq!(codes(&assess(&added(".gitignore"), None, None)), [""; 0]);
}

#[test]
fn special_files_and_modes() {
    let entry = |kind, mode| codes(&assess(&change("x", ChangeKind::Added, None, Some(meta(kind, mode))), None, None));
    assert_eq!(entry(Kind::Fifo, 0o644), ["special-file"]);
    assert_eq!(entry(Kind::Socket, 0o644), ["special-file"]);
    assert_eq!(entry(Kind::Device, 0o644), ["special-file"]);
    assert_eq!(entry(Kind::File, 0o755), ["new-executable"]);
    assert_eq!(entry(Kind::File, 0o4755), ["new-executable", "set-id"]);
    assert_eq!(entry(Kind::File, 0o646), ["world-writable"]);
    assert_eq!(entry(Kind::Dir, 0o2755), [""; 0]);
    let mode = |old, new| {
        let (old, new) = (Some(meta(Kind::File, old)), Some(meta(Kind::File, new)));
        codes(&assess(&change("Makefile", ChangeKind::ModeChanged, old, new), None, None))
    };
    assert_eq!(mode(0o644, 0o755), ["new-executable"]);
    assert_eq!(mode(0o755, 0o775), [""; 0]);
    assert_eq!(mode(0o755, 0o6755), ["set-id"]);
    assert_eq!(mode(0o666, 0o646), [""; 0]);
}

#[test]
fn a_mode_switches_a_hook_on_but_is_no_new_content() {
    let (old, new) = (Some(meta(Kind::File, 0o644)), Some(meta(Kind::File, 0o755)));
    let hook = change(".husky/pre-push", ChangeKind::ModeChanged, old, new);
    assert_eq!(codes(&assess(&hook, None, None)), ["hook-dir", "new-executable"]);
    let same = assess(&modified(".envrc"), Some(b"x"), Some(b"x"));
    assert_eq!(codes(&same), [""; 0]);
}

#[test]
fn programs_in_generated_folders_are_told_apart() {
    let program = |path: &str, class| {
        let new = Some(meta(Kind::File, 0o755));
        codes(&assess(&Change { class, ..change(path, ChangeKind::Modified, new, new) }, None, None))
    };
    assert_eq!(program("node_modules/.bin/tsc", Class::Ignored), ["shadow-binary"]);
    assert_eq!(program("a/.venv/bin/python", Class::Untracked), ["shadow-binary"]);
    assert_eq!(program("target/debug/app", Class::Ignored), ["shadow-binary"]);
    assert_eq!(program("target/debug/app", Class::Tracked), [""; 0]);
    assert_eq!(program("bin/tool", Class::Tracked), [""; 0]);
    let link = Change { class: Class::Ignored, ..change(".venv/bin/python", ChangeKind::Added, None, link()) };
    assert_eq!(codes(&assess(&link, None, Some(b"python3"))), ["shadow-binary"]);
}

#[test]
fn a_deleted_file_without_a_copy_in_git_is_said() {
    let gone = |class| codes(&assess(&Change { class, ..deleted("notes.txt") }, None, None));
    assert_eq!(gone(Class::Untracked), ["untracked-deleted"]);
    assert_eq!(gone(Class::Ignored), ["untracked-deleted"]);
    assert_eq!(gone(Class::Tracked), [""; 0]);
}

#[test]
fn links_are_judged_by_their_words() {
    let judge = |path: &str, target: Option<&str>| {
        codes(&assess(&change(path, ChangeKind::Added, None, link()), None, target.map(str::as_bytes)))
    };
    assert_eq!(judge("a", Some("/etc/passwd")), ["symlink-outside"]);
    assert_eq!(judge("x/a", Some("../../b")), ["symlink-outside"]);
    assert_eq!(judge("a", Some(".git/hooks")), ["symlink-outside"]);
    assert_eq!(judge("a", None), ["symlink-outside"]);
    assert_eq!(judge("x/a", Some("../b")), [""; 0]);
    assert!(needs_content(&change("a", ChangeKind::Added, None, link())));
}

#[test]
fn a_link_brings_the_files_of_a_folder_along() {
    for (path, code) in [
        (".vscode", "editor-autoload"),
        ("sub/.husky", "hook-dir"),
        (".claude", "agent-config"),
        (".devcontainer", "devcontainer-host"),
        (".envrc", "shell-autoload"),
        (".cowbox.toml", "cowbox-policy"),
        (".gitattributes", "git-attributes"),
        ("package.json", "build-entry"),
    ] {
        let judged = assess(&change(path, ChangeKind::TypeChanged, file(), link()), Some(b"{}"), Some(b"inside"));
        assert!(codes(&judged).contains(&code), "{path}: {judged:?}");
    }
    let judged = assess(&change(".github", ChangeKind::Added, None, link()), None, Some(b"inside"));
    assert_eq!(codes(&judged), ["agent-config", "ci"]);
    assert_eq!(codes(&assess(&change("docs", ChangeKind::Added, None, link()), None, Some(b"inside"))), [""; 0]);
}
