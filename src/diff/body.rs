//! What there is to see inside of a change, for views that are made for people.

use crate::changes::contents::{Content, Contents};
use crate::changes::read::Unreadable;
use crate::changes::{Change, ChangeKind, Meta};
use crate::diff::lines::has_no_lines;
use crate::layer::entry::Kind;

/// The inside of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Texts, old and new, to be compared one pair after the other.
    Texts(Vec<(Vec<u8>, Vec<u8>)>),
    /// A side has no lines.
    Binary,
    /// Nothing: only the name, the mode or the attributes changed, or it is neither file nor link.
    Nothing,
}

impl Body {
    /// Reads both sides of a change.
    pub fn of(change: &Change, contents: &dyn Contents) -> Result<Self, Unreadable> {
        let has_content = |meta: Option<Meta>| meta.is_some_and(|m| matches!(m.kind, Kind::File | Kind::Symlink));
        // The same content on both sides by definition.
        let same = matches!(change.kind, ChangeKind::ModeChanged | ChangeKind::Renamed) && !change.merged;
        if same {
            return Ok(Body::Nothing);
        }
        let old = if has_content(change.old) { contents.host_side(change)? } else { None };
        let new = if has_content(change.new) { contents.session_side(change)? } else { None };
        if [&old, &new].into_iter().flatten().any(has_no_lines) {
            return Ok(Body::Binary);
        }
        let (old, new) = (bytes(old), bytes(new));
        Ok(match change.kind {
            _ if old.is_empty() && new.is_empty() => Body::Nothing,
            // A file and a link share no lines: the one goes, the other comes.
            ChangeKind::TypeChanged => Body::Texts(vec![(old, Vec::new()), (Vec::new(), new)]),
            _ if old == new => Body::Nothing,
            _ => Body::Texts(vec![(old, new)]),
        })
    }
}

fn bytes(content: Option<Content>) -> Vec<u8> {
    match content {
        Some(Content::Bytes(bytes)) => bytes,
        Some(Content::Large) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{Node, Tree, Trees};

    fn body(old: Option<Node>, new: Option<Node>) -> Body {
        let tree = |node: Option<Node>| node.into_iter().map(|node| ("x".into(), node)).collect::<Tree>();
        let trees = Trees { old: tree(old), new: tree(new) };
        Body::of(&trees.changes(&[])[0], &trees).unwrap()
    }

    #[test]
    fn a_file_that_becomes_a_link_has_two_pairs_of_texts() {
        let file = |content: &str| Some(Node::File(0o644, content.into()));
        let pair = |old: &str, new: &str| (old.into(), new.into());
        assert_eq!(body(file("a"), file("b")), Body::Texts(vec![pair("a", "b")]));
        assert_eq!(body(file("a"), Some(Node::Link(b"a".into()))), Body::Texts(vec![pair("a", ""), pair("", "a")]));
        assert_eq!(body(file("a"), Some(Node::File(0o755, b"a".into()))), Body::Nothing);
        assert_eq!(body(file("a"), file("\0")), Body::Binary);
        assert_eq!(body(None, file("")), Body::Nothing);
    }
}
