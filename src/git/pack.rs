//! Packs: finding an object by the index beside the pack, and putting it together from deltas.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::delta::{apply, damaged, too_large};
use super::dir::Dir;
use super::inflate;
use super::object::{Budget, Kind, Object};
use super::{Hash, Id};
use crate::error::{Error, Result};

/// As long as git allows a chain to be.
const LONGEST: usize = 4096;
const FANOUT: u64 = 1024;

/// One pack with its index.
pub(super) struct Pack {
    path: PathBuf,
    hash: Hash,
    index: File,
    /// Version 2 keeps ids and offsets apart; version 1 has them in turn.
    version: u8,
    count: u32,
    pack: OnceLock<File>,
}

/// How an object of a pack begins.
struct Header {
    what: What,
    size: u64,
    body: u64,
}

enum What {
    Whole(Kind),
    Delta { base: u64 },
}

impl Pack {
    /// Opens `pack/<name>`, the index of a pack.
    pub(super) fn open(dir: &Dir, name: &OsStr, hash: Hash) -> Result<Option<Self>> {
        let path = Path::new("pack").join(name);
        let failed = |e| Error::io("read", &path, e);
        let Some(index) = dir.open(&path).map_err(failed)? else { return Ok(None) };
        let length = index.metadata().map_err(failed)?.len();
        let version = if bytes(&index, 0)? == [0xff, b't', b'O', b'c', 0, 0, 0, 2] { 2 } else { 1 };
        let mut pack =
            Self { path: path.with_extension("pack"), hash, index, version, count: 0, pack: OnceLock::new() };
        pack.count = pack.fanout(255)?;
        let size = hash.size() as u64;
        let entry = if version == 2 { size + 8 } else { size + 4 };
        if length < pack.begin() + u64::from(pack.count) * entry + 2 * size {
            return Err(damaged());
        }
        Ok(Some(pack))
    }

    /// Where in the pack an object begins.
    pub(super) fn find(&self, id: &Id) -> Result<Option<u64>> {
        let first = *id.as_bytes().first().ok_or_else(damaged)?;
        let (mut low, mut high) = (if first == 0 { 0 } else { self.fanout(first - 1)? }, self.fanout(first)?);
        if low > high || high > self.count || id.as_bytes().len() != self.hash.size() {
            return Err(damaged());
        }
        let mut name = [0u8; 32];
        let name = name.get_mut(..self.hash.size()).ok_or_else(damaged)?;
        while low < high {
            let middle = low + (high - low) / 2;
            self.index.read_exact_at(name, self.id_at(middle)).map_err(|_| damaged())?;
            match (*name).cmp(id.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle).map(Some),
            }
        }
        Ok(None)
    }

    /// Reads the object that begins at `offset`. `file` opens the pack itself, once.
    pub(super) fn read(&self, dir: &Dir, offset: u64, most: u64, budget: &Budget) -> Result<Object> {
        let file = self.file(dir)?;
        // A base may be larger than what is made of it, within reason.
        let largest = most.saturating_mul(4).saturating_add(1 << 20);
        let unpack = |header: &Header| {
            if header.size > largest {
                return Err(too_large(largest));
            }
            budget.spend(header.size)?;
            inflate::exactly(inflate::stream(file, header.body), header.size)
        };
        // Only the places are kept on the way down: a chain of any length costs little memory.
        let mut chain = Vec::new();
        let mut at = offset;
        let (kind, mut data) = loop {
            let header = self.header(file, at)?;
            match header.what {
                What::Whole(kind) => break (kind, unpack(&header)?),
                What::Delta { base } => at = base,
            }
            chain.push(header);
            if chain.len() > LONGEST {
                return Err(damaged());
            }
        };
        while let Some(header) = chain.pop() {
            let delta = unpack(&header)?;
            data = apply(&data, &delta, largest)?;
            budget.spend(data.len() as u64)?;
        }
        if data.len() as u64 > most { Err(too_large(most)) } else { Ok(Object { kind, data }) }
    }

    fn file(&self, dir: &Dir) -> Result<&File> {
        if let Some(file) = self.pack.get() {
            return Ok(file);
        }
        let file = dir.open(&self.path).map_err(|e| Error::io("read", &self.path, e))?.ok_or_else(damaged)?;
        Ok(self.pack.get_or_init(|| file))
    }

    fn header(&self, file: &File, at: u64) -> Result<Header> {
        let mut buffer = [0u8; 64];
        let count = file.read_at(&mut buffer, at).map_err(|_| damaged())?;
        let mut input = buffer.get(..count).unwrap_or_default().iter().copied();
        let mut used = 0;
        let mut next = || {
            used += 1;
            input.next().ok_or_else(damaged)
        };
        let mut byte = next()?;
        let kind = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 128 != 0 {
            byte = next()?;
            if shift > 56 {
                return Err(damaged());
            }
            size |= u64::from(byte & 127) << shift;
            shift += 7;
        }
        let what = match kind {
            1 => What::Whole(Kind::Commit),
            2 => What::Whole(Kind::Tree),
            3 => What::Whole(Kind::Blob),
            4 => What::Whole(Kind::Tag),
            6 => {
                byte = next()?;
                let mut back = u64::from(byte & 127);
                while byte & 128 != 0 {
                    byte = next()?;
                    back = back.checked_add(1).and_then(|n| n.checked_mul(128)).ok_or_else(damaged)?;
                    back |= u64::from(byte & 127);
                }
                let base = at.checked_sub(back).filter(|base| *base < at).ok_or_else(damaged)?;
                What::Delta { base }
            }
            7 => {
                let raw: Vec<u8> = (0..self.hash.size()).map(|_| next()).collect::<Result<_>>()?;
                let id = Id::from_bytes(&raw).ok_or_else(damaged)?;
                // On disk a pack is complete: the base is in the same one.
                What::Delta { base: self.find(&id)?.ok_or_else(damaged)? }
            }
            _ => return Err(damaged()),
        };
        Ok(Header { what, size, body: at.checked_add(used).ok_or_else(damaged)? })
    }

    /// Where the ids begin.
    fn begin(&self) -> u64 {
        if self.version == 2 { 8 + FANOUT } else { FANOUT }
    }

    fn fanout(&self, first: u8) -> Result<u32> {
        let at = self.begin() - FANOUT + 4 * u64::from(first);
        bytes(&self.index, at).map(u32::from_be_bytes)
    }

    fn id_at(&self, number: u32) -> u64 {
        let size = self.hash.size() as u64;
        match self.version {
            2 => self.begin() + u64::from(number) * size,
            _ => self.begin() + u64::from(number) * (size + 4) + 4,
        }
    }

    fn offset(&self, number: u32) -> Result<u64> {
        if self.version == 1 {
            return bytes(&self.index, self.id_at(number) - 4).map(u32::from_be_bytes).map(u64::from);
        }
        // After the ids come checksums of four bytes, then offsets of four, then the large ones.
        let (count, size) = (u64::from(self.count), self.hash.size() as u64);
        let offsets = self.begin() + count * (size + 4);
        let short = u32::from_be_bytes(bytes(&self.index, offsets + 4 * u64::from(number))?);
        if short & 0x8000_0000 == 0 {
            return Ok(short.into());
        }
        let large = offsets + 4 * count + 8 * u64::from(short & 0x7fff_ffff);
        bytes(&self.index, large).map(u64::from_be_bytes)
    }
}

fn bytes<const N: usize>(file: &File, at: u64) -> Result<[u8; N]> {
    let mut buffer = [0; N];
    file.read_exact_at(&mut buffer, at).map_err(|_| damaged())?;
    Ok(buffer)
}
