//! Prepared environments on disk, found again by their key.
//!
//! `prepared/<key>-<number>/` holds `record.json`, `layer/` (what preparing wrote into the repo) and `logs/`. It is
//! made under another name and renamed when it is complete: what is there is whole. Nothing of it is ever shown
//! writable to a sandbox again. Prepared once more, it is another one beside it: sessions stand on the old one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::key::Key;
use super::plan::Step;
use crate::engine::Kind;
use crate::error::{Error, Result};
use crate::layer;
use crate::paths::BytePath;
use crate::session::SessionId;

/// Number of the record's format.
const FORMAT: u32 = 1;
/// How the name of a directory ends that is not complete.
const UNFINISHED: &str = ".new";
/// How the name of a directory ends whose setup failed: logs, and what a session of that failure shows.
const FAILED: &str = ".failed";

/// What a prepared environment is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Format number.
    pub format: u32,
    /// What it depends on.
    pub key: Key,
    /// The repo that it was made for.
    pub repo: BytePath,
    /// The engine that it was made with, and that has its image.
    pub engine: Kind,
    /// The image with all that was installed; `None` where there are no images.
    pub image: Option<String>,
    /// Variables for commands: what a shell of the user's and the configuration say.
    pub env: BTreeMap<String, String>,
    /// Directories that go before the PATH of commands: programs that the setup installed.
    #[serde(default)]
    pub path: Vec<String>,
    /// The layer over the home (native).
    pub home: Option<BytePath>,
    /// The engine's volumes with what services wrote.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// Files of the repo that preparing changed, with what they were: they hide later ones.
    pub covers: Vec<Covered>,
    /// Milliseconds since 1970.
    pub made: u64,
    /// How long it took, in milliseconds.
    pub took: u64,
}

/// A file of the repo that the setup layer hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// Relative to the repo.
    pub path: BytePath,
    /// Whether git knows it.
    pub tracked: bool,
    /// Hash of what the repo has there.
    pub hash: String,
}

/// One that is there.
#[derive(Clone, Debug)]
pub struct Prepared {
    dir: PathBuf,
    /// What it is.
    pub record: Record,
}

impl Prepared {
    /// The layer over the repo; `None` if preparing wrote nothing there.
    pub fn layer(&self) -> Option<PathBuf> {
        Some(self.dir.join("layer")).filter(|dir| dir.is_dir())
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its own name: a key may have been prepared several times.
    pub fn id(&self) -> String {
        self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// When it was last used: `gc` goes by that.
    pub fn last_used(&self) -> SystemTime {
        let used = fs::metadata(self.dir.join("used")).and_then(|meta| meta.modified());
        used.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Remembers that it was used just now.
    pub fn touch(&self) {
        // Only `gc` would notice.
        let _ = File::create(self.dir.join("used"));
    }
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

/// Held while one is made: whoever wants the same waits, and finds it made.
#[derive(Debug)]
pub struct Making {
    _lock: File,
    /// Its name.
    pub id: String,
    /// Where it is made.
    pub dir: PathBuf,
    target: PathBuf,
}

impl Cache {
    /// Those below cowbox's cache.
    pub fn new(cache: &Path) -> Self {
        Self { dir: cache.join("prepared") }
    }

    /// The one with this name.
    pub fn find(&self, id: &str) -> Option<Prepared> {
        read(&self.dir.join(id)).ok()
    }

    /// The newest one with this key.
    pub fn newest(&self, key: &str) -> Option<Prepared> {
        let found = self.names_of(key).into_iter().filter_map(|name| read(&self.dir.join(name)).ok());
        found.max_by_key(|prepared| prepared.record.made)
    }

    /// What is there under a key, whole or not.
    fn names_of(&self, key: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.strip_prefix(key).is_some_and(|rest| rest.starts_with('-'))).collect()
    }

    /// What was left by those that failed or were killed, and that nobody is making any more.
    /// Whether a session shows one that failed is for the caller to find out.
    pub fn unfinished(&self) -> Vec<(Rc<File>, PathBuf)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        // One key may have several.
        let mut locks: BTreeMap<String, Option<Rc<File>>> = BTreeMap::new();
        let with_lock = |dir: PathBuf| {
            let name = dir.file_name()?.to_str()?;
            let name = name.strip_suffix(UNFINISHED).or_else(|| name.strip_suffix(FAILED))?;
            let key = name.split('-').next()?;
            let take = || File::open(self.lock_of(key)).ok().filter(|lock| lock.try_lock().is_ok()).map(Rc::new);
            let lock = locks.entry(key.to_owned()).or_insert_with(take).clone()?;
            // Finished in the meantime.
            dir.is_dir().then_some((lock, dir))
        };
        entries.filter_map(with_lock).collect()
    }

    fn lock_of(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.lock"))
    }

    /// Every one that can be read.
    pub fn all(&self) -> Vec<Prepared> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| read(&entry.path()).ok()).collect()
    }

