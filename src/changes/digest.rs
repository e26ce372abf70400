//! One number for a whole change set: what was reviewed is what it names.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};

use super::compare::{link_target, user_xattrs};
use super::read::Unreadable;
use super::{Change, ChangeSet};
use crate::layer::entry::{Kind, open_dir, open_file};

/// `sha256:…` over every path, kind, type, mode and content.
pub fn digest(set: &ChangeSet, upper: &Path) -> Result<String, Unreadable> {
    let mut hash = Sha256::new();
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
    for (key, value) in user_xattrs(dir.as_fd(), name, kind == Some(Kind::Dir))? {
        field(hash, &key);
        field(hash, &value);
    }
    if kind == Some(Kind::File) {
        let mut file = open_file(dir.as_fd(), name)?;
        let mut buffer = vec![0u8; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => field(hash, &buffer[..n]),
            }
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
