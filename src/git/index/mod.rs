//! The index of the host: which paths git tracks.

mod bitmap;
mod parse;
mod split;

use std::cmp::Ordering;
use std::fs::File;
use std::path::Path;

use super::dir::{open_followed, read_all};
use super::{GitDirs, Hash, Id};
use crate::error::{Error, Result, show};

/// Offsets are kept in 32 bits; no real index comes near.
const LARGEST: u64 = 2 << 30;
/// Mode of a directory of a sparse index.
const SPARSE_DIR: u32 = 0o040_000;

/// The entries of an index, sorted: names one after another, offsets to them, and the ids.
#[derive(Clone, Default)]
pub struct Index {
    hash: Hash,
    names: Vec<u8>,
    ids: Vec<u8>,
    entries: Vec<Entry>,
    /// Some entries are whole directories.
    sparse: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    length: u32,
    mode: u32,
    stage: u8,
    stat: Stat,
}

/// What git noted of a file when it last found it to be what the entry says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The lower half of its inode number.
    pub inode: u32,
    /// Seconds and nanoseconds.
    pub ctime: (u32, u32),
}

/// What the index says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// It is an entry: a file, a link or a submodule.
    Entry {
        /// Type and permissions, as git has them.
        mode: u32,
        /// Its blob or commit; `None` while a merge of it is unresolved.
        id: Option<Id>,
    },
    /// It lies below a directory that a sparse index holds as one tree.
    Sparse {
        /// That tree.
        tree: Id,
        /// The rest of the path; empty for the directory itself.
        rest: &'a [u8],
    },
    /// It is a directory with entries below it.
    Dir,
    /// Nothing.
    No,
}

impl Index {
    /// Reads the index of a working tree; `None` if there is none yet.
    pub fn read(dirs: &GitDirs) -> Result<Option<Self>> {
        let path = dirs.gitdir.join("index");
        let Some(file) = open_followed(&path).map_err(|e| Error::io("read", &path, e))? else { return Ok(None) };
        Self::read_from(file, dirs).map(Some)
    }

    /// Reads one that was opened before, whatever has taken its place since.
    pub fn read_from(file: File, dirs: &GitDirs) -> Result<Self> {
        let path = dirs.gitdir.join("index");
        let bytes = read_all(file, LARGEST).map_err(|e| Error::io("read", &path, e))?;
        let hash = dirs.hash()?;
        let shared = |id: &Id| {
            let name = format!("sharedindex.{id}");
            // It lies beside the index; old ones are in the shared gitdir.
            match load(&dirs.gitdir.join(&name))? {
                Some(bytes) => Ok(bytes),
                None => load(&dirs.common.join(&name))?.ok_or_else(|| Error::new(format!("{name} is missing"))),
            }
        };
        Self::parse(&bytes, hash, shared)
            .map_err(|e| e.context(format_args!("cannot read git's index {}", show(&path))))
    }

