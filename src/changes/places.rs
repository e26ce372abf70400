//! Whether the host's directories are where they were when the run started.
//!
//! A file keeps its ctime when a directory above it is moved, so that alone does not tell whether the session saw it
//! where it is now. A move leaves a new ctime on the directory that was moved and on the one that holds it. Where one
//! of them is older than the run there was no move; where both are younger there may have been one, or files came
//! and went. Then it counts what was noted of the directory or of a file in it before; and what git has committed is
//! not lost wherever it lay.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::base::Base;
use super::contents::Content;
use super::old_index;
use super::read::Layers;
use super::sides::Reader;
use crate::layer::entry::{Found, Identity, Kind};

/// So many files of a directory are looked at: each that the host has not touched would do.
const WITNESSES: usize = 1000;

/// The host's directories that were met, and what has been found out about them.
pub struct Places<'a> {
    base: &'a Base,
    layers: &'a Layers,
    host: OnceCell<Option<Reader>>,
    dirs: RefCell<HashMap<PathBuf, (Identity, Option<bool>)>>,
    committed: RefCell<HashMap<PathBuf, bool>>,
}

impl<'a> Places<'a> {
    /// Nothing is known yet.
    pub fn new(base: &'a Base, layers: &'a Layers) -> Self {
        Self { base, layers, host: OnceCell::new(), dirs: RefCell::default(), committed: RefCell::default() }
    }

    /// Notes a directory of the host. Those above it have been noted.
    pub fn enter(&self, dir: &Path, id: Identity) {
        self.dirs.borrow_mut().insert(dir.to_path_buf(), (id, None));
    }

    /// Whether what the host has at `path` is what it had there when the run started, unless its own ctime speaks
    /// against it.
    pub fn is_in_place(&self, path: &Path, found: &Found) -> bool {
        // Then nobody asks.
        if self.base.get(path).is_some() {
            return true;
        }
        if found.meta.kind == Kind::Dir {
            return self.dir_is_in_place(if path == Path::new(".") { Path::new("") } else { path });
        }
        self.base.is_of_the_run(&found.id)
            || self.dir_is_in_place(path.parent().unwrap_or(Path::new("")))
            || self.is_committed(path)
    }

    fn dir_is_in_place(&self, dir: &Path) -> bool {
        let Some((id, known)) = self.dirs.borrow().get(dir).copied() else { return false };
        if let Some(known) = known {
            return known;
        }
        let answer =
            self.was_not_moved(dir, &id) || self.base.knows_dir(dir, &id) || self.holds_a_file_of_the_index(dir);
        self.dirs.borrow_mut().insert(dir.to_path_buf(), (id, Some(answer)));
        answer
    }

    fn was_not_moved(&self, dir: &Path, id: &Identity) -> bool {
        let Some(above) = dir.parent() else { return self.base.is_root(id) };
        let Some((holder, _)) = self.dirs.borrow().get(above).copied() else { return false };
        !(self.base.is_of_the_run(id) && self.base.is_of_the_run(&holder)) && self.dir_is_in_place(above)
    }

    /// Whether a file that git knew to be here still is. Itself it was not moved, so its directory was not either.
    fn holds_a_file_of_the_index(&self, dir: &Path) -> bool {
        let Some(host) = self.host() else { return false };
        self.base.files_of_the_index(dir).take(WITNESSES).any(|(name, stat)| {
            let leaf = host.leaf(&dir.join(OsStr::from_bytes(name))).ok().flatten();
            leaf.is_some_and(|leaf| old_index::is_of(stat, &leaf.found.id) && !self.base.is_of_the_run(&leaf.found.id))
        })
    }

    /// Whether the commit of the start has the same at this path.
    fn is_committed(&self, path: &Path) -> bool {
        if let Some(known) = self.committed.borrow().get(path) {
            return *known;
        }
        let committed = self.base.committed(path);
        let answer = committed.is_some_and(|blob| {
            let content = self.host().and_then(|host| host.content(path).ok().flatten());
            content.as_ref().and_then(Content::bytes) == Some(&blob)
        });
        self.committed.borrow_mut().insert(path.to_path_buf(), answer);
        answer
    }

    fn host(&self) -> Option<&Reader> {
        self.host.get_or_init(|| self.layers.below_root().ok().map(Reader::new)).as_ref()
    }
}
