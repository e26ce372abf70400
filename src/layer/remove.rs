//! Removing a tree of ours: session directories with whatever the sandbox left in them.
//!
//! Nothing is followed. `work/work` has mode 000 and directories may be read-only: the owner may
//! change that. What belongs to another id gives an error that `access` knows how to mend. However
//! deep the tree is, descriptors and stack stay few: what is too deep is moved up first.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, RenameFlags, chmodat, fchmod, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::entry::{names, open_dir};

/// How far down we go before a directory is moved up.
const DEEP: usize = 64;

/// Removes `path` and all below it; a missing one is fine.
pub fn tree(path: &Path) -> io::Result<()> {
    entry(CWD, path.as_os_str())
}

/// The same, relative to a directory.
pub fn entry(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if remove_plain(at, name)? {
        return Ok(());
    }
    let root = open_anyway(at, name)?;
    let mut removal = Removal { root: &root, moved: 0 };
    loop {
        let children = names(root.as_fd())?;
        if children.is_empty() {
            break;
        }
        for child in children {
            removal.remove(root.as_fd(), &child, 1)?;
        }
    }
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

struct Removal<'a> {
    root: &'a OwnedFd,
    moved: u64,
}

impl Removal<'_> {
    fn remove(&mut self, at: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
        let first = self.try_remove(at, name, depth);
        if first.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied) {
            // A read-only directory of ours.
            fchmod(at, Mode::RWXU)?;
            return self.try_remove(at, name, depth);
        }
        first
    }

    fn try_remove(&mut self, at: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
        if remove_plain(at, name)? {
            return Ok(());
        }
        if depth > DEEP {
            loop {
                self.moved += 1;
                let up = OsString::from(format!(".deep-{}", self.moved));
                // The next round over the root finds it there. The name may be taken: the tree is not ours to trust.
                match renameat_with(at, name, self.root, up.as_os_str(), RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => {}
                    Err(Errno::INVAL | Errno::NOSYS) => return Ok(renameat(at, name, self.root, up.as_os_str())?),
                    other => return Ok(other?),
                }
            }
        }
        let dir = open_anyway(at, name)?;
        for child in names(dir.as_fd())? {
            self.remove(dir.as_fd(), &child, depth + 1)?;
        }
        match unlinkat(at, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// Removes a file, or a directory that is empty; then it need not be readable. False: it is not empty.
fn remove_plain(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
    match unlinkat(at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e.into()),
    }
    match unlinkat(at, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Opens a directory, making it readable if it is ours and closed.
fn open_anyway(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    match open_dir(at, name) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            chmodat(at, name, Mode::RWXU, AtFlags::empty())?;
            open_dir(at, name)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_tree_goes_whatever_its_modes_and_nothing_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        let root = dir.path().join("tree");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("work/work")).unwrap();
        fs::write(root.join("a/b/f"), "x").unwrap();
        fs::write(root.join("work/work/#1"), "x").unwrap();
        symlink(&outside, root.join("link")).unwrap();
        for (path, mode) in [("a/b/f", 0), ("a/b", 0o555), ("a", 0), ("work/work", 0)] {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        tree(&root).unwrap();
        assert!(!root.exists());
        assert!(outside.join("kept").exists());
        tree(&root).unwrap();
    }

    #[test]
    fn a_tree_of_any_depth_goes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        fs::create_dir(&root).unwrap();
        let mut at = open_dir(CWD, root.as_os_str()).unwrap();
        for _ in 0..5000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = open_dir(at.as_fd(), OsStr::new("d")).unwrap();
        }
        tree(&root).unwrap();
        assert!(!root.exists());
    }
}
