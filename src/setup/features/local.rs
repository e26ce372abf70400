//! Features that lie in the repo, beside those that do not.

use std::path::{Path, PathBuf};

use super::graph::{Fetch, Fetched};
use super::id::{FeatureId, Source};
use super::metadata::{FILE, Metadata};
use crate::error::{Error, Result, show};
use crate::setup::files::RepoFiles;

/// Files in one local feature. More belongs into an archive.
const MOST_FILES: usize = 5000;
const MOST_DEPTH: usize = 16;

/// Local features from the repo, all others from elsewhere.
pub(super) struct Everywhere<'a> {
    pub(super) files: &'a RepoFiles,
    pub(super) elsewhere: &'a dyn Fetch,
}

impl Fetch for Everywhere<'_> {
    fn metadata(&self, id: &FeatureId) -> Result<Fetched> {
        let Source::Local(dir) = &id.source else { return self.elsewhere.metadata(id) };
        let file = dir.join(FILE);
        let content = self.files.read(&file).map_err(|e| Error::io("read", &file, e))?;
        let content = content.ok_or_else(|| missing(id, &file))?;
        Ok(Fetched { metadata: Metadata::parse(&file, &content)?, digest: None })
    }

    fn files(&self, id: &FeatureId, fetched: &Fetched) -> Result<PathBuf> {
        let Source::Local(dir) = &id.source else { return self.elsewhere.files(id, fetched) };
        let script = dir.join("install.sh");
        if self.files.has(&script) { Ok(dir.clone()) } else { Err(missing(id, &script)) }
    }
}

fn missing(id: &FeatureId, file: &Path) -> Error {
    Error::new(format!("the local feature {id} has no {} in the repo", show(file)))
}

/// Every file of a local feature: what it installs depends on all of them.
pub(super) fn inputs(files: &RepoFiles, dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![(dir.to_path_buf(), 0)];
    while let Some((dir, depth)) = pending.pop() {
        for name in files.list(&dir, MOST_FILES) {
            let path = dir.join(name);
            match (files.has_dir(&path), files.has(&path)) {
                (true, _) => pending.push((path, depth + 1)),
                (false, true) => found.push(path),
                (false, false) => {}
            }
        }
        if depth > MOST_DEPTH || found.len() + pending.len() > MOST_FILES {
            return Err(Error::new(format!("the local feature has too many files below {}", show(&dir))));
        }
    }
    found.sort();
    Ok(found)
}
