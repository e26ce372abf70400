//! One entry of a directory, read without following anything and without opening what could block.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use serde::{Deserialize, Serialize};

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

impl Kind {
    /// A pipe, a socket or a device: never part of a patch, never applied.
    pub fn is_special(self) -> bool {
        matches!(self, Kind::Fifo | Kind::Socket | Kind::Device)
    }
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

/// What tells one state of a file from every other: the sandbox cannot set a ctime, and neither can
/// an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Inode number.
    #[serde(rename = "i")]
    pub inode: u64,
    /// Bytes.
    #[serde(rename = "s")]
    pub size: u64,
    /// Type and permission bits.
    #[serde(rename = "m")]
    pub mode: u32,
    /// Nanoseconds since 1970.
    #[serde(rename = "t")]
    pub mtime: i64,
    /// Nanoseconds since 1970.
    #[serde(rename = "c")]
    pub ctime: i64,
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: stat.st_size as u64,
            mode: stat.st_mode,
            mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec as i64),
            ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

impl Identity {
    /// Whether it is a directory, whose times say nothing about itself.
    pub fn is_dir(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    /// The twelve permission bits.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Whether `other` is the same state of the same file. A rename changes the ctime, no more.
    pub fn is_same_but_renamed(&self, other: &Self) -> bool {
        self.inode == other.inode
            && self.mode == other.mode
            && (self.is_dir() || (self.size == other.size && self.mtime == other.mtime))
    }
}

/// An entry as `lstat` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Type, permission bits and size.
    pub meta: Meta,
    /// What tells this state from every other.
    pub id: Identity,
    /// How many names it has.
    pub links: u64,
    /// Its owner.
    pub owner: u32,
    /// Bytes that it takes on disk.
    pub allocated: u64,
}

impl From<&Stat> for Found {
    #[allow(clippy::unnecessary_cast, reason = "its type depends on the architecture")]
    fn from(stat: &Stat) -> Self {
        Self {
            meta: Meta::from(stat),
            id: Identity::from(stat),
            links: stat.st_nlink as u64,
            owner: stat.st_uid,
            allocated: stat.st_blocks as u64 * 512,
        }
    }
}

/// `lstat` relative to a directory; `None` if there is nothing.
pub fn find(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Found>> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Found::from(&stat))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The same, without what tells states apart.
pub fn stat(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Meta>> {
    Ok(find(dir, name)?.map(|found| found.meta))
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
