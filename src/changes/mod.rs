//! What a session changed, relative to the repo as it is now.

pub mod compare;
pub mod digest;
pub mod read;

use std::path::PathBuf;

use serde::Serialize;

pub use crate::layer::entry::Meta;

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content, link target or attributes differ.
    Modified,
    /// It is gone.
    Deleted,
    /// It is of another type.
    TypeChanged,
    /// Only its permission bits differ.
    ModeChanged,
}

impl ChangeKind {
    /// The letter of `--name-status`.
    pub fn letter(self) -> char {
        match self {
            ChangeKind::Added => 'A',
            ChangeKind::Modified | ChangeKind::ModeChanged => 'M',
            ChangeKind::Deleted => 'D',
            ChangeKind::TypeChanged => 'T',
        }
    }
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the repo's root.
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
    /// On the host.
    pub old: Option<Meta>,
    /// In the session.
    pub new: Option<Meta>,
}

impl Change {
    /// Whether it lies inside a gitdir: never applied as a file.
    pub fn is_vcs(&self) -> bool {
        self.path.components().any(|part| part.as_os_str() == ".git")
    }
}

/// All of them, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The changes.
    pub changes: Vec<Change>,
}

impl ChangeSet {
    /// Those that a person asks for: not the inside of `.git`.
    pub fn visible(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|c| !c.is_vcs())
    }

    /// How many lie inside `.git`.
    pub fn vcs(&self) -> usize {
        self.changes.iter().filter(|c| c.is_vcs()).count()
    }
}
