//! The lines that differ between two byte strings.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

use crate::changes::contents::Content;
use crate::changes::merge::is_text;

/// Lines around a change that are shown with it.
pub const CONTEXT: usize = 3;

/// Where the differing parts have more lines than this, no search is made: all old, then all new.
const MOST_LINES: usize = 2_000_000;

/// The search is bounded by its own heuristics, which give the same answer each time. This is for
/// input that was made to defeat them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether git would call it binary.
pub fn is_binary(bytes: &[u8]) -> bool {
    !is_text(bytes)
}

/// Whether a side has no lines to show: binary, or too large to be held.
pub fn has_no_lines(content: &Content) -> bool {
    content.bytes().is_none_or(is_binary)
}

/// A byte string as lines, each with its newline. A line costs four bytes: a hostile file may be all
/// newlines.
#[derive(Debug)]
struct Lines<'a> {
    bytes: &'a [u8],
    ends: Vec<u32>,
}

impl<'a> Lines<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let newlines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
        let rest = (!bytes.is_empty() && !bytes.ends_with(b"\n")).then_some(bytes.len());
        Self { bytes, ends: newlines.chain(rest).map(|end| end as u32).collect() }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: usize) -> &'a [u8] {
        &self.bytes[self.span(index..index + 1)]
    }

    /// Where lines lie among the bytes.
    fn span(&self, lines: Range<usize>) -> Range<usize> {
        let before = |index: usize| if index == 0 { 0 } else { self.ends[index - 1] as usize };
        before(lines.start)..before(lines.end)
    }
}

/// What to delete from the old lines and to insert from the new ones.
#[derive(Debug)]
pub struct LineDiff<'a> {
    old: Lines<'a>,
    new: Lines<'a>,
    ops: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    /// Compares two texts, of at most [`LARGEST`](crate::changes::contents::LARGEST) bytes each.
    pub fn of(old: &'a [u8], new: &'a [u8]) -> Self {
        let (old, new) = (Lines::of(old), Lines::of(new));
        let shorter = old.len().min(new.len());
        let head = (0..shorter).take_while(|i| old.get(*i) == new.get(*i)).count();
        let tail = (0..shorter - head).take_while(|i| old.get(old.len() - 1 - i) == new.get(new.len() - 1 - i)).count();
        let mut ops = Vec::new();
        push_equal(&mut ops, 0, 0, head);
        ops.extend(middle(&old, head..old.len() - tail, &new, head..new.len() - tail));
        push_equal(&mut ops, old.len() - tail, new.len() - tail, tail);
        Self { old, new, ops }
    }

    /// How many lines are new.
    pub fn insertions(&self) -> u64 {
        self.changed().map(|op| op.new_range().len() as u64).sum()
    }

    /// How many lines are gone.
    pub fn deletions(&self) -> u64 {
        self.changed().map(|op| op.old_range().len() as u64).sum()
    }

    /// The new lines, each with its number in the new text, counted from 1.
    pub fn added(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        self.changed().flat_map(|op| op.new_range()).map(|index| (index + 1, self.new.get(index)))
    }

    /// All operations, in order; they cover both texts.
    pub fn ops(&self) -> &[DiffOp] {
        &self.ops
    }

    /// Changes that lie together, with [`CONTEXT`] lines around them. Empty if there are none.
    pub fn hunks(&self) -> Vec<Vec<DiffOp>> {
        if self.changed().next().is_none() {
            return Vec::new();
        }
        similar::group_diff_ops(self.ops.clone(), CONTEXT)
    }

    /// An old line by its index, with its newline if it has one.
    pub fn old_line(&self, index: usize) -> &'a [u8] {
        self.old.get(index)
    }

    /// A new line by its index, with its newline if it has one.
    pub fn new_line(&self, index: usize) -> &'a [u8] {
        self.new.get(index)
    }

    /// Where old lines lie in the old text.
    pub fn old_span(&self, lines: Range<usize>) -> Range<usize> {
        self.old.span(lines)
    }

    /// Where new lines lie in the new text.
    pub fn new_span(&self, lines: Range<usize>) -> Range<usize> {
        self.new.span(lines)
    }

    fn changed(&self) -> impl Iterator<Item = &DiffOp> {
        self.ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }))
    }
}

fn push_equal(ops: &mut Vec<DiffOp>, old_index: usize, new_index: usize, len: usize) {
    if len > 0 {
        ops.push(DiffOp::Equal { old_index, new_index, len });
    }
}

