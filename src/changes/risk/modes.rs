//! Types, permission bits and deletions: what needs no content.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Risk;
use super::codes::{
    NEW_EXECUTABLE, SET_ID, SHADOW_BINARY, SPECIAL_FILE, TESTS_DELETED, UNTRACKED_DELETED, WORLD_WRITABLE,
};
use super::glob::{Meets, folded, path_is, path_meets};
use super::rule::name_of;
use crate::changes::{Change, ChangeKind, Class, Meta};
use crate::layer::entry::Kind;

/// Folders that tools run programs from and nobody reviews.
const SHADOWS: &[&str] = &[
    "node_modules/.bin/**",
    ".venv/bin/**",
    "venv/bin/**",
    "env/bin/**",
    ".tox/*/bin/**",
    ".nox/*/bin/**",
    "vendor/bin/**",
    ".bundle/bin/**",
    ".direnv/bin/**",
];
/// The same, where the name alone says too little: only what git ignores.
const IGNORED_SHADOWS: &[&str] = &["target/**", "build/**", "dist/**", "bin/**", "out/**"];

/// Tests by name, as the usual runners find them.
const TESTS: &[&str] = &[
    "tests/**",
    "test/**",
    "__tests__/**",
    "spec/**",
    "test_*.py",
    "*_test.py",
    "*_test.go",
    "*_test.rs",
    "*_test.exs",
    "*_test.cc",
    "*_test.cpp",
    "*_spec.rb",
    "*_test.rb",
    "*.test.*",
    "*.spec.*",
    "*Test.java",
    "*Tests.java",
    "*Test.kt",
    "*Test.php",
    "*Tests.cs",
    "*Tests.swift",
];

/// Risks of the entry itself.
pub(super) fn assess(change: &Change) -> Vec<Risk> {
    let mut risks = Vec::new();
    match change.new {
        Some(new) => entry(change, new, &mut risks),
        None => deleted(change, &mut risks),
    }
    let moved_away = change.from.as_deref().filter(|_| change.kind == ChangeKind::Renamed);
    if moved_away.is_some_and(|from| is_test(from) && !is_test(&change.path)) {
        risks.push(Risk::of(TESTS_DELETED, "a test was moved to where no runner looks for it".into()));
    }
    risks
}

fn entry(change: &Change, new: Meta, risks: &mut Vec<Risk>) {
    let name = name_of(&change.path);
    let mut found = |code, words: &str| risks.push(Risk::of(code, format!("`{name}` {words}")));
    let (old_kind, old_mode) = change.old.map_or((None, 0), |old| (Some(old.kind), old.mode));
    match new.kind {
        Kind::Fifo => found(SPECIAL_FILE, "is a fifo"),
        Kind::Socket => found(SPECIAL_FILE, "is a socket"),
        Kind::Device => found(SPECIAL_FILE, "is a device"),
        _ => {}
    }
    let program = new.kind == Kind::File && new.mode & 0o111 != 0;
    if (program || new.kind == Kind::Symlink) && is_shadow(change) {
        found(SHADOW_BINARY, "is a program in a folder of generated files");
    } else if program && (old_kind != Some(Kind::File) || old_mode & 0o111 == 0) {
        found(NEW_EXECUTABLE, "can be executed and could not before");
    }
    // The mode of a link means nothing.
    if new.kind == Kind::Symlink {
        return;
    }
    // A new folder inherits setgid from the one around it.
    let inherited = new.kind == Kind::Dir && change.kind == ChangeKind::Added;
    if new.mode & 0o6000 & !old_mode != 0 && !inherited {
        found(SET_ID, "has a setuid or setgid bit, which is not carried over");
    }
    if new.mode & 0o002 & !old_mode != 0 {
        found(WORLD_WRITABLE, "can be written by everyone on this machine");
    }
}

fn deleted(change: &Change, risks: &mut Vec<Risk>) {
    if change.old.is_none_or(|old| old.kind == Kind::Dir) {
        return;
    }
    let name = name_of(&change.path);
    if matches!(change.class, Class::Untracked | Class::Ignored) {
        risks.push(Risk::of(UNTRACKED_DELETED, format!("`{name}` is deleted, and git holds no copy of it")));
    }
    if change.class != Class::Ignored && is_test(&change.path) {
        risks.push(Risk::of(TESTS_DELETED, format!("`{name}` is deleted, and it is or belongs to a test")));
    }
}

fn is_shadow(change: &Change) -> bool {
    let path = folded(&change.path);
    let is_one_of = |patterns: &[&str]| patterns.iter().any(|pattern| path_meets(pattern, &path) == Some(Meets::Fully));
    is_one_of(SHADOWS) || change.class == Class::Ignored && is_one_of(IGNORED_SHADOWS)
}

fn is_test(path: &Path) -> bool {
    TESTS.iter().any(|pattern| path_is(pattern, path.as_os_str().as_bytes()))
}
