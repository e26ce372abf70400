//! The repo on the host. Every write to it goes through here: from a pinned root, beneath it, through no
//! link of any kind.

use std::cell::RefCell;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT, openat, openat2,
    renameat, renameat_with,
};
use rustix::io::Errno;

use crate::layer::entry::{Found, find};
use crate::layer::marks;

/// The repo, held open.
#[derive(Debug)]
pub struct Host {
    root: OwnedFd,
    path: PathBuf,
    last: RefCell<Option<(PathBuf, Rc<OwnedFd>)>>,
}

/// A directory of the repo and a name in it.
#[derive(Clone, Debug)]
pub struct Place {
    dir: Rc<OwnedFd>,
    name: OsString,
}

impl Host {
    /// Opens the repo at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { root, path: path.to_path_buf(), last: RefCell::new(None) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its root.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// A directory of it.
    pub fn dir(&self, path: &Path) -> io::Result<Rc<OwnedFd>> {
        if let Some((held, dir)) = &*self.last.borrow()
            && held == path
        {
            return Ok(Rc::clone(dir));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let how =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        let mut held: Option<OwnedFd> = None;
        for piece in pieces(path) {
            held = Some(openat2(held.as_ref().unwrap_or(&self.root), piece, flags, Mode::empty(), how)?);
        }
        let dir = Rc::new(held.ok_or(io::ErrorKind::InvalidInput)?);
        *self.last.borrow_mut() = Some((path.to_path_buf(), Rc::clone(&dir)));
        Ok(dir)
    }

    /// Forgets which directory was looked at last: it may have been replaced.
    pub fn forget(&self) {
        *self.last.borrow_mut() = None;
    }

    /// The place of a path.
    pub fn place(&self, path: &Path) -> io::Result<Place> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        Ok(Place { dir: self.dir(path.parent().unwrap_or(Path::new("")))?, name })
    }

    /// What is at a path; `None` also where its directory is missing or is none.
    pub fn find(&self, path: &Path) -> io::Result<Option<Found>> {
        if path == Path::new(".") {
            return Ok(Some(Found::from(&rustix::fs::fstat(&self.root)?)));
        }
        match self.place(path) {
            Ok(place) => place.find(),
            Err(e) if is_missing(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Makes everything that was written so far durable: one call, however many files.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.root)?)
    }
}

/// A path in pieces that the system takes: it knows none of more than 4096 bytes. At least one.
fn pieces(path: &Path) -> Vec<PathBuf> {
    let mut pieces = vec![PathBuf::new()];
    for part in path {
        match pieces.last_mut() {
            Some(last) if last.as_os_str().len() + part.len() < 4000 => last.push(part),
            _ => pieces.push(part.into()),
        }
    }
    if path.as_os_str().is_empty() { vec![".".into()] } else { pieces }
}

