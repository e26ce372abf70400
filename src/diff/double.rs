//! Changes without a session, for tests: both sides in a map.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::changes::contents::{Content, Contents};
use crate::changes::read::Unreadable;
use crate::changes::{Change, ChangeKind, Class, Meta};
use crate::layer::entry::Kind;

/// One node of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Mode and content.
    File(u32, Vec<u8>),
    /// Target.
    Link(Vec<u8>),
    /// Mode.
    Dir(u32),
}

impl Node {
    fn meta(&self) -> Meta {
        let (kind, mode, size) = match self {
            Node::File(mode, bytes) => (Kind::File, *mode, bytes.len()),
            Node::Link(target) => (Kind::Symlink, 0o777, target.len()),
            Node::Dir(mode) => (Kind::Dir, *mode, 0),
        };
        Meta { kind, mode, size: size as u64, whiteout: false }
    }

    fn content(&self) -> Option<Content> {
        match self {
            Node::File(_, bytes) | Node::Link(bytes) => Some(Content::Bytes(bytes.clone())),
            Node::Dir(_) => None,
        }
    }
}

/// A tree: what lies where.
pub type Tree = BTreeMap<PathBuf, Node>;

/// Two trees.
#[derive(Debug, Default)]
pub struct Trees {
    /// The host's.
    pub old: Tree,
    /// The session's.
    pub new: Tree,
}

impl Contents for Trees {
    fn host_side(&self, change: &Change) -> Result<Option<Content>, Unreadable> {
        Ok(self.old.get(change.from.as_ref().unwrap_or(&change.path)).and_then(Node::content))
    }

    fn session_side(&self, change: &Change) -> Result<Option<Content>, Unreadable> {
        Ok(self.new.get(&change.path).and_then(Node::content))
    }
}

impl Trees {
    /// What differs, with `renames` (old, new) given.
    pub fn changes(&self, renames: &[(PathBuf, PathBuf)]) -> Vec<Change> {
        let mut paths: Vec<&PathBuf> = self.old.keys().chain(self.new.keys()).collect();
        paths.sort();
        paths.dedup();
        let source = |path: &Path| renames.iter().find(|(_, new)| new == path).map(|(old, _)| old);
        let changes =
            paths.into_iter().filter(|path| !renames.iter().any(|(old, _)| old == *path)).filter_map(|path| {
                let from = source(path);
                let (old, new) = (self.old.get(from.unwrap_or(path)), self.new.get(path));
                let kind = match (old, new) {
                    _ if from.is_some() => ChangeKind::Renamed,
                    (old, new) if old == new => return None,
                    (None, _) => ChangeKind::Added,
                    (_, None) => ChangeKind::Deleted,
                    (Some(old), Some(new)) if old.meta().kind != new.meta().kind => ChangeKind::TypeChanged,
                    (Some(old), Some(new)) if old.content() == new.content() => ChangeKind::ModeChanged,
                    _ => ChangeKind::Modified,
                };
                Some(change(path, kind, from, old.map(Node::meta), new.map(Node::meta)))
            });
        changes.collect()
    }
}

/// A change of nothing but what is given.
pub fn change(path: &Path, kind: ChangeKind, from: Option<&PathBuf>, old: Option<Meta>, new: Option<Meta>) -> Change {
    let (path, from) = (path.to_path_buf(), from.cloned());
    Change { from, old, new, class: Class::Untracked, ..Change::at(&path, kind) }
}

/// A new file.
pub fn added(path: &str, content: &str) -> Change {
    let meta = Node::File(0o644, content.into()).meta();
    change(Path::new(path), ChangeKind::Added, None, None, Some(meta))
}

/// A renamed file.
pub fn renamed(from: &str, path: &str) -> Change {
    let meta = Some(Node::File(0o644, Vec::new()).meta());
    change(Path::new(path), ChangeKind::Renamed, Some(&PathBuf::from(from)), meta, meta)
}
