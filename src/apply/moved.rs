//! Large files: moved from the session's layer to the host instead of copied, and back by an undo.
//!
//! Until all has landed the file has both names, so that no way out of a transaction can lose it. Then the layer's goes,
//! and the session sees the file through the repo.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, Stat, StatxFlags, fchmod, fstat, futimens, statx};

use super::copy::Copier;
use super::crash;
use super::duplicate::duplicate;
use super::host::{Host, Place, may_change_names, modified_at};
use super::journal::MovedRecord;
use super::keeper::part_of;
use super::plan::{Node, Plan, Source};
use super::space::taken;
use crate::changes::base::{Base, Moved};
use crate::changes::sides::{Reader, Sides};
use crate::layer::Encoding;
use crate::layer::entry::{Found, Identity};
use crate::layer::stack::Dir;
use crate::layer::{idle, marks};

/// Smaller ones are copied: that costs little, and the session keeps what it wrote.
const SMALLEST: u64 = 16 << 20;

/// Attributes with their values.
type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// A mark of the overlay.
const MARK: &[u8] = b"user.overlay.";

/// What is moved instead of copied.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// By step.
    pub(super) steps: HashMap<usize, MovedRecord>,
    /// Bytes that need no room.
    pub(super) bytes: u64,
}

impl Moves {
    /// Decides between move and copy, for everything that lands.
    pub(super) fn decide(plan: &Plan, host: &Host, sides: &Sides<'_>, base: &Base, session_dir: &Path) -> Self {
        let mut moves = Self::default();
        for (number, step) in plan.steps.iter().enumerate() {
            let Some(node) = step.node().filter(|node| is_large(node)) else { continue };
            // What cannot be told is copied, and that says why.
            if let Ok(Some((was, marks, bytes))) = as_it_is(node, host, sides, session_dir) {
                let was = base.before_moves(&node.path, was);
                moves.steps.insert(number, MovedRecord { was, marks });
                moves.bytes = moves.bytes.saturating_add(bytes);
            }
        }
        // Asked last, for it is not cheap.
        let may = moves.steps.is_empty() || idle::is_idle(session_dir, host.path());
        if may { moves } else { Self::default() }
    }
}

fn is_large(node: &Node) -> bool {
    node.source == Source::File && node.session.is_some_and(|id| id.size >= crash::moved_from(SMALLEST))
}

/// A file that can land as it is: a copy would be the same in every way, nobody else has a name of it, and the session
/// would see it in its place. With its marks, and the bytes that a copy would take.
fn as_it_is(
    node: &Node,
    host: &Host,
    sides: &Sides<'_>,
    session_dir: &Path,
) -> io::Result<Option<(Identity, Xattrs, u64)>> {
    let Some((leaf, name)) = sides.session.leaf(&node.path)?.zip(node.path.file_name()) else { return Ok(None) };
    if leaf.found.links != 1 || leaf.encoding() != Encoding::Userxattr || !sides.would_see_host(&leaf, &node.path)? {
        return Ok(None);
    }
    let (file, upper) = (leaf.open(name)?, Upper::open(session_dir)?);
    let stat = fstat(&file)?;
    let is_movable = node.session == Some(Identity::from(&stat))
        && upper.0.find(&node.path)?.is_some_and(|found| found.id == leaf.found.id)
        && may_change_names(&*upper.0.dir(parent(&node.path))?)
        && is_as_copied(node, host, &stat)?
        && has_no_flags(&file)?;
    let marks = if is_movable { marks_of(&file)? } else { None };
    Ok(marks.map(|marks| (leaf.found.id, marks, taken(&leaf.found))))
}

/// Whether it has the owner and the permission bits that a copy would get. Marks can be taken only from what may be
/// written.
fn is_as_copied(node: &Node, host: &Host, stat: &Stat) -> io::Result<bool> {
    let dir = host.dir(parent(&node.path))?;
    let above = fstat(&*dir)?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let wanted = match host.place(&node.path)?.stat() {
        Ok(old) => (old.st_uid, old.st_gid),
        Err(_) if above.st_mode & 0o2000 != 0 => (user, above.st_gid),
        Err(_) => (user, group),
    };
    Ok(stat.st_uid == user
        && (stat.st_uid, stat.st_gid) == wanted
        && stat.st_mode & 0o7777 == node.mode
        && node.mode & 0o600 == 0o600
        && stat.st_dev == above.st_dev
        && !marks::list(dir.as_fd())?.iter().any(|name| name == marks::DEFAULT_ACL.as_bytes()))
}

/// Whether nothing is set on it that a copy would not have: append-only, sealed, not to be dumped.
fn has_no_flags(file: &File) -> io::Result<bool> {
    Ok(statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?.stx_attributes.is_empty())
}

