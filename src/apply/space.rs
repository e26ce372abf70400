//! Whether there is room for a transaction, asked before it begins.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{AtFlags, Statx, StatxFlags, fstatvfs, statx};

use super::host::{Host, Place, is_missing};
use super::journal::Intent;
use super::plan::{Plan, Source, Step};
use super::transaction::Failure;
use crate::layer::entry::{Found, Kind, names};

/// What is left over is for the directories, and for the journal.
const SPARE: u64 = 16 << 20;

/// Up to here it does not matter whether a file has holes.
const LARGE: u64 = 1 << 20;

/// What everything takes at least.
const BLOCK: u64 = 4096;

/// Refuses a transaction for which there is no room. What the host had is moved to the session and back where that
/// is possible; between two mounts it is copied, and that needs room as well. `undoes`: the apply that it takes back.
/// `moved`: bytes of the plan's that are moved if that is possible.
pub fn check(host: &Host, session_dir: &Path, plan: &Plan, moved: u64, undoes: Option<&Intent>) -> Result<(), Failure> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |e: io::Error| Failure::Io(path, e)
    };
    let session = File::open(session_dir).map_err(at(session_dir))?;
    let (mut here, mut there) = (plan.bytes, 0);
    let apart = Apart::of(host.root(), session.as_fd()).map_err(at(session_dir))?;
    if apart != Apart::No {
        match undoes {
            Some(intent) => {
                let kept = session_dir.join("undo").join(&intent.id);
                here += brought_back(plan, &kept).map_err(at(&kept))?;
            }
            None => there = put_aside(plan, host).map_err(at(host.path()))?,
        }
    }
    if apart == Apart::No {
        here = here.saturating_sub(moved);
    }
    if apart == Apart::Mounts {
        (here, there) = (here + there, 0);
    }
    fits(host.path(), host.root(), here)?;
    fits(session_dir, session.as_fd(), there)
}

/// What lies between the repo and the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// Nothing: things can be moved.
    No,
    /// They are two mounts of one file system.
    Mounts,
    /// They are two file systems.
    FileSystems,
}

impl Apart {
    fn of(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> io::Result<Self> {
        let look = |fd| statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID);
        let (a, b) = (look(a)?, look(b)?);
        let device = |of: &Statx| (of.stx_dev_major, of.stx_dev_minor);
        // Kernels before 5.8 do not tell: 0.
        Ok(match (device(&a) == device(&b), a.stx_mnt_id == b.stx_mnt_id) {
            (true, true) => Apart::No,
            (true, false) => Apart::Mounts,
            (false, _) => Apart::FileSystems,
        })
    }
}

fn fits(path: &Path, fd: BorrowedFd<'_>, needed: u64) -> Result<(), Failure> {
    let stat = fstatvfs(fd).map_err(|e| Failure::Io(path.to_path_buf(), e.into()))?;
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if needed > 0 && needed.saturating_add(SPARE) > free {
        return Err(Failure::Space { at: path.to_path_buf(), needed, free });
    }
    Ok(())
}

/// Bytes that the host's side will take in the session.
fn put_aside(plan: &Plan, host: &Host) -> io::Result<u64> {
    let mut size = Size::default();
    for step in plan.steps.iter().filter(|step| step.old().is_some()) {
        match host.place(step.path()) {
            Err(e) if is_missing(&e) => {}
            place => size.add(place?)?,
        }
    }
    Ok(size.bytes)
}

/// Bytes that what was kept will take in the repo.
fn brought_back(plan: &Plan, kept: &Path) -> io::Result<u64> {
    let numbers = plan.steps.iter().filter_map(Step::node).filter_map(|node| match node.source {
        Source::Kept(number) => Some(number.to_string()),
        _ => None,
    });
    let mut numbers = numbers.peekable();
    if numbers.peek().is_none() {
        return Ok(0);
    }
    let dir = Rc::new(File::open(kept)?.into());
    let mut size = Size::default();
    for number in numbers {
        size.add(Place::new(Rc::clone(&dir), number))?;
    }
    Ok(size.bytes)
}

/// Bytes that copies will take.
#[derive(Debug, Default)]
struct Size {
    bytes: u64,
    /// Files with several names that have been counted.
    seen: HashSet<u64>,
}

impl Size {
    fn add(&mut self, place: Place) -> io::Result<()> {
        let mut left = vec![place];
        while let Some(place) = left.pop() {
            let Some(found) = place.find()? else { continue };
            if found.meta.kind != Kind::Dir && found.links > 1 && !self.seen.insert(found.id.inode) {
                continue;
            }
            self.bytes = self.bytes.saturating_add(taken(&found));
            if found.meta.kind == Kind::Dir {
                match place.open_dir() {
                    // Closed to its owner: nothing is written yet, so it is not opened for this.
                    Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
                    dir => {
                        let dir = dir?;
                        left.extend(names(dir.as_fd())?.into_iter().map(|name| Place::new(Rc::clone(&dir), name)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a copy will take: holes stay holes.
pub(super) fn taken(found: &Found) -> u64 {
    let whole = found.meta.size.div_ceil(BLOCK) * BLOCK;
    match found.meta.kind {
        Kind::File if whole > LARGE => found.allocated.min(whole),
        Kind::File => whole,
        _ => BLOCK,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_copy_takes_every_file_once_and_no_holes() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("sub")).unwrap();
        fs::write(tree.join("sub/small"), "x").unwrap();
        fs::hard_link(tree.join("sub/small"), tree.join("again")).unwrap();
        File::create(tree.join("holes")).unwrap().set_len(1 << 40).unwrap();
        let open = Rc::new(File::open(dir.path()).unwrap().into());
        let mut size = Size::default();
        size.add(Place::new(Rc::clone(&open), "tree")).unwrap();
        size.add(Place::new(open, "missing")).unwrap();
        assert!(size.bytes >= 3 * BLOCK && size.bytes < 1 << 20, "{}", size.bytes);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let open = File::open(dir.path()).unwrap();
        assert!(fits(dir.path(), open.as_fd(), 0).is_ok());
        match fits(dir.path(), open.as_fd(), u64::MAX) {
            Err(Failure::Space { at, needed: u64::MAX, .. }) => assert_eq!(at, dir.path()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_directory_is_not_apart_from_another_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        let (a, b) = (File::open(a).unwrap(), File::open(b).unwrap());
        assert_eq!(Apart::of(a.as_fd(), b.as_fd()).unwrap(), Apart::No);
        let proc = File::open("/proc/self").unwrap();
        assert_eq!(Apart::of(a.as_fd(), proc.as_fd()).unwrap(), Apart::FileSystems);
    }
}
