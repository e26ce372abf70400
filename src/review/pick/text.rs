//! A text file that changed, as lines that can be chosen one by one.

use std::ops::Range;

use similar::DiffOp;

use crate::diff::hunks::place;
use crate::diff::lines::LineDiff;

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The same on both sides.
    Same,
    /// Only the host has it.
    Gone,
    /// Only the session has it.
    New,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub sign: Sign,
    /// Where it lies: in the new text if it is new, else in the old one. Texts are held up to 32 MiB.
    start: u32,
    end: u32,
    /// Its place among the lines that can be chosen.
    pub number: Option<u32>,
}

/// Changes that lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -1,3 +1,4 @@`
    pub place: String,
    /// With a few lines around them.
    pub lines: Vec<Line>,
}

impl Hunk {
    /// The lines in it that can be chosen, by number.
    pub fn numbers(&self) -> Range<usize> {
        let mut numbers = self.lines.iter().filter_map(|line| line.number);
        let first = numbers.next().map_or(0, |n| n as usize);
        first..numbers.next_back().map_or(first + 1, |last| last as usize + 1)
    }

    /// The same changes as hunks of their own, wherever something that is the same lies between them.
    pub fn split(&self) -> Vec<Hunk> {
        let changed = |line: &Line| line.sign != Sign::Same;
        let starts = (0..self.lines.len())
            .filter(|at| changed(&self.lines[*at]) && (*at == 0 || !changed(&self.lines[at - 1])))
            .collect::<Vec<_>>();
        let end_of = |start: usize| {
            let length = self.lines[start..].iter().take_while(|line| changed(line)).count();
            start + length
        };
        let mut parts = Vec::new();
        for at in 0..starts.len() {
            let from = if at == 0 { 0 } else { end_of(starts[at - 1]) };
            let to = starts.get(at + 1).copied().unwrap_or(self.lines.len());
            parts.push(Hunk { place: self.place.clone(), lines: self.lines[from..to].to_vec() });
        }
        parts
    }
}

/// One stretch of both texts, in order.
#[derive(Clone, Debug)]
enum Piece {
    /// In the old text, and the same in the new one.
    Same(Range<usize>),
    /// A line that can be chosen.
    Line(Line),
}

/// Both sides, compared once: two comparisons of hostile texts may differ.
#[derive(Clone, Debug)]
pub struct Text {
    old: Vec<u8>,
    new: Vec<u8>,
    pieces: Vec<Piece>,
    /// Its hunks.
    pub hunks: Vec<Hunk>,
    /// How many lines can be chosen.
    pub count: usize,
}

impl Text {
    /// Compares two texts.
    pub fn of(old: Vec<u8>, new: Vec<u8>) -> Self {
        let diff = LineDiff::of(&old, &new);
        let mut pieces = Vec::new();
        let mut count = 0;
        // The number of the first line of every operation, by where it begins.
        let mut first = Vec::new();
        for op in diff.ops() {
            first.push((op.old_range().start, op.new_range().start, count));
            if let DiffOp::Equal { .. } = op {
                pieces.push(Piece::Same(diff.old_span(op.old_range())));
                continue;
            }
            let lines = lines(&diff, op, Some(count));
            count += lines.len() as u32;
            pieces.extend(lines.into_iter().map(Piece::Line));
        }
        let number_of = |op: &DiffOp| {
            let at = first.partition_point(|(old, new, _)| (*old, *new) < (op.old_range().start, op.new_range().start));
            first.get(at).map(|(.., number)| *number)
        };
        let hunks = diff.hunks().into_iter().map(|ops| {
            let lines = ops.iter().flat_map(|op| lines(&diff, op, number_of(op))).collect();
            Hunk { place: place(&ops), lines }
        });
        let hunks = hunks.collect();
        Self { pieces, hunks, count: count as usize, old, new }
    }

    /// The bytes of a line, with its newline if it has one.
    pub fn line(&self, line: &Line) -> &[u8] {
        let text = if line.sign == Sign::New { &self.new } else { &self.old };
        &text[line.start as usize..line.end as usize]
    }

    /// The old text with the chosen lines alone taken over.
    pub fn with(&self, chosen: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.old.len().max(self.new.len()));
        let mut put = |bytes: &[u8]| {
            // What was a last line without its newline is not the last any more.
            if !bytes.is_empty() && out.last().is_some_and(|last| *last != b'\n') {
                out.push(b'\n');
            }
            out.extend_from_slice(bytes);
        };
        for piece in &self.pieces {
            match piece {
                Piece::Same(range) => put(&self.old[range.clone()]),
                Piece::Line(line) => {
                    let is_chosen = line.number.is_some_and(|number| chosen(number as usize));
                    if is_chosen == (line.sign == Sign::New) {
                        put(self.line(line));
                    }
                }
            }
        }
        out
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        self.old.len() + self.new.len() + self.count * size_of::<(Piece, Line)>()
    }
}

