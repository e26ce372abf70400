//! Three-way merge of text by lines, as careful as git's: changes that touch are in conflict.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, capture_diff_slices};

use super::base::Kept;

#[cfg(test)]
mod tests;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Both sides' changes, side by side.
    Clean(Vec<u8>),
    /// They touch the same lines; this has markers around them.
    Conflict(Vec<u8>),
    /// One of them has no lines.
    Binary,
}

/// Whether bytes are text by git's rule: no NUL near the beginning.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes[..bytes.len().min(8000)].contains(&0)
}

/// Merges what the host and the session made of what is known to have been there, if anything is.
pub fn merge(base: Option<&Kept>, host: &[u8], session: &[u8], name: &str) -> Merged {
    match base {
        Some(Kept::Seen(base)) => three_way(base, host, session, name),
        Some(Kept::Committed(base)) if !may_have_been_edited(base, host, session) => {
            three_way(base, host, session, name)
        }
        _ => apart(host, session, name),
    }
}

/// Whether something says that a file had edits when the session saw it, on top of what git had of it: the same
/// edit on both sides does. And where a side has no edit at all, it may have taken one back.
fn may_have_been_edited(base: &[u8], host: &[u8], session: &[u8]) -> bool {
    let text = Text::new(base, host, session);
    let (ours, theirs) = (text.hunks(HOST, false), text.hunks(SESSION, false));
    let lines = |side: usize, hunk: &Hunk| text.numbers[side].get(hunk.side.clone());
    let theirs: HashMap<(usize, usize), &Hunk> =
        theirs.iter().map(|hunk| ((hunk.base.start, hunk.base.end), hunk)).collect();
    let same = |hunk: &Hunk| {
        let other = theirs.get(&(hunk.base.start, hunk.base.end));
        other.is_some_and(|other| lines(HOST, hunk) == lines(SESSION, other))
    };
    ours.is_empty() || theirs.is_empty() || ours.iter().any(same)
}

/// Both sides, with markers around everything.
fn apart(host: &[u8], session: &[u8], name: &str) -> Merged {
    if ![host, session].into_iter().all(is_text) {
        return Merged::Binary;
    }
    let text = Text::new(&[], host, session);
    Merged::Conflict(text.write(&[text.everything()], name))
}

/// Merges what the host and the session made of `base`.
pub fn three_way(base: &[u8], host: &[u8], session: &[u8], name: &str) -> Merged {
    if ![base, host, session].into_iter().all(is_text) {
        return Merged::Binary;
    }
    if host == session || session == base {
        return Merged::Clean(host.to_vec());
    }
    if host == base {
        return Merged::Clean(session.to_vec());
    }
    let text = Text::new(base, host, session);
    // Where lines repeat, a change can be seen in more than one place. From the front and from the back it
    // is seen in the first and in the last: only where both agree is there nothing to decide.
    let (forth, back) = (text.pieces(false), text.pieces(true));
    let conflicts = |pieces: &[Piece]| pieces.iter().any(|piece| matches!(piece, Piece::Both { .. }));
    let pieces = match (conflicts(&forth), conflicts(&back)) {
        (false, false) => {
            let (one, other) = (text.write(&forth, name), text.write(&back, name));
            if one == other {
                return Merged::Clean(one);
            }
            vec![text.everything()]
        }
        (true, _) => forth,
        (false, true) => back,
    };
    Merged::Conflict(text.write(&pieces, name))
}

/// The three sides as lines.
struct Text<'a> {
    lines: [Vec<&'a [u8]>; 3],
    /// The same, each distinct line as one number.
    numbers: [Vec<u32>; 3],
}

const BASE: usize = 0;
const HOST: usize = 1;
const SESSION: usize = 2;

/// Lines of the base that a side replaced.
#[derive(Clone, Debug)]
struct Hunk {
    base: Range<usize>,
    side: Range<usize>,
    /// Lines of the base that it could as well be seen in: of two equal lines, which one is gone?
    reach: Range<usize>,
}

/// A part of the result.
enum Piece {
    /// Lines of one side.
    One(usize, Range<usize>),
    /// Both changed the same lines of the base.
    Both { host: Range<usize>, session: Range<usize> },
}

impl<'a> Text<'a> {
    fn new(base: &'a [u8], host: &'a [u8], session: &'a [u8]) -> Self {
        let lines = [base, host, session].map(|side| side.split_inclusive(|b| *b == b'\n').collect::<Vec<_>>());
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut numbers = [Vec::new(), Vec::new(), Vec::new()];
        for (side, lines) in numbers.iter_mut().zip(&lines) {
            for line in lines {
                let next = known.len() as u32;
                side.push(*known.entry(line).or_insert(next));
            }
        }
        Self { lines, numbers }
    }

