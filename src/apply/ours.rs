//! Whether something on the host is still what was compared, or what a transaction made: only that may go.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::host::Place;
use super::journal::Staged;
use crate::layer::entry::{Found, Identity, find, names};

/// Everything that a transaction made, by the path that it has on the host.
#[derive(Debug, Default)]
pub(super) struct Made<'a>(HashMap<&'a Path, &'a Identity>);

impl<'a> Made<'a> {
    pub(super) fn of(staged: Option<&'a Staged>) -> Self {
        Self(staged.iter().flat_map(|staged| &staged.made).map(|(path, id)| (path.as_path(), id)).collect())
    }

    pub(super) fn get(&self, path: &Path) -> Option<&'a Identity> {
        self.0.get(path).copied()
    }

    /// Whether what was `found` at a place is as it was made, with all below it.
    pub(super) fn is_as_made(&self, path: &Path, place: &Place, found: &Found) -> io::Result<bool> {
        match self.get(path) {
            Some(id) if !id.is_same_but_renamed(&found.id) => Ok(false),
            Some(id) if id.is_dir() => self.is_tree_as_made(path, place),
            // Journals of before did not have what an undo brings back.
            Some(_) | None => Ok(true),
        }
    }

    fn is_tree_as_made(&self, path: &Path, place: &Place) -> io::Result<bool> {
        let mut dirs = vec![(path.to_path_buf(), place.clone())];
        while let Some((path, place)) = dirs.pop() {
            let dir = match place.open_dir() {
                // Closed to its owner, and its bits are as they were: nobody has been in it.
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => continue,
                other => other?,
            };
            for name in names(dir.as_fd())? {
                let child = path.join(&name);
                let Some(found) = find(dir.as_fd(), &name)? else { continue };
                match self.get(&child) {
                    Some(id) if id.is_same_but_renamed(&found.id) => {}
                    _ => return Ok(false),
                }
                if found.id.is_dir() {
                    dirs.push((child, Place::new(dir.clone(), name)));
                }
            }
        }
        Ok(true)
    }
}

/// Lists what is at a place, with all below it, as if it were made by this transaction.
pub(super) fn list(path: &Path, place: &Place, made: &mut Vec<(PathBuf, Identity)>) -> io::Result<()> {
    let mut left = vec![(path.to_path_buf(), place.clone())];
    while let Some((path, place)) = left.pop() {
        let Some(found) = place.find()? else { continue };
        made.push((path.clone(), found.id));
        if !found.id.is_dir() {
            continue;
        }
        let dir = match place.open_dir() {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => continue,
            other => other?,
        };
        let children = names(dir.as_fd())?.into_iter();
        left.extend(children.map(|name| (path.join(&name), Place::new(dir.clone(), name))));
    }
    Ok(())
}

/// Whether a directory holds what was compared, no more and no less.
pub(super) fn is_same_tree<'a>(
    place: &Place,
    path: &Path,
    below: impl Iterator<Item = (&'a Path, &'a Identity)>,
) -> io::Result<bool> {
    let mut left: BTreeMap<&Path, &Identity> = below.collect();
    let mut dirs = vec![(place.open_dir()?, path.to_path_buf())];
    while let Some((dir, path)) = dirs.pop() {
        for name in names(dir.as_fd())? {
            let child = path.join(&name);
            let Some(found) = find(dir.as_fd(), &name)? else { return Ok(false) };
            match left.remove(child.as_path()) {
                Some(id) if id.is_same_but_renamed(&found.id) => {}
                _ => return Ok(false),
            }
            if found.id.is_dir() {
                dirs.push((Place::new(dir.clone(), name).open_dir()?, child));
            }
        }
    }
    Ok(left.is_empty())
}
