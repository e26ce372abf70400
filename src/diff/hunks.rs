//! The hunks of a unified diff.

use std::io;

use similar::DiffOp;

use super::colour::{Painter, Sign};
use super::lines::LineDiff;
use super::words;

/// Pairs of lines that are compared word by word in one place; a reader looks at no more.
const MOST_PAIRS: usize = 200;

/// Writes all hunks.
pub fn write(diff: &LineDiff<'_>, painter: &mut Painter<'_>) -> io::Result<()> {
    diff.hunks().iter().try_for_each(|hunk| write_one(diff, hunk, painter))
}

/// Writes one hunk: where it lies, then its lines.
pub fn write_one(diff: &LineDiff<'_>, hunk: &[DiffOp], painter: &mut Painter<'_>) -> io::Result<()> {
    painter.place(&place(hunk))?;
    hunk.iter().try_for_each(|op| write_op(diff, op, painter))
}

/// `@@ -1,3 +1,4 @@`
pub fn place(hunk: &[DiffOp]) -> String {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return String::new() };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    format!("@@ -{old} +{new} @@")
}

fn write_op(diff: &LineDiff<'_>, op: &DiffOp, painter: &mut Painter<'_>) -> io::Result<()> {
    if let DiffOp::Equal { .. } = op {
        return op.old_range().try_for_each(|index| painter.line(Sign::Context, diff.old_line(index), &[]));
    }
    let pairs = op.old_range().zip(op.new_range()).take(if painter.style().color { MOST_PAIRS } else { 0 });
    let (gone, come): (Vec<_>, Vec<_>) =
        pairs.map(|(old, new)| words::marks(diff.old_line(old), diff.new_line(new))).unzip();
    for (at, index) in op.old_range().enumerate() {
        painter.line(Sign::Removed, diff.old_line(index), gone.get(at).map_or(&[], Vec::as_slice))?;
    }
    for (at, index) in op.new_range().enumerate() {
        painter.line(Sign::Added, diff.new_line(index), come.get(at).map_or(&[], Vec::as_slice))?;
    }
    Ok(())
}

/// Lines from `start` up to `end` as a hunk header has them: nothing lies after the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}
