//! Reading files of a repo that is not to be trusted: bounded, and never out of it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};

/// Larger than any manifest or lock file that people write or tools make.
const LIMIT: u64 = 64 << 20;

/// Why a path of a repo is not mounted: who agrees to a path of the repo agrees to nothing else.
pub const LEADS_OUT: &str = "it is not there, or a link leads out of the repo";

/// The files of one repo.
#[derive(Debug)]
pub struct RepoFiles {
    root: OwnedFd,
    path: PathBuf,
}

impl RepoFiles {
    /// Those below `root`.
    pub fn open(root: &Path) -> io::Result<Self> {
        let fd = openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root: fd, path: root.to_path_buf() })
    }

    /// The host path of the root.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Links are followed as long as they stay in the repo. A pipe is never waited for.
    fn open_beneath(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let open = |flags| openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
        if flags.contains(OFlags::PATH) {
            return Ok(open(flags)?);
        }
        // Looking must not show: only the owner of a file may ask for that.
        match open(flags | OFlags::NOATIME) {
            Err(rustix::io::Errno::PERM) => Ok(open(flags)?),
            other => Ok(other?),
        }
    }

    /// A directory, opened: for who has to go through it. An error if it is none, or not in the repo.
    pub fn open_dir(&self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        self.open_beneath(path.as_ref(), OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// The content of a regular file; `None` if there is none. Too large a file is an error.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
        let fd = match self.open_beneath(path.as_ref(), OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(fd) => fd,
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        let stat = fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        if stat.st_size as u64 > LIMIT {
            return Err(io::Error::other("too large"));
        }
        let mut content = Vec::new();
        File::from(fd).take(LIMIT + 1).read_to_end(&mut content)?;
        if content.len() as u64 > LIMIT { Err(io::Error::other("too large")) } else { Ok(Some(content)) }
    }

    /// The content as text, bytes that are none replaced; `None` too where it cannot be read.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).ok().flatten().map(|content| String::from_utf8_lossy(&content).into_owned())
    }

    /// Whether there is a regular file.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.kind(path.as_ref()) == Some(FileType::RegularFile)
    }

    /// Whether there is a directory.
    pub fn has_dir(&self, path: impl AsRef<Path>) -> bool {
        self.kind(path.as_ref()) == Some(FileType::Directory)
    }

    /// Whether a path of the host that lies in the repo by its name leads out of it by a link, or nowhere.
    pub fn leads_out(&self, path: &Path) -> bool {
        // `repo/../other` does not lie in it, and everybody can see that.
        let rest = path.strip_prefix(&self.path).ok().filter(|rest| !rest.starts_with(".."));
        rest.is_some_and(|rest| self.kind(rest).is_none())
    }

    /// Whether there is a regular file that its owner may execute.
    pub fn is_executable(&self, path: impl AsRef<Path>) -> bool {
        let stat = self.open_beneath(path.as_ref(), OFlags::PATH).and_then(|fd| Ok(fstat(&fd)?));
        stat.is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::RegularFile && s.st_mode & 0o100 != 0)
    }

    fn kind(&self, path: &Path) -> Option<FileType> {
        let stat = self.open_beneath(path, OFlags::PATH).and_then(|fd| Ok(fstat(&fd)?));
        stat.ok().map(|s| FileType::from_raw_mode(s.st_mode))
    }

    /// Size and times of a file; `None` if there is none.
    pub fn looks(&self, path: impl AsRef<Path>) -> Option<(i64, i64, u64)> {
        let stat = fstat(self.open_beneath(path.as_ref(), OFlags::PATH).ok()?).ok()?;
        Some((stat.st_size, stat.st_mtime, stat.st_mtime_nsec))
    }

    /// Names in a directory, sorted, at most `limit`; empty if there is none.
    pub fn list(&self, path: impl AsRef<Path>, limit: usize) -> Vec<OsString> {
        let Ok(fd) = self.open_dir(path) else { return Vec::new() };
        let Ok(dir) = Dir::new(fd) else { return Vec::new() };
        let names = dir.flatten().map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        let mut names: Vec<OsString> = names.filter(|name| name != "." && name != "..").take(limit).collect();
        names.sort();
        names
    }
}

fn is_absent(e: &io::Error) -> bool {
    use rustix::io::Errno;
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::XDEV, Errno::LOOP, Errno::NXIO].map(Errno::raw_os_error);
    e.raw_os_error().is_some_and(|code| absent.contains(&code))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_of_the_repo_that_is_a_link_out_of_it_is_known_as_that() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("repo");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::os::unix::fs::symlink("data", root.join("inside")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("outside")).unwrap();
        let files = RepoFiles::open(&root).unwrap();
        let leads_out = |path: &str| files.leads_out(&root.join(path));
        assert!(!leads_out("data") && !leads_out("inside") && !leads_out("../other") && !leads_out("/etc"));
        assert!(leads_out("outside") && leads_out("outside/ssl") && leads_out("outside/../x") && leads_out("missing"));
    }

    #[test]
    fn nothing_is_read_from_outside_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("repo");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(root.join("sub/file"), "x").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("/etc/passwd", root.join("absolute")).unwrap();
        symlink("sub/file", root.join("in")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let files = RepoFiles::open(&root).unwrap();
        for name in ["out", "absolute", "pipe", "missing", "sub", "sub/file/below", "../secret"] {
            assert_eq!(files.read(name).unwrap(), None, "{name}");
            assert!(!files.has(name), "{name}");
        }
        assert_eq!(files.read("in").unwrap().unwrap(), b"x");
        assert!(files.has("in") && files.has_dir("sub") && files.has_dir(""));
        assert_eq!(files.list("", 10), ["absolute", "in", "out", "pipe", "sub"]);
    }
}