fn lines(diff: &LineDiff<'_>, op: &DiffOp, first: Option<u32>) -> Vec<Line> {
    let line = |sign, span: Range<usize>| Line { sign, start: span.start as u32, end: span.end as u32, number: None };
    let old = |sign, index: usize| line(sign, diff.old_span(index..index + 1));
    if let DiffOp::Equal { .. } = op {
        return op.old_range().map(|index| old(Sign::Same, index)).collect();
    }
    let gone = op.old_range().map(|index| old(Sign::Gone, index));
    let new = op.new_range().map(|index| line(Sign::New, diff.new_span(index..index + 1)));
    let numbered = gone.chain(new).enumerate();
    numbered.map(|(at, line)| Line { number: first.map(|first| first + at as u32), ..line }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: &str, new: &str) -> Text {
        Text::of(old.into(), new.into())
    }

    fn with(text: &Text, chosen: &[usize]) -> String {
        String::from_utf8(text.with(|number| chosen.contains(&number))).unwrap()
    }

    /// A generator without a dependency: the same texts in every run.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % sides
        }

        fn text(&mut self) -> Vec<u8> {
            let lines = self.roll(12);
            let mut text: Vec<u8> = (0..lines).flat_map(|_| [b'a' + self.roll(4) as u8, b'\n']).collect();
            if self.roll(3) == 0 {
                text.pop();
            }
            text
        }
    }

    #[test]
    fn any_choice_and_then_the_rest_is_all_and_no_choice_is_nothing() {
        let mut dice = Dice(7);
        for round in 0..3000 {
            let (old, new) = (dice.text(), dice.text());
            let text = Text::of(old.clone(), new.clone());
            assert_eq!(text.with(|_| false), old, "round {round}");
            assert_eq!(text.with(|_| true), new, "round {round}");
            let chosen: Vec<bool> = (0..text.count).map(|_| dice.roll(2) == 0).collect();
            let part = text.with(|number| chosen[number]);
            let rest = Text::of(part.clone(), new.clone());
            assert_eq!(rest.with(|_| true), new, "round {round}");
            assert!(rest.count <= text.count + 2, "what was chosen is not asked for again: round {round}");
            assert_eq!(rest.with(|_| false), part, "round {round}");
        }
    }

    #[test]
    fn every_hunk_alone_is_what_it_says() {
        let old: String = (0..30).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n3\n", "\nthree\n").replace("\n20\n", "\n20\nmore\n");
        let text = text(&old, &new);
        assert_eq!((text.hunks.len(), text.count), (2, 3));
        let only = |hunk: usize| {
            let numbers = text.hunks[hunk].numbers();
            String::from_utf8(text.with(|number| numbers.contains(&number))).unwrap()
        };
        assert_eq!(only(0), old.replace("\n3\n", "\nthree\n"));
        assert_eq!(only(1), old.replace("\n20\n", "\n20\nmore\n"));
    }

    #[test]
    fn lines_are_chosen_one_by_one() {
        let text = text("a\nb\nc\n", "a\nB\nC\nc\n");
        // 0: -b, 1: +B, 2: +C
        assert_eq!(with(&text, &[0]), "a\nc\n");
        assert_eq!(with(&text, &[1]), "a\nb\nB\nc\n");
        assert_eq!(with(&text, &[0, 2]), "a\nC\nc\n");
    }

    #[test]
    fn lines_without_a_newline_do_not_run_together() {
        let text = text("a", "a\nb");
        // 0: -a, 1: +a\n, 2: +b
        assert_eq!(with(&text, &[2]), "a\nb");
        assert_eq!(with(&text, &[0, 1]), "a\n");
        assert_eq!(with(&text, &[]), "a");
    }

    #[test]
    fn a_hunk_splits_where_something_is_the_same() {
        let text = text("1\n2\n3\n4\n5\n", "one\n2\n3\nfour\n5\nsix\n");
        let parts = text.hunks[0].split();
        assert_eq!(parts.iter().map(Hunk::numbers).collect::<Vec<_>>(), [0..2, 2..4, 4..5]);
        assert_eq!(parts[0].split().len(), 1);
    }

    #[test]
    fn bytes_that_are_no_text_to_rust_stay_what_they_are() {
        let text = Text::of(b"\xff\n".to_vec(), b"\xfe\r\n\0x\n".to_vec());
        assert_eq!(text.with(|_| true), b"\xfe\r\n\0x\n");
        assert_eq!(text.with(|number| number == 0), b"");
    }
}
