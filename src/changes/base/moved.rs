//! Files of the session's that an apply moved to the host instead of copying them.
//!
//! To move a file, to the host or back, changes its ctime, by which the states of a session are told apart. What was
//! moved by cowbox is what it was before.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Base;
use crate::layer::entry::Identity;

/// A file of the session's that was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// As it was in the session's layer.
    #[serde(rename = "w")]
    pub was: Identity,
    /// As it came back there; `None`: the host has it.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Identity>,
}

impl Base {
    /// Notes what became of a file. Tells whether that is news.
    pub fn set_moved(&mut self, path: &Path, moved: Moved) -> bool {
        // What nobody moved needs no note.
        let known = self.entries.get_mut(path).filter(|known| known.moved.is_some() || moved.back != Some(moved.was));
        known.is_some_and(|known| known.moved.replace(moved) != Some(moved))
    }

    /// What the session's file at `path` was before it was moved, if it has not changed since.
    pub fn before_moves(&self, path: &Path, now: Identity) -> Identity {
        let moved = self.entries.get(path).and_then(|known| known.moved);
        moved.filter(|moved| moved.back == Some(now)).map_or(now, |moved| moved.was)
    }

    /// The files that the host has instead of the session, as they were.
    pub fn moved_away(&self) -> impl Iterator<Item = (&Path, Identity)> {
        self.entries.iter().filter_map(|(path, known)| match known.moved {
            Some(Moved { was, back: None }) => Some((path.as_path(), was)),
            _ => None,
        })
    }
}
