//! Which changes the paths on a command line name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::{Change, ChangeSet};
use crate::error::{Error, Kind, Result, show};

/// Paths, directories and patterns. Empty: everything.
#[derive(Debug, Default)]
pub struct Filter {
    arguments: Vec<Argument>,
}

#[derive(Debug)]
struct Argument {
    /// Relative to the repo's root.
    path: PathBuf,
    pattern: Option<Pattern>,
}

/// The part of an argument that is a pattern, and the directory it starts in.
#[derive(Debug)]
struct Pattern {
    base: PathBuf,
    glob: GlobMatcher,
}

impl Filter {
    /// Reads arguments that are relative to `subdir`, where the user stands inside the repo. Absolute ones may lie below
    /// the repo's `root`.
    pub fn in_repo(arguments: &[PathBuf], root: Option<&Path>, subdir: &Path) -> Result<Self> {
        let arguments = arguments.iter().map(|argument| {
            let outside = || {
                Error::of(Kind::Usage, format!("{} is outside of the repository", show(argument)))
                    .hint("paths are relative to where you are; `-C DIR` starts elsewhere")
            };
            if argument.as_os_str().is_empty() {
                return Err(Error::of(Kind::Usage, "an empty path names nothing").hint("`.` is the whole directory"));
            }
            let (start, rest) = match argument.is_absolute() {
                false => (subdir, argument.as_path()),
                true => (Path::new(""), root.and_then(|root| argument.strip_prefix(root).ok()).ok_or_else(outside)?),
            };
            let path = resolve(start, rest).ok_or_else(outside)?;
            let anywhere = !argument.as_os_str().as_bytes().contains(&b'/');
            Ok(Argument { pattern: pattern(&path, anywhere), path })
        });
        Ok(Self { arguments: arguments.collect::<Result<_>>()? })
    }

    /// The changes that were named, in their order. A name that is in the set means itself, even if
    /// it looks like a pattern.
    pub fn choose<'a>(&self, set: &'a ChangeSet) -> Vec<&'a Change> {
        if self.arguments.is_empty() {
            return set.changes.iter().collect();
        }
        let literal: Vec<bool> =
            self.arguments.iter().map(|a| set.changes.iter().any(|c| either(c, |p| p.starts_with(&a.path)))).collect();
        let named = |path: &Path| self.arguments.iter().zip(&literal).any(|(a, literal)| a.names(path, *literal));
        set.changes.iter().filter(|change| either(change, named)).collect()
    }

    /// The arguments that name nothing in the set.
    pub fn unmatched(&self, set: &ChangeSet) -> Vec<&Path> {
        let names = |a: &Argument| set.changes.iter().any(|c| either(c, |p| a.names(p, true) || a.names(p, false)));
        self.arguments.iter().filter(|a| !names(a)).map(|a| a.path.as_path()).collect()
    }
}

impl Argument {
    fn names(&self, path: &Path, literal: bool) -> bool {
        match &self.pattern {
            Some(pattern) if !literal => pattern.names(path),
            _ => path.starts_with(&self.path),
        }
    }
}

impl Pattern {
    /// Whether the path matches, or a directory above it does.
    fn names(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(&self.base) else { return false };
        rest.ancestors().filter(|p| !p.as_os_str().is_empty()).any(|p| self.glob.is_match(p))
    }
}

/// A rename is named by either name.
fn either(change: &Change, named: impl Fn(&Path) -> bool) -> bool {
    named(&change.path) || change.from.as_deref().is_some_and(named)
}

/// Joins by words, without asking the disk; `None` where it leads out of the repo. The root itself is
/// the empty path, which everything starts with.
fn resolve(start: &Path, rest: &Path) -> Option<PathBuf> {
    let mut path = start.to_path_buf();
    for part in rest.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if !path.pop() => return None,
            Component::RootDir | Component::Prefix(_) => return None,
            Component::ParentDir | Component::CurDir => {}
        }
    }
    Some(path)
}

