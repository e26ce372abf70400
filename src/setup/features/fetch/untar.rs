//! Unpacks the archive of a feature. It is hostile: nothing lands outside, and nothing goes through a link.
//!
//! Plain files, directories and links only. Links are made last, when everything else is there, and none of them
//! can lead out: so no write can follow one.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// Bytes of an archive, packed or not.
const MOST_BYTES: u64 = 256 << 20;
const MOST_ENTRIES: usize = 20_000;
const BLOCK: usize = 512;

/// Reads an archive as it came.
pub(super) fn read_file(file: &Path) -> Result<Vec<u8>> {
    let opened = File::open(file).map_err(|e| Error::io("read", file, e))?;
    bounded(opened).map_err(|e| e.context("its archive"))
}

fn bounded(from: impl Read) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut content).map_err(|e| Error::new(crate::error::reason(&e)))?;
    if content.len() as u64 > MOST_BYTES { Err(Error::new("it is too large")) } else { Ok(content) }
}

/// Unpacks it, gzipped or not, into the empty directory `into`.
pub(super) fn unpack(archive: &[u8], into: &Path) -> Result<()> {
    let plain;
    let tar = if archive.starts_with(&[0x1f, 0x8b]) {
        plain = bounded(MultiGzDecoder::new(archive)).map_err(|e| e.context("its archive"))?;
        plain.as_slice()
    } else {
        archive
    };
    write(tar, into).map_err(|e| e.context("its archive"))
}

fn write(tar: &[u8], into: &Path) -> Result<()> {
    let mut links = Vec::new();
    for entry in Entries::new(tar) {
        let entry = entry?;
        let Some(path) = inner(&entry.path)? else { continue };
        let to = into.join(&path);
        let failed = |e| Error::io("write", &to, e);
        match entry.kind {
            b'5' => fs::create_dir_all(&to).map_err(failed)?,
            b'0' | b'\0' | b'7' => {
                fs::create_dir_all(to.parent().unwrap_or(into)).map_err(failed)?;
                let mode = if entry.mode & 0o111 == 0 { 0o644 } else { 0o755 };
                // A name that comes twice: tar lets the last one win.
                let _ = fs::remove_file(&to);
                let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&to).map_err(failed)?;
                file.write_all(entry.content).map_err(failed)?;
            }
            b'2' if stays_inside(&path, &entry.link) => links.push((path, entry.link)),
            b'2' => return Err(Error::new(format!("the link {} leads out of it", crate::error::show(&path)))),
            _ => return Err(Error::new(format!("{} is no plain file", crate::error::show(&path)))),
        }
    }
    for (path, target) in links {
        let at = into.join(&path);
        let failed = |e| Error::io("write", &at, e);
        if path.ancestors().skip(1).any(|dir| into.join(dir).is_symlink()) {
            return Err(Error::new(format!("{} lies behind a link", crate::error::show(&path))));
        }
        fs::create_dir_all(at.parent().unwrap_or(into)).map_err(failed)?;
        symlink(target, &at).map_err(failed)?;
    }
    Ok(())
}

/// A path with nothing but names in it; none for the root itself.
fn inner(path: &Path) -> Result<Option<PathBuf>> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            _ => return Err(Error::new(format!("{} leads out of it", crate::error::show(path)))),
        }
    }
    Ok(Some(out).filter(|out| !out.as_os_str().is_empty()))
}

/// Whether a link goes up no further than the root, and never up after it went down: there it could pass another link.
fn stays_inside(at: &Path, target: &Path) -> bool {
    let depth = at.components().count().saturating_sub(1);
    let ups = target.components().take_while(|part| *part == Component::ParentDir).count();
    let rest = target.components().skip(ups);
    ups <= depth && rest.into_iter().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

struct Entry<'a> {
    path: PathBuf,
    link: PathBuf,
    kind: u8,
    mode: u32,
    content: &'a [u8],
}

/// The entries of a tar, with the long names of both dialects.
struct Entries<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Entries<'a> {
    fn new(tar: &'a [u8]) -> Self {
        Self { rest: tar, left: MOST_ENTRIES }
    }

    /// The next header with its content; none at the end.
    fn block(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>> {
        let broken = || Error::new("it is broken");
        if self.rest.is_empty() {
            return Ok(None);
        }
        let header = self.rest.get(..BLOCK).ok_or_else(broken)?;
        if header.iter().all(|b| *b == 0) {
            return Ok(None);
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| Error::new("it has too many entries"))?;
        let blank = |at: usize| if (148..156).contains(&at) { b' ' } else { header[at] };
        let sum: u64 = (0..BLOCK).map(|at| u64::from(blank(at))).sum();
        if octal(&header[148..156]) != Some(sum) {
            return Err(broken());
        }
        let size = octal(&header[124..136]).and_then(|size| usize::try_from(size).ok()).ok_or_else(broken)?;
        let end = BLOCK.checked_add(size).ok_or_else(broken)?;
        let content = self.rest.get(BLOCK..end).ok_or_else(broken)?;
        self.rest = self.rest.get(end.next_multiple_of(BLOCK)..).unwrap_or_default();
        Ok(Some((header, content)))
    }

    fn read(&mut self) -> Result<Option<Entry<'a>>> {
        let (mut path, mut link) = (None, None);
        while let Some((header, content)) = self.block()? {
            match header[156] {
                b'g' => {}
                b'x' => {
                    for (key, value) in pax(content) {
                        match key {
                            b"path" => path = Some(as_path(value)),
                            b"linkpath" => link = Some(as_path(value)),
                            b"size" => return Err(Error::new("it has a file that is too large")),
                            _ => {}
                        }
                    }
                }
                b'L' => path = Some(as_path(until_zero(content))),
                b'K' => link = Some(as_path(until_zero(content))),
                kind => {
                    return Ok(Some(Entry {
                        path: path.unwrap_or_else(|| name(header)),
                        link: link.unwrap_or_else(|| as_path(until_zero(&header[157..257]))),
                        kind,
                        mode: octal(&header[100..108]).unwrap_or(0) as u32,
                        content,
                    }));
                }
            }
        }
        Ok(None)
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn name(header: &[u8]) -> PathBuf {
    let prefix = if &header[257..262] == b"ustar" && header[263] != b' ' { until_zero(&header[345..500]) } else { b"" };
    let name = as_path(until_zero(&header[..100]));
    if prefix.is_empty() { name } else { as_path(prefix).join(name) }
}

fn as_path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsStr::from_bytes(bytes).into()
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(until_zero(field)).ok()?.trim();
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

/// `length key=value\n`, again and again; ends where it is broken.
fn pax(mut content: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    while let Some(blank) = content.iter().position(|b| *b == b' ') {
        let length = std::str::from_utf8(&content[..blank]).ok().and_then(|text| text.parse::<usize>().ok());
        let Some(record) = length.and_then(|length| content.get(blank + 1..length)) else { break };
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        if let Some(at) = record.iter().position(|b| *b == b'=') {
            found.push((&record[..at], &record[at + 1..]));
        }
        content = length.and_then(|length| content.get(length..)).unwrap_or_default();
    }
    found
}
