//! Reading below a directory: the host's as git reads it, a session's without following anything.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::layer::entry;

/// No path of git's is deeper.
const DEEPEST: usize = 256;

/// A directory to read from.
#[derive(Debug)]
pub enum Dir {
    /// Trusted: links are followed, as git does.
    Following(PathBuf),
    /// No component below it may be a link.
    Strict(OwnedFd),
}

impl Dir {
    /// Pins `path`, itself trusted, so that nothing below it is followed. `None` if it is no directory.
    pub fn strict(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        found(openat(CWD, path, flags, Mode::empty()).map_err(Into::into)).map(|fd| fd.map(Self::Strict))
    }

    /// The directory `rel` below.
    pub fn sub(&self, rel: &Path) -> io::Result<Option<Self>> {
        match self {
            Dir::Following(path) => Ok(Some(Dir::Following(path.join(rel)))),
            Dir::Strict(fd) => walk(fd.as_fd(), rel).map(|fd| fd.map(Dir::Strict)),
        }
    }

    /// Opens the regular file `rel`; `None` if there is none, or something else.
    pub fn open(&self, rel: &Path) -> io::Result<Option<File>> {
        match self {
            Dir::Following(path) => open_followed(&path.join(rel)),
            Dir::Strict(fd) => {
                let (Some(parent), Some(name)) = (rel.parent(), rel.file_name()) else { return Ok(None) };
                let Some(dir) = walk(fd.as_fd(), parent)? else { return Ok(None) };
                match entry::stat(dir.as_fd(), name)? {
                    Some(meta) if meta.kind == entry::Kind::File => found(entry::open_file(dir.as_fd(), name)),
                    _ => Ok(None),
                }
            }
        }
    }

    /// The content of the regular file `rel`, which may not be longer than `most`.
    pub fn read(&self, rel: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
        self.open(rel)?.map(|file| read_all(file, most)).transpose()
    }

    /// Names in the directory `rel`, in no order; none if it is missing. More than `most` is an error.
    pub fn names(&self, rel: &Path, most: usize) -> io::Result<Vec<OsString>> {
        let dir = match self {
            Dir::Following(path) => Dir::strict(&path.join(rel))?,
            Dir::Strict(_) => self.sub(rel)?,
        };
        let Some(Dir::Strict(fd)) = dir else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() >= most {
                return Err(io::Error::other(format!("more than {most} entries in one directory")));
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        Ok(names)
    }
}

/// Opens a trusted file, through links too. Never a pipe, which could keep us waiting.
pub fn open_followed(path: &Path) -> io::Result<Option<File>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let Some(file) = found(File::options().read(true).custom_flags(flags).open(path))? else { return Ok(None) };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Reads to the end; more than `most` bytes is an error.
pub fn read_all(file: File, most: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or_default());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// Opens each component in turn.
fn walk(from: BorrowedFd<'_>, rel: &Path) -> io::Result<Option<OwnedFd>> {
    let mut at = from.try_clone_to_owned()?;
    for (depth, part) in rel.components().enumerate() {
        let Component::Normal(name) = part else { return Err(io::Error::other("not a plain relative path")) };
        if depth >= DEEPEST {
            return Err(io::Error::other("too many directories inside each other"));
        }
        match found(entry::open_dir(at.as_fd(), name))? {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// What is missing, is a link or is of another type is no error.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) => match Errno::from_io_error(&e) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => Ok(None),
            _ => Err(e),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_strict_directory_follows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/f"), "hello").unwrap();
        symlink(at("a"), at("link")).unwrap();
        symlink("f", at("a/b/g")).unwrap();
        let root = Dir::strict(dir.path()).unwrap().unwrap();
        let read = |path: &str| root.read(Path::new(path), 5);
        assert_eq!(read("a/b/f").unwrap().unwrap(), b"hello");
        for missing in ["link/b/f", "a/b/g", "a/b", "a/b/f/x", "nothing"] {
            assert_eq!(read(missing).unwrap(), None, "{missing}");
        }
        assert!(read("a/../a/b/f").is_err());
        assert!(root.read(Path::new("a/b/f"), 4).is_err());
        assert_eq!(root.names(Path::new("link"), 9).unwrap().len(), 0);
        assert_eq!(root.names(Path::new("a/b"), 2).unwrap().len(), 2);
        assert!(root.names(Path::new("a/b"), 1).is_err());
        let host = Dir::Following(dir.path().to_path_buf());
        assert_eq!(host.read(Path::new("link/b/g"), 5).unwrap().unwrap(), b"hello");
    }
}
