//! The code as fixes see it: layers over a repo, and what was fixed before. No link is followed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{LARGEST, MOST_FILES, Tree};
use crate::changes::contents::Content;
use crate::changes::sides::Reader;
use crate::layer::Encoding;
use crate::layer::entry::Kind;
use crate::layer::stack::{Dir, Entry};

/// Deeper than any code.
const DEEPEST: usize = 100;

/// A stack of layers with changes upon it that are not written yet.
pub struct Over {
    reader: Reader,
    /// New contents by path; `None`: deleted.
    pub changed: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// Permission bits, where they are not what they were.
    pub modes: BTreeMap<PathBuf, u32>,
    /// When whoever changes it must be done.
    pub until: Option<Instant>,
}

impl Over {
    /// Over `layers`, the topmost first, and the repo.
    pub fn new(layers: &[PathBuf], repo: &Path) -> io::Result<Self> {
        let layers = layers.iter().map(|layer| (layer.as_path(), Encoding::Userxattr));
        let stack: Vec<(&Path, Encoding)> = layers.chain([(repo, Encoding::Plain)]).collect();
        Ok(Self {
            reader: Reader::new(Dir::root(&stack)?),
            changed: BTreeMap::new(),
            modes: BTreeMap::new(),
            until: None,
        })
    }

    /// The content of a file as it is by now.
    pub fn content(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        if let Some(changed) = self.changed.get(path) {
            return Ok(changed.clone());
        }
        let is_file = self.reader.leaf(path)?.is_some_and(|leaf| leaf.found.meta.kind == Kind::File);
        match self.reader.content(path)?.filter(|_| is_file) {
            Some(Content::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Content::Large) => Err(io::Error::other("too large")),
            None => Ok(None),
        }
    }

    /// Permission bits for a file that is written anew.
    pub fn mode(&self, path: &Path) -> io::Result<u32> {
        if let Some(mode) = self.modes.get(path) {
            return Ok(*mode);
        }
        let leaf = self.reader.leaf(path)?.filter(|leaf| leaf.found.meta.kind == Kind::File);
        Ok(leaf.map_or(0o644, |leaf| leaf.found.meta.mode & 0o777))
    }

    /// Permission bits of a directory, there or to be made.
    pub fn mode_of_dir(&self, path: &Path) -> io::Result<u32> {
        Ok(self.reader.mode_of_dir(path)?.map_or(0o755, |mode| mode & 0o777))
    }

    /// Whether there is anything at `path` below what was changed.
    pub fn is_below(&self, path: &Path) -> io::Result<bool> {
        Ok(self.reader.leaf(path)?.is_some())
    }

    fn walk(&self, at: &Path, depth: usize, visit: &mut dyn FnMut(PathBuf) -> io::Result<()>) -> io::Result<()> {
        let Some(dir) = self.reader.dir(at)?.filter(|_| depth < DEEPEST) else { return Ok(()) };
        for name in dir.names()? {
            match dir.entry(&name)? {
                Entry::Leaf { found, .. } if found.meta.kind == Kind::File => visit(at.join(&name))?,
                Entry::Dir(..) if name != ".git" => self.walk(&at.join(&name), depth + 1, visit)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Tree for Over {
    fn has_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    fn files(&self, wanted: &dyn Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut seen = 0;
        self.walk(Path::new(""), 0, &mut |path| {
            seen += 1;
            if seen > MOST_FILES {
                return Err(io::Error::other(format!("there are more than {MOST_FILES} files to look at")));
            }
            if wanted(&path) && !self.changed.contains_key(&path) {
                found.push(path);
            }
            Ok(())
        })?;
        let changed = self.changed.iter().filter(|(path, content)| content.is_some() && wanted(path));
        found.extend(changed.map(|(path, _)| path.clone()));
        found.sort();
        Ok(found)
    }

    fn text(&self, path: &Path) -> Option<String> {
        let bytes = self.content(path).ok()??;
        if bytes.len() as u64 > LARGEST { None } else { String::from_utf8(bytes).ok() }
    }
}
