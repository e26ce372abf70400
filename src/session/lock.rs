//! One lock per session. Whoever supervises or changes a session holds it; the kernel lets go of it
//! when that process dies, so a held lock is also the proof that somebody is alive.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::{Error, Result};

/// A held lock; dropped, it is free again.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock of the session in `dir`; `None` if somebody holds it.
    pub fn try_take(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| Error::io("open", &path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::io("lock", &path, e)),
        }
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
