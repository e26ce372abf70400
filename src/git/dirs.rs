//! Which directories belong to a working tree on the host.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::dir::{open_followed, read_all};
use super::id::Hash;
use crate::error::{Error, Result, show};

/// A pointer is a path and a few words.
const POINTER: u64 = 64 << 10;

/// The git directories of one working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirs {
    /// Its own: HEAD and the index.
    pub gitdir: PathBuf,
    /// Shared between worktrees: objects, refs, config. The same as `gitdir` without worktrees.
    pub common: PathBuf,
}

impl GitDirs {
    /// Those of the working tree at `root`; `None` if there is no git there.
    pub fn of(root: &Path) -> Option<Self> {
        let dot = root.join(".git");
        let gitdir = match open_followed(&dot).ok()? {
            None => dot,
            Some(file) => {
                let text = read_all(file, POINTER).ok()?;
                root.join(OsStr::from_bytes(text.strip_prefix(b"gitdir:")?.trim_ascii()))
            }
        };
        Self::at(&gitdir)
    }

    /// From a gitdir.
    pub fn at(gitdir: &Path) -> Option<Self> {
        let gitdir = gitdir.canonicalize().ok()?;
        gitdir.join("HEAD").symlink_metadata().ok()?;
        let pointer = open_followed(&gitdir.join("commondir")).ok()?;
        let common = match pointer.and_then(|file| read_all(file, POINTER).ok()) {
            Some(text) => gitdir.join(OsStr::from_bytes(text.trim_ascii_end())).canonicalize().ok()?,
            None => gitdir.clone(),
        };
        Some(Self { gitdir, common })
    }

    /// The config of the repository.
    pub fn config(&self) -> Result<Config> {
        Config::file(&self.common.join("config"))
    }

    /// How objects are named.
    pub fn hash(&self) -> Result<Hash> {
        let config = self.config()?;
        match config.last("extensions", "objectformat") {
            None => Ok(Hash::Sha1),
            Some(name) if name.eq_ignore_ascii_case(b"sha1") => Ok(Hash::Sha1),
            Some(name) if name.eq_ignore_ascii_case(b"sha256") => Ok(Hash::Sha256),
            Some(_) => Err(Error::new(format!("{} names its objects in a way that is not known", show(&self.common)))),
        }
    }
}