/// The part between the common beginning and the common end.
fn middle(old: &Lines<'_>, old_range: Range<usize>, new: &Lines<'_>, new_range: Range<usize>) -> Vec<DiffOp> {
    let (old_index, new_index) = (old_range.start, new_range.start);
    let (old_len, new_len) = (old_range.len(), new_range.len());
    match (old_len, new_len) {
        (0, 0) => return Vec::new(),
        (0, _) => return vec![DiffOp::Insert { old_index, new_index, new_len }],
        (_, 0) => return vec![DiffOp::Delete { old_index, old_len, new_index }],
        _ if old_len + new_len > MOST_LINES => {
            return vec![DiffOp::Replace { old_index, old_len, new_index, new_len }];
        }
        _ => {}
    }
    // Numbers instead of lines: the map's hash is keyed, so that nobody can make lines collide.
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let mut number = |line| {
        let next = known.len() as u32;
        *known.entry(line).or_insert(next)
    };
    let old_numbers: Vec<u32> = old_range.map(|i| number(old.get(i))).collect();
    let new_numbers: Vec<u32> = new_range.map(|i| number(new.get(i))).collect();
    let deadline = Instant::now() + PATIENCE;
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &old_numbers, &new_numbers, Some(deadline));
    ops.into_iter().map(|op| shifted(op, old_index, new_index)).collect()
}

fn shifted(op: DiffOp, old: usize, new: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + old, new_index: new_index + new, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + old, old_len, new_index: new_index + new }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + old, new_index: new_index + new, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: old_index + old, old_len, new_index: new_index + new, new_len }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(old: &str, new: &str) -> (u64, u64) {
        let diff = LineDiff::of(old.as_bytes(), new.as_bytes());
        (diff.insertions(), diff.deletions())
    }

    #[test]
    fn counts_are_lines() {
        assert_eq!(counts("", ""), (0, 0));
        assert_eq!(counts("", "a\nb"), (2, 0));
        assert_eq!(counts("a\nb\n", "a\nb"), (1, 1));
        assert_eq!(counts("a\nb\nc\n", "a\nx\nc\n"), (1, 1));
        assert_eq!(counts("a\na\n", "a\na\na\n"), (1, 0));
    }

    #[test]
    fn added_lines_have_their_numbers() {
        let diff = LineDiff::of(b"a\nb\n", b"a\nx\nb\ny");
        assert_eq!(diff.added().collect::<Vec<_>>(), [(2, &b"x\n"[..]), (4, b"y")]);
    }

    #[test]
    fn hunks_are_apart_where_more_than_six_lines_are_the_same() {
        let old: String = (0..30).map(|n| format!("{n}\n")).collect();
        let near = old.replace("\n5\n", "\nx\n").replace("\n12\n", "\ny\n");
        let far = old.replace("\n5\n", "\nx\n").replace("\n13\n", "\ny\n");
        assert_eq!(LineDiff::of(old.as_bytes(), near.as_bytes()).hunks().len(), 1);
        assert_eq!(LineDiff::of(old.as_bytes(), far.as_bytes()).hunks().len(), 2);
        assert!(LineDiff::of(old.as_bytes(), old.as_bytes()).hunks().is_empty());
    }

    #[test]
    fn a_nul_early_on_is_binary() {
        assert!(is_binary(b"a\0b"));
        assert!(is_binary(&[vec![b'a'; 7999], vec![0]].concat()));
        assert!(!is_binary(&[vec![b'a'; 8000], vec![0]].concat()));
        assert!(has_no_lines(&Content::Large) && !has_no_lines(&Content::Bytes(Vec::new())));
    }

    #[test]
    fn hostile_files_do_not_take_hours() {
        let different = |tag: &str| (0..100_000).map(|n| format!("{tag}{n}\n")).collect::<String>();
        let shuffled = |step: u64| (0..100_000).map(|n| format!("{}\n", n * step % 100_003)).collect::<String>();
        let few = |step: u64| (0..100_000u64).map(|n| format!("{}\n", n * n * step % 7)).collect::<String>();
        let pairs = [
            (different("a"), different("b")),
            (shuffled(7919), shuffled(104_729)),
            (few(3), few(5)),
            ("\n".repeat(3_000_000), format!("x\n{}", "\n".repeat(2_999_999).replacen('\n', "\ny\n", 1))),
        ];
        for (old, new) in pairs {
            let start = Instant::now();
            let diff = LineDiff::of(old.as_bytes(), new.as_bytes());
            assert!(diff.insertions() > 0);
            assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        }
    }
}
