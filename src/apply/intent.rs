//! What a transaction will do, as its journal has it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::recover::Done;
use crate::changes::base::Entry;
use crate::layer::entry::{Found, Identity};
use crate::paths::BytePath;

/// Number of the format. A newer one is refused.
/// 2: files of the session's may have been moved.
pub(super) const FORMAT: u32 = 2;

/// What will be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intent {
    /// Format number.
    pub format: u32,
    /// Its id.
    pub id: String,
    /// Milliseconds since 1970.
    pub time: u64,
    /// Whether it takes back the apply of this id.
    pub undoes: Option<String>,
    /// The repo.
    pub repo: BytePath,
    /// The steps, in order; the n-th one's temporary name is `.cowbox-<id>-<n>`.
    pub steps: Vec<StepRecord>,
    /// What is below the directories that go aside, by step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub below: BTreeMap<usize, Vec<(BytePath, Identity)>>,
    /// New looks, at the very end.
    pub looks: Vec<LooksRecord>,
    /// Directories in which names change: their permission bits and times before.
    pub parents: Vec<ParentRecord>,
    /// Changes that are done with afterwards, with the state of the session's side.
    pub settled: Vec<SettledRecord>,
    /// What an undo leaves to be taken back later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Box<Done>>,
}

/// One step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// Where.
    pub path: BytePath,
    /// Whether something new lands there.
    pub put: bool,
    /// What the host has there before.
    pub old: Option<Identity>,
    /// The number under which an earlier apply put the new thing aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<usize>,
    /// The session's file that is moved there, or by an undo from there; if it could not be, another inode has landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<MovedRecord>,
}

/// A file that has its place in the session's layer or on the host, not in both.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MovedRecord {
    /// As it was in the layer when it was looked at.
    pub was: Identity,
    /// Marks of the overlay that it has only there.
    pub marks: Vec<(Vec<u8>, Vec<u8>)>,
}

/// New looks of something that stays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LooksRecord {
    /// Where.
    pub path: BytePath,
    /// What the host has there.
    #[serde(default)]
    pub id: Option<Identity>,
    /// Before.
    pub old: Looked,
    /// After.
    pub new: Looked,
}

impl LooksRecord {
    /// Whether they are for what was `found`: the host has not changed it since.
    pub fn is_for(&self, found: &Found) -> bool {
        // A directory in which names change is opened for that.
        let modes = [self.old.mode, self.new.mode, self.old.mode | 0o700];
        modes.contains(&found.id.permissions())
            && self.id.is_none_or(|id| Identity { mode: found.id.mode, ..id }.is_same_but_renamed(&found.id))
    }
}

/// How something looks: permission bits, and attributes where they are part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// Permission bits.
    pub mode: u32,
    /// Attributes of the user's; `None`: they stay as they are.
    pub xattrs: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

/// A directory in which names change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParentRecord {
    /// Where.
    pub path: BytePath,
    /// Permission bits before.
    pub mode: u32,
    /// Nanoseconds since 1970, before.
    pub mtime: i64,
}

/// A change that is done with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettledRecord {
    /// Where.
    pub path: BytePath,
    /// The session's side.
    pub session: Option<Identity>,
    /// What was known of the path before.
    pub before: Option<Entry>,
    /// Where the session's content is kept, if that is not what lands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<(u64, u64)>,
    /// Only a part of it landed: what did is the base of the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
}

impl Intent {
    /// A new one.
    pub fn new(repo: &Path) -> Self {
        Self {
            format: FORMAT,
            id: crate::session::SessionId::new().to_string(),
            time: crate::session::record::now(),
            undoes: None,
            repo: repo.into(),
            steps: Vec::new(),
            below: BTreeMap::new(),
            looks: Vec::new(),
            parents: Vec::new(),
            settled: Vec::new(),
            left: None,
        }
    }

    /// Where the contents lie in the session's pack that taking it back would need.
    pub fn places(&self) -> Vec<(u64, u64)> {
        let own =
            self.settled.iter().flat_map(|record| [record.content, record.before.as_ref().and_then(|b| b.content)]);
        let left = self.left.iter().flat_map(|left| left.intent.places());
        own.flatten().chain(left).collect()
    }

    /// What is below the directory that goes aside in a step.
    pub fn below(&self, step: usize) -> impl Iterator<Item = (&Path, &Identity)> {
        self.below.get(&step).into_iter().flatten().map(|(path, id)| (path.0.as_path(), id))
    }

    /// The temporary name of a step, in the directory of its target.
    pub fn temp(&self, step: usize) -> String {
        // The end of an id is its random part.
        format!(".cowbox-{}-{step}", self.id.get(self.id.len().saturating_sub(10)..).unwrap_or(&self.id).to_lowercase())
    }

    /// The temporary name for what the host had, where two names cannot be exchanged.
    pub fn aside(&self, step: usize) -> String {
        format!("{}o", self.temp(step))
    }
}