/// What of a path is a pattern: from the first component that looks like one. Not one that is broken
/// or that is not text: those are names.
fn pattern(path: &Path, anywhere: bool) -> Option<Pattern> {
    let special = |part: &OsStr| part.as_bytes().iter().any(|b| b"*?[{".contains(b));
    let base: PathBuf = path.iter().take_while(|part| !special(part)).collect();
    let rest = path.strip_prefix(&base).ok()?.to_str().filter(|rest| !rest.is_empty())?;
    // As in an ignore file: without a slash it is meant for every directory.
    let text = if anywhere { format!("**/{rest}") } else { rest.to_owned() };
    let glob = GlobBuilder::new(&text).literal_separator(true).build().ok()?.compile_matcher();
    Some(Pattern { base, glob })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{added, renamed};

    fn set(paths: &[&[u8]]) -> ChangeSet {
        let named = |path: &&[u8]| Change { path: OsStr::from_bytes(path).into(), ..added("", "") };
        ChangeSet { changes: paths.iter().map(named).collect(), ..ChangeSet::default() }
    }

    fn chosen(set: &ChangeSet, subdir: &str, arguments: &[&[u8]]) -> Vec<String> {
        let arguments: Vec<PathBuf> = arguments.iter().map(|a| OsStr::from_bytes(a).into()).collect();
        let filter = Filter::in_repo(&arguments, None, Path::new(subdir)).unwrap();
        filter.choose(set).iter().map(|c| show(&c.path)).collect()
    }

    #[test]
    fn a_path_means_itself_and_what_is_below() {
        let set = set(&[b".", b"src", b"src/a.rs", b"src/b/c.rs", b"srcs"]);
        assert_eq!(chosen(&set, "", &[b"src"]), ["src", "src/a.rs", "src/b/c.rs"]);
        assert_eq!(chosen(&set, "", &[b"./src/b/../a.rs", b"srcs/"]), ["src/a.rs", "srcs"]);
        assert_eq!(chosen(&set, "src/b", &[b"..", b"c.rs"]), ["src", "src/a.rs", "src/b/c.rs"]);
        assert_eq!(chosen(&set, "", &[b"."]).len(), 5);
        assert_eq!(chosen(&set, "", &[]).len(), 5);
        assert!(chosen(&set, "", &[b"nothing"]).is_empty());
    }

    #[test]
    fn patterns_are_those_of_ignore_files() {
        let set = set(&[b"a.rs", b"src/b.rs", b"src/deep/c.rs", b"src/deep/d.txt", b"x/y"]);
        assert_eq!(chosen(&set, "", &[b"*.rs"]), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
        assert_eq!(chosen(&set, "src", &[b"*.rs"]), ["src/b.rs", "src/deep/c.rs"]);
        assert_eq!(chosen(&set, "", &[b"src/*.rs"]), ["src/b.rs"]);
        assert_eq!(chosen(&set, "src", &[b"../*.rs"]), ["a.rs"]);
        assert_eq!(chosen(&set, "", &[b"src/**"]), ["src/b.rs", "src/deep/c.rs", "src/deep/d.txt"]);
        assert_eq!(chosen(&set, "", &[b"src/d??p"]), ["src/deep/c.rs", "src/deep/d.txt"]);
        assert_eq!(chosen(&set, "", &[b"[xa]*"]), ["a.rs", "x/y"]);
        assert_eq!(chosen(&set, "", &[b"*"]).len(), 5);
    }

    #[test]
    fn a_name_in_the_set_wins_over_the_pattern_that_it_looks_like() {
        let set = set(&[b"*.rs", b"a.rs", b"[", b"b\xff*", b"b\xffx"]);
        assert_eq!(chosen(&set, "", &[b"*.rs"]), ["*.rs"]);
        assert_eq!(chosen(&set, "", &[b"["]), ["["]);
        assert_eq!(chosen(&set, "", &[b"b\xff*"]), ["b\\xff*"]);
        assert_eq!(chosen(&set, "", &[b"b\xffx"]), ["b\\xffx"]);
    }

    #[test]
    fn a_rename_is_named_by_either_name() {
        let set = ChangeSet { changes: vec![renamed("old/a.c", "new/b.rs")], ..ChangeSet::default() };
        for argument in ["old", "new/b.rs", "*.c", "*.rs"] {
            assert_eq!(chosen(&set, "", &[argument.as_bytes()]), ["new/b.rs"], "{argument}");
        }
    }

    #[test]
    fn outside_is_refused_and_what_names_nothing_is_told() {
        let new = |argument: &str, subdir: &str| {
            Filter::in_repo(&[argument.into()], Some(Path::new("/repo")), Path::new(subdir))
        };
        for argument in ["..", "a/../../b", "/etc", "/repo2/x", ""] {
            assert_eq!(new(argument, "").unwrap_err().exit_code(), 2, "{argument}");
        }
        let filter = new("/repo/a*", "sub").unwrap();
        let set = set(&[b"abc", b"sub/abc"]);
        assert_eq!(filter.choose(&set).len(), 1);
        assert!(filter.unmatched(&set).is_empty());
        assert_eq!(new("nope", "").unwrap().unmatched(&set), [Path::new("nope")]);
    }
}
