//! Objects: read by name from the host's directories and from a session's.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::git::delta::{damaged, too_large};
use crate::git::dir::Dir;
use crate::git::pack::Pack;
use crate::git::{GitDirs, Hash, Id, inflate};

/// `alternates` of `alternates`, as far as git goes.
const DEEPEST: usize = 5;
/// Packs of one directory: more than any host keeps; a session has fewer descriptors to take.
const PACKS: usize = 16 << 10;
const SESSION_PACKS: usize = 256;
/// What may be unpacked from one session before we stop: a bomb is small and unpacks to much.
const WORK: u64 = 4 << 30;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A commit.
    Commit,
    /// A directory.
    Tree,
    /// Content of a file, or a link's target.
    Blob,
    /// An annotated tag.
    Tag,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Commit => "commit",
            Kind::Tree => "tree",
            Kind::Blob => "blob",
            Kind::Tag => "tag",
        }
    }
}

/// One object, whose content belongs to its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Its content.
    pub data: Vec<u8>,
}

/// Directories of objects, searched in turn.
pub struct Objects {
    hash: Hash,
    stores: Vec<Store>,
}

struct Store {
    dir: Dir,
    packs: OnceLock<Vec<Pack>>,
    budget: Budget,
}

/// How much may still be unpacked.
pub(in crate::git) struct Budget(AtomicU64);

impl Budget {
    pub(in crate::git) fn spend(&self, bytes: u64) -> Result<()> {
        // An object of no bytes costs something too.
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes.saturating_add(64));
        self.0.store(left.unwrap_or(0), Ordering::Relaxed);
        left.map(drop).ok_or_else(|| Error::new("the session's git objects unpack to more than cowbox will read"))
    }
}

impl Objects {
    /// No directories yet.
    pub fn new(hash: Hash) -> Self {
        Self { hash, stores: Vec::new() }
    }

    /// Those of a repository of the host.
    pub fn of_host(dirs: &GitDirs) -> Result<Self> {
        let mut objects = Self::new(dirs.hash()?);
        objects.add_host(&dirs.common.join("objects"))?;
        Ok(objects)
    }

    /// Adds a directory of the host, and those that it names as alternates.
    pub fn add_host(&mut self, dir: &Path) -> Result<()> {
        let mut found = Vec::new();
        alternates(dir, 0, &mut found)?;
        self.stores.extend(found.into_iter().map(|dir| Store::new(Dir::Following(dir), u64::MAX)));
        Ok(())
    }

    /// Adds a directory that a session wrote. Nothing in it leads elsewhere.
    pub fn add_session(&mut self, dir: Dir) {
        self.stores.push(Store::new(dir, WORK));
    }

    /// How they are named.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Whether there is an object of this name.
    pub fn contains(&self, id: &Id) -> Result<bool> {
        for store in &self.stores {
            if store.has_loose(id)? || store.in_pack(id, self.hash)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads an object of at most `most` bytes; a larger one is an error, a missing one is `None`.
    pub fn read(&self, id: &Id, most: u64) -> Result<Option<Object>> {
        for store in &self.stores {
            let object = match store.loose(id, most)? {
                Some(object) => object,
                None => match store.in_pack(id, self.hash)? {
                    Some((pack, offset)) => pack.read(&store.dir, offset, most, &store.budget)?,
                    None => continue,
                },
            };
            let header = format!("{} {}\0", object.kind.name(), object.data.len());
            if self.hash.of(header.as_bytes(), &object.data) != *id {
                return Err(damaged());
            }
            return Ok(Some(object));
        }
        Ok(None)
    }
}

impl Store {
    fn new(dir: Dir, budget: u64) -> Self {
        Self { dir, packs: OnceLock::new(), budget: Budget(AtomicU64::new(budget)) }
    }

    fn has_loose(&self, id: &Id) -> Result<bool> {
        let path = loose_path(id);
        Ok(self.dir.open(&path).map_err(|e| Error::io("read", &path, e))?.is_some())
    }

    fn loose(&self, id: &Id, most: u64) -> Result<Option<Object>> {
        let path = loose_path(id);
        let Some(file) = self.dir.open(&path).map_err(|e| Error::io("read", &path, e))? else { return Ok(None) };
        let mut stream = inflate::stream(&file, 0);
        let mut header = Vec::new();
        let mut byte = [0u8];
        loop {
            stream.read_exact(&mut byte).map_err(|_| damaged())?;
            match byte {
                [0] => break,
                _ if header.len() > 32 => return Err(damaged()),
                [byte] => header.push(byte),
            }
        }
        let (kind, size) = parse_header(&header).ok_or_else(damaged)?;
        if size > most {
            return Err(too_large(most));
        }
        self.budget.spend(size)?;
        Ok(Some(Object { kind, data: inflate::exactly(stream, size)? }))
    }

    fn in_pack(&self, id: &Id, hash: Hash) -> Result<Option<(&Pack, u64)>> {
        for pack in self.packs(hash)? {
            if let Some(offset) = pack.find(id)? {
                return Ok(Some((pack, offset)));
            }
        }
        Ok(None)
    }

    fn packs(&self, hash: Hash) -> Result<&[Pack]> {
        if let Some(packs) = self.packs.get() {
            return Ok(packs);
        }
        let most = if matches!(self.dir, Dir::Strict(_)) { SESSION_PACKS } else { PACKS };
        let names = self.dir.names(Path::new("pack"), most * 8).map_err(|e| Error::io("read", Path::new("pack"), e))?;
        let mut indexes: Vec<_> = names.into_iter().filter(|name| name.as_bytes().ends_with(b".idx")).collect();
        if indexes.len() > most {
            return Err(Error::new(format!("there are more than {most} git packs")));
        }
        indexes.sort();
        let mut packs = Vec::new();
        for name in indexes {
            packs.extend(Pack::open(&self.dir, &name, hash)?);
        }
        Ok(self.packs.get_or_init(|| packs))
    }
}

fn loose_path(id: &Id) -> PathBuf {
    let name = id.to_string();
    let (first, rest) = name.split_at_checked(2).unwrap_or_default();
    Path::new(first).join(rest)
}

fn parse_header(header: &[u8]) -> Option<(Kind, u64)> {
    let (kind, size) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    let kind = [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag].into_iter().find(|k| k.name() == kind)?;
    Some((kind, size.parse().ok()?))
}

/// `dir` and what it names, each once.
fn alternates(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(dir) = dir.canonicalize() else { return Ok(()) };
    if depth > DEEPEST || found.contains(&dir) {
        return Ok(());
    }
    found.push(dir.clone());
    let path = dir.join("info/alternates");
    let text = Dir::Following(dir.clone()).read(Path::new("info/alternates"), 1 << 20);
    let text = text.map_err(|e| Error::io("read", &path, e))?.unwrap_or_default();
    for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
        alternates(&dir.join(OsStr::from_bytes(line)), depth + 1, found)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
