//! What only the contents of a change can tell.

use super::contents::{Content, Contents};
use super::read::Unreadable;
use super::risk::{self, Risk};
use super::{Change, ChangeKind, Meta};
use crate::diff::lines::{LineDiff, has_no_lines};
use crate::layer::entry::Kind;

/// Beyond type, mode and size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Whether a side has no lines: then none are counted.
    pub binary: bool,
    /// Lines that are new.
    pub insertions: u64,
    /// Lines that are gone.
    pub deletions: u64,
    /// Why it deserves a second look.
    pub risks: Vec<Risk>,
}

/// Counts the lines of a change and judges it. What is neither a file nor a link has no lines.
pub fn of(change: &Change, contents: &dyn Contents) -> Result<Details, Unreadable> {
    let has_content = |meta: Option<Meta>| meta.is_some_and(|m| matches!(m.kind, Kind::File | Kind::Symlink));
    // The same content on both sides: one is enough to look at.
    let same = matches!(change.kind, ChangeKind::ModeChanged | ChangeKind::Renamed) && !change.merged;
    let old = if has_content(change.old) && !same { contents.host_side(change)? } else { None };
    let new = if has_content(change.new) { contents.session_side(change)? } else { None };
    let mut details = Details { risks: risks(change, old.as_ref(), new.as_ref(), contents), ..Details::default() };
    if old.as_ref().is_some_and(has_no_lines) || new.as_ref().is_some_and(has_no_lines) {
        details.binary = true;
        return Ok(details);
    }
    if same {
        return Ok(details);
    }
    let (old, new) = (bytes(old.as_ref()), bytes(new.as_ref()));
    if change.kind == ChangeKind::TypeChanged {
        // A file and a link share no lines, even where their bytes are the same.
        let added = LineDiff::of(b"", new);
        details.insertions = added.insertions();
        details.deletions = LineDiff::of(old, b"").deletions();
        details.risks.extend(secret(&added));
    } else {
        let diff = LineDiff::of(old, new);
        details.insertions = diff.insertions();
        details.deletions = diff.deletions();
        details.risks.extend(secret(&diff));
    }
    Ok(details)
}

/// The risks that names, modes and keys show; not those of single lines.
pub fn judge(change: &Change, contents: &dyn Contents) -> Result<Vec<Risk>, Unreadable> {
    if !risk::needs_content(change, &contents.host()) {
        return Ok(risk::assess(change, None, None, &contents.host()));
    }
    Ok(risks(change, contents.host_side(change)?.as_ref(), contents.session_side(change)?.as_ref(), contents))
}

fn risks(change: &Change, old: Option<&Content>, new: Option<&Content>, contents: &dyn Contents) -> Vec<Risk> {
    let new = new.and_then(Content::bytes);
    // A file whose mode alone has changed has the same keys as before.
    let old = if change.kind == ChangeKind::ModeChanged { new } else { old.and_then(Content::bytes) };
    risk::assess(change, old, new, &contents.host())
}

/// The first secret among the lines that are new.
fn secret(diff: &LineDiff<'_>) -> Option<Risk> {
    diff.added().find_map(|(number, line)| Some(risk::secrets::risk(risk::secrets::scan(line)?, number)))
}

fn bytes(content: Option<&Content>) -> &[u8] {
    content.and_then(Content::bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{Node, Tree, Trees};

    fn details(old: Option<Node>, new: Option<Node>) -> Details {
        let tree = |node: Option<Node>| node.into_iter().map(|node| ("x".into(), node)).collect::<Tree>();
        let trees = Trees { old: tree(old), new: tree(new) };
        // Risks have tests of their own.
        Details { risks: Vec::new(), ..of(&trees.changes(&[])[0], &trees).unwrap() }
    }

    fn file(mode: u32, content: &str) -> Option<Node> {
        Some(Node::File(mode, content.into()))
    }

    fn counted(insertions: u64, deletions: u64) -> Details {
        Details { insertions, deletions, ..Details::default() }
    }

    #[test]
    fn lines_are_counted_and_binaries_are_not() {
        assert_eq!(details(None, file(0o644, "a\nb")), counted(2, 0));
        assert_eq!(details(file(0o644, "a\nb\n"), file(0o644, "a\nc\n")), counted(1, 1));
        assert_eq!(details(file(0o644, "a\n"), file(0o755, "a\n")), counted(0, 0));
        assert_eq!(details(file(0o644, "a"), Some(Node::Link(b"a".into()))), counted(1, 1));
        assert_eq!(details(file(0o644, "a\n"), Some(Node::Dir(0o755))), counted(0, 1));
        assert_eq!(details(None, Some(Node::Dir(0o755))), counted(0, 0));
        let binary = Details { binary: true, ..Details::default() };
        assert_eq!(details(file(0o644, "a\n"), file(0o644, "a\0")), binary);
        assert_eq!(details(file(0o644, "a\0"), file(0o755, "a\0")), binary);
    }
}
