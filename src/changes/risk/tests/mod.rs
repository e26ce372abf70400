//! Rules against samples: each code fires, its near miss does not, hostile documents end quickly.

mod documents;
mod host;
mod hostile;
mod lockfiles;
mod names;
mod sets;
mod table;
mod tools;

use std::path::PathBuf;

use super::{Host, Risk};
use crate::changes::{Change, ChangeKind, Class, Meta};
use crate::layer::entry::Kind;

fn meta(kind: Kind, mode: u32) -> Meta {
    Meta { kind, mode, size: 0, whiteout: false }
}

fn file() -> Option<Meta> {
    Some(meta(Kind::File, 0o644))
}

fn link() -> Option<Meta> {
    Some(meta(Kind::Symlink, 0o777))
}

fn change(path: &str, kind: ChangeKind, old: Option<Meta>, new: Option<Meta>) -> Change {
    let path = PathBuf::from(path);
    Change { old, new, class: Class::Tracked, ..Change::at(&path, kind) }
}

fn added(path: &str) -> Change {
    change(path, ChangeKind::Added, None, file())
}

fn modified(path: &str) -> Change {
    change(path, ChangeKind::Modified, file(), file())
}

fn deleted(path: &str) -> Change {
    change(path, ChangeKind::Deleted, file(), None)
}

fn codes(risks: &[Risk]) -> Vec<&'static str> {
    risks.iter().map(|risk| risk.code).collect()
}

/// Where nothing is known of the host.
fn assess(change: &Change, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<Risk> {
    super::assess(change, old, new, &Host::UNKNOWN)
}

fn needs_content(change: &Change) -> bool {
    super::needs_content(change, &Host::UNKNOWN)
}

/// A file whose text changed; an empty old text is a new file.
fn edit(path: &str, old: &str, new: &str) -> Vec<Risk> {
    let change = if old.is_empty() { added(path) } else { modified(path) };
    let risks = assess(&change, (!old.is_empty()).then_some(old.as_bytes()), Some(new.as_bytes()));
    // Where content is not asked for it must make no difference.
    if !needs_content(&change) {
        assert_eq!(risks, assess(&change, None, None), "{path}");
    }
    risks
}
