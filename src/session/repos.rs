//! What is going on with a repo, whatever session does it: `<state>/repos/<hash>/`.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
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
    pub fn pending(&self) -> Result<Option<SessionId>> {
        read(&self.pending_path())
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

fn read(pending: &Path) -> Result<Option<SessionId>> {
    match fs::read_to_string(pending) {
        // Not written to its end: nothing was begun.
        Ok(text) => Ok(SessionId::parse(text.trim())),
        // Where the state directory is none, others say so in better words.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("read", pending, e)),
    }
}

impl RepoLock {
    /// The session whose apply or undo was cut off.
    pub fn pending(&self) -> Result<Option<SessionId>> {
        read(&self.pending)
    }

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

    /// Writes down that it has ended, after it has. What another session has left is not ended by that.
    pub fn end(&self, session: &SessionId) -> Result<()> {
        if self.pending()?.as_ref() != Some(session) {
            return Ok(());
        }
        fs::remove_file(&self.pending).map_err(|e| Error::io("remove", &self.pending, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_ended_by_its_own_session_alone() {
        let dir = tempfile::tempdir().unwrap();
        let state = RepoState::new(dir.path(), Path::new("/repo"));
        assert_eq!(state.pending().unwrap(), None);
        let lock = state.lock().unwrap();
        let (one, other) = (SessionId::new(), SessionId::new());
        lock.begin(&one).unwrap();
        lock.end(&other).unwrap();
        assert_eq!(lock.pending().unwrap(), Some(one.clone()));
        lock.end(&one).unwrap();
        lock.end(&one).unwrap();
        assert_eq!(state.pending().unwrap(), None);
    }
}
