//! Where a link leads, by its words and by the links that the host has on the way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Risk;
use super::codes::SYMLINK_OUTSIDE;
use super::host::Links;
use crate::changes::{Change, ChangeKind};
use crate::git::dotgit::is_dotgit;
use crate::layer::entry::Kind;

/// As many links in a row does the kernel follow.
const MOST_LINKS: usize = 40;

/// The risk of a new or changed link.
pub(super) fn assess(change: &Change, target: Option<&[u8]>, links: &dyn Links) -> Option<Risk> {
    let link = change.new.is_some_and(|meta| meta.kind == Kind::Symlink);
    if !link || change.kind == ChangeKind::ModeChanged {
        return None;
    }
    let why = match target {
        Some(target) => {
            let path = change.path.as_os_str().as_bytes();
            leaves(path, target).or_else(|| through(path, target, links))?
        }
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
    let gitdir = at.iter().any(|name| is_dotgit(name));
    gitdir.then_some("is a link into a gitdir")
}

/// The same, where links of the host lie on the way.
fn through(path: &[u8], target: &[u8], links: &dyn Links) -> Option<&'static str> {
    const OUT: Option<&str> = Some("is a link that leads out of the repository through another link");
    let names = |path: &[u8]| -> Vec<Vec<u8>> {
        let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        names.map(<[u8]>::to_vec).collect()
    };
    let mut at = names(path);
    at.pop();
    // The next name is the last.
    let mut left = names(target);
    left.reverse();
    let mut followed = 0;
    while let Some(name) = left.pop() {
        if name == b".." {
            if at.pop().is_none() {
                return OUT;
            }
            continue;
        }
        at.push(name);
        let here: PathBuf = at.iter().map(|name| OsStr::from_bytes(name)).collect();
        let Some(next) = links.link_at(&here) else { continue };
        followed += 1;
        if next.starts_with(b"/") || followed > MOST_LINKS {
            return OUT;
        }
        at.pop();
        left.extend(names(&next).into_iter().rev());
    }
    at.iter().any(|name| is_dotgit(name)).then_some("is a link into a gitdir through another link")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    struct Host(&'static [(&'static str, &'static str)]);

    impl Links for Host {
        fn link_at(&self, path: &Path) -> Option<Vec<u8>> {
            self.0.iter().find(|(at, _)| Path::new(at) == path).map(|(_, target)| target.as_bytes().to_vec())
        }
    }

    #[test]
    fn links_of_the_host_are_followed() {
        let host = Host(&[
            ("out", "/etc"),
            ("up", "../other"),
            ("sub/back", "../docs"),
            ("docs", "pages"),
            ("hooks", ".git/hooks"),
            ("loop", "loop"),
            ("far", "sub/../../x"),
        ]);
        for (path, target, out) in [
            ("a", "out/passwd", true),
            ("a", "out", true),
            ("a", "up/x", true),
            ("x/a", "../out/passwd", true),
            ("a", "sub/back/x", false),
            ("a", "docs/x", false),
            ("a", "hooks/pre-commit", true),
            ("a", "loop", true),
            ("a", "far", true),
            ("sub/a", "out", false),
        ] {
            assert_eq!(through(path.as_bytes(), target.as_bytes(), &host).is_some(), out, "{path} -> {target}");
        }
    }

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
            ("a", "git~1/hooks", true),
            ("a", ".g\u{200c}it", true),
            ("a", ".github", false),
            ("a", "..b/c", false),
            ("a", "", true),
        ] {
            assert_eq!(leaves(path.as_bytes(), target.as_bytes()).is_some(), out, "{path} -> {target}");
        }
    }
}
