//! What the text of a single field must be.

use std::path::{Component, Path, PathBuf};

use super::check::is_commit;
use super::url;
use crate::policy::mounts::{self, Access};
use crate::session::id::is_valid_name;

/// A rule for a text.
pub(super) trait Rule {
    /// What becomes of the text.
    type Of: From<String>;

    /// What is wrong with it, as it is said after the field's name: `must be …`.
    fn check(text: &str) -> Result<(), String>;
}

fn must(hold: bool, be: &str) -> Result<(), String> {
    if hold { Ok(()) } else { Err(format!("must be {be}")) }
}

/// The name of a task.
pub(super) enum Id {}

impl Rule for Id {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        let name = "a name: letters, digits, `-`, `_` and `.`, at most 64, beginning with a letter or digit";
        must(is_valid_name(text), name)
    }
}

/// Where git fetches from.
pub(super) enum Url {}

impl Rule for Url {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        url::check(text)
    }
}

/// A commit.
pub(super) enum Commit {}

impl Rule for Commit {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        must(is_commit(text), "the full id of a commit: names go into `ref`")
    }
}

/// A branch or a tag.
pub(super) enum Reference {}

impl Rule for Reference {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        let odd = |c: char| ":^~?*[\\".contains(c) || c.is_whitespace() || c.is_control();
        let odd = text.contains(odd) || text.contains("..") || text.contains("@{");
        must(is_option_free(text) && !odd, "the name of a branch or a tag")
    }
}

/// A path of the host.
pub(super) enum HostPath {}

impl Rule for HostPath {
    type Of = PathBuf;

    fn check(text: &str) -> Result<(), String> {
        // A shell would fill that in. Here it would be a directory of this name.
        let home = text == "~" || text.starts_with("~/");
        must(is_path(text), "a path").and(must(!home, "a path without `~`: write it out"))
    }
}

/// A path of the workspace.
pub(super) enum Inside {}

impl Rule for Inside {
    type Of = PathBuf;

    fn check(text: &str) -> Result<(), String> {
        must(is_inside(text), "a path inside the workspace")
    }
}

/// A path or a glob of the workspace.
pub(super) enum Glob {}

impl Rule for Glob {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        must(is_inside(text) && globset::Glob::new(text).is_ok(), "a path or a glob inside the workspace")
    }
}

/// A mount that nothing of a task's leaves by.
pub(super) enum Mount {}

impl Rule for Mount {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        let mount = mounts::parse(text.as_ref()).ok().filter(|_| is_path(text));
        match mount.map(|mount| mount.access) {
            Some(Access::Rw) => Err("cannot be `rw`: what a task writes does not reach the host; use `cow`".to_owned()),
            mount => {
                must(mount.is_some(), "SRC:DST, with an absolute DST other than `/`, and `:ro` or `:cow` after it")
            }
        }
    }
}

/// The name of a variable.
pub(super) enum Variable {}

impl Rule for Variable {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        let good = !text.is_empty() && !text.contains(['=', '\0']);
        if good { Ok(()) } else { Err("cannot be the name of a variable".to_owned()) }
    }
}

/// What a program can be given.
pub(super) enum Word {}

impl Rule for Word {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        if text.contains('\0') { Err("cannot hold a NUL: programs cannot be given one".to_owned()) } else { Ok(()) }
    }
}

/// A word that is there.
pub(super) enum Filled {}

impl Rule for Filled {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        if text.trim().is_empty() { Err("cannot be empty".to_owned()) } else { Word::check(text) }
    }
}

/// A name that is for the engine to know.
pub(super) enum Known {}

impl Rule for Known {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        must(is_option_free(text) && !text.contains(odd), "a name that the engine knows")
    }
}

/// A runtime. A path would be a program of the task's.
pub(super) enum Runtime {}

impl Rule for Runtime {
    type Of = String;

    fn check(text: &str) -> Result<(), String> {
        Known::check(text).and(must(!text.contains('/'), "a name that the engine knows"))
    }
}

/// Whether a program does not take it for an option.
fn is_option_free(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-')
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

fn is_inside(text: &str) -> bool {
    let below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    is_path(text) && Path::new(text).components().all(below)
}
