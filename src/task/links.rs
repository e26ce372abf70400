//! Where a path leads through the links of a workspace. They come from the sandbox: they are followed in its layers, as
//! far as they stay there, and nothing of the host is looked at.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::changes::sides::Reader;
use crate::layer::entry::Kind;

/// Links on one way; the kernel does not follow more either.
const MOST_LINKS: usize = 40;
/// Names on one way.
const MOST_STEPS: usize = 4096;

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Something of the workspace, by a path without links.
    At(PathBuf),
    /// Nothing.
    Absent,
    /// A link that leads nowhere, or in a circle.
    Dangling,
    /// A link that leads out of the workspace.
    Away,
    /// Something behind such a link: nobody knows.
    Behind,
}

/// Finds it. What it takes is counted in `steps`.
pub fn find(reader: &Reader, path: &Path, steps: &mut usize) -> io::Result<Place> {
    let Some(name) = path.file_name() else { return Ok(Place::At(PathBuf::new())) };
    let above = path.parent().unwrap_or(Path::new(""));
    let at = match follow(reader, above, steps)? {
        Lead::To(dir) => dir.join(name),
        Lead::Nowhere => return Ok(Place::Absent),
        Lead::Out => return Ok(Place::Behind),
    };
    match reader.leaf(&at)? {
        Some(leaf) if leaf.found.meta.kind == Kind::Symlink => Ok(match follow(reader, &at, steps)? {
            Lead::To(real) => Place::At(real),
            Lead::Nowhere => Place::Dangling,
            Lead::Out => Place::Away,
        }),
        Some(_) => Ok(Place::At(at)),
        None => Ok(if reader.dir(&at)?.is_some() { Place::At(at) } else { Place::Absent }),
    }
}

enum Lead {
    To(PathBuf),
    Nowhere,
    Out,
}

fn follow(reader: &Reader, path: &Path, steps: &mut usize) -> io::Result<Lead> {
    let mut real = PathBuf::new();
    let mut rest: VecDeque<OsString> = path.iter().map(OsStr::to_owned).collect();
    let (mut links, most) = (0, *steps + MOST_STEPS);
    while let Some(part) = rest.pop_front() {
        *steps += 1;
        if *steps > most {
            return Ok(Lead::Nowhere);
        }
        match Path::new(&part).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::ParentDir) if real.pop() => continue,
            Some(Component::ParentDir | Component::RootDir | Component::Prefix(_)) => return Ok(Lead::Out),
            Some(Component::CurDir) | None => continue,
        }
        let next = real.join(&part);
        match reader.leaf(&next)? {
            Some(leaf) if leaf.found.meta.kind == Kind::Symlink => {
                links += 1;
                if links > MOST_LINKS {
                    return Ok(Lead::Nowhere);
                }
                let target = leaf.target(&part)?;
                for part in Path::new(OsStr::from_bytes(&target)).iter().rev() {
                    rest.push_front(part.to_owned());
                }
            }
            Some(_) if rest.is_empty() => return Ok(Lead::To(next)),
            Some(_) => return Ok(Lead::Nowhere),
            None if reader.dir(&next)?.is_some() => real = next,
            None => return Ok(Lead::Nowhere),
        }
    }
    Ok(Lead::To(real))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::layer::Encoding;
    use crate::layer::stack::Dir;

    #[test]
    fn links_are_followed_inside_and_never_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        fs::write(dir.path().join("outside"), "x").unwrap();
        for (target, link) in [
            ("a/b", "dir"),
            ("b/../../a/b/file", "a/up"),
            ("dir/../../a/up", "chain"),
            ("../dir/./file", "a/through"),
            ("round", "round"),
            ("missing", "dangling"),
            ("a/b/file/x", "below-a-file"),
            ("/etc/passwd", "absolute"),
            ("../outside", "out"),
            ("..", "parent"),
            ("../root/a", "back"),
            (".", "self"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let reader = Reader::new(Dir::root(&[(&root, Encoding::Plain)]).unwrap());
        let find = |path: &str| find(&reader, Path::new(path), &mut 0).unwrap();
        let at = |path: &str| Place::At(path.into());
        for (path, wanted) in [
            ("", at("")),
            ("a", at("a")),
            ("dir", at("a/b")),
            ("dir/file", at("a/b/file")),
            ("a/up", at("a/b/file")),
            ("chain", at("a/b/file")),
            ("a/through", at("a/b/file")),
            ("self/self/dir/file", at("a/b/file")),
            ("missing", Place::Absent),
            ("dir/missing", Place::Absent),
            ("dangling", Place::Dangling),
            ("dangling/x", Place::Absent),
            ("below-a-file", Place::Dangling),
            ("round", Place::Dangling),
            ("absolute", Place::Away),
            ("out", Place::Away),
            ("parent", Place::Away),
            ("parent/outside", Place::Behind),
            ("back", Place::Away),
        ] {
            assert_eq!(find(path), wanted, "{path}");
        }
    }

    #[test]
    fn a_way_without_an_end_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        let long = "../d/".repeat(600);
        symlink("d", dir.path().join("l0")).unwrap();
        for n in 1..39 {
            symlink(format!("d/{long}../l{}", n - 1), dir.path().join(format!("l{n}"))).unwrap();
        }
        let reader = Reader::new(Dir::root(&[(dir.path(), Encoding::Plain)]).unwrap());
        let mut steps = 0;
        assert_eq!(find(&reader, Path::new("l1"), &mut steps).unwrap(), Place::At("d".into()));
        assert_eq!(find(&reader, Path::new("l38"), &mut steps).unwrap(), Place::Dangling);
        assert!(steps < 2 * MOST_STEPS, "{steps}");
    }
}
