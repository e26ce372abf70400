//! Reads the upper layer against the repo. Costs O(changes), never a walk of the repo.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::compare::{link_target, same_content, user_xattrs};
use super::{Change, ChangeKind, ChangeSet, Meta};
use crate::layer::entry::{self, Kind, is_opaque, names, open_dir, stat};

/// No real tree is deeper: a path of the system has 4096 bytes at most.
const DEEPEST: usize = 2048;

/// Why an upper could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// What was being read.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Unreadable {
    /// Whether more rights would help.
    pub fn needs_access(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }
}

/// Reads the change set of `upper` over `repo`.
pub fn read(upper: &Path, repo: &Path) -> Result<ChangeSet, Unreadable> {
    let open = |path: &Path| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(CWD, path, flags, Mode::empty()).map_err(|e| Unreadable { path: path.to_path_buf(), source: e.into() })
    };
    raise_descriptor_limit();
    let (up, low) = (open(upper)?, open(repo)?);
    let mut walk = Walk { changes: Vec::new() };
    walk.root(&up, &low).map_err(|source| Unreadable { path: PathBuf::from("."), source })?;
    let merged = !is_opaque(&up).map_err(|source| Unreadable { path: PathBuf::from("."), source })?;
    walk.dir(up.as_fd(), Some(low.as_fd()), Path::new(""), merged)?;
    walk.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(ChangeSet { changes: walk.changes })
}

/// The usual limit of 1024 is for programs that use `select`.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

struct Walk {
    changes: Vec<Change>,
}

impl Walk {
    /// The overlay's root takes its mode from the upper: a chmod of it counts too.
    fn root(&mut self, up: &OwnedFd, low: &OwnedFd) -> io::Result<()> {
        let (new, old) = (Meta::from(&rustix::fs::fstat(up)?), Meta::from(&rustix::fs::fstat(low)?));
        if new.mode != old.mode {
            self.push(Path::new("."), ChangeKind::ModeChanged, Some(old), Some(new));
        }
        Ok(())
    }

    /// One directory of the upper. `merged`: what is below shines through where the upper has nothing.
    fn dir(
        &mut self,
        up: BorrowedFd<'_>,
        low: Option<BorrowedFd<'_>>,
        path: &Path,
        merged: bool,
    ) -> Result<(), Unreadable> {
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Unreadable { path: path.clone(), source }
        };
        // Each level costs two descriptors and its path once per entry: a command could make both run out.
        if path.components().count() > DEEPEST {
            let source = io::Error::other(format!("more than {DEEPEST} directories inside each other"));
            return Err(Unreadable { path: path.iter().take(8).collect(), source });
        }
        let upper_names = names(up).map_err(at(path))?;
        for name in &upper_names {
            let child = path.join(name);
            self.entry(up, low, name, &child, merged)?;
        }
        if let (false, Some(low)) = (merged, low) {
            // Replaced as a whole: what the upper does not have is gone.
            for name in names(low).map_err(at(path))? {
                if upper_names.binary_search(&name).is_err() {
                    self.deleted(low, &name, &path.join(&name))?;
                }
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        up: BorrowedFd<'_>,
        low: Option<BorrowedFd<'_>>,
        name: &OsStr,
        path: &Path,
        merged: bool,
    ) -> Result<(), Unreadable> {
        let failed = |source| Unreadable { path: path.to_path_buf(), source };
        let Some(new) = stat(up, name).map_err(failed)? else { return Ok(()) };
        let old = low.map_or(Ok(None), |low| stat(low, name)).map_err(failed)?;
        if new.whiteout {
            return match (low, old) {
                (Some(low), Some(_)) => self.deleted(low, name, path),
                _ => Ok(()),
            };
        }
        match (low, old) {
            (Some(low), Some(old)) if old.kind == new.kind => {
                if let Some(kind) = difference(up, low, name, old, new).map_err(failed)? {
                    self.push(path, kind, Some(old), Some(new));
                }
            }
            (Some(low), Some(old)) => {
                self.push(path, ChangeKind::TypeChanged, Some(old), Some(new));
                if old.kind == Kind::Dir {
                    let dir = open_dir(low, name).map_err(failed)?;
                    self.deleted_below(&dir, path)?;
                }
            }
            _ => self.push(path, ChangeKind::Added, None, Some(new)),
        }
        if new.kind == Kind::Dir {
            let dir = open_dir(up, name).map_err(failed)?;
            let below = match (low, old) {
                (Some(low), Some(old)) if old.kind == Kind::Dir => Some(open_dir(low, name).map_err(failed)?),
                _ => None,
            };
            let merged = merged && !is_opaque(&dir).map_err(failed)?;
            self.dir(dir.as_fd(), below.as_ref().map(AsFd::as_fd), path, merged)?;
        }
        Ok(())
    }

    /// A path that is gone, and all that was below it: deletions are listed in full.
    fn deleted(&mut self, low: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), Unreadable> {
        let failed = |source| Unreadable { path: path.to_path_buf(), source };
        let Some(old) = stat(low, name).map_err(failed)? else { return Ok(()) };
        self.push(path, ChangeKind::Deleted, Some(old), None);
        if old.kind == Kind::Dir {
            let dir = open_dir(low, name).map_err(failed)?;
            self.deleted_below(&dir, path)?;
        }
        Ok(())
    }

    fn deleted_below(&mut self, dir: &OwnedFd, path: &Path) -> Result<(), Unreadable> {
        for name in entry::names(dir.as_fd()).map_err(|source| Unreadable { path: path.to_path_buf(), source })? {
            self.deleted(dir.as_fd(), &name, &path.join(&name))?;
        }
        Ok(())
    }

    fn push(&mut self, path: &Path, kind: ChangeKind, old: Option<Meta>, new: Option<Meta>) {
        self.changes.push(Change { path: path.to_path_buf(), kind, old, new });
    }
}

/// How two entries of one type differ.
fn difference(
    up: BorrowedFd<'_>,
    low: BorrowedFd<'_>,
    name: &OsStr,
    old: Meta,
    new: Meta,
) -> io::Result<Option<ChangeKind>> {
    let same = match new.kind {
        Kind::File => {
            old.size == new.size
                && same_content(up, low, name)?
                && user_xattrs(up, name, false)? == user_xattrs(low, name, false)?
        }
        Kind::Dir => user_xattrs(up, name, true)? == user_xattrs(low, name, true)?,
        Kind::Symlink => return Ok((link_target(up, name)? != link_target(low, name)?).then_some(ChangeKind::Modified)),
        Kind::Fifo | Kind::Socket | Kind::Device => true,
    };
    Ok(match (same, old.mode == new.mode) {
        (false, _) => Some(ChangeKind::Modified),
        (true, false) => Some(ChangeKind::ModeChanged),
        (true, true) => None,
    })
}