/// Whether a path leads nowhere: something on the way is not there, or is no directory.
pub fn is_missing(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

impl Place {
    /// A place in a directory.
    pub fn new(dir: Rc<OwnedFd>, name: impl Into<OsString>) -> Self {
        Self { dir, name: name.into() }
    }

    /// Another name in the same directory.
    pub fn beside(&self, name: impl Into<OsString>) -> Self {
        Self { dir: Rc::clone(&self.dir), name: name.into() }
    }

    /// The name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// What is there.
    pub fn find(&self) -> io::Result<Option<Found>> {
        find(self.dir.as_fd(), &self.name)
    }

    /// A new file, open for its owner alone until it is complete.
    pub fn create(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.dir, &self.name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// A new link to `target`.
    pub fn symlink(&self, target: &[u8]) -> io::Result<()> {
        let target = CString::new(target).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(rustix::fs::symlinkat(&target, &self.dir, &self.name)?)
    }

    /// A new pipe, socket or device like another.
    pub fn make_special(&self, like: &rustix::fs::Stat) -> io::Result<()> {
        let kind = FileType::from_raw_mode(like.st_mode);
        Ok(rustix::fs::mknodat(&self.dir, &self.name, kind, Mode::RUSR | Mode::WUSR, like.st_rdev)?)
    }

    /// A new directory, open for its owner alone until it is complete.
    pub fn mkdir(&self) -> io::Result<Rc<OwnedFd>> {
        rustix::fs::mkdirat(&self.dir, &self.name, Mode::RWXU)?;
        self.open_dir()
    }

    /// The directory that is there.
    pub fn open_dir(&self) -> io::Result<Rc<OwnedFd>> {
        Ok(Rc::new(crate::layer::entry::open_dir(self.dir.as_fd(), &self.name)?))
    }

    /// The regular file that is there, for reading.
    pub fn open(&self) -> io::Result<File> {
        crate::layer::entry::open_file(self.dir.as_fd(), &self.name)
    }

    /// Where the link that is there leads.
    pub fn target(&self) -> io::Result<Vec<u8>> {
        crate::changes::compare::link_target(self.dir.as_fd(), &self.name)
    }

    /// Another name for the file at `other`.
    pub fn link_to(&self, other: &Place) -> io::Result<()> {
        Ok(rustix::fs::linkat(&other.dir, &other.name, &self.dir, &self.name, AtFlags::empty())?)
    }

    /// Another name for an open file.
    pub fn link_to_open(&self, file: &File) -> io::Result<()> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(rustix::fs::linkat(CWD, path, &self.dir, &self.name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Moves what is here to a place where nothing is.
    pub fn rename(&self, to: &Place) -> io::Result<()> {
        match renameat_with(&self.dir, &self.name, &to.dir, &to.name, RenameFlags::NOREPLACE) {
            // Some network file systems know no flags. A moment between look and rename is all there is then.
            Err(Errno::INVAL | Errno::NOSYS) => match to.find()? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => Ok(renameat(&self.dir, &self.name, &to.dir, &to.name)?),
            },
            other => Ok(other?),
        }
    }

    /// Swaps what is here with what is there, at once. False: this file system cannot.
    pub fn exchange(&self, with: &Place) -> io::Result<bool> {
        if !super::crash::may_exchange() {
            return Ok(false);
        }
        match renameat_with(&self.dir, &self.name, &with.dir, &with.name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes everything in its file system durable.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&*self.dir)?)
    }

    /// Removes what is here, with all below it.
    pub fn remove(&self) -> io::Result<()> {
        crate::layer::remove::entry(self.dir.as_fd(), &self.name)
    }

    /// Permission bits of a file or directory.
    pub fn chmod(&self, mode: u32) -> io::Result<()> {
        // A file of mode 0 cannot be opened, and older kernels know no chmod that follows nothing.
        let fd = openat(&self.dir, &self.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        Ok(rustix::fs::chmod(path, Mode::from_raw_mode(mode))?)
    }

    /// Sets the time of the last change, of a link itself too.
    pub fn set_mtime(&self, mtime: i64) -> io::Result<()> {
        Ok(rustix::fs::utimensat(&self.dir, &self.name, &modified_at(mtime), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Gives it to another owner and group, as far as we may.
    pub fn chown_like(&self, like: &rustix::fs::Stat) {
        use rustix::fs::{Gid, Uid};
        let group = Some(Gid::from_raw(like.st_gid));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let both = rustix::fs::chownat(&self.dir, &self.name, Some(Uid::from_raw(like.st_uid)), group, flags);
        if both.is_err() {
            let _ = rustix::fs::chownat(&self.dir, &self.name, None, group, flags);
        }
    }

    /// The access list of what is there.
    pub fn acl(&self) -> io::Result<Option<Vec<u8>>> {
        let fd = openat(&self.dir, &self.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let mut value = vec![0u8; 65536];
        match rustix::fs::getxattr(format!("/proc/self/fd/{}", fd.as_raw_fd()), marks::ACL, &mut value) {
            Ok(length) => Ok(Some(value[..length].to_vec())),
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// `lstat`, in full.
    pub fn stat(&self) -> io::Result<rustix::fs::Stat> {
        Ok(rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// Whether we may make and remove names in a directory.
pub fn may_change_names(dir: impl AsFd) -> bool {
    use rustix::fs::{Access, accessat};
    accessat(dir, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// A modification time alone.
pub fn modified_at(mtime: i64) -> Timestamps {
    let (seconds, nanos) = (mtime.div_euclid(1_000_000_000), mtime.rem_euclid(1_000_000_000));
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanos },
    }
}