    /// The newest one of a repo with an engine: what a miss is compared with.
    pub fn latest_of(&self, repo: &Path, engine: Kind) -> Option<Prepared> {
        let own = |p: &Prepared| p.record.repo.0 == repo && p.record.engine == engine;
        self.all().into_iter().filter(own).max_by_key(|p| p.record.made)
    }

    /// Waits until nobody else makes this one, and reserves the making. `waiting` is called if it takes a while,
    /// `clear` for what was left by one that failed or was killed.
    pub fn reserve(&self, key: &str, waiting: impl FnOnce(), clear: impl Fn(&Path) -> Result<()>) -> Result<Making> {
        let failed = |e: io::Error| Error::io("write to", &self.dir, e);
        fs::create_dir_all(&self.dir).map_err(failed)?;
        let path = self.lock_of(key);
        let lock = File::options().create(true).write(true).truncate(false).open(&path).map_err(failed)?;
        if lock.try_lock().is_err() {
            waiting();
            lock.lock().map_err(failed)?;
        }
        for left in self.names_of(key).iter().filter(|name| name.ends_with(UNFINISHED)) {
            clear(&self.dir.join(left))?;
        }
        let unique = SessionId::new().as_str().to_lowercase();
        let id = format!("{key}-{}", &unique[unique.len() - 12..]);
        let dir = self.dir.join(format!("{id}{UNFINISHED}"));
        fs::create_dir_all(dir.join("logs")).map_err(failed)?;
        Ok(Making { _lock: lock, dir, target: self.dir.join(&id), id })
    }

    /// Removes one, whatever ids its files have.
    pub fn remove(&self, prepared: &Prepared) -> io::Result<()> {
        // First what makes it one: half of it must not be found.
        let _ = fs::remove_file(prepared.dir.join("record.json"));
        layer::remove::tree(&prepared.dir)
    }
}

impl Making {
    /// Makes it known, complete.
    pub fn finish(&self, record: Record) -> Result<Prepared> {
        let failed = |e: io::Error| Error::io("write to", &self.dir, e);
        let text = serde_json::to_vec_pretty(&record).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        fs::write(self.dir.join("record.json"), text).map_err(failed)?;
        // Markers must not be on the disk before what they stand for.
        rustix::fs::syncfs(File::open(&self.dir).map_err(failed)?).map_err(|e| failed(e.into()))?;
        fs::rename(&self.dir, &self.target).map_err(failed)?;
        let prepared = Prepared { dir: self.target.clone(), record };
        prepared.touch();
        Ok(prepared)
    }

    /// Where its files are after a failure.
    pub fn after_failure(&self) -> PathBuf {
        self.target.with_file_name(format!("{}{FAILED}", self.id))
    }

    /// Keeps its files out of the way of the next one.
    pub fn fail(&self) -> Result<()> {
        fs::rename(&self.dir, self.after_failure()).map_err(|e| Error::io("keep", &self.dir, e))
    }
}

