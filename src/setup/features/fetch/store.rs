//! Features that were fetched, by digest, and which digest a version had.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::sha256;
use crate::error::{Error, Result};
use crate::setup::features::id::is_digest;

/// A directory of ours in the cache. Nothing in a sandbox can write there.
#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
}

impl Store {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where the files of a digest are, if they are here.
    pub(super) fn dir(&self, digest: &str) -> PathBuf {
        self.root.join(digest.replace(':', "-"))
    }

    pub(super) fn has(&self, digest: &str) -> bool {
        is_digest(digest) && self.dir(digest).is_dir()
    }

    /// A directory for what is not finished, gone again when dropped.
    pub(super) fn scratch(&self) -> Result<TempDir> {
        fs::create_dir_all(&self.root).map_err(|e| Error::io("create", &self.root, e))?;
        tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&self.root)
            .map_err(|e| Error::io("write to", &self.root, e))
    }

    /// Lets `fill` write the files of a digest. They appear whole or not at all.
    pub(super) fn keep(&self, digest: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let scratch = self.scratch()?;
        fill(scratch.path())?;
        let dir = self.dir(digest);
        match fs::rename(scratch.path(), &dir) {
            Ok(()) => Ok(()),
            // Somebody else was faster, with the same content.
            Err(_) if self.has(digest) => Ok(()),
            Err(e) => Err(Error::io("create", &dir, e)),
        }
    }

    /// The digest that a version had when it was last asked for.
    pub(super) fn digest_of(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.version_file(name)).ok()?;
        Some(text.trim().to_owned()).filter(|digest| is_digest(digest))
    }

    pub(super) fn remember(&self, name: &str, digest: &str) -> Result<()> {
        let file = self.version_file(name);
        let write = || -> io::Result<()> {
            let mut new = tempfile::NamedTempFile::new_in(&self.root)?;
            io::Write::write_all(&mut new, digest.as_bytes())?;
            new.persist(&file).map_err(|e| e.error)?;
            Ok(())
        };
        fs::create_dir_all(&self.root).and_then(|()| write()).map_err(|e| Error::io("write", &file, e))
    }

    fn version_file(&self, name: &str) -> PathBuf {
        self.root.join(format!("version-{}", &sha256(name.as_bytes())["sha256:".len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_finished_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("features"));
        let digest = sha256(b"x");
        let half = |dir: &Path| {
            fs::write(dir.join("install.sh"), "half").unwrap();
            Err(Error::new("broken"))
        };
        assert!(store.keep(&digest, half).is_err());
        assert!(!store.has(&digest));
        store.keep(&digest, |dir| fs::write(dir.join("a"), "1").map_err(|e| Error::io("write", dir, e))).unwrap();
        store.keep(&digest, |dir| fs::write(dir.join("a"), "1").map_err(|e| Error::io("write", dir, e))).unwrap();
        assert!(store.has(&digest) && store.dir(&digest).join("a").is_file());
        let left = fs::read_dir(dir.path().join("features")).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn a_version_is_remembered_and_nothing_else_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().to_path_buf());
        assert_eq!(store.digest_of("a:1"), None);
        store.remember("a:1", &sha256(b"x")).unwrap();
        assert_eq!(store.digest_of("a:1"), Some(sha256(b"x")));
        assert_eq!(store.digest_of("a:2"), None);
        store.remember("a:1", "../../etc").unwrap();
        assert_eq!(store.digest_of("a:1"), None);
        assert!(!store.has("../../etc"));
    }
}
