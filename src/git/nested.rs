//! Repositories with a `.git` of their own inside of the working tree: submodules of the old kind, and clones.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::dir::Dir;
use crate::layer::entry::open_dir;

/// As many levels down are looked at.
const DEEPEST: usize = 64;

/// Working trees below `root`, relative to it, whose `.git` the session wrote to and the host has. Goes only where both
/// have a directory: what is new to the host holds no repository of the host's.
pub fn find(root: &Path, upper: &Path, most: usize) -> io::Result<Vec<PathBuf>> {
    let Some(Dir::Strict(top)) = Dir::strict(upper)? else { return Ok(Vec::new()) };
    let mut walk = Walk { root, most, found: Vec::new() };
    walk.below(top, Path::new(""), 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    root: &'a Path,
    most: usize,
    found: Vec<PathBuf>,
}

impl Walk<'_> {
    fn below(&mut self, dir: OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        for name in directories(dir.as_fd())? {
            let below = path.join(&name);
            // Not through a link of the host's: it could lead to a repository elsewhere.
            if !is_directory(&self.root.join(&below)) {
                continue;
            }
            if name == ".git" {
                // The root's own is known already.
                if depth > 0 && is_repository(&self.root.join(&below)) {
                    self.found.push(path.to_path_buf());
                }
                if self.found.len() > self.most {
                    return Err(io::Error::other(format!("more than {} repositories were written to", self.most)));
                }
            } else if depth < DEEPEST {
                // One that cannot be entered is no reason to miss the others.
                if let Ok(next) = open_dir(dir.as_fd(), &name) {
                    self.below(next, &below, depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Names of the directories in one.
fn directories(dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) && name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

fn is_repository(gitdir: &Path) -> bool {
    gitdir.join("HEAD").is_file() && gitdir.join("objects").is_dir()
}
