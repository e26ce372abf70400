//! Both sides of a change, read from the layers themselves. No link is followed on the way.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Change;
use super::base::{Base, Kept, Xattrs};
use super::compare::link_target;
use super::contents::{Content, Contents, LARGEST};
use super::judge::merge_xattrs;
use super::merge::{Merged, merge};
use super::read::{Layers, Unreadable};
use super::risk::Links;
use crate::layer::Encoding;
use crate::layer::entry::{Found, Identity, Kind, open_file};
use crate::layer::marks;
use crate::layer::stack::{Dir, Entry};

/// One file, link or special file of a stack, with the directory that holds it.
#[derive(Debug)]
pub struct Leaf {
    dir: Rc<Dir>,
    part: usize,
    /// As `lstat` has it.
    pub found: Found,
}

impl Leaf {
    /// Opens it: a regular file only.
    pub fn open(&self, name: &OsStr) -> io::Result<File> {
        open_file(self.dir.parts()[self.part].fd(), name)
    }

    /// Where it leads: a link only.
    pub fn target(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        link_target(self.dir.parts()[self.part].fd(), name)
    }

    /// How its layer writes marks.
    pub fn encoding(&self) -> Encoding {
        self.dir.parts()[self.part].encoding()
    }
}

/// A stack that is read at many places, mostly one directory after the other.
#[derive(Debug)]
pub struct Reader {
    root: Rc<Dir>,
    last: RefCell<(PathBuf, Rc<Dir>)>,
}

impl Reader {
    /// From the root of a stack.
    pub fn new(root: Dir) -> Self {
        let root = Rc::new(root);
        Self { last: RefCell::new((PathBuf::new(), Rc::clone(&root))), root }
    }

    /// The directory at `path`; `None` if there is none.
    pub fn dir(&self, path: &Path) -> io::Result<Option<Rc<Dir>>> {
        if path == Path::new(".") || path.as_os_str().is_empty() {
            return Ok(Some(Rc::clone(&self.root)));
        }
        if self.last.borrow().0 == path {
            return Ok(Some(Rc::clone(&self.last.borrow().1)));
        }
        // Mostly it lies below the last one: in a deep tree each walk from the root would cost all of its depth.
        let (start, mut dir) = self.last.borrow().clone();
        let rest = path.strip_prefix(&start).unwrap_or_else(|_| {
            dir = Rc::clone(&self.root);
            path
        });
        for part in rest {
            dir = match dir.entry(part)? {
                Entry::Dir(dir, _) => Rc::new(dir),
                _ => return Ok(None),
            };
        }
        *self.last.borrow_mut() = (path.to_path_buf(), Rc::clone(&dir));
        Ok(Some(dir))
    }

    /// Whether the stack has nothing to say about `path`: what lies below it shines through.
    pub fn is_open_at(&self, path: &Path) -> io::Result<bool> {
        let (mut dir, mut parts) = (Rc::clone(&self.root), path.iter().peekable());
        while let Some(part) = parts.next() {
            dir = match dir.entry(part)? {
                Entry::Nothing => return Ok(true),
                Entry::Dir(dir, _) if parts.peek().is_some() => Rc::new(dir),
                _ => return Ok(false),
            };
        }
        Ok(false)
    }

    /// Permission bits of the directory at `path`.
    pub fn mode_of_dir(&self, path: &Path) -> io::Result<Option<u32>> {
        let Some(dir) = self.dir(path)? else { return Ok(None) };
        Ok(Some(rustix::fs::fstat(dir.top().fd())?.st_mode & 0o7777))
    }

    /// What is at `path`, unless that is a directory or nothing.
    pub fn leaf(&self, path: &Path) -> io::Result<Option<Leaf>> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Some(dir) = self.dir(parent)? else { return Ok(None) };
        Ok(match dir.entry(name)? {
            Entry::Leaf { part, found } => Some(Leaf { dir, part, found }),
            _ => None,
        })
    }

    /// The access list of the file at `path`.
    pub fn acl(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let (Some(leaf), Some(name)) = (self.leaf(path)?, path.file_name()) else { return Ok(None) };
        Ok(match leaf.found.meta.kind {
            Kind::File => marks::read(leaf.open(name)?.as_fd(), leaf.encoding())?.acl,
            _ => None,
        })
    }

    /// The content of a file, or where a link leads; `None` for everything else.
    pub fn content(&self, path: &Path) -> io::Result<Option<Content>> {
        let (Some(leaf), Some(name)) = (self.leaf(path)?, path.file_name()) else { return Ok(None) };
        Ok(match leaf.found.meta.kind {
            Kind::File if leaf.found.meta.size > LARGEST => Some(Content::Large),
            Kind::File => {
                let mut bytes = Vec::with_capacity(leaf.found.meta.size as usize);
                leaf.open(name)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
                // It may grow while it is read.
                Some(if bytes.len() as u64 > LARGEST { Content::Large } else { Content::Bytes(bytes) })
            }
            Kind::Symlink => Some(Content::Bytes(leaf.target(name)?)),
            Kind::Dir | Kind::Fifo | Kind::Socket | Kind::Device => None,
        })
    }
}

