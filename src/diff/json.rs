//! `diff --json`, as in the design. Written entry by entry: 100,000 changes need no more memory than
//! one.

use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::ser::{Error as _, SerializeStruct};
use serde::{Serialize, Serializer};

use super::Failed;
use crate::changes::details::Details;
use crate::changes::read::Unreadable;
use crate::changes::risk::Risk;
use crate::changes::{Change, ChangeKind, Class, Conflict, Meta};
use crate::git::commits::{self, Commit};
use crate::layer::entry::Kind;
use crate::paths;
use crate::session::Session;
use crate::ui::sanitize;

/// What stands before the changes.
#[derive(Clone, Debug)]
pub struct Head {
    /// Id of the session.
    pub session: String,
    /// Its name.
    pub name: String,
    /// Root of its repo.
    pub repo: PathBuf,
    /// Its engine.
    pub engine: String,
    /// Of the whole change set.
    pub digest: String,
}

impl Head {
    /// That of a session.
    pub fn of(session: &Session, digest: String) -> Self {
        let record = &session.record;
        Self {
            session: record.id.to_string(),
            name: record.name.clone(),
            repo: record.repo.0.clone(),
            engine: record.engine.kind.to_string(),
            digest,
        }
    }
}

/// A commit that the session made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommitEntry {
    /// Its full id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The repository it is in, relative to the root; `.` for the root's own.
    pub repo: String,
    /// Its exact bytes, where they are not UTF-8.
    pub repo_b64: Option<String>,
}

impl From<Commit> for CommitEntry {
    fn from(commit: Commit) -> Self {
        let here = commit.repo.as_os_str().is_empty();
        let repo = if here { Path::new(".") } else { &commit.repo };
        Self { repo: paths::text(repo), repo_b64: paths::exact(repo), id: commit.id, subject: commit.subject }
    }
}

/// What stands after the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commits {
    /// Newest first.
    pub list: Vec<CommitEntry>,
    /// There are more, or some that cannot be read.
    pub truncated: bool,
}

impl Commits {
    /// None could be read.
    pub const UNKNOWN: Self = Self { list: Vec::new(), truncated: true };
}

impl From<commits::Commits> for Commits {
    fn from(found: commits::Commits) -> Self {
        Self { list: found.commits.into_iter().map(Into::into).collect(), truncated: found.truncated }
    }
}

/// Writes the document. `details` is asked once for each change, in their order.
pub fn write<'a>(
    head: &Head,
    changes: impl IntoIterator<Item = &'a Change>,
    details: &dyn Fn(&Change) -> Result<Details, Unreadable>,
    commits: &Commits,
    out: &mut dyn Write,
) -> Result<(), Failed> {
    let mut changes = changes.into_iter();
    let document = Document {
        head,
        changes: Entries {
            changes: RefCell::new(&mut changes),
            details,
            unreadable: RefCell::new(None),
            summary: Cell::new(Summary::default()),
        },
        commits,
    };
    let mut escaped = BufWriter::with_capacity(1 << 16, Escaper { out, cut: Vec::new() });
    let written = serde_json::to_writer_pretty(&mut escaped, &document);
    if let Some(unreadable) = document.changes.unreadable.take() {
        return Err(unreadable.into());
    }
    written.map_err(io::Error::from)?;
    escaped.write_all(b"\n")?;
    Ok(escaped.flush()?)
}

struct Document<'a, 'c> {
    head: &'a Head,
    changes: Entries<'a, 'c>,
    commits: &'a Commits,
}

impl Serialize for Document<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = self.head;
        let mut document = serializer.serialize_struct("Document", 11)?;
        document.serialize_field("schema", &1)?;
        document.serialize_field("session", &head.session)?;
        document.serialize_field("name", &head.name)?;
        document.serialize_field("repo", &paths::text(&head.repo))?;
        document.serialize_field("repo_b64", &paths::exact(&head.repo))?;
        document.serialize_field("engine", &head.engine)?;
        document.serialize_field("digest", &head.digest)?;
        document.serialize_field("changes", &self.changes)?;
        // Counted on the way.
        document.serialize_field("summary", &self.changes.summary.get())?;
        document.serialize_field("commits", &self.commits.list)?;
        document.serialize_field("commits_truncated", &self.commits.truncated)?;
        document.end()
    }
}

/// The changes, taken one at a time while they are written.
struct Entries<'a, 'c> {
    changes: RefCell<&'a mut dyn Iterator<Item = &'c Change>>,
    details: &'a dyn Fn(&Change) -> Result<Details, Unreadable>,
    unreadable: RefCell<Option<Unreadable>>,
    summary: Cell<Summary>,
}

