//! New content, put beside its target and complete in every way before the target is touched.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::access_list;
use super::copy::Copier;
use super::crash;
use super::host::{Host, Place, modified_at};
use super::journal::MovedRecord;
use super::moved;
use super::plan::{Node, Source};
use crate::changes::merge::Merged;
use crate::changes::sides::Sides;
use crate::layer::Encoding;
use crate::layer::entry::Identity;
use crate::layer::marks::{self, Marks};

/// Something that was made, as it was when it was complete.
pub type Made = (PathBuf, Identity);

/// Something of the session's that does not land, in words.
pub type Dropped = (PathBuf, &'static str);

/// Makes new things.
pub struct Stage<'a> {
    host: &'a Host,
    /// Where the session's contents come from; nothing of an undo does.
    sides: Option<&'a Sides<'a>>,
    copier: Copier,
    /// Where the new files are, by the path that they will have.
    files: HashMap<PathBuf, Place>,
    /// Links to files that were not there yet.
    later: Vec<(PathBuf, PathBuf, Place)>,
    /// Everything that was made.
    pub made: Vec<Made>,
    /// What of the session's could not be carried over, in words.
    pub dropped: Vec<Dropped>,
}

impl<'a> Stage<'a> {
    /// For one transaction.
    pub fn new(host: &'a Host, sides: Option<&'a Sides<'a>>) -> Self {
        let copier = Copier::default();
        let (files, later, made, dropped) = (HashMap::new(), Vec::new(), Vec::new(), Vec::new());
        Self { host, sides, copier, files, later, made, dropped }
    }

    /// Makes the `node` of a step at `place`, by a move if that was decided and can be done.
    pub fn step(&mut self, node: &Node, place: &Place, moved: Option<&MovedRecord>) -> io::Result<()> {
        match moved {
            Some(record) if self.moved(node, place, record)? => self.note(&node.path, place),
            _ => self.make(node, place),
        }
    }

    fn moved(&self, node: &Node, place: &Place, record: &MovedRecord) -> io::Result<bool> {
        crash::point();
        let leaf = self.sides()?.session.leaf(&node.path)?.ok_or(io::ErrorKind::NotFound)?;
        let file = leaf.open(node.path.file_name().unwrap_or_default())?;
        as_judged(node, &Identity::from(&rustix::fs::fstat(&file)?))?;
        moved::link(&file, place, record)
    }

