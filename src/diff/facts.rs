//! A change in a few words: what happened besides its lines.

use super::quote;
use crate::changes::{Change, ChangeKind, Conflict, Meta};
use crate::layer::entry::Kind;
use crate::policy::limits::show_size;

/// What happened to it, one fact each; names are quoted, and nothing acts on a terminal.
pub fn of(change: &Change) -> Vec<String> {
    let mut facts = Vec::new();
    match (change.kind, change.old, change.new) {
        // The bits of a link mean nothing.
        (ChangeKind::Added, _, Some(new)) if new.kind == Kind::Symlink => facts.push("new link".to_owned()),
        (ChangeKind::Added, _, Some(new)) => facts.push(format!("new {}, mode {:04o}", noun(new), new.mode)),
        (ChangeKind::Deleted, Some(old), _) => facts.push(format!("deleted {}", noun(old))),
        (ChangeKind::TypeChanged, Some(old), Some(new)) => facts.push(format!("{} became {}", noun(old), noun(new))),
        _ => {}
    }
    if let Some(from) = &change.from {
        facts.push(format!("renamed from {}", quote::path(from)));
    }
    if let (Some(old), Some(new)) = (change.old, change.new)
        && old.mode != new.mode
        && change.kind != ChangeKind::TypeChanged
    {
        facts.push(format!("mode {:04o} → {:04o}", old.mode, new.mode));
    }
    if change.merged {
        facts.push("the host changed it too; this is both together".to_owned());
    }
    facts.extend(change.conflict.map(|conflict| format!("conflict: {}", why(conflict))));
    facts
}

/// What is said instead of lines where there are none to compare.
pub fn binary(change: &Change) -> String {
    let size = |meta: Option<Meta>| meta.map(|meta| show_size(meta.size));
    match (size(change.old), size(change.new)) {
        (Some(old), Some(new)) => format!("binary or large, {old} → {new}"),
        (size, None) | (None, size) => format!("binary or large, {}", size.unwrap_or_default()),
    }
}

fn noun(meta: Meta) -> &'static str {
    match meta.kind {
        Kind::File => "file",
        Kind::Dir => "directory",
        Kind::Symlink => "link",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::Device => "device",
    }
}

fn why(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::Content => "the host changed the same lines",
        Conflict::Binary => "the host changed it too, and it has no lines to merge",
        Conflict::Type => "the host gave it another type",
        Conflict::Mode => "the host changed its permission bits too",
        Conflict::DeletedHere => "the session deleted what the host changed",
        Conflict::DeletedThere => "the host deleted it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{added, renamed};

    #[test]
    fn facts_are_told_in_words_and_names_cannot_act() {
        assert_eq!(of(&added("a", "x")), ["new file, mode 0644"]);
        assert_eq!(of(&renamed("o\u{1b}", "n")), [r#"renamed from "o\033""#]);
        let mut change = renamed("o", "n");
        change.new.as_mut().unwrap().mode = 0o755;
        change.conflict = Some(Conflict::DeletedThere);
        assert_eq!(of(&change), ["renamed from o", "mode 0644 → 0755", "conflict: the host deleted it"]);
        assert_eq!(binary(&added("a", "xyz")), "binary or large, 3 B");
    }
}
