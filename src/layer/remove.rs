//! Removing a tree of ours: session directories with whatever the sandbox left in them.
//!
//! Nothing is followed. `work/work` has mode 000 and directories may be read-only: the owner may
//! change that. What belongs to another id gives an error that `access` knows how to mend.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, chmodat, unlinkat};
use rustix::io::Errno;

use super::entry::{names, open_dir};

/// Removes `path` and all below it; a missing one is fine.
pub fn tree(path: &Path) -> io::Result<()> {
    remove(CWD, path.as_os_str())
}

fn remove(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match unlinkat(at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e.into()),
    }
    // Most often empty, and then it need not be readable.
    match unlinkat(at, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTEMPTY | Errno::EXIST) => {}
        Err(e) => return Err(e.into()),
    }
    let mut opened = open_dir(at, name);
    if opened.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied) {
        chmodat(at, name, Mode::RWXU, AtFlags::empty())?;
        opened = open_dir(at, name);
    }
    let dir = opened?;
    for child in names(dir.as_fd())? {
        let removed = remove(dir.as_fd(), &child);
        if removed.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied) {
            // A read-only directory of ours.
            rustix::fs::fchmod(&dir, Mode::RWXU)?;
            remove(dir.as_fd(), &child)?;
        } else {
            removed?;
        }
    }
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

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
        super::tree(&root).unwrap();
        assert!(!root.exists());
        assert!(outside.join("kept").exists());
        super::tree(&root).unwrap();
    }
}
