//! What is held of the host while a command runs, to tell at its end what was where. Costs the same for every repo.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::old_index;

/// Of a longer list of names only the beginning is read.
const MOST: usize = 1000;

/// Held by whoever supervises the command.
#[derive(Debug, Default)]
pub struct AtStart {
    /// Git's index.
    pub index: Option<File>,
    /// Inodes of the directories in the root.
    pub dirs: HashMap<OsString, u64>,
}

impl AtStart {
    /// Of a repo as it is now. What cannot be read is no evidence later.
    pub fn of(repo: &Path) -> Self {
        Self { index: old_index::hold(repo), dirs: dirs(repo).unwrap_or_default() }
    }
}

fn dirs(repo: &Path) -> rustix::io::Result<HashMap<OsString, u64>> {
    let root = rustix::fs::open(repo, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut dirs = HashMap::new();
    for entry in Dir::new(root)?.take(MOST) {
        let entry = entry?;
        if entry.file_type() == FileType::Directory {
            dirs.insert(OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), entry.ino());
        }
    }
    Ok(dirs)
}