    /// Makes `node` at `place`.
    pub fn make(&mut self, node: &Node, place: &Place) -> io::Result<()> {
        crash::point();
        match &node.source {
            Source::File => self.file(node, place)?,
            Source::Merged => self.merged(node, place)?,
            Source::Part(bytes) => self.part(node, place, bytes)?,
            Source::Symlink => self.symlink(node, place)?,
            Source::Dir(_) => return self.dir(node, place),
            Source::LinkToHost(path) => place.link_to(&self.host.place(path)?)?,
            Source::LinkToNew(path) => match self.files.get(path) {
                Some(first) => place.link_to(first)?,
                None => {
                    self.later.push((node.path.clone(), path.clone(), place.clone()));
                    return Ok(());
                }
            },
            // The transaction itself brings these back.
            Source::Kept(_) => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.note(&node.path, place)
    }

    /// Makes the links whose files came later.
    pub fn finish(&mut self) -> io::Result<()> {
        for (path, first, place) in std::mem::take(&mut self.later) {
            let first = self.files.get(&first).ok_or(io::ErrorKind::NotFound)?;
            place.link_to(first)?;
            self.note(&path, &place)?;
        }
        Ok(())
    }

    fn note(&mut self, path: &Path, place: &Place) -> io::Result<()> {
        let found = place.find()?.ok_or(io::ErrorKind::NotFound)?;
        self.made.push((path.to_path_buf(), found.id));
        self.files.insert(path.to_path_buf(), place.clone());
        Ok(())
    }

    fn sides(&self) -> io::Result<&'a Sides<'a>> {
        self.sides.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    fn file(&mut self, node: &Node, place: &Place) -> io::Result<()> {
        let leaf = self.sides()?.session.leaf(&node.path)?.ok_or(io::ErrorKind::NotFound)?;
        let mut from = leaf.open(node.path.file_name().unwrap_or_default())?;
        let before = Identity::from(&rustix::fs::fstat(&from)?);
        as_judged(node, &before)?;
        let mut to = place.create()?;
        self.copier.copy(&mut from, &mut to)?;
        let marks = marks::read(from.as_fd(), leaf.encoding())?;
        for (name, value) in &marks.xattrs {
            marks::set(&to, name, value)?;
        }
        if Identity::from(&rustix::fs::fstat(&from)?) != before || to.metadata()?.len() != before.size {
            return Err(io::Error::other("the session's file changed while it was copied"));
        }
        let mode = self.lists(node, &marks, place, to.as_fd())?;
        finish_file(&to, mode, Some(before.mtime))
    }

    /// Leaves the session's access list out, unless the host has the same; gives the mode that goes with that.
    fn lists(&mut self, node: &Node, marks: &Marks, place: &Place, to: BorrowedFd<'_>) -> io::Result<u32> {
        let list = marks.acl.as_deref();
        let at_target = || self.host.place(&node.path).and_then(|target| target.acl());
        // The directory above gives new files a list of its own.
        let inherited = place.acl()?.is_some_and(|inherited| list.is_some_and(|l| access_list::is_same(l, &inherited)));
        let mut mode = node.mode;
        if let Some(list) = list.filter(|_| !inherited) {
            let hosts = at_target().ok().flatten().filter(|hosts| access_list::is_same(list, hosts));
            if hosts.is_none_or(|hosts| marks::set(to, marks::ACL.as_bytes(), &hosts).is_err()) {
                mode = access_list::mode_without(list, mode);
                self.dropped.push((node.path.clone(), access_list::LEFT_OUT));
            }
        }
        let dropped = marks.dropped.iter().filter(|what| !inherited || **what != marks::DEFAULT_LIST);
        self.dropped.extend(dropped.map(|what| (node.path.clone(), *what)));
        Ok(mode)
    }

    fn merged(&mut self, node: &Node, place: &Place) -> io::Result<()> {
        let leaf = self.sides()?.session.leaf(&node.path)?.ok_or(io::ErrorKind::NotFound)?;
        as_judged(node, &leaf.found.id)?;
        let (Merged::Clean(bytes) | Merged::Conflict(bytes)) =
            self.sides()?.merge(&node.path)?.ok_or(io::ErrorKind::NotFound)?
        else {
            return Err(io::Error::other("it holds no text that could be merged"));
        };
        let mut to = place.create()?;
        to.write_all(&bytes)?;
        // Attributes of both sides, the session's where both have one.
        let mut all = marks::read(self.host.place(&node.path)?.open()?.as_fd(), Encoding::Plain)?.xattrs;
        let leaf = self.sides()?.session.leaf(&node.path)?.ok_or(io::ErrorKind::NotFound)?;
        let file = leaf.open(node.path.file_name().unwrap_or_default())?;
        let marks = marks::read(file.as_fd(), leaf.encoding())?;
        all.extend(marks.xattrs.clone());
        for (name, value) in all {
            marks::set(&to, &name, &value)?;
        }
        let mode = self.lists(node, &marks, place, to.as_fd())?;
        finish_file(&to, mode, None)
    }

    /// Everything but the chosen lines stays the host's: its attributes and its access list too.
    fn part(&mut self, node: &Node, place: &Place, bytes: &[u8]) -> io::Result<()> {
        let leaf = self.sides()?.session.leaf(&node.path)?.ok_or(io::ErrorKind::NotFound)?;
        as_judged(node, &leaf.found.id)?;
        let mut to = place.create()?;
        to.write_all(bytes)?;
        if self.host.find(&node.path)?.is_some() {
            let marks = marks::read(self.host.place(&node.path)?.open()?.as_fd(), Encoding::Plain)?;
            for (name, value) in &marks.xattrs {
                marks::set(&to, name, value)?;
            }
            if let Some(list) = &marks.acl {
                marks::set(&to, marks::ACL.as_bytes(), list)?;
            }
        }
        finish_file(&to, node.mode, None)
    }

    fn symlink(&mut self, node: &Node, place: &Place) -> io::Result<()> {
        let leaf = self.sides()?.session.leaf(&node.path)?.ok_or(io::ErrorKind::NotFound)?;
        as_judged(node, &leaf.found.id)?;
        place.symlink(&leaf.target(node.path.file_name().unwrap_or_default())?)?;
        place.set_mtime(leaf.found.id.mtime)
    }

    fn dir(&mut self, node: &Node, place: &Place) -> io::Result<()> {
        let Source::Dir(children) = &node.source else { return Ok(()) };
        let dir = place.mkdir()?;
        for (name, child) in children {
            self.make(child, &Place::new(std::rc::Rc::clone(&dir), name.clone()))?;
        }
        let mut mode = node.mode;
        if let Some(session) = self.sides()?.session.dir(&node.path)? {
            mode = self.lists(node, session.marks(), place, dir.as_fd())?;
            for (name, value) in session.xattrs() {
                marks::set(&*dir, name, value)?;
            }
            let mtime = Identity::from(&rustix::fs::fstat(session.top().fd())?).mtime;
            rustix::fs::futimens(&*dir, &modified_at(mtime))?;
        }
        // A directory of a group keeps the bit that it inherits from the one above.
        let inherited = rustix::fs::fstat(&*dir)?.st_mode & 0o2000;
        rustix::fs::fchmod(&*dir, Mode::from_raw_mode(mode | inherited))?;
        let found = place.find()?.ok_or(io::ErrorKind::NotFound)?;
        self.made.push((node.path.clone(), found.id));
        Ok(())
    }
}

/// What lands is what was compared and judged, not what came in its place since.
fn as_judged(node: &Node, now: &Identity) -> io::Result<()> {
    match node.session {
        Some(then) if then != *now => Err(io::Error::other("the session's side changed after it was looked at")),
        _ => Ok(()),
    }
}

fn finish_file(file: &File, mode: u32, mtime: Option<i64>) -> io::Result<()> {
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    if let Some(mtime) = mtime {
        rustix::fs::futimens(file, &modified_at(mtime))?;
    }
    Ok(())
}