impl Serialize for Entries<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut list = serializer.serialize_seq(None)?;
        for change in &mut *self.changes.borrow_mut() {
            let details = (self.details)(change).map_err(|unreadable| {
                self.unreadable.replace(Some(unreadable));
                S::Error::custom("unreadable")
            })?;
            let mut summary = self.summary.get();
            summary.count(change, &details);
            self.summary.set(summary);
            list.serialize_element(&Entry::of(change, details))?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct Entry {
    path: String,
    path_b64: Option<String>,
    kind: ChangeKind,
    from: Option<String>,
    from_b64: Option<String>,
    old: Option<Side>,
    new: Option<Side>,
    class: Class,
    binary: bool,
    insertions: u64,
    deletions: u64,
    risks: Vec<Risk>,
    conflict: Option<Conflict>,
    merged: bool,
}

#[derive(Serialize)]
struct Side {
    #[serde(rename = "type")]
    kind: Kind,
    mode: String,
    size: u64,
}

impl Entry {
    fn of(change: &Change, details: Details) -> Self {
        let side = |meta: Meta| Side { kind: meta.kind, mode: format!("{:04o}", meta.mode), size: meta.size };
        Self {
            path: paths::text(&change.path),
            path_b64: paths::exact(&change.path),
            kind: change.kind,
            from: change.from.as_deref().map(paths::text),
            from_b64: change.from.as_deref().and_then(paths::exact),
            old: change.old.map(side),
            new: change.new.map(side),
            class: class(change),
            binary: details.binary,
            insertions: details.insertions,
            deletions: details.deletions,
            risks: details.risks,
            conflict: change.conflict,
            merged: change.merged,
        }
    }
}

/// The inside of a gitdir is that, whoever did or did not classify it.
fn class(change: &Change) -> Class {
    if change.is_vcs() { Class::Vcs } else { change.class }
}

#[derive(Clone, Copy, Default, Serialize)]
struct Summary {
    added: u64,
    modified: u64,
    deleted: u64,
    renamed: u64,
    insertions: u64,
    deletions: u64,
    ignored: u64,
    vcs: u64,
    special: u64,
}

impl Summary {
    fn count(&mut self, change: &Change, details: &Details) {
        match change.kind {
            ChangeKind::Added => self.added += 1,
            ChangeKind::Modified | ChangeKind::ModeChanged | ChangeKind::TypeChanged => self.modified += 1,
            ChangeKind::Deleted => self.deleted += 1,
            ChangeKind::Renamed => self.renamed += 1,
        }
        self.insertions += details.insertions;
        self.deletions += details.deletions;
        self.ignored += u64::from(class(change) == Class::Ignored);
        self.vcs += u64::from(class(change) == Class::Vcs);
        self.special += u64::from(change.new.is_some_and(|meta| meta.kind.is_special()));
    }
}

/// Passes text on with what a terminal could act upon escaped.
struct Escaper<'a> {
    out: &'a mut dyn Write,
    /// The beginning of a character whose end comes with the next write.
    cut: Vec<u8>,
}

impl Write for Escaper<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cut.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.cut) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.cut.split_off(whole);
        let text = std::mem::replace(&mut self.cut, rest);
        self.out.write_all(sanitize::json(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{added, renamed};

    fn document(
        changes: &[Change],
        details: &dyn Fn(&Change) -> Result<Details, Unreadable>,
    ) -> Result<Vec<u8>, Failed> {
        let head = Head {
            session: "01".into(),
            name: "n".into(),
            repo: "/r".into(),
            engine: "native".into(),
            digest: "sha256:0".into(),
        };
        let commit =
            Commit { id: "ab".into(), subject: "\u{202e}x".into(), refname: "HEAD".into(), repo: PathBuf::new() };
        let commits = Commits { list: vec![commit.into()], truncated: true };
        let mut out = Vec::new();
        write(&head, changes, details, &commits, &mut out).map(|()| out)
    }

    #[test]
    fn every_field_is_there_and_nothing_acts_on_a_terminal() {
        let mut conflicting = renamed("old\u{9b}", "new");
        conflicting.conflict = Some(Conflict::DeletedHere);
        conflicting.class = Class::Ignored;
        let changes = [added(".git/x", "x"), conflicting];
        let text = document(&changes, &|_| Ok(Details { insertions: 2, deletions: 1, ..Details::default() })).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(['\u{9b}', '\u{202e}']));
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["changes"][0]["class"], "vcs");
        let commit = serde_json::json!({ "id": "ab", "subject": "\u{202e}x", "repo": ".", "repo_b64": null });
        assert_eq!((&json["commits"][0], &json["commits_truncated"]), (&commit, &true.into()));
        let side = serde_json::json!({ "type": "file", "mode": "0644", "size": 0 });
        let expected = serde_json::json!({
            "path": "new", "path_b64": null, "kind": "renamed", "from": "old\u{9b}", "from_b64": null,
            "old": side, "new": side, "class": "ignored", "binary": false, "insertions": 2, "deletions": 1,
            "risks": [], "conflict": "deleted-here", "merged": false,
        });
        assert_eq!(json["changes"][1], expected);
        let expected = serde_json::json!({
            "added": 1, "modified": 0, "deleted": 0, "renamed": 1, "insertions": 4, "deletions": 2,
            "ignored": 1, "vcs": 1, "special": 0,
        });
        assert_eq!(json["summary"], expected);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let unreadable = |_: &Change| Err(Unreadable { path: "x".into(), source: io::Error::other("no") });
        assert!(matches!(document(&[added("x", "")], &unreadable), Err(Failed::Unreadable(_))));
    }

    #[test]
    fn characters_cut_between_two_writes_are_whole_again() {
        let mut out = Vec::new();
        let mut escaper = Escaper { out: &mut out, cut: Vec::new() };
        for byte in "é\u{202e}ü".bytes() {
            escaper.write_all(&[byte]).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), "é\\u202eü");
    }
}
