//! What a person has chosen of a change set: whole changes, and parts of text files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::changes::Change;
use crate::layer::entry::Identity;

/// What lands of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// All of it.
    Whole,
    /// Some lines; the rest stays in the session.
    Part(Part),
}

/// A text file as it will be with the chosen lines alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its content.
    pub bytes: Rc<[u8]>,
    /// Its permission bits.
    pub mode: u32,
    /// The host's side that it was made from.
    pub host: Option<Identity>,
    /// The session's side that it was made from.
    pub session: Option<Identity>,
}

impl Part {
    /// Whether it was made from what the change is now.
    pub fn is_of(&self, change: &Change) -> bool {
        !change.merged && change.conflict.is_none() && (self.host, self.session) == (change.host, change.session)
    }
}

/// All that was chosen, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picks(pub BTreeMap<PathBuf, Pick>);

impl Picks {
    /// Whether a path was chosen.
    pub fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// The part of a file that was chosen, if it is not all of it.
    pub fn part(&self, path: &Path) -> Option<&Part> {
        match self.0.get(path)? {
            Pick::Part(part) => Some(part),
            Pick::Whole => None,
        }
    }
}
