//! What a session changed, relative to the repo as it is now.

pub mod at_start;
pub mod base;
pub mod blobs;
pub mod classify;
pub mod compare;
pub mod compose_files;
pub mod contents;
pub mod deep;
pub mod details;
pub mod digest;
pub mod ended;
pub mod filter;
pub mod judge;
pub mod layers;
pub mod links;
pub mod merge;
pub mod old_index;
pub mod pack;
pub mod places;
pub mod read;
pub mod rename;
pub mod risk;
pub mod sides;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use crate::layer::entry::Meta;

use crate::layer::entry::Identity;

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
    /// It is new, and the very content was deleted elsewhere (`Change::from`).
    Renamed,
}

impl ChangeKind {
    /// The letter of `--name-status`.
    pub fn letter(self) -> char {
        match self {
            ChangeKind::Added => 'A',
            ChangeKind::Modified | ChangeKind::ModeChanged => 'M',
            ChangeKind::Deleted => 'D',
            ChangeKind::TypeChanged => 'T',
            ChangeKind::Renamed => 'R',
        }
    }
}

/// What git on the host says of a path. Never what the session's own index or ignore rules say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// In the index.
    Tracked,
    /// Neither in the index nor ignored; everything where there is no git.
    #[default]
    Untracked,
    /// Ignored.
    Ignored,
    /// Inside a gitdir, or a name that git takes for one.
    Vcs,
}

/// Why a change cannot land as it is: the host changed the path too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conflict {
    /// Both changed the same lines, or there is no base to merge with.
    Content,
    /// Both changed a file that has no lines.
    Binary,
    /// Both gave it another type.
    Type,
    /// Both changed its permission bits.
    Mode,
    /// The session deleted what the host changed.
    DeletedHere,
    /// The session changed what the host deleted.
    DeletedThere,
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the repo's root.
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
    /// Where a renamed file was.
    pub from: Option<PathBuf>,
    /// On the host.
    pub old: Option<Meta>,
    /// In the session; of the merged file where `merged`.
    pub new: Option<Meta>,
    /// What the host's git says of it.
    pub class: Class,
    /// Whether the host changed it too, in a way that cannot be merged.
    pub conflict: Option<Conflict>,
    /// The host changed it too, and its new content is a three-way merge of both.
    pub merged: bool,
    /// The host alone changed its permission bits: they stay.
    pub keeps_mode: bool,
    /// The host's side, in the state that was compared.
    pub host: Option<Identity>,
    /// The session's side, in the state that was compared.
    pub session: Option<Identity>,
    /// The host's side at `from`.
    pub from_host: Option<Identity>,
}

impl Change {
    /// One that nothing else is known of.
    pub fn at(path: &Path, kind: ChangeKind) -> Self {
        Self {
            path: path.to_path_buf(),
            kind,
            from: None,
            old: None,
            new: None,
            class: Class::default(),
            conflict: None,
            merged: false,
            keeps_mode: false,
            host: None,
            session: None,
            from_host: None,
        }
    }

    /// The permission bits that it will have on the host, before set-id bits are taken off.
    pub fn lands_with_mode(&self) -> Option<u32> {
        let side = if self.keeps_mode { self.old } else { self.new };
        side.map(|meta| meta.mode)
    }

    /// Whether it lies inside a gitdir: never applied as a file.
    pub fn is_vcs(&self) -> bool {
        self.path.iter().any(|part| crate::git::dotgit::is_dotgit(part.as_encoded_bytes()))
    }
}

/// All of them, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The changes.
    pub changes: Vec<Change>,
    /// Names of the same file, where the session linked them: changed or not.
    pub links: Vec<links::Group>,
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
