//! A stack of layers, looked at one directory at a time. Nothing is followed, nothing can block.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::Encoding;
use super::entry::{Found, Kind, find, names, open_dir, open_file};
use super::marks::{self, Marks, Name};

/// One layer's part of a directory.
#[derive(Debug)]
pub struct Part {
    fd: OwnedFd,
    encoding: Encoding,
    marks: Marks,
}

/// A directory of a stack: the parts that make it up, the topmost first. Never empty.
#[derive(Debug)]
pub struct Dir {
    parts: Vec<Part>,
    /// Whether what lies below the stack shines through.
    pub open_below: bool,
}

/// What a stack has under a name.
#[derive(Debug)]
pub enum Entry {
    /// Nothing, and nothing hides what lies below the stack.
    Nothing,
    /// It is deleted: nothing shines through.
    Deleted,
    /// A file, link or special file; `part` is the layer's directory that holds it.
    Leaf {
        /// Index of the part of the directory.
        part: usize,
        /// As `lstat` has it.
        found: Found,
    },
    /// A directory with its looks, which are those of its topmost part.
    Dir(Dir, Found),
}

impl Part {
    fn open(fd: OwnedFd, encoding: Encoding) -> io::Result<Self> {
        let mut marks = marks::read(fd.as_fd(), encoding)?;
        if encoding == Encoding::Fuse {
            marks.opaque |= names(fd.as_fd())?.iter().any(|name| marks::name(name, encoding) == Name::Opaque);
        }
        Ok(Self { fd, encoding, marks })
    }

    /// The directory itself.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// How its layer writes marks.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The entry that this layer has; `Deleted` for a whiteout.
    fn entry(&self, name: &OsStr) -> io::Result<Option<Option<Found>>> {
        let Some(mut found) = find(self.fd(), name)? else {
            let whiteout = || [&b".wh."[..], name.as_encoded_bytes()].concat();
            let deleted = self.encoding == Encoding::Fuse && {
                use std::os::unix::ffi::OsStrExt;
                find(self.fd(), OsStr::from_bytes(&whiteout()))?.is_some()
            };
            return Ok(deleted.then_some(None));
        };
        if marks::is_whiteout(self.fd(), name, &found, &self.marks, self.encoding)? {
            return Ok(Some(None));
        }
        if self.encoding == Encoding::Plain {
            found.meta.whiteout = false;
        }
        if self.encoding == Encoding::Fuse && found.meta.kind == Kind::File {
            let marks = marks::read(open_file(self.fd(), name)?.as_fd(), self.encoding)?;
            found.meta.mode = marks.mode.unwrap_or(found.meta.mode);
        }
        Ok(Some(Some(found)))
    }
}

impl Dir {
    /// The root of a stack: paths of layers with their encodings, the topmost first.
    pub fn root(layers: &[(&Path, Encoding)]) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut dir = Self { parts: Vec::new(), open_below: true };
        for (path, encoding) in layers {
            dir.parts.push(Part::open(openat(CWD, *path, flags, Mode::empty())?, *encoding)?);
            if dir.parts.last().is_some_and(|part| part.marks.opaque) {
                dir.open_below = false;
                break;
            }
        }
        Ok(dir)
    }

    /// The parts, the topmost first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The topmost part, whose looks are the directory's.
    pub fn top(&self) -> &Part {
        // A directory is only ever made with its first part in hand.
        &self.parts[0]
    }

    /// The marks of the topmost part.
    pub fn marks(&self) -> &Marks {
        &self.top().marks
    }

    /// The user's attributes of the directory.
    pub fn xattrs(&self) -> &std::collections::BTreeMap<Vec<u8>, Vec<u8>> {
        &self.top().marks.xattrs
    }

    /// Every name that some layer has something to say about, sorted by bytes.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        if let [only] = self.parts.as_slice() {
            let all = names(only.fd())?;
            if only.encoding != Encoding::Fuse {
                return Ok(all);
            }
        }
        let mut all = BTreeSet::new();
        for part in &self.parts {
            for name in names(part.fd())? {
                match marks::name(&name, part.encoding) {
                    Name::Plain(name) | Name::Whiteout(name) => {
                        all.insert(name.to_owned());
                    }
                    Name::Opaque => {}
                }
            }
        }
        Ok(all.into_iter().collect())
    }

    /// What the stack has under `name`.
    pub fn entry(&self, name: &OsStr) -> io::Result<Entry> {
        let mut dir: Option<(Dir, Found)> = None;
        for (number, part) in self.parts.iter().enumerate() {
            let found = match (part.entry(name)?, &dir) {
                (None, _) => continue,
                (Some(Some(found)), _) if found.meta.kind == Kind::Dir => found,
                (Some(Some(found)), None) => return Ok(Entry::Leaf { part: number, found }),
                (Some(None), None) => return Ok(Entry::Deleted),
                // Below a directory, a whiteout or a file ends what it merges with.
                (Some(_), Some(_)) => return Ok(closed(dir)),
            };
            let below = Part::open(open_dir(part.fd(), name)?, part.encoding)?;
            let opaque = below.marks.opaque;
            match &mut dir {
                None => {
                    let mut found = found;
                    if let Some(mode) = below.marks.mode {
                        found.meta.mode = mode;
                    }
                    dir = Some((Dir { parts: vec![below], open_below: self.open_below }, found));
                }
                Some((dir, _)) => dir.parts.push(below),
            }
            if opaque {
                return Ok(closed(dir));
            }
        }
        Ok(match dir {
            Some((dir, found)) => Entry::Dir(dir, found),
            None if self.open_below => Entry::Nothing,
            None => Entry::Deleted,
        })
    }
}

fn closed(dir: Option<(Dir, Found)>) -> Entry {
    match dir {
        Some((mut dir, found)) => {
            dir.open_below = false;
            Entry::Dir(dir, found)
        }
        None => Entry::Deleted,
    }
}
