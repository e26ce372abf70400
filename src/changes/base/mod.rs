//! What the session saw of the host: the third side of every comparison.
//!
//! A host file whose ctime is older than the session's start is what the session saw, if it is in its place
//! (`places`). When a run ends, this is written down for every path that the session has a copy of, with the
//! content of text files, so that a later edit on the host can be told apart and merged. After an apply it is
//! what was applied.
//! Only the host writes here (`base.jsonl`, `base.pack` beside the record).

mod list;
mod moved;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::at_start::AtStart;
use super::blobs::Blobs;
use super::old_index::OldIndex;
use super::pack;
pub use super::pack::{Kept, LARGEST, Pack, text_of};
use crate::git::Id;
use crate::git::index::Stat;
use crate::layer::entry::Identity;
pub use moved::Moved;

/// The host's side as the session saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// There was nothing.
    Absent,
    /// This.
    Here(Identity),
    /// Something, and the host changed it while the command ran.
    Unknown,
}

impl At {
    /// What the session saw, after an undo has brought the host back to `now`. An edit that the host had made
    /// before the apply came back with the rest, and the session has not seen that.
    pub fn after_undo(before: Option<At>, now: At) -> At {
        match (before, now) {
            // The same file, or a copy of it from another file system.
            (Some(At::Here(then)), At::Here(now)) => {
                let same = then.mode == now.mode && (then.is_dir() || (then.size, then.mtime) == (now.size, now.mtime));
                At::Here(if same { now } else { then })
            }
            (Some(before), _) => before,
            (None, now) => now,
        }
    }
}

/// What is known of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The host's side.
    #[serde(rename = "h")]
    pub host: At,
    /// The session's side in the state in which its content was the base's.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Identity>,
    /// Where its content is kept: offset and length in the pack.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub content: Option<(u64, u64)>,
    /// The session's side in that state has been applied: nothing of it is left to do.
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// Attributes of the user's.
pub type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// How a directory looked when the session saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks<'a> {
    /// Permission bits.
    pub mode: u32,
    /// Attributes.
    pub xattrs: &'a Xattrs,
}

static NO_XATTRS: Xattrs = BTreeMap::new();

/// An entry, and what the ends of runs have noted beside it: applying and undoing do not change that.
#[derive(Clone, Debug)]
struct Known {
    entry: Entry,
    /// When the last run ended the session had no directory there that would let what the host has shine through.
    closed: bool,
    /// The host's attributes; `None`: the host touched it during the run, so that its looks before are not known.
    xattrs: Option<Xattrs>,
    /// An apply has moved the session's file to the host.
    moved: Option<Moved>,
}

/// All that is known.
#[derive(Debug, Default)]
pub struct Base {
    dir: PathBuf,
    /// When the last run started, on the clock of files, in nanoseconds.
    stamp: Option<i64>,
    /// The start of the last run whose end was written down.
    noted: Option<Option<i64>>,
    entries: HashMap<PathBuf, Known>,
    /// What was checked out when the last run started.
    blobs: Option<Blobs>,
    /// What git tracked then.
    index: Option<OldIndex>,
    /// The inode of the repo's root then.
    root: Option<u64>,
    /// And those of the directories in it.
    dirs: HashMap<OsString, u64>,
}

impl Base {
    /// Of something that nobody else has changed since: nothing on the host is newer than it.
    pub fn nothing() -> Self {
        Self { stamp: Some(i64::MAX), ..Self::default() }
    }

    /// With the commit that was checked out when the last run started.
    #[must_use]
    pub fn with_commit(mut self, repo: &Path, commit: Option<&str>) -> Self {
        self.blobs = commit.and_then(|id| Id::from_hex(id.as_bytes())).map(|id| Blobs::new(repo, id));
        self
    }

    /// With what was where when the last run started.
    #[must_use]
    pub fn with_start(self, repo: &Path, root: Option<u64>, start: &AtStart) -> Self {
        let index = Some(OldIndex::new(repo, start.index.as_ref()));
        Self { index, root, dirs: start.dirs.clone(), ..self }
    }