/// The overlay's marks on a file; `None`: it has attributes that do not land.
fn marks_of(file: &File) -> io::Result<Option<Xattrs>> {
    if !marks::read(file.as_fd(), Encoding::Userxattr)?.dropped.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for name in marks::list(file.as_fd())? {
        if name.starts_with(MARK) {
            found.extend(marks::get(file.as_fd(), &name)?.map(|value| (name, value)));
        } else if !name.starts_with(b"user.") {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// Gives the session's open file a name on the host, without marks. False: that cannot be, and nothing was done.
pub(super) fn link(file: &File, to: &Place, record: &MovedRecord) -> io::Result<bool> {
    if to.link_to_open(file).is_err() {
        return Ok(false);
    }
    crash::point();
    for (name, _) in &record.marks {
        rustix::fs::fremovexattr(file, name.as_slice())?;
        crash::point();
    }
    Ok(true)
}

/// When all has landed: the layer's name goes. Tells what became of the file.
pub(super) fn leave(host: &Host, session_dir: &Path, path: &Path, record: &MovedRecord) -> io::Result<Option<Moved>> {
    let upper = Upper::open(session_dir)?;
    let has_landed = host.find(path)?.is_some_and(|found| found.id.inode == record.was.inode);
    match upper.find(path, record)? {
        Some(_) if has_landed => upper.quietly(path, Place::remove)?,
        // Cut off before, and the host has put something else there since.
        Some(_) => return upper.own(path, record).map(Some),
        None => {}
    }
    crash::point();
    Ok(Some(Moved { was: record.was, back: None }))
}

/// The way back: `from` the host, unless the session has something else there by now, or where nothing has landed.
pub(super) fn come_back(
    session_dir: &Path,
    path: &Path,
    from: Option<&Place>,
    record: &MovedRecord,
) -> io::Result<Option<Moved>> {
    let upper = Upper::open(session_dir)?;
    match from {
        Some(from) if upper.is_free(path)? => upper.quietly(path, |to| super::keeper::move_over(from, to))?,
        Some(from) => from.remove()?,
        None => {}
    }
    crash::point();
    match upper.find(path, record)? {
        Some(_) => upper.own(path, record).map(Some),
        None => Ok(None),
    }
}

/// The session's layer.
struct Upper(Host);

impl Upper {
    fn open(session_dir: &Path) -> io::Result<Self> {
        Host::open(&session_dir.join("upper")).map(Self)
    }

    /// The file, if it is there.
    fn find(&self, path: &Path, record: &MovedRecord) -> io::Result<Option<Found>> {
        Ok(self.0.find(path)?.filter(|found| found.id.inode == record.was.inode))
    }

    /// Whether the session has left the path alone: it sees there what the host has.
    fn is_free(&self, path: &Path) -> io::Result<bool> {
        let reader = Reader::new(Dir::root(&[(self.0.path(), Encoding::Userxattr)])?);
        // Where it has lost a directory on the way, it has lost the file too.
        Ok(reader.dir(parent(path))?.is_some() && reader.is_open_at(path)?)
    }

    /// Does something in a directory of the layer that is not the session's doing: its looks stay.
    fn quietly(&self, path: &Path, work: impl FnOnce(&Place) -> io::Result<()>) -> io::Result<()> {
        let dir = self.0.dir(parent(path))?;
        let before = Identity::from(&fstat(&*dir)?);
        let closed = !may_change_names(&*dir);
        if closed {
            fchmod(&*dir, Mode::from_raw_mode(before.permissions() | 0o700))?;
        }
        let done = work(&self.0.place(path)?);
        if closed {
            fchmod(&*dir, Mode::from_raw_mode(before.permissions()))?;
        }
        futimens(&*dir, &modified_at(before.mtime))?;
        done
    }

    /// Makes the file the session's alone, with its marks: a name that the host has given it must not lead into the layer.
    fn own(&self, path: &Path, record: &MovedRecord) -> io::Result<Moved> {
        let place = self.0.place(path)?;
        if place.stat()?.st_nlink > 1 {
            self.quietly(path, unshare)?;
        }
        let file = place.open()?;
        for (name, value) in &record.marks {
            if marks::get(file.as_fd(), name)?.as_ref() != Some(value) {
                marks::set(&file, name, value)?;
            }
        }
        Ok(Moved { was: record.was, back: Some(Identity::from(&fstat(&file)?)) })
    }
}

/// Puts a copy in the place of a file.
fn unshare(place: &Place) -> io::Result<()> {
    let part = part_of(place);
    part.remove()?;
    duplicate(place, &part, &mut Copier::default())?;
    if !part.exchange(place)? {
        place.remove()?;
        return part.rename(place);
    }
    part.remove()
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
