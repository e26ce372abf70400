//! The parts of a plan: what lands, what goes, what only looks different.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::layer::entry::Identity;

/// Where the content of something new comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The session's file.
    File,
    /// The three-way merge of both sides, with markers where they differ and that was asked for.
    Merged,
    /// The host's file with some of the session's lines: this content.
    Part(Rc<[u8]>),
    /// The session's link.
    Symlink,
    /// The session's directory, with what is chosen below it.
    Dir(BTreeMap<OsString, Node>),
    /// Another name for a file that the host has.
    LinkToHost(PathBuf),
    /// Another name for a file of this transaction.
    LinkToNew(PathBuf),
    /// What an earlier apply put aside, by its number.
    Kept(usize),
}

/// Something new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Relative to the root, in the session and on the host.
    pub path: PathBuf,
    /// Where it comes from.
    pub source: Source,
    /// Permission bits that it will have.
    pub mode: u32,
    /// The session's side in the state that was compared and judged.
    pub session: Option<Identity>,
}

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something new lands at its path; what the host has there goes aside.
    Put {
        /// The new thing.
        node: Node,
        /// What the host has there.
        old: Option<Identity>,
        /// What is below that, if it is a directory.
        below: Vec<(PathBuf, Identity)>,
    },
    /// What the host has goes aside.
    Remove {
        /// Where.
        path: PathBuf,
        /// What.
        old: Identity,
        /// What is below it, if it is a directory.
        below: Vec<(PathBuf, Identity)>,
    },
}

impl Step {
    /// Where.
    pub fn path(&self) -> &Path {
        match self {
            Step::Put { node, .. } => &node.path,
            Step::Remove { path, .. } => path,
        }
    }

    /// The new thing.
    pub fn node(&self) -> Option<&Node> {
        match self {
            Step::Put { node, .. } => Some(node),
            Step::Remove { .. } => None,
        }
    }

    /// What the host has there.
    pub fn old(&self) -> Option<&Identity> {
        match self {
            Step::Put { old, .. } => old.as_ref(),
            Step::Remove { old, .. } => Some(old),
        }
    }

    /// What is below that.
    pub fn below(&self) -> &[(PathBuf, Identity)] {
        match self {
            Step::Put { below, .. } | Step::Remove { below, .. } => below,
        }
    }
}

/// New looks of something that stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks {
    /// Where.
    pub path: PathBuf,
    /// What the host has.
    pub old: Identity,
    /// Permission bits that it will have.
    pub mode: u32,
    /// Whether the user's attributes are taken over too (directories).
    pub xattrs: bool,
}

/// Everything that will be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Removals first, so that a name is free when it is needed.
    pub steps: Vec<Step>,
    /// At the very end.
    pub looks: Vec<Looks>,
    /// Changes that are done with when this is done.
    pub settled: Vec<(PathBuf, Option<Identity>)>,
    /// What could not be planned, and why.
    pub left: Vec<(PathBuf, &'static str)>,
    /// Host files with several names, of which one will be replaced.
    pub unlinked: Vec<PathBuf>,
    /// Files that land as a merge of both sides.
    pub merged: HashSet<PathBuf>,
    /// Files of which only a part lands, as they will be: the rest stays to be done.
    pub parts: HashMap<PathBuf, Rc<[u8]>>,
    /// Bytes of new content.
    pub bytes: u64,
    /// What of the looks could not be carried over, in words.
    pub dropped: Vec<(PathBuf, &'static str)>,
}