fn read(dir: &Path) -> io::Result<Prepared> {
    let text = fs::read(dir.join("record.json"))?;
    let record: Record = serde_json::from_slice(&text).map_err(io::Error::other)?;
    if record.format != FORMAT || dir.extension().is_some() {
        return Err(io::Error::other("not one of ours"));
    }
    Ok(Prepared { dir: dir.to_path_buf(), record })
}

/// A record of what has just been made.
pub fn record(key: Key, repo: &Path, engine: Kind, image: Option<String>) -> Record {
    Record {
        format: FORMAT,
        key,
        repo: repo.into(),
        engine,
        image,
        env: BTreeMap::new(),
        path: Vec::new(),
        home: None,
        volumes: Vec::new(),
        covers: Vec::new(),
        made: crate::session::record::now(),
        took: 0,
    }
}

/// What of a plan runs at every start, and is no part of what is made once.
pub fn per_start(steps: &[Step]) -> impl Iterator<Item = &Step> {
    steps.iter().filter(|step| step.hook.is_per_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clear(dir: &Path) -> Result<()> {
        layer::remove::tree(dir).map_err(|e| Error::io("remove", dir, e))
    }

    fn make(cache: &Cache, name: &str) -> Prepared {
        let mut key = Key::new();
        key.add("name", name.as_bytes());
        let making = cache.reserve(&key.id(), || {}, clear).unwrap();
        fs::create_dir(making.dir.join("layer")).unwrap();
        making.finish(record(key, Path::new("/repo"), Kind::Native, None)).unwrap()
    }

    /// A child of another test has our locks, too, until it comes to its exec.
    fn soon(holds: impl Fn() -> bool) -> bool {
        (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            holds()
        })
    }

    #[test]
    fn only_what_is_whole_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let made = make(&cache, "a");
        assert!(cache.newest(&made.record.key.id()).is_some_and(|p| p.layer().is_some()));
        // Cut off in the middle: neither found nor in the way.
        let mut key = Key::new();
        key.add("name", b"b");
        let half = cache.reserve(&key.id(), || {}, clear).unwrap();
        fs::write(half.dir.join("record.json"), "{}").unwrap();
        assert!(cache.unfinished().is_empty(), "somebody is making it");
        let dir = half.dir.clone();
        drop(half);
        assert!(cache.newest(&key.id()).is_none());
        assert_eq!(cache.all().len(), 1);
        assert!(soon(|| cache.unfinished().first().is_some_and(|(_, left)| *left == dir)));
        assert!(cache.newest(&make(&cache, "b").record.key.id()).is_some());
        assert!(!dir.exists());
        // Failed: out of the way of the next one, and not found either.
        let failed = cache.reserve(&key.id(), || {}, clear).unwrap();
        failed.fail().unwrap();
        let dir = failed.after_failure();
        drop(failed);
        drop(cache.reserve(&key.id(), || {}, clear).unwrap());
        assert!(dir.is_dir() && cache.all().len() == 2);
        assert!(soon(|| cache.unfinished().iter().any(|(_, left)| *left == dir)));
        cache.remove(&made).unwrap();
        assert!(cache.newest(&made.record.key.id()).is_none());
    }

    #[test]
    fn made_again_it_lies_beside_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let old = make(&cache, "a");
        std::thread::sleep(std::time::Duration::from_millis(2));
        let new = make(&cache, "a");
        assert_eq!(cache.newest(&old.record.key.id()).unwrap().id(), new.id());
        assert_eq!(cache.find(&old.id()).unwrap().id(), old.id());
    }

    #[test]
    fn a_second_maker_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path());
        let first = cache.reserve("k", || unreachable!(), clear).unwrap();
        let waited = std::sync::atomic::AtomicBool::new(false);
        let waiting = || waited.store(true, std::sync::atomic::Ordering::SeqCst);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| cache.reserve("k", waiting, clear));
            while !waited.load(std::sync::atomic::Ordering::SeqCst) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap().unwrap();
        });
    }
}
