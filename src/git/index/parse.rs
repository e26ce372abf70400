//! The file format, versions 2 to 4.

use super::{Index, LARGEST, Stat, bitmap};
use crate::error::{Error, Result};
use crate::git::{Hash, Id};

/// What an entry has before the id: times, device, inode, mode, owner, size.
const STAT: usize = 40;
const INODE_AT: usize = 20;
const MODE_AT: usize = 24;
const LONG_NAME: usize = 0xfff;
const EXTENDED: u16 = 0x4000;

/// What a split index says of the shared one.
pub(super) struct Link {
    /// Names the shared file.
    pub(super) base: Id,
    /// Positions of its entries that are gone.
    pub(super) deleted: Vec<u32>,
    /// Positions of its entries that are replaced by the first ones here, which have no name.
    pub(super) replaced: Vec<u32>,
}

/// Reads one file: its own entries, and the link to a shared file.
pub(super) fn file(bytes: &[u8], hash: Hash) -> Result<(Index, Option<Link>)> {
    let end = bytes.len().checked_sub(hash.size()).ok_or_else(cut_short)?;
    let mut input = Input { bytes: bytes.get(..end).ok_or_else(cut_short)?, at: 0 };
    if input.take(4)? != b"DIRC" {
        return Err(Error::new("it does not begin like one"));
    }
    let version = input.u32()?;
    if !(2..=4).contains(&version) {
        return Err(Error::new(format!("its version is {version}, and 2 to 4 are known")));
    }
    let count = input.u32()? as usize;
    // The count is a claim; the size of the file is not.
    let likely = count.min(bytes.len() / (STAT + hash.size() + 2));
    let mut index = Index { hash, ..Index::default() };
    index.entries.reserve(likely);
    index.ids.reserve(likely * hash.size());
    index.names.reserve(if version == 4 { 0 } else { bytes.len().saturating_sub(likely * (STAT + hash.size())) });
    let mut previous = 0;
    for _ in 0..count {
        previous = entry(&mut input, &mut index, version, previous)?;
    }
    let link = extensions(&mut input, hash)?;
    Ok((index, link))
}

/// Reads one entry; gives where its name begins.
fn entry(input: &mut Input<'_>, index: &mut Index, version: u32, previous: usize) -> Result<usize> {
    let begin = input.at;
    let stat = input.take(STAT)?;
    let field = |at: usize| be32(stat.get(at..).unwrap_or_default());
    let (mode, stat) = (field(MODE_AT)?, Stat { inode: field(INODE_AT)?, ctime: (field(0)?, field(4)?) });
    let id = input.take(index.hash.size())?;
    let flags = input.u16()?;
    if flags & EXTENDED != 0 {
        if version < 3 {
            return Err(Error::new("an entry has flags that its version does not know"));
        }
        input.u16()?;
    }
    let stage = (flags >> 12 & 3) as u8;
    let start = index.names.len();
    if version == 4 {
        let strip = input.varint()?;
        let old = start - previous;
        let keep = old.checked_sub(strip).ok_or_else(|| Error::new("a name is shortened to less than nothing"))?;
        let rest = input.until_nul()?;
        if (start + keep + rest.len()) as u64 > LARGEST {
            return Err(Error::new("its names are too long"));
        }
        index.names.extend_from_within(previous..previous + keep);
        // The kept part is already in place: `push` adds the rest, and the entry is widened to both.
        index.push(rest, (mode, stage, stat), id)?;
        if let Some(last) = index.entries.last_mut() {
            last.start -= keep as u32;
            last.length += keep as u32;
        }
        return Ok(start);
    }
    let length = usize::from(flags) & LONG_NAME;
    let name = if length < LONG_NAME { input.take(length)? } else { input.peek_until_nul()? };
    if length == LONG_NAME {
        input.take(name.len())?;
    }
    index.push(name, (mode, stage, stat), id)?;
    // One to eight zeros up to a multiple of eight.
    let padded = (input.at - begin + 8) & !7;
    let padding = input.take(padded - (input.at - begin))?;
    if padding.iter().any(|b| *b != 0) {
        return Err(Error::new("an entry's name does not end where it says"));
    }
    Ok(start)
}

/// Those with a small first letter must be understood.
fn extensions(input: &mut Input<'_>, hash: Hash) -> Result<Option<Link>> {
    let mut link = None;
    while input.at < input.bytes.len() {
        let name = input.take(4)?;
        let size = input.u32()? as usize;
        let body = input.take(size)?;
        match name {
            b"link" => link = read_link(body, hash)?,
            b"sdir" => {}
            [b'A'..=b'Z', ..] => {}
            _ => return Err(Error::new("it has an extension that is not known")),
        }
    }
    Ok(link)
}

fn read_link(body: &[u8], hash: Hash) -> Result<Option<Link>> {
    let mut input = Input { bytes: body, at: 0 };
    let base = Id::from_bytes(input.take(hash.size())?).ok_or_else(cut_short)?;
    if base.is_null() {
        return Ok(None);
    }
    let (mut deleted, mut replaced) = (Vec::new(), Vec::new());
    if input.at < body.len() {
        deleted = bitmap::read(&mut input)?;
        replaced = bitmap::read(&mut input)?;
    }
    Ok(Some(Link { base, deleted, replaced }))
}

/// Bytes, and how far they are read.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or_else(cut_short)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(cut_short)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        be32(self.take(4)?)
    }

    fn u16(&mut self) -> Result<u16> {
        let bytes = self.take(2)?;
        bytes.try_into().map(u16::from_be_bytes).map_err(|_| cut_short())
    }

    fn peek_until_nul(&self) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).ok_or_else(cut_short)?;
        let end = rest.iter().position(|b| *b == 0).ok_or_else(cut_short)?;
        rest.get(..end).ok_or_else(cut_short)
    }

    fn until_nul(&mut self) -> Result<&'a [u8]> {
        let text = self.peek_until_nul()?;
        self.take(text.len() + 1)?;
        Ok(text)
    }

    /// Git's number of variable length, where each further byte also counts one.
    fn varint(&mut self) -> Result<usize> {
        let mut value = 0usize;
        for round in 0.. {
            let byte = *self.take(1)?.first().ok_or_else(cut_short)?;
            if round > 0 {
                value = value.checked_add(1).ok_or_else(cut_short)?;
            }
            value = value.checked_mul(128).ok_or_else(cut_short)? | usize::from(byte & 127);
            if byte & 128 == 0 {
                break;
            }
        }
        Ok(value)
    }
}

fn be32(bytes: &[u8]) -> Result<u32> {
    bytes.first_chunk().map(|chunk| u32::from_be_bytes(*chunk)).ok_or_else(cut_short)
}

pub(super) fn cut_short() -> Error {
    Error::new("it ends too early or is damaged")
}
