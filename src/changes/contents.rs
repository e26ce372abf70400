//! Both sides of a change as bytes, for those who show, judge or merge them.

use super::Change;
use super::read::Unreadable;
use super::risk::Host;

/// Larger files are not held in memory: they are shown and judged as binary.
pub const LARGEST: u64 = 32 << 20;

/// What a file holds, or where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// All of it.
    Bytes(Vec<u8>),
    /// More than [`LARGEST`].
    Large,
}

impl Content {
    /// The bytes, if they are held.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Content::Bytes(bytes) => Some(bytes),
            Content::Large => None,
        }
    }
}

/// Where both sides come from. `None`: there is no file and no link on that side.
pub trait Contents {
    /// The host's side.
    fn host_side(&self, change: &Change) -> Result<Option<Content>, Unreadable>;
    /// What would land: the session's side, or the merge of both.
    fn session_side(&self, change: &Change) -> Result<Option<Content>, Unreadable>;
    /// What rules ask about the host.
    fn host(&self) -> Host<'_> {
        Host::UNKNOWN
    }
}
