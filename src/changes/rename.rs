//! Renames, found by content: overlays keep no trace of them.

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::compare::blocks;
use super::read::{Layers, Unreadable};
use super::sides;
use super::{Change, ChangeKind, ChangeSet, Class};
use crate::error::Result;
use crate::layer::entry::Kind;

/// Pairs files that were deleted with files of the very same content that were added. A pair becomes one
/// change at the new path. Empty files say nothing, and what is inside `.git` is of no interest.
pub fn find(set: &mut ChangeSet, layers: &Layers) -> Result<(), Unreadable> {
    let is_file = |change: &Change| {
        let meta = change.new.or(change.old);
        meta.is_some_and(|m| m.kind == Kind::File && m.size > 0) && change.conflict.is_none() && !change.is_vcs()
    };
    let mut by_size: HashMap<u64, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (number, change) in set.changes.iter().enumerate().filter(|(_, change)| is_file(change)) {
        let size = change.new.or(change.old).map_or(0, |m| m.size);
        let (deleted, added) = by_size.entry(size).or_default();
        match change.kind {
            ChangeKind::Deleted => deleted.push(number),
            ChangeKind::Added => added.push(number),
            _ => {}
        }
    }
    let mut pairs = Vec::new();
    for (deleted, added) in by_size.into_values().filter(|(deleted, added)| !deleted.is_empty() && !added.is_empty()) {
        let mut gone: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
        for number in deleted.into_iter().rev() {
            let path = &set.changes[number].path;
            gone.entry(hash(sides::open(&layers.below_root()?, path), path)?).or_default().push(number);
        }
        for number in added {
            let path = &set.changes[number].path;
            let hash = hash(sides::open(&layers.session_root()?, path), path)?;
            if let Some(from) = gone.get_mut(&hash).and_then(Vec::pop) {
                pairs.push((from, number));
            }
        }
    }
    let mut dropped: Vec<usize> = Vec::new();
    for (from, to) in pairs {
        let gone = set.changes[from].clone();
        let change = &mut set.changes[to];
        change.kind = ChangeKind::Renamed;
        change.from = Some(gone.path);
        change.old = gone.old;
        change.from_host = gone.host;
        dropped.push(from);
    }
    dropped.sort_unstable();
    let mut number = 0;
    set.changes.retain(|_| {
        number += 1;
        dropped.binary_search(&(number - 1)).is_err()
    });
    Ok(())
}

/// Takes apart the renames of which one path is ignored and the other is not: each half is judged by its own. Else an
/// apply that leaves ignored files alone would take one away with the other name of it, and a name that is ignored would
/// hide that a file is gone.
pub fn part(set: &mut ChangeSet, class_of: impl Fn(&Path) -> Result<Class>) -> Result<()> {
    let mut gone = Vec::new();
    for change in &mut set.changes {
        let Some(from) = change.from.as_deref() else { continue };
        let class = class_of(from)?;
        if (class == Class::Ignored) == (change.class == Class::Ignored) {
            continue;
        }
        gone.push(Change {
            old: change.old.take(),
            host: change.from_host.take(),
            class,
            ..Change::at(from, ChangeKind::Deleted)
        });
        change.from = None;
        change.kind = ChangeKind::Added;
    }
    set.changes.append(&mut gone);
    set.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// Those that are compared have the same size.
fn hash(file: std::io::Result<std::fs::File>, path: &Path) -> Result<[u8; 32], Unreadable> {
    let failed = |source| Unreadable { path: path.to_path_buf(), source };
    let mut hash = Sha256::new();
    blocks(&file.map_err(failed)?, |at, bytes| {
        hash.update(at.to_le_bytes());
        hash.update(bytes);
    })
    .map_err(failed)?;
    Ok(hash.finalize().into())
}
