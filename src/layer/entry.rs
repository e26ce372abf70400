//! One entry of a directory, read without following anything and without opening what could block.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use serde::Serialize;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Regular file.
    File,
    /// Directory.
    Dir,
    /// Symbolic link.
    Symlink,
    /// Named pipe.
    Fifo,
    /// Unix socket.
    Socket,
    /// Character or block device.
    Device,
}

/// Type, permission bits and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// The twelve permission bits.
    pub mode: u32,
    /// Bytes, as `stat` has it.
    pub size: u64,
    /// A 0/0 character device: in an upper layer, "deleted".
    pub whiteout: bool,
}

impl From<&Stat> for Meta {
    fn from(stat: &Stat) -> Self {
        let file_type = FileType::from_raw_mode(stat.st_mode);
        let kind = match file_type {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Dir,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            _ => Kind::Device,
        };
        let whiteout = file_type == FileType::CharacterDevice && stat.st_rdev == 0;
        Self { kind, mode: stat.st_mode & 0o7777, size: stat.st_size as u64, whiteout }
    }
}

/// `lstat` relative to a directory; `None` if there is nothing.
pub fn stat(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Meta>> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Meta::from(&stat))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Opens a sub-directory itself, never through a link.
pub fn open_dir(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::empty())?)
}

/// Opens a regular file for reading. `NONBLOCK`, should it have become a pipe meanwhile.
pub fn open_file(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = openat(dir, name, flags, Mode::empty())?;
    let file = std::fs::File::from(fd);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("changed its type while it was read"));
    }
    Ok(file)
}

/// Names in a directory, sorted by bytes, so that every reader sees one order.
pub fn names(dir: BorrowedFd<'_>) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if name != c"." && name != c".." {
            names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Whether an upper directory hides what is below it.
pub fn is_opaque(dir: impl AsFd) -> io::Result<bool> {
    let mut value = [0u8; 8];
    match rustix::fs::fgetxattr(dir, c"user.overlay.opaque", &mut value) {
        Ok(length) => Ok(&value[..length] == b"y"),
        Err(rustix::io::Errno::NODATA) => Ok(false),
        Err(e) => Err(e.into()),
    }
}
