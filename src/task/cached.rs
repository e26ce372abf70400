//! What tasks keep in the cache: mirrors of repositories, commits laid out, layers of fixes. All of it can be made
//! again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::compat::layer;

/// After as long without use it goes.
const AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A run may be on its way from one stage to the next: younger than this nothing goes, whoever asks.
const YOUNG: Duration = Duration::from_secs(60 * 60);

/// Something in there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    /// Where.
    pub dir: PathBuf,
    /// When somebody last used it.
    used: SystemTime,
}

impl Cached {
    /// Whether it may go.
    pub fn is_old(&self, now: SystemTime, force: bool) -> bool {
        let least = if force { YOUNG } else { AGE };
        now.duration_since(self.used).is_ok_and(|age| age > least)
    }

    /// Whether a path lies in it.
    pub fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.dir)
    }
}

/// All of it.
pub fn all(cache: &Path) -> Vec<Cached> {
    let list = |name: &str| fs::read_dir(cache.join(name)).into_iter().flatten().flatten().map(|entry| entry.path());
    let dirs = list("checkouts").chain(list(layer::DIR)).chain(list("mirrors")).filter(|path| path.is_dir());
    let cached = dirs.map(|dir| {
        let used = fs::metadata(dir.join(USED)).or_else(|_| fs::metadata(&dir)).and_then(|meta| meta.modified());
        Cached { used: used.unwrap_or_else(|_| SystemTime::now()), dir }
    });
    cached.collect()
}

/// The file whose time tells of the last use.
const USED: &str = "used";

/// Notes that somebody uses it now. Who cannot does without.
pub fn touch(dir: &Path) {
    let _ = fs::write(dir.join(USED), "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_just_now_stays_whoever_asks() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["checkouts/a/repo", "mirrors/b.git", "compat/c/layer"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("mirrors/b.lock"), "").unwrap();
        let all = all(dir.path());
        assert_eq!(all.len(), 3);
        let now = SystemTime::now();
        let later = |days: u32| now + days * Duration::from_secs(24 * 60 * 60);
        assert!(all.iter().all(|one| !one.is_old(now, true)));
        assert!(all.iter().all(|one| one.is_old(later(1), true) && !one.is_old(later(1), false)));
        assert!(all.iter().all(|one| one.is_old(later(31), false)));
        touch(&all[0].dir);
        assert!(all[0].holds(&all[0].dir.join("repo")) && !all[0].holds(dir.path()));
    }
}
