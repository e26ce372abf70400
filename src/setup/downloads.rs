//! The downloads of all repos on disk: `packages/<repo>/`, and beside each a lock that says when it was last used.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::key::hex;
use crate::error::{Error, Result};

/// After as long without use they go.
pub const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Of more than this those go first that were not used for longest.
pub const MOST: u64 = 10 << 30;

/// Those of one repo, while a setup uses them: nobody removes them.
#[derive(Debug)]
pub struct InUse {
    /// Where they are.
    pub dir: PathBuf,
    _lock: File,
}

/// Those of one repo.
#[derive(Debug)]
pub struct Kept {
    /// Where they are.
    pub dir: PathBuf,
    /// When a setup last used them.
    pub used: SystemTime,
    lock: PathBuf,
}

/// Those of a repo, to be used.
pub fn use_of(cache: &Path, repo: &Path) -> Result<InUse> {
    let hash = hex(&Sha256::digest(repo.as_os_str().as_encoded_bytes()));
    let dir = all_in(cache).join(&hash[..16]);
    fs::create_dir_all(&dir).map_err(|e| Error::io("create", &dir, e))?;
    let lock = lock_of(&dir);
    let held = File::options().create(true).write(true).truncate(false).open(&lock).and_then(|file| {
        file.lock_shared()?;
        file.set_modified(SystemTime::now())?;
        Ok(file)
    });
    // Removed by somebody between the two.
    fs::create_dir_all(&dir).map_err(|e| Error::io("create", &dir, e))?;
    Ok(InUse { dir, _lock: held.map_err(|e| Error::io("lock", &lock, e))? })
}

/// All of them.
pub fn all(cache: &Path) -> Vec<Kept> {
    let entries = fs::read_dir(all_in(cache)).into_iter().flatten().flatten().map(|entry| entry.path());
    let kept = |dir: PathBuf| {
        let lock = lock_of(&dir);
        let used = lock.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        Kept { dir, used, lock }
    };
    entries.filter(|path| path.is_dir()).map(kept).collect()
}

/// Which of them go, by their last use and their size in bytes.
pub fn outdated(mut all: Vec<(Kept, u64)>, now: SystemTime, most: u64) -> Vec<(Kept, u64)> {
    all.sort_by_key(|(kept, _)| std::cmp::Reverse(kept.used));
    let mut sum: u64 = 0;
    let stays = |(kept, bytes): &(Kept, u64)| {
        sum = sum.saturating_add(*bytes);
        sum <= most && now.duration_since(kept.used).is_ok_and(|unused| unused <= UNUSED)
    };
    let (_, gone): (Vec<_>, Vec<_>) = all.into_iter().partition(stays);
    gone
}

impl Kept {
    /// Removes them by `remove`, unless a setup uses them just now; whether they are gone.
    pub fn clear(&self, remove: impl FnOnce(&Path) -> Result<()>) -> Result<bool> {
        let lock = File::options().create(true).write(true).truncate(false).open(&self.lock);
        let lock = lock.map_err(|e| Error::io("lock", &self.lock, e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(false),
            Err(fs::TryLockError::Error(e)) => return Err(Error::io("lock", &self.lock, e)),
        }
        // The lock stays: somebody may be waiting for it.
        remove(&self.dir).map(|()| true)
    }
}

fn all_in(cache: &Path) -> PathBuf {
    cache.join("packages")
}

/// Beside the directory: what is inside belongs to the sandbox.
fn lock_of(dir: &Path) -> PathBuf {
    dir.with_extension("lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remove(dir: &Path) -> Result<()> {
        crate::layer::remove::tree(dir).map_err(|e| Error::io("remove", dir, e))
    }

    #[test]
    fn each_repo_has_its_own_and_what_is_used_stays() {
        let cache = tempfile::tempdir().unwrap();
        let a = use_of(cache.path(), Path::new("/a")).unwrap();
        let again = use_of(cache.path(), Path::new("/a")).unwrap();
        assert_eq!(a.dir, again.dir);
        assert_ne!(a.dir, use_of(cache.path(), Path::new("/b")).unwrap().dir);
        let kept = all(cache.path());
        assert_eq!(kept.len(), 2);
        let one = kept.iter().find(|kept| kept.dir == a.dir).unwrap();
        drop(again);
        assert!(!one.clear(remove).unwrap() && a.dir.is_dir());
        let dir = a.dir.clone();
        drop(a);
        assert!(one.clear(remove).unwrap() && !dir.exists());
        assert_eq!(all(cache.path()).len(), 1);
    }

    #[test]
    fn the_old_ones_go_and_of_too_much_those_that_were_not_used_for_longest() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 32);
        let kept = |name: &str, days: u64, bytes: u64| {
            let used = now - Duration::from_secs(days * 24 * 60 * 60);
            (Kept { dir: name.into(), used, lock: PathBuf::new() }, bytes)
        };
        let gone = |all: Vec<(Kept, u64)>| -> Vec<String> {
            outdated(all, now, 10).into_iter().map(|(kept, _)| kept.dir.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(gone(vec![kept("a", 31, 1), kept("b", 29, 1)]), ["a"]);
        assert_eq!(gone(vec![kept("a", 3, 6), kept("b", 1, 6), kept("c", 2, 3)]), ["a"]);
        assert_eq!(gone(vec![kept("huge", 0, 11)]), ["huge"]);
    }
}
