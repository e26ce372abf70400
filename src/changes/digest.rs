//! One number for a whole change set: what was reviewed is what it names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use sha2::{Digest, Sha256};

use super::compare::blocks;
use super::read::Unreadable;
use super::sides::Sides;
use super::{Change, ChangeSet};
use crate::layer::entry::Kind;
use crate::layer::marks;

/// `sha256:…` over every path, kind, type, mode and content.
pub fn digest(set: &ChangeSet, sides: &Sides<'_>) -> Result<String, Unreadable> {
    let mut hash = Sha256::new();
    hash.update((set.changes.len() as u64).to_le_bytes());
    for change in &set.changes {
        field(&mut hash, change.path.as_os_str().as_bytes());
        field(&mut hash, &[change.kind.letter() as u8]);
        if let Some(new) = change.new {
            field(&mut hash, format!("{:?} {:o}", new.kind, new.mode).as_bytes());
            content(&mut hash, change, sides).map_err(|source| Unreadable { path: change.path.clone(), source })?;
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

fn content(hash: &mut Sha256, change: &Change, sides: &Sides<'_>) -> io::Result<()> {
    if let Some(from) = &change.from {
        field(hash, from.as_os_str().as_bytes());
    }
    if change.new.is_some_and(|meta| meta.kind == Kind::Dir) {
        if let Some(dir) = sides.session.dir(&change.path)? {
            xattrs(hash, dir.xattrs());
        }
        return Ok(());
    }
    let (Some(leaf), Some(name)) = (sides.session.leaf(&change.path)?, change.path.file_name()) else { return Ok(()) };
    match leaf.found.meta.kind {
        Kind::Symlink => field(hash, &leaf.target(name)?),
        Kind::File => {
            let file = leaf.open(name)?;
            xattrs(hash, &marks::read(file.as_fd(), leaf.encoding())?.xattrs);
            data(hash, &file)?;
        }
        Kind::Dir | Kind::Fifo | Kind::Socket | Kind::Device => {}
    }
    Ok(())
}

fn xattrs(hash: &mut Sha256, xattrs: &BTreeMap<Vec<u8>, Vec<u8>>) {
    hash.update((xattrs.len() as u64).to_le_bytes());
    for (key, value) in xattrs {
        field(hash, key);
        field(hash, value);
    }
}

fn data(hash: &mut Sha256, file: &File) -> io::Result<()> {
    hash.update(file.metadata()?.len().to_le_bytes());
    blocks(file, |at, bytes| {
        hash.update(at.to_le_bytes());
        field(hash, bytes);
    })
}
