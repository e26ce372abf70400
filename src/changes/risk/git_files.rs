//! Files in the tree that git itself obeys: hooks, attributes, submodules.

use std::collections::BTreeSet;

use super::codes::{Code, GIT_ATTRIBUTES, HOOK_DIR, VCS_SETTINGS};
use super::keys::{KeyRules, listed, short};
use super::lines;
use super::rule::{Judged, Rule, Sides, first, name_of};
use super::{Risk, glob};
use crate::changes::Change;
use crate::layer::entry::Kind;

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::own(".gitattributes", GIT_ATTRIBUTES, attributes),
    Rule::any("gitatt~*", GIT_ATTRIBUTES, SHORT_NAME),
    Rule::any("gi7d29~*", GIT_ATTRIBUTES, SHORT_NAME),
    Rule::own(".gitmodules", GIT_ATTRIBUTES, |sides| settings(sides, GIT_ATTRIBUTES, &SUBMODULES)),
    Rule::any("gitmod~*", GIT_ATTRIBUTES, SHORT_NAME),
    Rule::any("gi7eba~*", GIT_ATTRIBUTES, SHORT_NAME),
    Rule::own(".lfsconfig", GIT_ATTRIBUTES, |sides| settings(sides, GIT_ATTRIBUTES, &EVERYTHING)),
    Rule::own(".gitconfig*", VCS_SETTINGS, |sides| settings(sides, VCS_SETTINGS, &EVERYTHING)),
    Rule::any(".hg/**", VCS_SETTINGS, "is part of a repository of mercurial, whose settings and hooks run programs"),
    Rule::any(".jj/**", VCS_SETTINGS, "is part of a repository of jj, whose settings run programs"),
];

/// NTFS has a second name for every file.
const SHORT_NAME: &str = "is a file of git's by its short name";

const SUBMODULES: KeyRules = KeyRules::all_but(&["*.shallow", "*.ignore"]);
const EVERYTHING: KeyRules = KeyRules::all_but(&[]);

/// Folders that people point `core.hooksPath` to, and files by which managers of hooks know what to run.
const HOOKS: &[Rule] = &[
    Rule::any(".husky/**", HOOK_DIR, ""),
    Rule::any(".githooks/**", HOOK_DIR, ""),
    Rule::any(".git-hooks/**", HOOK_DIR, ""),
    Rule::any(".git_hooks/**", HOOK_DIR, ""),
    Rule::any(".hooks/**", HOOK_DIR, ""),
    Rule::any("githooks/**", HOOK_DIR, ""),
    Rule::any("git-hooks/**", HOOK_DIR, ""),
    Rule::any(".huskyrc*", HOOK_DIR, ""),
    Rule::any("lefthook*.y*ml", HOOK_DIR, ""),
    Rule::any("lefthook*.toml", HOOK_DIR, ""),
    Rule::any("lefthook*.json*", HOOK_DIR, ""),
    Rule::any(".lefthook*.y*ml", HOOK_DIR, ""),
    Rule::any(".lefthook*.toml", HOOK_DIR, ""),
    Rule::any(".lefthook*.json*", HOOK_DIR, ""),
    Rule::any(".lefthook/**", HOOK_DIR, ""),
    Rule::any(".lefthook-local/**", HOOK_DIR, ""),
    Rule::any(".config/lefthook*", HOOK_DIR, ""),
    Rule::any(".pre-commit-config.yaml", HOOK_DIR, ""),
    Rule::any(".overcommit.yml", HOOK_DIR, ""),
    Rule::any(".lintstagedrc*", HOOK_DIR, ""),
];

/// Anything that lands where hooks usually are. A mode counts too: it switches a hook on.
pub(super) fn hook(change: &Change) -> Option<Risk> {
    let kind = change.new?.kind;
    if kind == Kind::Dir {
        return None;
    }
    first(HOOKS, &change.path, kind == Kind::Symlink)?;
    Some(Risk::of(HOOK_DIR, format!("`{}` is, or may be, what a hook of git runs", name_of(&change.path))))
}

fn settings(sides: &Sides<'_>, code: Code, rules: &KeyRules) -> Judged {
    let (old, new) = lines::both(sides, lines::ini)?;
    Ok(sides.by_keys(code, &old, &new, rules).into_iter().collect())
}

/// Built into git: they run no program.
const SAFE_DIFFS: &[&str] = &[
    "ada", "bash", "bibtex", "cpp", "csharp", "css", "dts", "elixir", "fortran", "fountain", "golang", "html", "java",
    "kotlin", "markdown", "matlab", "objc", "pascal", "perl", "php", "python", "r", "ruby", "rust", "scheme", "tex",
];
/// Attributes of git, and of the places that show repositories, that start nothing where they are merely set.
const PLAIN: &[&str] = &[
    "text",
    "binary",
    "crlf",
    "eol",
    "diff",
    "merge",
    "delta",
    "whitespace",
    "export-ignore",
    "export-subst",
    "encoding",
    "linguist-*",
    "gitlab-*",
    "lockable",
];
/// What git splits a line of attributes at.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
const SAFE_MERGES: &[&str] = &["text", "binary", "union"];

/// New lines that bind files to a driver, of which git's configuration on the host says what it runs.
fn attributes(sides: &Sides<'_>) -> Judged {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let (old, new) = (text(sides.old), text(sides.new));
    // Only what git takes for a blank: a form feed is a part of a name to it.
    let before: BTreeSet<&str> = old.lines().map(|line| line.trim_matches(BLANKS)).collect();
    let mut macros = BTreeSet::new();
    let mut found = Vec::new();
    for line in new.lines().map(|line| line.trim_matches(BLANKS)) {
        let mut words = line.split(BLANKS).filter(|word| !word.is_empty());
        let Some(pattern) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        // A pattern in quotes may hold spaces: its pieces are no attributes, and none of them looks like one.
        let Some(word) = words.find(|word| binds(word) || macros.contains(word)) else { continue };
        if let Some(name) = pattern.strip_prefix("[attr]") {
            macros.insert(name);
        }
        if !before.contains(line) {
            found.push(format!("`{}` gets `{}`", short(pattern), short(word)));
        }
    }
    let risk = || Risk::of(GIT_ATTRIBUTES, listed(&sides.name, found.iter().cloned()));
    Ok((!found.is_empty()).then(risk).into_iter().collect())
}

fn binds(word: &str) -> bool {
    match word.split_once('=') {
        Some(("filter", _)) => true,
        Some(("diff", driver)) => !SAFE_DIFFS.contains(&driver),
        Some(("merge", driver)) => !SAFE_MERGES.contains(&driver),
        Some(_) => false,
        // Taken away, or of a shape that no macro has.
        None if word.starts_with(['-', '!']) || word.ends_with('"') => false,
        // Whatever git does not know itself may be a macro of the root's or the user's own attributes.
        None => !glob::fits_any(PLAIN, word),
    }
}
