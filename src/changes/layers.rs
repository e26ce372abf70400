//! Which layers make up a session.

use std::path::{Path, PathBuf};

use super::read::Unreadable;
use crate::layer::Encoding;
use crate::layer::stack::Dir;

/// The layers of a session over its repo.
#[derive(Clone, Debug)]
pub struct Layers {
    /// What the session wrote, the topmost first.
    pub session: Vec<(PathBuf, Encoding)>,
    /// What preparing wrote over the repo: the session saw the repo through it, and it is no part of the review.
    pub setup: Option<(PathBuf, Encoding)>,
    /// The repo.
    pub below: Vec<(PathBuf, Encoding)>,
}

impl Layers {
    /// One upper over one repo.
    pub fn simple(upper: PathBuf, encoding: Encoding, repo: PathBuf) -> Self {
        Self { session: vec![(upper, encoding)], setup: None, below: vec![(repo, Encoding::Plain)] }
    }

    fn open(layers: &[(PathBuf, Encoding)]) -> Result<Dir, Unreadable> {
        let list: Vec<(&Path, Encoding)> = layers.iter().map(|(path, how)| (path.as_path(), *how)).collect();
        let first = layers.first().map(|(path, _)| path.clone()).unwrap_or_default();
        Dir::root(&list).map_err(|source| Unreadable { path: first, source })
    }

    /// The root of what the session wrote.
    pub fn session_root(&self) -> Result<Dir, Unreadable> {
        Self::open(&self.session)
    }

    /// Whether the session wrote nothing, and hides nothing either.
    pub fn are_empty(&self) -> bool {
        let is_bare = |root: Dir| root.open_below && root.names().is_ok_and(|names| names.is_empty());
        self.session_root().is_ok_and(is_bare)
    }

    /// The root of what preparing wrote.
    pub fn setup_root(&self) -> Result<Option<Dir>, Unreadable> {
        self.setup.as_ref().map(|layer| Self::open(std::slice::from_ref(layer))).transpose()
    }

    /// The root of what it stands on.
    pub fn below_root(&self) -> Result<Dir, Unreadable> {
        Self::open(&self.below)
    }
}
