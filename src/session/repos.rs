//! What is going on with a repo, whatever session does it: `<state>/repos/<hash>/`.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::SessionId;
use super::lock::Lock;
use crate::error::{Error, Result, show};

/// The place of one repo. Nothing is created by looking.
#[derive(Debug)]
pub struct RepoState {
    dir: PathBuf,
    repo: PathBuf,
}

/// The right to write to a repo; dropped, it is free again.
#[derive(Debug)]
pub struct RepoLock {
    _lock: Lock,
    pending: PathBuf,
}

impl RepoState {
    /// Of `repo`, below a state directory.
    pub fn new(state: &Path, repo: &Path) -> Self {
        let hash = Sha256::digest(repo.as_os_str().as_bytes());
        let name: String = hash[..10].iter().map(|b| format!("{b:02x}")).collect();
        Self { dir: state.join("repos").join(name), repo: repo.to_path_buf() }
    }

    fn pending_path(&self) -> PathBuf {
        self.dir.join("pending")
    }

    /// The session whose apply or undo was cut off, or is going on.
    pub fn pending(&self) -> Option<SessionId> {
        let text = fs::read_to_string(self.pending_path()).ok()?;
        SessionId::parse(text.trim())
    }

    /// Takes the lock; `None` if another cowbox has it.
    pub fn try_lock(&self) -> Result<Option<RepoLock>> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .map_err(|e| Error::io("create", &self.dir, e))?;
        let lock = Lock::try_take(&self.dir)?;
        Ok(lock.map(|lock| RepoLock { _lock: lock, pending: self.pending_path() }))
    }

    /// Takes the lock.
    pub fn lock(&self) -> Result<RepoLock> {
        self.try_lock()?.ok_or_else(|| {
            Error::new(format!("another cowbox is writing to {}", show(&self.repo))).hint("wait until it is done")
        })
    }
}

impl RepoLock {
    /// Writes down whose transaction begins, before it does.
    pub fn begin(&self, session: &SessionId) -> Result<()> {
        let write = || {
            let mut file = File::create(&self.pending)?;
            writeln!(file, "{session}")?;
            file.sync_all()?;
            self.pending.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
        };
        write().map_err(|e| Error::io("write", &self.pending, e))
    }

    /// Writes down that it has ended, after it has.
    pub fn end(&self) -> Result<()> {
        match fs::remove_file(&self.pending) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", &self.pending, e)),
            _ => Ok(()),
        }
    }
}
