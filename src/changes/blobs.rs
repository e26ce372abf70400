//! What git has of a file as it was when the run started: a base to merge with where the host has edited the file
//! before its state could be noted.
//!
//! The file may have had edits that were not committed, and once it has been edited again nothing tells: neither
//! its times nor those in git's index, which stay those of the last commit. So it is trusted only where nothing
//! speaks against it (`merge::merge`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::base::LARGEST;
use crate::git::object::Objects;
use crate::git::{GitDirs, Id};

/// A commit of the host's repo.
pub struct Blobs {
    repo: PathBuf,
    commit: Id,
    objects: OnceLock<Option<Objects>>,
}

impl std::fmt::Debug for Blobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blobs({})", self.commit)
    }
}

impl Blobs {
    /// Nothing is read before it is asked for.
    pub fn new(repo: &Path, commit: Id) -> Self {
        Self { repo: repo.to_path_buf(), commit, objects: OnceLock::new() }
    }

    /// The content of a file in that commit.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let objects = self.objects.get_or_init(|| Objects::of_host(&GitDirs::of(&self.repo)?).ok());
        objects.as_ref()?.blob_at(&self.commit, path, LARGEST).ok().flatten()
    }
}

/// The commit that is checked out in `repo`.
pub fn head(repo: &Path) -> Option<String> {
    let dirs = GitDirs::of(repo)?;
    crate::git::refs::Refs::of_host(&dirs).ok()?.head().ok()?.id.map(|id| id.to_string())
}
