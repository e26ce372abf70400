//! Where a link leads, by its words alone: nothing is followed.

use std::os::unix::ffi::OsStrExt;

use super::Risk;
use super::codes::SYMLINK_OUTSIDE;
use crate::changes::{Change, ChangeKind};
use crate::layer::entry::Kind;

/// The risk of a new or changed link.
pub(super) fn assess(change: &Change, target: Option<&[u8]>) -> Option<Risk> {
    let link = change.new.is_some_and(|meta| meta.kind == Kind::Symlink);
    if !link || change.kind == ChangeKind::ModeChanged {
        return None;
    }
    let why = match target {
        Some(target) => leaves(change.path.as_os_str().as_bytes(), target)?,
        None => "is a link whose target is not known",
    };
    Some(Risk::of(SYMLINK_OUTSIDE, format!("`{}` {why}", super::rule::name_of(&change.path))))
}

/// What is wrong with a link at `path` to `target`.
fn leaves(path: &[u8], target: &[u8]) -> Option<&'static str> {
    if target.is_empty() || target.starts_with(b"/") {
        return Some("is a link with an absolute target");
    }
    let names = |path| <[u8]>::split(path, |byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let mut at: Vec<&[u8]> = names(path).collect();
    at.pop();
    let mut named = false;
    for name in names(target) {
        if name != b".." {
            named = true;
            at.push(name);
        } else if named {
            // If that name is a link itself, going up from it leads somewhere else.
            return Some("is a link that goes up again after a name, so where it leads cannot be told from its words");
        } else if at.pop().is_none() {
            return Some("is a link that leads out of the repository");
        }
    }
    let gitdir = at.iter().any(|name| name.eq_ignore_ascii_case(b".git"));
    gitdir.then_some("is a link into a gitdir")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_inside_of_the_repo_are_fine() {
        for (path, target, out) in [
            ("a", "b", false),
            ("a", "./b//c", false),
            ("x/a", "../b", false),
            ("x/y/a", "../../b", false),
            ("x/a", "..", false),
            ("a", "..", true),
            ("a", "../b", true),
            ("x/a", "../../b", true),
            ("a", "/etc/passwd", true),
            ("a", "/proc/self/environ", true),
            ("x/a", "y/../z", true),
            ("a", ".git/config", true),
            ("x/a", "../.GIT", true),
            ("a", ".github", false),
            ("a", "..b/c", false),
            ("a", "", true),
        ] {
            assert_eq!(leaves(path.as_bytes(), target.as_bytes()).is_some(), out, "{path} -> {target}");
        }
    }
}