    /// What a side did to the base; `back`: compared from the end.
    fn hunks(&self, side: usize, back: bool) -> Vec<Hunk> {
        let (base, side) = (&self.numbers[BASE], &self.numbers[side]);
        let ops = match back {
            false => capture_diff_slices(Algorithm::Myers, base, side),
            true => {
                let turned = |lines: &[u32]| lines.iter().rev().copied().collect::<Vec<_>>();
                capture_diff_slices(Algorithm::Myers, &turned(base), &turned(side))
            }
        };
        let turn = |range: Range<usize>, length: usize| length - range.end..length - range.start;
        let mut hunks: Vec<Hunk> = Vec::new();
        for op in ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal) {
            let (old, new) = (op.old_range(), op.new_range());
            match hunks.last_mut() {
                Some(last) if last.base.end == old.start && last.side.end == new.start => {
                    (last.base.end, last.side.end) = (old.end, new.end);
                }
                _ => hunks.push(Hunk { reach: old.clone(), base: old, side: new }),
            }
        }
        if back {
            let (n, m) = (base.len(), side.len());
            let turned = |h: Hunk| Hunk { base: turn(h.base, n), side: turn(h.side, m), reach: turn(h.reach, n) };
            hunks = hunks.into_iter().rev().map(turned).collect();
        }
        for n in 0..hunks.len() {
            let least = if n == 0 { 0 } else { hunks[n - 1].base.end };
            let most = hunks.get(n + 1).map_or(base.len(), |next| next.base.start);
            let (old, new) = (slide(base, &hunks[n].base), slide(side, &hunks[n].side));
            let Range { start, end } = hunks[n].base;
            hunks[n].reach = start.saturating_sub(old.0.max(new.0)).max(least)..(end + old.1.max(new.1)).min(most);
        }
        hunks
    }

    /// What becomes of the base from its beginning to its end.
    fn pieces(&self, back: bool) -> Vec<Piece> {
        let hunks = [self.hunks(HOST, back), self.hunks(SESSION, back)];
        let (mut next, mut at, mut shift) = ([0, 0], 0, [0isize, 0]);
        let mut pieces = Vec::new();
        loop {
            let ahead = |n: usize| hunks[n].get(next[n]);
            let Some(start) = [0, 1].into_iter().filter_map(ahead).map(|hunk| hunk.reach.start).min() else { break };
            let mut end = start;
            let before = shift;
            // Also what only touches: whose lines come first would be a guess.
            while let Some(n) = [0, 1].into_iter().find(|n| {
                let hunk = hunks[*n].get(next[*n]);
                hunk.is_some_and(|hunk| hunk.reach.start <= end)
            }) {
                let hunk = &hunks[n][next[n]];
                end = end.max(hunk.reach.end);
                shift[n] += hunk.side.len() as isize - hunk.base.len() as isize;
                next[n] += 1;
            }
            pieces.push(Piece::One(BASE, at..start));
            let range = |n: usize| start.wrapping_add_signed(before[n])..end.wrapping_add_signed(shift[n]);
            let (host, session) = (range(0), range(1));
            let lines = |side: usize, range: &Range<usize>| &self.numbers[side][range.clone()];
            let (ours, theirs) = (lines(HOST, &host), lines(SESSION, &session));
            let old = &self.numbers[BASE][start..end];
            pieces.push(if ours == theirs || theirs == old {
                Piece::One(HOST, host)
            } else if ours == old {
                Piece::One(SESSION, session)
            } else {
                Piece::Both { host, session }
            });
            at = end;
        }
        pieces.push(Piece::One(BASE, at..self.numbers[BASE].len()));
        pieces
    }

    fn everything(&self) -> Piece {
        Piece::Both { host: 0..self.lines[HOST].len(), session: 0..self.lines[SESSION].len() }
    }

    fn write(&self, pieces: &[Piece], name: &str) -> Vec<u8> {
        // Markers end as the lines around them do.
        let end = match self.lines[HOST].first().or(self.lines[SESSION].first()) {
            Some(line) if line.ends_with(b"\r\n") => "\r\n",
            _ => "\n",
        };
        let mut out = Vec::new();
        for piece in pieces {
            match piece {
                Piece::One(side, range) => self.lines[*side][range.clone()].iter().for_each(|line| out.extend(*line)),
                Piece::Both { host, session } => {
                    let marker = |out: &mut Vec<u8>, text: &str| {
                        if out.last().is_some_and(|last| *last != b'\n') {
                            out.extend(end.as_bytes());
                        }
                        out.extend(format!("{text}{end}").as_bytes());
                    };
                    marker(&mut out, "<<<<<<< host");
                    self.lines[HOST][host.clone()].iter().for_each(|line| out.extend(*line));
                    marker(&mut out, "=======");
                    self.lines[SESSION][session.clone()].iter().for_each(|line| out.extend(*line));
                    marker(&mut out, &format!(">>>>>>> session {name}"));
                }
            }
        }
        out
    }
}

/// How far lines could be moved up and down in a text that stays the same.
fn slide(lines: &[u32], range: &Range<usize>) -> (usize, usize) {
    if range.is_empty() {
        return (0, 0);
    }
    let up = (1..=range.start).take_while(|n| lines[range.start - n] == lines[range.end - n]).count();
    let down = (0..lines.len() - range.end).take_while(|n| lines[range.start + n] == lines[range.end + n]).count();
    (up, down)
}
