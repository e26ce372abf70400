//! What fixes changed, as a layer of the overlay. It lies in the cache under the hash of what is in it.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use sha2::{Digest, Sha256};

use super::tree::Over;
use crate::changes::compare::link_target;
use crate::layer::entry::{self, Kind};
use crate::layer::{marks, remove};
use crate::task::cached;

/// Where layers of fixes lie, below the cache.
pub const DIR: &str = "compat";
/// Deeper than anything that was made with good intentions.
const DEEPEST: usize = 500;

/// Writes what was changed; `None` if nothing was.
pub fn write(over: &Over, cache: &Path) -> io::Result<Option<PathBuf>> {
    if over.changed.is_empty() {
        return Ok(None);
    }
    let dir = place(cache, &hash(over)?)?;
    if dir.is_dir() {
        return Ok(Some(dir));
    }
    // Two who make the same are not in each other's way.
    let new = dir.with_file_name(format!("{}.new", std::process::id()));
    remove::tree(&new)?;
    fs::create_dir(&new)?;
    for (path, content) in &over.changed {
        let parents: Vec<&Path> = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
        for parent in parents.into_iter().rev().filter(|parent| !new.join(parent).is_dir()) {
            fs::create_dir(new.join(parent))?;
            fs::set_permissions(new.join(parent), Permissions::from_mode(over.mode_of_dir(parent)? | 0o700))?;
        }
        let to = new.join(path);
        match content {
            Some(content) => {
                fs::write(&to, content)?;
                fs::set_permissions(&to, Permissions::from_mode(over.mode(path)?))?;
            }
            None if over.is_below(path)? => mknodat(CWD, &to, FileType::CharacterDevice, Mode::empty(), 0)?,
            None => {}
        }
    }
    fs::set_permissions(&new, Permissions::from_mode(over.mode_of_dir(Path::new(""))?))?;
    keep(&new, &dir)?;
    Ok(Some(dir))
}

/// The place of a layer with this hash.
pub fn place(cache: &Path, hash: &str) -> io::Result<PathBuf> {
    let dir = cache.join(DIR).join(hash);
    fs::create_dir_all(&dir)?;
    cached::touch(&dir);
    Ok(dir.join("layer"))
}

/// Moves a finished layer to its place, unless somebody else has put the same there.
pub fn keep(new: &Path, dir: &Path) -> io::Result<()> {
    match fs::rename(new, dir) {
        Err(e) if matches!(e.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => {
            remove::tree(new)
        }
        done => done,
    }
}

fn hash(over: &Over) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut field = |bytes: &[u8]| field(&mut hash, bytes);
    for (path, content) in &over.changed {
        field(path.as_os_str().as_bytes());
        field(&over.mode(path)?.to_le_bytes());
        field(if content.is_some() { b"+" } else { b"-" });
        field(content.as_deref().unwrap_or_default());
    }
    Ok(hash.finalize()[..16].iter().map(|b| format!("{b:02x}")).collect())
}

/// The hash of a layer that somebody else made, over all that the kernel makes of it: also of what is no change here,
/// for it may be one over other code. `None` if nothing is in it.
pub fn hash_of(layer: &Path) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, layer, flags, Mode::empty())?;
    let mut hash = Sha256::new();
    let is_opaque = marks::is_opaque(&root)?;
    if entry::names(root.as_fd())?.is_empty() && !is_opaque {
        return Ok(None);
    }
    hash.update((rustix::fs::fstat(&root)?.st_mode & 0o7777).to_le_bytes());
    hash_dir(&mut hash, root.as_fd(), 0)?;
    Ok(Some(hash.finalize()[..16].iter().map(|b| format!("{b:02x}")).collect()))
}

fn hash_dir(hash: &mut Sha256, dir: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
    if depth > DEEPEST {
        return Err(io::Error::other(format!("its directories are more than {DEEPEST} deep")));
    }
    let names = entry::names(dir)?;
    hash_marks(hash, dir)?;
    hash.update((names.len() as u64).to_le_bytes());
    for name in names {
        let Some(found) = entry::stat(dir, &name)? else { continue };
        field(hash, name.as_bytes());
        field(hash, format!("{:?} {:o} {}", found.kind, found.mode, found.whiteout).as_bytes());
        match found.kind {
            Kind::Dir => hash_dir(hash, entry::open_dir(dir, &name)?.as_fd(), depth + 1)?,
            Kind::Symlink => field(hash, &link_target(dir, &name)?),
            Kind::File => {
                let mut file = entry::open_file(dir, &name)?;
                hash_marks(hash, file.as_fd())?;
                hash.update(file.metadata()?.len().to_le_bytes());
                io::copy(&mut file, hash)?;
            }
            Kind::Fifo | Kind::Socket | Kind::Device => {}
        }
    }
    Ok(())
}

