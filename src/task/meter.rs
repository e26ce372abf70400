//! How much directories hold on disk, while somebody writes to it who would rather not be measured: no link is
//! followed, no look takes long, and what cannot be looked at is said.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

/// So many names in one look: the rest in the next.
const AT_ONCE: usize = 20_000;
/// Each level is an open descriptor.
const DEEPEST: usize = 200;

/// Measures directories, over and over.
#[derive(Debug)]
pub struct Meter {
    roots: Vec<PathBuf>,
    most: u64,
    /// Those that this round has not come to.
    left: Vec<PathBuf>,
    open: Vec<Dir>,
    sum: u64,
}

impl Meter {
    /// Of a directory that may hold `most` bytes.
    pub fn new(root: &Path, most: u64) -> Self {
        Self::of(vec![root.to_path_buf()], most)
    }

    /// Of several, which may hold `most` together. One that is not there holds nothing.
    pub fn of(roots: Vec<PathBuf>, most: u64) -> Self {
        Self { roots, most, left: Vec::new(), open: Vec::new(), sum: 0 }
    }

    /// Looks at all of it, now that nobody writes any more.
    pub fn is_over_at_last(&mut self) -> io::Result<bool> {
        self.open.clear();
        self.left.clear();
        loop {
            if self.is_over()? {
                return Ok(true);
            }
            if self.open.is_empty() && self.left.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Looks on where the last look ended. Whether it is known by now that there is more than there may be; an error if
    /// that can never be known.
    pub fn is_over(&mut self) -> io::Result<bool> {
        if self.open.is_empty() && self.left.is_empty() {
            (self.sum, self.left) = (0, self.roots.clone());
        }
        for _ in 0..AT_ONCE {
            let Some(dir) = self.open.last_mut() else {
                let Some(root) = self.left.pop() else { return Ok(false) };
                match open(CWD, &root) {
                    Ok(root) => self.open.push(root),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    Err(e) => return Err(e),
                }
                continue;
            };
            let Some(entry) = dir.read() else {
                self.open.pop();
                continue;
            };
            let name = entry?.file_name().to_owned();
            if name.as_c_str() == c"." || name.as_c_str() == c".." {
                continue;
            }
            let fd = dir.fd()?;
            let stat = match statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                // Gone meanwhile.
                Err(Errno::NOENT) => continue,
                Err(e) => return Err(e.into()),
            };
            self.sum = self.sum.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512));
            if self.sum > self.most {
                self.open.clear();
                self.left.clear();
                return Ok(true);
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                match open(fd, &name) {
                    Ok(_) if self.open.len() >= DEEPEST => {
                        return Err(io::Error::other(format!("directories are more than {DEEPEST} deep")));
                    }
                    Ok(inner) => self.open.push(inner),
                    Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(false)
    }
}

fn open(at: impl AsFd, name: impl rustix::path::Arg) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Dir::new(openat(at, name, flags, Mode::empty())?)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_deep_below_counts_and_links_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("upper");
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::write(dir.path().join("large"), vec![1; 1 << 20]).unwrap();
        symlink("../large", root.join("link")).unwrap();
        symlink("..", root.join("a/up")).unwrap();
        let mut meter = Meter::new(&root, 256 << 10);
        assert!(!meter.is_over().unwrap());
        fs::write(root.join("a/b/c/large"), vec![1; 1 << 20]).unwrap();
        assert!(meter.is_over().unwrap() && meter.is_over().unwrap());
        fs::remove_file(root.join("a/b/c/large")).unwrap();
        assert!(!meter.is_over().unwrap());
    }

    #[test]
    fn several_directories_have_one_limit() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        let mut meter = Meter::of(vec![one.clone(), dir.path().join("none"), two.clone()], 1 << 20);
        assert!(!meter.is_over().unwrap());
        for root in [&one, &two] {
            fs::create_dir(root).unwrap();
            fs::write(root.join("file"), vec![1; 700 << 10]).unwrap();
        }
        assert!(meter.is_over().unwrap() && meter.is_over().unwrap());
        fs::remove_file(two.join("file")).unwrap();
        assert!(!meter.is_over().unwrap() && !meter.is_over().unwrap());
    }

    #[test]
    fn many_names_take_several_looks() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..AT_ONCE + 10 {
            fs::File::create(dir.path().join(n.to_string())).unwrap();
        }
        let mut meter = Meter::new(dir.path(), 1 << 30);
        assert!(!meter.is_over().unwrap());
        assert!(!meter.open.is_empty(), "not done yet");
        assert!(!meter.is_over().unwrap());
        assert!(meter.open.is_empty(), "done");
        meter.is_over().unwrap();
        assert!(!meter.is_over_at_last().unwrap() && meter.open.is_empty(), "from the beginning to the end");
        fs::write(dir.path().join("0"), vec![1; 1 << 20]).unwrap();
        assert!(Meter::new(dir.path(), 1 << 19).is_over_at_last().unwrap());
    }

    #[test]
    fn what_cannot_be_measured_is_said() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!Meter::new(&dir.path().join("not yet"), 1).is_over().unwrap());
        let deep: PathBuf = std::iter::repeat_n("d", DEEPEST + 2).collect();
        fs::create_dir_all(dir.path().join(deep)).unwrap();
        assert!(Meter::new(dir.path(), 1 << 30).is_over().is_err());
    }
}
