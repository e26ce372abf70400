//! Git's index as it was when the run started: which files were where, by their inode numbers.

use std::fs::File;
use std::io::Seek;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::git::GitDirs;
use crate::git::dir::open_followed;
use crate::git::index::{Index, Stat};
use crate::layer::entry::Identity;

/// The index of a repo. Nothing is read before it is asked for.
pub struct OldIndex {
    repo: PathBuf,
    /// Opened when the run started.
    held: Option<File>,
    index: OnceLock<Option<Index>>,
}

impl std::fmt::Debug for OldIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OldIndex({:?})", self.repo)
    }
}

/// Opens the index of `repo`, to be held while a command runs: git never writes to one, it puts another in its place.
pub fn hold(repo: &Path) -> Option<File> {
    open_followed(&GitDirs::of(repo)?.gitdir.join("index")).ok().flatten()
}

impl OldIndex {
    /// The one that was held, else the one that `repo` has, if it is as old.
    pub fn new(repo: &Path, held: Option<&File>) -> Self {
        let held = held.and_then(|file| file.try_clone().ok());
        Self { repo: repo.to_path_buf(), held, index: OnceLock::new() }
    }

    /// The files that git tracked in a directory itself, with what it had noted of them before `stamp`.
    pub fn files_in(&self, dir: &Path, stamp: i64) -> impl Iterator<Item = (&[u8], Stat)> {
        let index = self.index.get_or_init(|| self.read(stamp)).as_ref();
        index.into_iter().flat_map(move |index| index.files_in(dir.as_os_str().as_bytes()))
    }

    fn read(&self, stamp: i64) -> Option<Index> {
        let file = match &self.held {
            Some(held) => {
                let mut file = held.try_clone().ok()?;
                file.rewind().ok()?;
                file
            }
            None => hold(&self.repo)
                .filter(|file| rustix::fs::fstat(file).is_ok_and(|stat| Identity::from(&stat).ctime < stamp))?,
        };
        Index::read_from(file, &GitDirs::of(&self.repo)?).ok()
    }
}

/// Whether git had noted this very file, in this state.
pub fn is_of(stat: Stat, file: &Identity) -> bool {
    let (seconds, nanos) = stat.ctime;
    let ctime = i64::from(seconds) * 1_000_000_000 + i64::from(nanos);
    stat.inode == file.inode as u32 && ctime == file.ctime
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    fn has(index: &OldIndex, repo: &TestRepo, path: &str) -> bool {
        let path = Path::new(path);
        let file = Identity::from(&rustix::fs::lstat(repo.root().join(path)).unwrap());
        let mut files = index.files_in(path.parent().unwrap(), file.ctime + 1_000_000_000_000);
        files.any(|(name, stat)| name == path.file_name().unwrap().as_bytes() && is_of(stat, &file))
    }

    #[test]
    fn it_knows_a_file_from_its_copy() {
        let repo = TestRepo::new();
        for path in ["a", "d/b", "d/e/c", "d-f/g"] {
            repo.write(path, "x");
        }
        repo.git(&["add", "-A"]);
        let held = hold(&repo.root());
        let all = |index: &OldIndex| ["a", "d/b", "d/e/c", "d-f/g"].map(|path| has(index, &repo, path));
        assert_eq!(all(&OldIndex::new(&repo.root(), None)), [true; 4]);
        std::fs::rename(repo.root().join("d"), repo.root().join("old")).unwrap();
        repo.write("d/b", "x");
        repo.write("d/e/c", "x");
        repo.git(&["status"]);
        // Another index is there now, with the new ones.
        assert_eq!(all(&OldIndex::new(&repo.root(), None)), [true; 4]);
        for _ in 0..2 {
            assert_eq!(all(&OldIndex::new(&repo.root(), held.as_ref())), [true, false, false, true]);
        }
    }

    #[test]
    fn a_younger_one_does_not_count() {
        let repo = TestRepo::new();
        repo.write("a", "x");
        repo.git(&["add", "-A"]);
        let files =
            |stamp, held: Option<&File>| OldIndex::new(&repo.root(), held).files_in(Path::new(""), stamp).count();
        assert_eq!((files(i64::MAX, None), files(1, None)), (1, 0));
        assert_eq!(files(1, hold(&repo.root()).as_ref()), 1);
    }
}