    /// Reads an index from its bytes. `shared` gives the file that a split index stands on.
    pub fn parse(bytes: &[u8], hash: Hash, shared: impl FnOnce(&Id) -> Result<Vec<u8>>) -> Result<Self> {
        let (mut index, link) = parse::file(bytes, hash)?;
        if let Some(link) = link {
            let (base, further) = parse::file(&shared(&link.base)?, hash)?;
            if further.is_some() {
                return Err(Error::new("a shared index that is split again"));
            }
            index = split::merge(&base, &index, &link)?;
        }
        index.check_order()?;
        Ok(index)
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What it says of a path, relative to the root, without a slash at its end.
    pub fn find<'a>(&self, path: &'a [u8]) -> Found<'a> {
        let at = self.first_not_before(path);
        if let Some(entry) = self.entries.get(at)
            && self.name(entry) == path
        {
            let id = (entry.stage == 0).then(|| self.id(at)).flatten();
            return Found::Entry { mode: entry.mode, id };
        }
        let cuts = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(cut, _)| cut);
        for cut in cuts.chain([path.len()]).filter(|_| self.sparse) {
            let (dir, rest) = (path.get(..cut).unwrap_or_default(), path.get(cut + 1..).unwrap_or_default());
            if let Some(tree) = self.sparse_dir(dir) {
                return Found::Sparse { tree, rest };
            }
        }
        if self.has_below(path) { Found::Dir } else { Found::No }
    }

    /// Whether something below this directory is tracked.
    pub fn has_below(&self, dir: &[u8]) -> bool {
        if dir.is_empty() {
            return !self.is_empty();
        }
        let prefix = [dir, b"/"].concat();
        self.entries.get(self.first_not_before(&prefix)).is_some_and(|e| self.name(e).starts_with(&prefix))
    }

    /// The files that are tracked in a directory itself, by their names.
    pub fn files_in(&self, dir: &[u8]) -> impl Iterator<Item = (&[u8], Stat)> {
        let prefix = if dir.is_empty() { Vec::new() } else { [dir, b"/"].concat() };
        let mut at = self.first_not_before(&prefix);
        std::iter::from_fn(move || {
            loop {
                let entry = self.entries.get(at)?;
                let name = self.name(entry).strip_prefix(prefix.as_slice())?;
                match name.iter().position(|b| *b == b'/') {
                    None => {
                        at += 1;
                        return Some((name, entry.stat));
                    }
                    // Past all that is below that directory.
                    Some(end) => {
                        let next = [&prefix, name.get(..end).unwrap_or_default(), b"0"].concat();
                        at = self.first_not_before(&next).max(at + 1);
                    }
                }
            }
        })
    }

    fn sparse_dir(&self, dir: &[u8]) -> Option<Id> {
        let name = [dir, b"/"].concat();
        let at = self.first_not_before(&name);
        let entry = self.entries.get(at)?;
        (entry.mode == SPARSE_DIR && self.name(entry) == name).then(|| self.id(at)).flatten()
    }

    fn first_not_before(&self, path: &[u8]) -> usize {
        self.entries.partition_point(|entry| self.name(entry) < path)
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        let start = entry.start as usize;
        self.names.get(start..start + entry.length as usize).unwrap_or_default()
    }

    fn id(&self, at: usize) -> Option<Id> {
        let size = self.hash.size();
        Id::from_bytes(self.ids.get(at * size..(at + 1) * size)?)
    }

    fn push(&mut self, name: &[u8], (mode, stage, stat): (u32, u8, Stat), id: &[u8]) -> Result<()> {
        let start = u32::try_from(self.names.len()).map_err(|_| Error::new("its names are too long"))?;
        let length = u32::try_from(name.len()).map_err(|_| Error::new("a name is too long"))?;
        if u64::from(start) + u64::from(length) > LARGEST {
            return Err(Error::new("its names are too long"));
        }
        self.sparse |= mode == SPARSE_DIR;
        self.names.extend_from_slice(name);
        self.ids.extend_from_slice(id);
        self.entries.push(Entry { start, length, mode, stage, stat });
        Ok(())
    }

    fn order(&self, a: &Entry, other: &Self, b: &Entry) -> Ordering {
        self.name(a).cmp(other.name(b)).then(a.stage.cmp(&b.stage))
    }

    /// All searching rests on the order.
    fn check_order(&self) -> Result<()> {
        let sorted = self.entries.is_sorted_by(|a, b| self.order(a, self, b) == Ordering::Less);
        if sorted && self.entries.first().is_none_or(|first| first.length > 0) {
            Ok(())
        } else {
            Err(Error::new("its entries are not in order"))
        }
    }
}

fn load(path: &Path) -> Result<Option<Vec<u8>>> {
    let failed = |e| Error::io("read", path, e);
    open_followed(path).map_err(failed)?.map(|file| read_all(file, LARGEST).map_err(failed)).transpose()
}

#[cfg(test)]
mod tests;
