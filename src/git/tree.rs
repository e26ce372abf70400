//! Trees and commits: what of a commit lies at a path.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use super::delta::damaged;
use super::object::{Kind, Objects};
use super::{Hash, Id};
use crate::error::Result;

/// A commit is a few lines.
pub const LARGEST_COMMIT: u64 = 4 << 20;
/// A directory with a million entries.
const LARGEST_TREE: u64 = 64 << 20;

/// The parts of a commit that matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitData {
    /// Its root directory.
    pub tree: Id,
    /// The commits before it.
    pub parents: Vec<Id>,
    /// When it was made, in seconds.
    pub time: i64,
    /// The first paragraph of its message, in one line; not escaped.
    pub subject: String,
}

impl CommitData {
    /// Reads a commit's content.
    pub fn parse(data: &[u8], hash: Hash) -> Option<Self> {
        let (mut tree, mut parents, mut time) = (None, Vec::new(), 0);
        let mut rest = data;
        loop {
            let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            let line = rest.get(..end)?;
            rest = rest.get(end + 1..).unwrap_or_default();
            let id = |text: &[u8]| Id::from_hex(text).filter(|id| id.as_bytes().len() == hash.size());
            if line.is_empty() {
                break;
            } else if let Some(text) = line.strip_prefix(b"tree ") {
                tree = tree.or(Some(id(text)?));
            } else if let Some(text) = line.strip_prefix(b"parent ") {
                parents.push(id(text)?);
            } else if let Some(text) = line.strip_prefix(b"committer ") {
                let mut words = text.rsplit(|b| *b == b' ').skip(1);
                time = words.next().and_then(|w| std::str::from_utf8(w).ok()?.parse().ok()).unwrap_or(0);
            }
        }
        Some(Self { tree: tree?, parents, time, subject: subject(rest) })
    }
}

/// As `%s` of git's log has it, and no longer than a person reads.
fn subject(message: &[u8]) -> String {
    let lines = message.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
    let first: Vec<&[u8]> =
        lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).take(20).collect();
    String::from_utf8_lossy(&first.join(&b' ')).chars().take(1000).collect()
}

impl Objects {
    /// Reads a commit; `None` if there is none of this name, or it is something else.
    pub fn commit(&self, id: &Id) -> Result<Option<CommitData>> {
        match self.read(id, LARGEST_COMMIT)? {
            Some(object) if object.kind == Kind::Commit => {
                CommitData::parse(&object.data, self.hash()).map(Some).ok_or_else(damaged)
            }
            _ => Ok(None),
        }
    }

    /// Mode and name of what lies at `path` below a tree.
    pub fn entry_at(&self, tree: &Id, path: &Path) -> Result<Option<(u32, Id)>> {
        let mut at = (0o040_000, *tree);
        for part in path.components() {
            let Component::Normal(name) = part else { return Ok(None) };
            if at.0 != 0o040_000 {
                return Ok(None);
            }
            let Some(object) = self.read(&at.1, LARGEST_TREE)?.filter(|o| o.kind == Kind::Tree) else {
                return Err(damaged());
            };
            match find(&object.data, name.as_bytes(), self.hash())? {
                Some(found) => at = found,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The content of the file (or the target of the link) at `path` in a commit, if it is no longer
    /// than `most`. `None` if the commit has none there.
    pub fn blob_at(&self, commit: &Id, path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
        let Some(commit) = self.commit(commit)? else { return Ok(None) };
        match self.entry_at(&commit.tree, path)? {
            Some((mode, id)) if matches!(mode & 0o170_000, 0o100_000 | 0o120_000) => {
                Ok(self.read(&id, most)?.filter(|o| o.kind == Kind::Blob).map(|o| o.data))
            }
            _ => Ok(None),
        }
    }
}

/// Finds a name in a tree.
fn find(tree: &[u8], wanted: &[u8], hash: Hash) -> Result<Option<(u32, Id)>> {
    let mut rest = tree;
    while !rest.is_empty() {
        let blank = rest.iter().take(8).position(|b| *b == b' ').ok_or_else(damaged)?;
        let (mode, after) = rest.split_at_checked(blank).ok_or_else(damaged)?;
        let after = after.get(1..).ok_or_else(damaged)?;
        let end = after.iter().position(|b| *b == 0).ok_or_else(damaged)?;
        let (name, after) = after.split_at_checked(end).ok_or_else(damaged)?;
        let (id, after) = after.get(1..).and_then(|r| r.split_at_checked(hash.size())).ok_or_else(damaged)?;
        if name == wanted {
            let mode = std::str::from_utf8(mode).ok().and_then(|m| u32::from_str_radix(m, 8).ok());
            return mode.zip(Id::from_bytes(id)).map(Some).ok_or_else(damaged);
        }
        rest = after;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::GitDirs;
    use crate::git::testing::{Random, TestRepo};

    #[test]
    fn a_path_of_a_commit_is_found() {
        let repo = TestRepo::new();
        repo.write("a/b/c", "content");
        repo.write("a/b-x", "other");
        std::os::unix::fs::symlink("../x", repo.root().join("a/link")).unwrap();
        let id = Id::from_hex(repo.commit("one\ntwo\n\nthree").as_bytes()).unwrap();
        let objects = Objects::of_host(&GitDirs::of(&repo.root()).unwrap()).unwrap();
        let at = |path: &str| objects.blob_at(&id, Path::new(path), 100).unwrap();
        assert_eq!(at("a/b/c").unwrap(), b"content");
        assert_eq!(at("a/link").unwrap(), b"../x");
        for missing in ["a", "a/b", "a/b/c/d", "x", "", "../a"] {
            assert_eq!(at(missing), None, "{missing}");
        }
        assert!(objects.blob_at(&id, Path::new("a/b/c"), 3).is_err());
        let commit = objects.commit(&id).unwrap().unwrap();
        assert_eq!((commit.subject.as_str(), commit.parents.len()), ("one two", 0));
        assert!(commit.time > 1_600_000_000);
        assert_eq!(objects.commit(&commit.tree).unwrap(), None);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut random = Random::new(5);
        let tree = b"100644 a\0aaaaaaaaaaaaaaaaaaaa40000 b\0bbbbbbbbbbbbbbbbbbbb";
        let commit =
            b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n";
        for _ in 0..10_000 {
            let _ = find(&random.damage(tree), b"b", Hash::Sha1);
            let _ = CommitData::parse(&random.damage(commit), Hash::Sha1);
        }
    }
}