/// Attributes; not those by which the kernel only remembers where something came from.
fn hash_marks(hash: &mut Sha256, fd: BorrowedFd<'_>) -> io::Result<()> {
    const NOTES: [&[u8]; 5] = [b"origin", b"impure", b"nlink", b"upper", b"uuid"];
    let is_note = |name: &[u8]| name.strip_prefix(b"user.overlay.").is_some_and(|end| NOTES.contains(&end));
    let mut names = marks::list(fd)?;
    names.retain(|name| name.starts_with(b"user.") && !is_note(name));
    names.sort();
    hash.update((names.len() as u64).to_le_bytes());
    for name in names {
        field(hash, &name);
        field(hash, &marks::get(fd, &name)?.unwrap_or_default());
    }
    Ok(())
}

/// Length first, so that no two lists of fields run into the same bytes.
fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;
    use crate::changes::base::Base;
    use crate::changes::read::{Layers, read};
    use crate::layer::Encoding;

    #[test]
    fn the_hash_of_a_layer_is_over_all_that_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let layer = dir.path().join("upper");
        fs::create_dir_all(layer.join("d")).unwrap();
        let mut seen = vec![hash_of(&layer).unwrap().unwrap()];
        let mut is_new = |what: &str| {
            let hash = hash_of(&layer).unwrap().unwrap();
            assert!(!seen.contains(&hash), "{what}");
            seen.push(hash);
        };
        fs::write(layer.join("d/ignored.o"), "1").unwrap();
        is_new("a file that git may ignore");
        fs::write(layer.join("d/ignored.o"), "2").unwrap();
        is_new("its content");
        fs::set_permissions(layer.join("d/ignored.o"), Permissions::from_mode(0o755)).unwrap();
        is_new("its mode");
        std::os::unix::fs::symlink("a", layer.join("l")).unwrap();
        is_new("a link");
        let d = fs::File::open(layer.join("d")).unwrap();
        marks::set(&d, b"user.overlay.opaque", b"y").unwrap();
        is_new("what lies below is hidden");
        let before = hash_of(&layer).unwrap();
        marks::set(&d, b"user.overlay.origin", b"x").unwrap();
        assert_eq!(hash_of(&layer).unwrap(), before, "where it came from");
        fs::create_dir(dir.path().join("empty")).unwrap();
        assert_eq!(hash_of(&dir.path().join("empty")).unwrap(), None);
    }

    #[test]
    fn what_was_changed_is_a_layer_and_the_same_again_is_the_same_one() {
        let dir = tempfile::tempdir().unwrap();
        let (repo, cache) = (dir.path().join("repo"), dir.path().join("cache"));
        fs::create_dir_all(repo.join("a/b")).unwrap();
        fs::set_permissions(repo.join("a"), Permissions::from_mode(0o750)).unwrap();
        fs::write(repo.join("a/b/x.py"), "old").unwrap();
        fs::write(repo.join("a/gone"), "g").unwrap();
        fs::set_permissions(repo.join("a/b/x.py"), Permissions::from_mode(0o755)).unwrap();
        let make = || {
            let mut over = Over::new(&[], &repo).unwrap();
            assert_eq!(over.files(&|path| path.extension().is_some()).unwrap(), [Path::new("a/b/x.py")]);
            over.changed.insert("a/b/x.py".into(), Some(b"new".to_vec()));
            over.changed.insert("a/gone".into(), None);
            over.changed.insert("c/new".into(), Some(b"n".to_vec()));
            assert_eq!(over.text(Path::new("a/b/x.py")).as_deref(), Some("new"));
            write(&over, &cache).unwrap().unwrap()
        };
        let layer = make();
        assert_eq!(make(), layer);
        let layers = Layers::simple(layer.clone(), Encoding::Userxattr, repo.clone());
        let set = read(&layers, &Base::nothing()).unwrap().set;
        let found: Vec<String> =
            set.changes.iter().map(|change| format!("{} {}", change.kind.letter(), change.path.display())).collect();
        assert_eq!(found, ["M a/b/x.py", "D a/gone", "A c", "A c/new"]);
        assert_eq!(set.changes[0].new.unwrap().mode, 0o755);
        let over = Over::new(&[layer], &repo).unwrap();
        assert_eq!(over.content(Path::new("a/b/x.py")).unwrap().as_deref(), Some(&b"new"[..]));
        assert_eq!(over.content(Path::new("a/gone")).unwrap(), None);
        assert_eq!(write(&over, &cache).unwrap(), None);
    }
}
