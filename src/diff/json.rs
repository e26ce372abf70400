//! `diff --json`, as in the design. What a later issue brings (class of tracked files, risks,
//! conflicts, line counts) is `null` or empty until then, never guessed.

use serde::Serialize;

use crate::changes::{Change, ChangeKind, ChangeSet, Meta};
use crate::layer::entry::Kind;
use crate::paths;
use crate::session::Session;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: u32,
    session: String,
    name: String,
    repo: String,
    repo_b64: Option<String>,
    engine: String,
    digest: String,
    changes: Vec<Entry>,
    summary: Summary,
    commits: Vec<()>,
}

#[derive(Debug, Serialize)]
struct Entry {
    path: String,
    path_b64: Option<String>,
    kind: ChangeKind,
    from: Option<String>,
    old: Option<Side>,
    new: Option<Side>,
    class: Option<&'static str>,
    binary: Option<bool>,
    insertions: Option<u64>,
    deletions: Option<u64>,
    risks: Vec<()>,
    conflict: Option<()>,
}

#[derive(Debug, Serialize)]
struct Side {
    #[serde(rename = "type")]
    kind: Kind,
    mode: String,
    size: u64,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    added: usize,
    modified: usize,
    deleted: usize,
    insertions: Option<u64>,
    deletions: Option<u64>,
    ignored: Option<usize>,
    vcs: usize,
    special: usize,
}

/// Builds the document; `chosen` are the changes that the path filter left.
pub fn document(session: &Session, chosen: &ChangeSet, digest: String) -> Document {
    let record = &session.record;
    let count = |kinds: &[ChangeKind]| chosen.changes.iter().filter(|c| kinds.contains(&c.kind)).count();
    let special = |c: &&Change| c.new.is_some_and(|m| matches!(m.kind, Kind::Fifo | Kind::Socket | Kind::Device));
    Document {
        schema: 1,
        session: record.id.to_string(),
        name: record.name.clone(),
        repo: paths::text(&record.repo.0),
        repo_b64: paths::exact(&record.repo.0),
        engine: record.engine.kind.to_string(),
        digest,
        changes: chosen.changes.iter().map(entry).collect(),
        summary: Summary {
            added: count(&[ChangeKind::Added]),
            modified: count(&[ChangeKind::Modified, ChangeKind::ModeChanged, ChangeKind::TypeChanged]),
            deleted: count(&[ChangeKind::Deleted]),
            vcs: chosen.vcs(),
            special: chosen.changes.iter().filter(special).count(),
            ..Summary::default()
        },
        commits: Vec::new(),
    }
}

fn entry(change: &Change) -> Entry {
    let side = |meta: Meta| Side { kind: meta.kind, mode: format!("{:04o}", meta.mode), size: meta.size };
    Entry {
        path: paths::text(&change.path),
        path_b64: paths::exact(&change.path),
        kind: change.kind,
        from: None,
        old: change.old.map(side),
        new: change.new.map(side),
        class: change.is_vcs().then_some("vcs"),
        binary: None,
        insertions: None,
        deletions: None,
        risks: Vec::new(),
        conflict: None,
    }
}
