//! What the host had before an apply, kept for an undo: moved where that is possible, else copied.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::copy::Copier;
use super::crash;
use super::duplicate::duplicate;
use super::host::{Host, Place};
use super::journal::Intent;

/// Where a transaction puts aside what the host had.
#[derive(Debug)]
pub struct Keeper {
    session_dir: PathBuf,
    /// `None`: it takes an apply back, so that what it replaces is not needed any more.
    pub(super) keeps: Option<PathBuf>,
    /// What the apply that it takes back had put aside.
    pub(super) kept: Option<PathBuf>,
}

impl Keeper {
    /// For a transaction.
    pub fn new(session_dir: &Path, intent: &Intent) -> Self {
        let dir = |id: &str| session_dir.join("undo").join(id);
        let (keeps, kept) = match &intent.undoes {
            Some(id) => (None, Some(dir(id))),
            None => (Some(dir(&intent.id)), None),
        };
        Self { session_dir: session_dir.to_path_buf(), keeps, kept }
    }

    /// The session's directory.
    pub(super) fn session_dir(&self) -> &Path {
        &self.session_dir
    }

    /// Makes the place while nothing has been touched yet: later there is no way back if it cannot be made.
    pub fn prepare(&self) -> io::Result<()> {
        self.keeps.as_ref().map_or(Ok(()), fs::create_dir_all)
    }

    /// Removes the place of a transaction that did not happen.
    pub(super) fn forget(&self) {
        if let Some(dir) = &self.keeps {
            let _ = fs::remove_dir(dir);
        }
    }

    /// Makes durable what was moved between the host and here, and what was noted beside it.
    pub(super) fn sync(&self, host: &Host) -> io::Result<()> {
        host.sync()?;
        let here = File::open(&self.session_dir)?;
        if rustix::fs::fstat(&here)?.st_dev == rustix::fs::fstat(host.root())?.st_dev {
            return Ok(());
        }
        let undo = self.session_dir.join("undo");
        for dir in self.keeps.iter().chain(&self.kept).chain([&undo]) {
            match File::open(dir) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                other => other?.sync_all()?,
            }
        }
        here.sync_all()
    }

    fn place(dir: &Path, number: usize) -> io::Result<Place> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Place::new(Rc::new(openat(CWD, dir, flags, Mode::empty())?), number.to_string()))
    }

    /// Brings back what an apply had put aside.
    pub fn bring_back(&self, number: usize, to: &Place) -> io::Result<()> {
        let dir = self.kept.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let from = Self::place(dir, number)?;
        if transfer(&from, to)? {
            // Half removed it must not be taken for whole: out of the way first. It goes with the rest of `undo/`.
            let spent = from.beside(format!("{number}.spent"));
            spent.remove()?;
            crash::point();
            from.rename(&spent)?;
        }
        crash::point();
        Ok(())
    }

    /// Takes it back again.
    pub(super) fn return_kept(&self, number: usize, from: &Place) -> io::Result<()> {
        let Some(dir) = &self.kept else { return Ok(()) };
        let place = Self::place(dir, number)?;
        match place.find()? {
            Some(_) => from.remove(),
            None => move_over(from, &place),
        }
    }

    /// Puts aside what the host had, or lets it go.
    pub(super) fn put_aside(&self, number: usize, from: &Place) -> io::Result<()> {
        let Some(dir) = &self.keeps else { return from.remove() };
        fs::create_dir_all(dir)?;
        let place = Self::place(dir, number)?;
        match place.find()? {
            // Copied before a crash; what is left is the original.
            Some(_) => from.remove(),
            None => move_over(from, &place),
        }
    }
}

/// Moves something to a place where nothing is, to another file system too.
pub(super) fn move_over(from: &Place, to: &Place) -> io::Result<()> {
    if transfer(from, to)? {
        crash::point();
        from.remove()?;
    }
    Ok(())
}

/// The name of a copy that is not complete yet.
pub(super) fn part_of(place: &Place) -> Place {
    place.beside(format!("{}.part", place.name().to_string_lossy()))
}

/// Moves something. To another file system it is copied, durably; true: the original is still there.
fn transfer(from: &Place, to: &Place) -> io::Result<bool> {
    match from.rename(to) {
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) => {}
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            // A read-only directory cannot get another parent.
            let mode = from.stat()?.st_mode & 0o7777;
            from.chmod(mode | 0o700)?;
            let moved = match from.rename(to) {
                Err(e) if e.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) => None,
                other => Some(other?),
            };
            crash::point();
            if moved.is_some() {
                return to.chmod(mode).map(|()| false);
            }
            from.chmod(mode)?;
        }
        other => return other.map(|()| false),
    }
    let part = part_of(to);
    part.remove()?;
    duplicate(from, &part, &mut Copier::default())?;
    crash::point();
    // A device that nobody but root can make is all that cannot be kept.
    if part.find()?.is_some() {
        part.rename(to)?;
        to.sync()?;
    }
    Ok(true)
}
