//! A copy of something with everything that belongs to it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Stat, XattrFlags, fremovexattr, fsetxattr};

use super::access_list;
use super::copy::Copier;
use super::host::Place;
use crate::layer::entry::{Identity, Kind, names};
use crate::layer::marks;

/// A copy with everything that belongs to it. Names of one file below it are names of one file again.
pub fn duplicate(from: &Place, to: &Place, copier: &mut Copier) -> io::Result<()> {
    Duplicator { copier, root: to, linked: HashMap::new() }.copy(from, to, Path::new(""))
}

struct Duplicator<'a> {
    copier: &'a mut Copier,
    root: &'a Place,
    /// Files with several names, by their inodes: where their copies are, seen from the root. No descriptors:
    /// there may be more of them than a process can hold.
    linked: HashMap<u64, PathBuf>,
}

impl Duplicator<'_> {
    fn copy(&mut self, from: &Place, to: &Place, path: &Path) -> io::Result<()> {
        let stat = from.stat()?;
        let id = Identity::from(&stat);
        let Some(found) = from.find()? else { return Ok(()) };
        if found.links > 1 && found.meta.kind != Kind::Dir && self.link(id.inode, to, path) {
            return Ok(());
        }
        match found.meta.kind {
            Kind::File => self.file(from, to, &stat)?,
            Kind::Symlink => {
                to.symlink(&from.target()?)?;
                to.chown_like(&stat);
            }
            Kind::Dir => {
                if id.permissions() & 0o500 != 0o500 {
                    from.chmod(id.permissions() | 0o500)?;
                }
                let copied = self.dir(from, to, path, &stat);
                // It goes soon, but not if this was cut off.
                from.chmod(id.permissions())?;
                copied?;
            }
            Kind::Fifo | Kind::Socket | Kind::Device => match to.make_special(&stat) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
                made => {
                    made?;
                    to.chown_like(&stat);
                    to.chmod(id.permissions())?;
                }
            },
        }
        to.set_mtime(id.mtime)
    }

    /// Gives the copy of a file that was copied before another name. False: there is none, or it cannot have one.
    fn link(&mut self, inode: u64, to: &Place, path: &Path) -> bool {
        match self.linked.get(&inode) {
            Some(first) => self.place(first).and_then(|first| to.link_to(&first)).is_ok(),
            None => {
                self.linked.insert(inode, path.to_path_buf());
                false
            }
        }
    }

    /// A place in the copy, found through no link: in the repo others write too.
    fn place(&self, path: &Path) -> io::Result<Place> {
        path.iter().try_fold(self.root.clone(), |above, name| Ok(Place::new(above.open_dir()?, name)))
    }

    fn file(&mut self, from: &Place, to: &Place, stat: &Stat) -> io::Result<()> {
        let mut source = opened(from, stat.st_mode & 0o7777, Place::open)?;
        let mut copy = to.create()?;
        self.copier.copy(&mut source, &mut copy)?;
        let mode = attributes(source.as_fd(), copy.as_fd(), stat)?;
        to.chown_like(stat);
        copy.sync_data()?;
        to.chmod(mode)
    }

    fn dir(&mut self, from: &Place, to: &Place, path: &Path, stat: &Stat) -> io::Result<()> {
        let (source, copy) = (from.open_dir()?, to.mkdir()?);
        for name in names(source.as_fd())? {
            let (child, twin) = (Place::new(Rc::clone(&source), &name), Place::new(Rc::clone(&copy), &name));
            self.copy(&child, &twin, &path.join(name))?;
        }
        let mode = attributes(source.as_fd(), copy.as_fd(), stat)?;
        to.chown_like(stat);
        to.chmod(mode)
    }
}

/// Copies attributes and access lists: all of them are the host's own and come back to it. Gives the mode that goes
/// with that.
fn attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>, stat: &Stat) -> io::Result<u32> {
    let mut mode = stat.st_mode & 0o7777;
    let all = marks::list(from)?;
    for list in [marks::ACL, marks::DEFAULT_ACL] {
        if !all.iter().any(|name| name == list.as_bytes()) {
            // Perhaps it got one from the directory that it was made in. Where there are no lists, it did not.
            let _ = fremovexattr(to, list);
        }
    }
    for name in &all {
        let is_list = name == marks::ACL.as_bytes() || name == marks::DEFAULT_ACL.as_bytes();
        if !is_list && !name.starts_with(b"user.") {
            continue;
        }
        let Some(value) = marks::get(from, name)? else { continue };
        if !is_list {
            marks::set(to, name, &value)?;
        } else if fsetxattr(to, name.as_slice(), &value, XattrFlags::empty()).is_err() && name == marks::ACL.as_bytes()
        {
            // That file system has no lists, or does not know somebody in it.
            mode = access_list::mode_without(&value, mode);
        }
    }
    Ok(mode)
}

/// Opens what its owner may not read: the owner may change that, and changes it back.
fn opened<T>(place: &Place, mode: u32, open: impl Fn(&Place) -> io::Result<T>) -> io::Result<T> {
    match open(place) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            place.chmod(mode | 0o400)?;
            let opened = open(place);
            place.chmod(mode)?;
            opened
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn place(dir: &Path, name: &str) -> Place {
        Place::new(Rc::new(fs::File::open(dir).unwrap().into()), name)
    }

    #[test]
    fn names_of_one_file_stay_names_of_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("a/closed")).unwrap();
        fs::write(from.join("a/one"), "x").unwrap();
        fs::write(from.join("a/closed/one"), "y").unwrap();
        fs::hard_link(from.join("a/one"), from.join("two")).unwrap();
        fs::hard_link(from.join("a/closed/one"), from.join("other")).unwrap();
        fs::hard_link(from.join("a/one"), dir.path().join("outside")).unwrap();
        fs::set_permissions(from.join("a/closed"), fs::Permissions::from_mode(0o000)).unwrap();
        duplicate(&place(dir.path(), "from"), &place(dir.path(), "to"), &mut Copier::default()).unwrap();
        let to = dir.path().join("to");
        let inode = |path: &str| fs::metadata(to.join(path)).unwrap().ino();
        assert_eq!(inode("a/one"), inode("two"));
        assert_eq!(fs::metadata(to.join("two")).unwrap().nlink(), 2);
        assert_eq!(fs::read_to_string(to.join("other")).unwrap(), "y", "a directory in the way is no reason to fail");
        for tree in [&from, &to] {
            assert_eq!(fs::metadata(tree.join("a/closed")).unwrap().mode() & 0o7777, 0);
            fs::set_permissions(tree.join("a/closed"), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}
