//! The words that differ between two versions of one line.

use std::ops::Range;

use similar::{Algorithm, DiffOp};

/// Longer lines are not looked into: they are data, and comparing them is slow.
const LONGEST: usize = 1000;

/// Ranges of a line that differ, in its old and in its new version. Both are empty where the lines
/// have too little in common for marks to help.
pub fn marks(old: &[u8], new: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let none = (Vec::new(), Vec::new());
    if old.len() > LONGEST || new.len() > LONGEST {
        return none;
    }
    let (before, after) = (words(old), words(new));
    let ops = similar::capture_diff_slices(
        Algorithm::Myers,
        &before.iter().map(|r| &old[r.clone()]).collect::<Vec<_>>(),
        &after.iter().map(|r| &new[r.clone()]).collect::<Vec<_>>(),
    );
    let same: usize = ops.iter().filter(|op| is_same(op)).flat_map(|op| &before[op.old_range()]).map(weight(old)).sum();
    let all: usize = before.iter().map(weight(old)).sum::<usize>() + after.iter().map(weight(new)).sum::<usize>();
    if same * 4 < all {
        return none;
    }
    let changed = || ops.iter().filter(|op| !is_same(op));
    let join = |words: &[Range<usize>]| Some(words.first()?.start..words.last()?.end);
    (
        changed().filter_map(|op| join(&before[op.old_range()])).collect(),
        changed().filter_map(|op| join(&after[op.new_range()])).collect(),
    )
}

fn is_same(op: &DiffOp) -> bool {
    matches!(op, DiffOp::Equal { .. })
}

/// Blanks are alike in every line, so they say nothing about two being versions of one.
fn weight(line: &[u8]) -> impl Fn(&Range<usize>) -> usize {
    move |word| if line[word.start].is_ascii_whitespace() { 0 } else { word.len() }
}

/// Runs of letters and digits, runs of blanks, and every other character alone. Bytes beyond ASCII
/// count as letters, so that no character is ever cut.
fn words(line: &[u8]) -> Vec<Range<usize>> {
    let class = |b: u8| match b {
        b'_' | 0x80.. => 1,
        b if b.is_ascii_alphanumeric() => 1,
        b if b.is_ascii_whitespace() => 2,
        _ => 0,
    };
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, byte) in line.iter().enumerate() {
        match words.last_mut() {
            Some(last) if class(*byte) != 0 && class(*byte) == class(line[last.start]) => last.end = at + 1,
            _ => words.push(at..at + 1),
        }
    }
    words
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges is meant")]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_marked() {
        let (old, new) = (b"let x = one(1);", b"let x = two(1);");
        assert_eq!(marks(old, new), (vec![8..11], vec![8..11]));
        assert_eq!(marks(b"a b", b"a c b"), (vec![], vec![2..4]));
    }

    #[test]
    fn lines_without_much_in_common_and_long_ones_are_left_alone() {
        let none = (vec![], vec![]);
        assert_eq!(marks(b"one two", b"three four"), none);
        let (old, new) = (vec![b'a'; 2000], [vec![b'a'; 2000], vec![b' ', b'b']].concat());
        assert_eq!(marks(&old, &new), none);
    }

    #[test]
    fn no_character_is_cut() {
        let (old, new) = ("x é".as_bytes(), "x è".as_bytes());
        assert_eq!(words(old), [0..1, 1..2, 2..4]);
        let (gone, _) = marks(&[old, b" same same"].concat(), &[new, b" same same"].concat());
        assert_eq!(gone, [2..4]);
    }
}
