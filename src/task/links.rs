//! Where a path leads through the links of a workspace. They come from the sandbox: they are followed in its layers, as
//! far as they stay there, and nothing of the host is looked at.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::changes::sides::Reader;
use crate::layer::entry::Kind;

/// Links on one way; the kernel does not follow more either.
const MOST_LINKS: usize = 40;
/// What one way may take: each name on it costs as much as it is deep.
const MOST_STEPS: usize = 10_000;

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
    /// Something behind such a link, or behind one that leads too far: nobody knows.
    Behind,
}

/// Finds it. What it takes is counted in `steps`.
pub fn find(reader: &Reader, path: &Path, steps: &mut usize) -> io::Result<Place> {
    let Some(name) = path.file_name() else { return Ok(Place::At(PathBuf::new())) };
    let above = path.parent().unwrap_or(Path::new(""));
    let at = match follow(reader, above, steps)? {
        Lead::To(dir) => dir.join(name),
        Lead::Nowhere => return Ok(Place::Absent),
        Lead::Out | Lead::TooFar => return Ok(Place::Behind),
    };
    match look(reader, &at)? {
        Some(Sight::Link(_)) => Ok(match follow(reader, &at, steps)? {
            Lead::To(real) => Place::At(real),
            Lead::Nowhere | Lead::TooFar => Place::Dangling,
            Lead::Out => Place::Away,
        }),
        Some(Sight::Dir | Sight::Other) => Ok(Place::At(at)),
        None => Ok(Place::Absent),
    }
}

enum Sight {
    Dir,
    Link(Vec<u8>),
    Other,
}

fn look(reader: &Reader, path: &Path) -> io::Result<Option<Sight>> {
    let name = path.file_name().unwrap_or_default();
    let leaf = match reader.leaf(path) {
        // Where a link leads may be no name at all.
        Err(e) if e.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) => return Ok(None),
        leaf => leaf?,
    };
    Ok(match leaf {
        Some(leaf) if leaf.found.meta.kind == Kind::Symlink => Some(Sight::Link(leaf.target(name)?)),
        Some(_) => Some(Sight::Other),
        None => reader.dir(path)?.map(|_| Sight::Dir),
    })
}

enum Lead {
    To(PathBuf),
    Nowhere,
    Out,
    TooFar,
}

fn follow(reader: &Reader, path: &Path, steps: &mut usize) -> io::Result<Lead> {
    let mut real = PathBuf::new();
    let mut rest: VecDeque<OsString> = path.iter().map(OsStr::to_owned).collect();
    let (mut links, most) = (0, *steps + MOST_STEPS);
    while let Some(part) = rest.pop_front() {
        *steps += 1 + real.components().count();
        if *steps > most {
            return Ok(Lead::TooFar);
        }
        match Path::new(&part).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::ParentDir) if real.pop() => continue,
            Some(Component::ParentDir | Component::RootDir | Component::Prefix(_)) => return Ok(Lead::Out),
            Some(Component::CurDir) | None => continue,
        }
        let next = real.join(&part);
        match look(reader, &next)? {
            Some(Sight::Dir) => real = next,
            Some(Sight::Link(target)) => {
                links += 1;
                if links > MOST_LINKS {
                    return Ok(Lead::Nowhere);
                }
                for part in Path::new(OsStr::from_bytes(&target)).iter().rev() {
                    rest.push_front(part.to_owned());
                }
            }
            Some(Sight::Other) if rest.is_empty() => return Ok(Lead::To(next)),
            Some(Sight::Other) | None => return Ok(Lead::Nowhere),
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
            (&"x".repeat(300), "no-name"),
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
            ("no-name", Place::Dangling),
            ("no-name/x", Place::Absent),
            (&"x".repeat(300), Place::Absent),
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
        assert_eq!(find(&reader, Path::new("l38/x"), &mut steps).unwrap(), Place::Behind, "it could be there");
        assert!(steps < 3 * MOST_STEPS, "{steps}");
    }
}
