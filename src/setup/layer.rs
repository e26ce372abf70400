//! The layer that preparing wrote over the repo, once it is finished.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::cache::Covered;
use super::files::RepoFiles;
use super::key::hex;
use crate::changes::ChangeKind;
use crate::changes::Class;
use crate::changes::base::Base;
use crate::changes::classify::Classifier;
use crate::changes::read::{Layers, Reading, read};
use crate::error::{Error, Result, reason, show};
use crate::layer::entry::Kind;
use crate::layer::{Encoding, access};

/// Takes out of the layer what is as in the repo, and tells which of the repo's files it hides: when one of those
/// changes, the layer is out of date.
pub fn finish(layer: &Path, below: &[PathBuf], repo: &Path) -> Result<Vec<Covered>> {
    let reading = look(layer, below, repo)?;
    for seen in reading.seen.iter().filter(|seen| seen.same) {
        let is_file = seen.host.is_some_and(|host| host.meta.kind != Kind::Dir) && seen.session.is_some();
        let changed = reading.set.changes.iter().any(|change| change.path == seen.path);
        if is_file && !changed {
            let path = layer.join(&seen.path);
            fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
    }
    let files = RepoFiles::open(repo).map_err(|e| Error::io("read", repo, e))?;
    let classifier = Classifier::new(repo);
    let hides = |kind: ChangeKind| !matches!(kind, ChangeKind::Added);
    let mut covers = Vec::new();
    for change in reading.set.changes.iter().filter(|change| hides(change.kind)) {
        let path = change.from.as_ref().unwrap_or(&change.path);
        if change.old.is_none_or(|old| old.kind == Kind::Dir) {
            continue;
        }
        let tracked = classifier.classify(path, false)? == Class::Tracked;
        covers.push(Covered { path: path.as_path().into(), tracked, hash: hash(&files, path)? });
    }
    Ok(covers)
}

/// The same where files belong to other ids or are closed to their owner. In a child, for this process must stay what
/// it is; `answer` is a file for what that finds.
pub fn finish_closed(layer: &Path, below: &[PathBuf], repo: &Path, answer: &Path) -> Result<Vec<Covered>> {
    access::apart(|| {
        access::gain()?;
        let text = serde_json::to_vec(&finish(layer, below, repo)?).map_err(|e| Error::new(e.to_string()))?;
        fs::write(answer, text).map_err(|e| Error::io("write", answer, e))
    })?;
    let text = fs::read(answer).map_err(|e| Error::io("read", answer, e))?;
    let _ = fs::remove_file(answer);
    serde_json::from_slice(&text).map_err(|e| Error::new(e.to_string()))
}

/// What the layer changes.
fn look(layer: &Path, below: &[PathBuf], repo: &Path) -> Result<Reading> {
    let mut layers = Layers::simple(layer.to_path_buf(), Encoding::Userxattr, repo.to_path_buf());
    layers.below.splice(0..0, below.iter().map(|layer| (layer.clone(), Encoding::Userxattr)));
    read(&layers, &Base::nothing())
        .map_err(|e| Error::new(format!("cannot read {} of the setup layer: {}", show(&e.path), reason(&e.source))))
}

/// A file that the layer hides and that is not as it was.
pub fn outdated<'a>(covers: &'a [Covered], files: &RepoFiles) -> Option<&'a Covered> {
    covers.iter().find(|covered| hash(files, &covered.path.0).map_or(true, |now| now != covered.hash))
}

fn hash(files: &RepoFiles, path: &Path) -> Result<String> {
    let content = files.read(path).map_err(|e| Error::io("read", path, e))?;
    Ok(content.map_or_else(|| "missing".to_owned(), |content| hex(&Sha256::digest(content))))
}
