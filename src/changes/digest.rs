//! One number for a whole change set: what was reviewed is what it names.

use std::ffi::OsStr;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};

use super::compare::{link_target, next_data, user_xattrs};
use super::read::Unreadable;
use super::{Change, ChangeSet};
use crate::layer::entry::{Kind, open_dir, open_file};

/// `sha256:…` over every path, kind, type, mode and content.
pub fn digest(set: &ChangeSet, upper: &Path) -> Result<String, Unreadable> {
    let mut hash = Sha256::new();
    hash.update((set.changes.len() as u64).to_le_bytes());
    for change in &set.changes {
        field(&mut hash, change.path.as_os_str().as_bytes());
        field(&mut hash, &[change.kind.letter() as u8]);
        if let Some(new) = change.new {
            field(&mut hash, format!("{:?} {:o}", new.kind, new.mode).as_bytes());
            content(&mut hash, change, upper).map_err(|source| Unreadable { path: change.path.clone(), source })?;
        }
    }
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// Length first, so that no two lists of fields run into the same bytes.
fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn content(hash: &mut Sha256, change: &Change, upper: &Path) -> io::Result<()> {
    let kind = change.new.map(|m| m.kind);
    if !matches!(kind, Some(Kind::File | Kind::Symlink | Kind::Dir)) || change.path == Path::new(".") {
        return Ok(());
    }
    let (dir, name) = parent(upper, &change.path)?;
    if kind == Some(Kind::Symlink) {
        field(hash, &link_target(dir.as_fd(), name)?);
        return Ok(());
    }
    let xattrs = user_xattrs(dir.as_fd(), name, kind == Some(Kind::Dir))?;
    hash.update((xattrs.len() as u64).to_le_bytes());
    for (key, value) in xattrs {
        field(hash, &key);
        field(hash, &value);
    }
    if kind == Some(Kind::File) {
        let mut file = open_file(dir.as_fd(), name)?;
        hash.update(file.metadata()?.len().to_le_bytes());
        let mut buffer = vec![0u8; 64 * 1024];
        let mut at = 0;
        // Each piece of data with its place; what is between is a hole, and costs nothing to read.
        while let Some(next) = next_data(&file, at)? {
            file.seek(SeekFrom::Start(next))?;
            let n = file.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            if buffer[..n].iter().any(|b| *b != 0) {
                hash.update(next.to_le_bytes());
                field(hash, &buffer[..n]);
            }
            at = next + n as u64;
        }
    }
    Ok(())
}

/// The directory that holds `path`, entered one name at a time so that no link is followed.
fn parent<'a>(upper: &Path, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut dir = openat(CWD, upper, flags, Mode::empty())?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        dir = open_dir(dir.as_fd(), part.as_os_str())?;
    }
    Ok((dir, path.file_name().unwrap_or_default()))
}