/// Opens the file at `path` of a stack.
pub fn open(root: &Dir, path: &Path) -> io::Result<File> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let name = path.file_name().ok_or_else(missing)?;
    let mut held: Option<Dir> = None;
    for part in path.parent().into_iter().flatten() {
        held = match held.as_ref().unwrap_or(root).entry(part)? {
            Entry::Dir(dir, _) => Some(dir),
            _ => return Err(missing()),
        };
    }
    let dir = held.as_ref().unwrap_or(root);
    match dir.entry(name)? {
        Entry::Leaf { part, .. } => open_file(dir.parts()[part].fd(), name),
        _ => Err(missing()),
    }
}

/// Both sides of a session.
#[derive(Debug)]
pub struct Sides<'a> {
    /// What it stands on.
    pub host: Reader,
    /// What it wrote.
    pub session: Reader,
    /// What preparing had written before.
    setup: Option<Reader>,
    base: &'a Base,
    name: String,
}

impl<'a> Sides<'a> {
    /// Opens them; `name` is the session's, for the labels of conflicts.
    pub fn open(layers: &Layers, base: &'a Base, name: &str) -> Result<Self, Unreadable> {
        Ok(Self {
            host: Reader::new(layers.below_root()?),
            session: Reader::new(layers.session_root()?),
            setup: layers.setup_root()?.map(Reader::new),
            base,
            name: name.to_owned(),
        })
    }

    /// The attributes that a directory of both will have. What both changed is the session's: the conflict has been
    /// decided for it.
    pub fn xattrs_of_dir(&self, path: &Path) -> io::Result<Option<Xattrs>> {
        let (Some(host), Some(session)) = (self.host.dir(path)?, self.session.dir(path)?) else { return Ok(None) };
        let now = Identity::from(&rustix::fs::fstat(host.top().fd())?);
        let saw = self.base.looks(path, &now, host.xattrs(), true);
        let merged = saw.and_then(|saw| merge_xattrs(saw.xattrs, host.xattrs(), session.xattrs()).ok());
        Ok(Some(merged.unwrap_or_else(|| session.xattrs().clone())))
    }

    /// Whether the session would see what the host has at the `path` of a leaf, if it had nothing there itself.
    pub fn would_see_host(&self, leaf: &Leaf, path: &Path) -> io::Result<bool> {
        let setup = self.setup.as_ref().map_or(Ok(true), |setup| setup.is_open_at(path))?;
        Ok(setup && leaf.dir.open_below && leaf.dir.parts().len() == 1)
    }

    /// What comes of merging both sides of a file; `None` where one of them has no text to merge.
    pub fn merge(&self, path: &Path) -> io::Result<Option<Merged>> {
        let (Some(Content::Bytes(host)), Some(Content::Bytes(session))) =
            (self.host.content(path)?, self.session.content(path)?)
        else {
            return Ok(None);
        };
        let base = match self.prepared(path)? {
            Some(Content::Bytes(prepared)) => Some(Kept::Seen(prepared)),
            _ => self.base.content(path)?,
        };
        Ok(Some(merge(base.as_ref(), &host, &session, &self.name)))
    }
}

impl Sides<'_> {
    /// What preparing left at `path`.
    fn prepared(&self, path: &Path) -> io::Result<Option<Content>> {
        self.setup.as_ref().map_or(Ok(None), |setup| setup.content(path))
    }
}

impl Links for Sides<'_> {
    fn link_at(&self, path: &Path) -> Option<Vec<u8>> {
        let leaf = self.host.leaf(path).ok()??;
        (leaf.found.meta.kind == Kind::Symlink).then(|| leaf.target(path.file_name()?).ok())?
    }
}

impl Contents for Sides<'_> {
    fn host_side(&self, change: &Change) -> Result<Option<Content>, Unreadable> {
        let path = change.from.as_ref().unwrap_or(&change.path);
        let content = match self.host.content(path) {
            // What preparing made, the session changed: that is all there is to compare with.
            Ok(None) if change.host.is_none() && change.old.is_some() => self.prepared(path),
            other => other,
        };
        content.map_err(|source| Unreadable { path: path.clone(), source })
    }

    fn session_side(&self, change: &Change) -> Result<Option<Content>, Unreadable> {
        let failed = |source| Unreadable { path: change.path.clone(), source };
        if change.merged
            && let Some(Merged::Clean(merged)) = self.merge(&change.path).map_err(failed)?
        {
            return Ok(Some(Content::Bytes(merged)));
        }
        self.session.content(&change.path).map_err(failed)
    }
}
