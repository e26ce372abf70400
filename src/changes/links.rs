//! Hard links that the session made: names of one file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::read::{Reading, Seen};
use super::{Change, ChangeKind};
use crate::layer::entry::{Found, Identity};

/// Names of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// All of them.
    pub names: Vec<PathBuf>,
    /// One whose file on the host has the content already: the others can be linked to it.
    pub on_host: Option<PathBuf>,
}

/// Adds the groups to the set. Names that were linked to each other and have the same content as before
/// are changes too: from now on a write to one is a write to all.
pub fn add(reading: &mut Reading, links: HashMap<(usize, u64), Vec<PathBuf>>) {
    let mut groups: Vec<Vec<PathBuf>> = links.into_values().filter(|names| names.len() > 1).collect();
    if groups.is_empty() {
        return;
    }
    groups.iter_mut().for_each(|names| names.sort());
    groups.sort();
    let seen: HashMap<&Path, &Seen> = reading.seen.iter().map(|s| (s.path.as_path(), s)).collect();
    let changed: HashSet<&Path> = reading.set.changes.iter().map(|c| c.path.as_path()).collect();
    let mut relinked = Vec::new();
    let mut found = Vec::new();
    for names in groups {
        let mut same = names.iter().filter(|name| !changed.contains(name.as_path())).filter_map(|name| {
            let seen = seen.get(name.as_path()).filter(|seen| seen.same)?;
            Some((name, seen.session?, seen.host?))
        });
        let first = same.next();
        if let Some((_, _, first)) = first {
            let others = same.filter(|(_, _, host)| host.id.inode != first.id.inode);
            relinked.extend(others.map(|(name, session, host)| change(name, session, host)));
        }
        let on_host = first.map(|(name, _, _)| name.clone());
        found.push(Group { names, on_host });
    }
    reading.set.changes.extend(relinked);
    reading.set.links = found;
}

fn change(path: &Path, session: Identity, host: Found) -> Change {
    Change {
        old: Some(host.meta),
        new: Some(host.meta),
        host: Some(host.id),
        session: Some(session),
        ..Change::at(path, ChangeKind::Modified)
    }
}