    /// Whether the end of the last run has been written down: then every path of the session is known.
    pub fn is_complete(&self) -> bool {
        self.noted == Some(self.stamp)
    }

    /// Says so; to be followed by [`Base::save`].
    pub fn run_ended(&mut self) {
        self.noted = Some(self.stamp);
    }

    /// What is known of a path.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries.get(path).map(|known| &known.entry)
    }

    /// Paths whose host's side was one of these files, with what it was.
    pub fn with_inodes(&self, inodes: &HashSet<u64>) -> Vec<(PathBuf, Identity)> {
        let known = self.entries.iter().filter_map(|(path, known)| match known.entry.host {
            At::Here(id) if !id.is_dir() && inodes.contains(&id.inode) => Some((path.clone(), id)),
            _ => None,
        });
        known.collect()
    }

    /// Notes what is known of a path now.
    pub fn set(&mut self, path: PathBuf, entry: Entry) {
        match self.entries.get_mut(&path) {
            Some(known) => known.entry = entry,
            None => drop(self.entries.insert(path, Known { entry, closed: false, xattrs: None, moved: None })),
        }
    }

    /// Notes the host's attributes of a path that is known, as the session saw them.
    pub fn set_xattrs(&mut self, path: &Path, xattrs: Xattrs) {
        if let Some(known) = self.entries.get_mut(path) {
            known.xattrs = Some(xattrs);
        }
    }

    /// Notes where the last run has left nothing that the host's would shine through.
    pub fn set_closed(&mut self, closed: &HashSet<&Path>) {
        for (path, known) in &mut self.entries {
            known.closed = closed.contains(path.as_path());
        }
    }

    /// The host's side as the session saw it, from what the host has now if nothing was written down. `in_place`:
    /// nothing speaks for its having been elsewhere when the run started.
    pub fn first_look(&self, path: &Path, host: Option<&Identity>, in_place: bool) -> At {
        match host {
            None => At::Absent,
            _ if self.was_closed_above(path) => At::Absent,
            Some(host) if !host.is_dir() && (self.is_of_the_run(host) || !in_place) => At::Unknown,
            Some(host) => At::Here(*host),
        }
    }

    /// Whether the host did something to a file, or in a directory, after the last run had started.
    pub fn is_of_the_run(&self, host: &Identity) -> bool {
        self.stamp.is_some_and(|stamp| host.ctime >= stamp)
    }

    /// Whether a directory above had been deleted or replaced when an earlier run ended: what the host has put
    /// there since, the session cannot have seen.
    pub fn was_closed_above(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.entries.get(above).is_some_and(|known| known.closed))
    }

    /// Whether the repo's root is the directory that it was when the last run started.
    pub fn is_root(&self, host: &Identity) -> bool {
        self.root.is_none_or(|inode| inode == host.inode)
    }

    /// Whether this directory was noted here when the last run started, or an earlier one ended.
    pub fn knows_dir(&self, path: &Path, host: &Identity) -> bool {
        if self.dirs.get(path.as_os_str()) == Some(&host.inode) {
            return true;
        }
        let then = self.get(path).filter(|entry| !entry.done).map(|entry| entry.host);
        matches!(then, Some(At::Here(then)) if then.is_dir() && then.inode == host.inode)
    }

    /// The files that git tracked in a directory when the last run started.
    pub fn files_of_the_index(&self, dir: &Path) -> impl Iterator<Item = (&[u8], Stat)> {
        let known = self.index.as_ref().zip(self.stamp);
        known.into_iter().flat_map(move |(index, stamp)| index.files_in(dir, stamp))
    }

    fn saw(&self, path: &Path, host: &Identity, in_place: bool) -> At {
        self.get(path).map_or_else(|| self.first_look(path, Some(host), in_place), |entry| entry.host)
    }

    /// Whether the host changed a path since the session saw it.
    pub fn has_moved(&self, path: &Path, host: &Identity, in_place: bool) -> bool {
        match self.saw(path, host, in_place) {
            At::Here(then) if host.is_dir() && then.is_dir() => then.permissions() != host.permissions(),
            At::Here(then) => then != *host,
            At::Absent | At::Unknown => true,
        }
    }

    /// Whether the session's side, in this state, has the content that the base had.
    pub fn is_untouched(&self, path: &Path, session: &Identity) -> bool {
        self.get(path).is_some_and(|entry| entry.session.as_ref() == Some(session))
    }

    /// Whether the session's side, in this state, has been applied.
    pub fn is_done(&self, path: &Path, session: &Identity) -> bool {
        self.get(path).filter(|entry| entry.done).and_then(|entry| entry.session).is_some_and(|then| {
            // The times of a directory tell of what is in it.
            if session.is_dir() { then.mode == session.mode } else { then == *session }
        })
    }

    /// The permission bits that the session saw of a file, given the host's; `None`: nobody knows.
    pub fn permissions(&self, path: &Path, host: &Identity, in_place: bool) -> Option<u32> {
        match self.saw(path, host, in_place) {
            At::Here(then) => Some(then.permissions()),
            // Both made one.
            At::Absent => Some(host.permissions()),
            At::Unknown => None,
        }
    }

    /// Whether these are the attributes that the session saw of a file.
    pub fn saw_xattrs(&self, path: &Path, xattrs: &Xattrs) -> bool {
        self.entries.get(path).is_some_and(|known| known.xattrs.as_ref() == Some(xattrs))
    }

    /// How a directory looked when the session saw it, given how the host's looks now; `None`: nobody knows.
    pub fn looks<'a>(&'a self, path: &Path, host: &Identity, now: &'a Xattrs, in_place: bool) -> Option<Looks<'a>> {
        let Some(known) = self.entries.get(path) else {
            return match self.first_look(path, Some(host), in_place) {
                At::Here(_) if self.is_of_the_run(host) || !in_place => None,
                At::Here(then) => Some(Looks { mode: then.permissions(), xattrs: now }),
                _ => Some(Looks { mode: host.permissions(), xattrs: &NO_XATTRS }),
            };
        };
        match (known.entry.host, &known.xattrs) {
            // Both made one.
            (At::Absent, _) => Some(Looks { mode: host.permissions(), xattrs: &NO_XATTRS }),
            (At::Here(then), Some(xattrs)) => Some(Looks { mode: then.permissions(), xattrs }),
            (At::Here(then), None) if known.entry.done => Some(Looks { mode: then.permissions(), xattrs: now }),
            (At::Here(_) | At::Unknown, _) => None,
        }
    }

    /// The content that the session saw, if it was kept.
    pub fn content(&self, path: &Path) -> io::Result<Option<Kept>> {
        let Some(entry) = self.get(path) else { return Ok(self.committed(path).map(Kept::Committed)) };
        // Never from the commit: what is known may be of an earlier run, and the host has committed its edit since.
        let Some(place) = entry.content else { return Ok(None) };
        let Some(bytes) = pack::read(&self.dir, place)? else { return Ok(None) };
        let seen = entry.done || entry.host != At::Unknown;
        Ok(Some(if seen { Kept::Seen(bytes) } else { Kept::Committed(bytes) }))
    }

    /// What git had of a file when the last run started.
    pub fn committed(&self, path: &Path) -> Option<Vec<u8>> {
        self.blobs.as_ref()?.content(path)
    }

    /// Whether there is a commit to look things up in.
    pub fn knows_a_commit(&self) -> bool {
        self.blobs.is_some()
    }

    /// Where the contents that are known lie in the pack.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        self.entries.values().filter_map(|known| known.entry.content)
    }

    /// Opens the pack to keep more contents in.
    pub fn pack(&self) -> io::Result<Pack> {
        Pack::open(&self.dir)
    }
}

#[cfg(test)]
mod tests;
