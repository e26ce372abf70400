//! `--side-by-side`: old on the left, new on the right. For people alone, so everything is escaped; long lines go on
//! in the next row, since what is cut off could be what matters.

use std::io::{self, Write};

use similar::DiffOp;

use super::body::Body;
use super::cells::{self, Cell};
use super::colour::Sign;
use super::lines::LineDiff;
use super::{Failed, facts, hunks, quote};
use crate::changes::contents::Contents;
use crate::changes::{Change, ChangeKind};

/// Narrower than this the columns hold too little.
pub const NARROWEST: usize = 120;

/// Width where there is no terminal.
pub const WIDTH: usize = 160;

/// Columns for the number of a line, and for its sign with the blanks around.
const NUMBER: usize = 5;
const SIGN: usize = 3;

/// Writes the changes one by one in `width` columns.
pub fn write<'a>(
    changes: impl IntoIterator<Item = &'a Change>,
    contents: &dyn Contents,
    width: usize,
    color: bool,
    out: &mut dyn Write,
) -> Result<(), Failed> {
    let text = (width.saturating_sub(3) / 2).saturating_sub(NUMBER + SIGN).max(1);
    let mut view = View { out, color, width, text };
    for change in changes {
        view.change(change, contents)?;
    }
    Ok(())
}

struct View<'w> {
    out: &'w mut dyn Write,
    color: bool,
    width: usize,
    /// Columns for the text of one side.
    text: usize,
}

/// One side of a row: the line's number and its text.
type Side<'a> = Option<(usize, Cell<'a>)>;

impl View<'_> {
    fn change(&mut self, change: &Change, contents: &dyn Contents) -> Result<(), Failed> {
        let body = Body::of(change, contents)?;
        let mut words = facts::of(change);
        match &body {
            Body::Binary => words.push(facts::binary(change)),
            Body::Nothing if change.kind == ChangeKind::Modified => words.push("only attributes changed".to_owned()),
            _ => {}
        }
        let name = format!("{} {}", change.kind.letter(), quote::path(&change.path));
        self.painted("1", &name)?;
        let words = if words.is_empty() { String::new() } else { format!("  ({})", words.join(", ")) };
        writeln!(self.out, "{words}")?;
        if let Body::Texts(pairs) = &body {
            for (old, new) in pairs {
                self.texts(&LineDiff::of(old, new))?;
            }
        }
        Ok(writeln!(self.out)?)
    }

    fn texts(&mut self, diff: &LineDiff<'_>) -> io::Result<()> {
        for hunk in diff.hunks() {
            let place = hunks::place(&hunk);
            let rule = "─".repeat(self.width.saturating_sub(place.len() + 4));
            self.painted("36", &format!("── {place} {rule}"))?;
            writeln!(self.out)?;
            hunk.iter().try_for_each(|op| self.op(diff, op))?;
        }
        Ok(())
    }

    fn op(&mut self, diff: &LineDiff<'_>, op: &DiffOp) -> io::Result<()> {
        if let DiffOp::Equal { .. } = op {
            let mut both = op.old_range().zip(op.new_range());
            return both.try_for_each(|(old, new)| {
                let cell = |index| Cell { sign: Sign::Context, line: diff.old_line(index), marks: &[] };
                self.row(Some((old, cell(old))), Some((new, cell(old))))
            });
        }
        let (gone, come) = hunks::marks(diff, op);
        for at in 0..op.old_range().len().max(op.new_range().len()) {
            let old = op.old_range().nth(at).map(|index| {
                let marks = gone.get(at).map_or(&[][..], Vec::as_slice);
                (index, Cell { sign: Sign::Removed, line: diff.old_line(index), marks })
            });
            let new = op.new_range().nth(at).map(|index| {
                let marks = come.get(at).map_or(&[][..], Vec::as_slice);
                (index, Cell { sign: Sign::Added, line: diff.new_line(index), marks })
            });
            self.row(old, new)?;
        }
        Ok(())
    }

    fn row(&mut self, old: Side<'_>, new: Side<'_>) -> io::Result<()> {
        let text = self.text;
        let wrapped = |side: &Side<'_>| side.as_ref().map(|(_, cell)| cells::wrap(cell, text)).unwrap_or_default();
        let (left, right) = (wrapped(&old), wrapped(&new));
        for at in 0..left.len().max(right.len()).max(1) {
            self.side(&old, left.get(at), at == 0, true)?;
            self.out.write_all(" │ ".as_bytes())?;
            self.side(&new, right.get(at), at == 0, false)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// One side of one row; the left one is filled up with blanks.
    fn side(&mut self, side: &Side<'_>, part: Option<&cells::Part>, first: bool, fill: bool) -> io::Result<()> {
        let (Some((index, cell)), Some(part)) = (side, part) else {
            let blank = if fill { self.text + NUMBER + SIGN } else { 0 };
            return write!(self.out, "{:blank$}", "");
        };
        let number = if first { (index + 1).to_string() } else { String::new() };
        write!(self.out, "{number:>NUMBER$} ")?;
        let code = cell.sign.code();
        self.painted(code, if first { cell.sign.letter() } else { " " })?;
        write!(self.out, " ")?;
        for (text, marked) in &part.runs {
            let marked = *marked && !code.is_empty();
            self.painted(&if marked { format!("{code};7") } else { code.to_owned() }, text)?;
        }
        let blank = if fill { self.text - part.width.min(self.text) } else { 0 };
        write!(self.out, "{:blank$}", "")
    }

    fn painted(&mut self, code: &str, text: &str) -> io::Result<()> {
        if self.color && !code.is_empty() && !text.is_empty() {
            return write!(self.out, "\x1b[{code}m{text}\x1b[m");
        }
        self.out.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::double::{Node, Tree, Trees};

    fn shown(old: &str, new: &str, width: usize, color: bool) -> String {
        let tree = |text: &str| Tree::from([("x".into(), Node::File(0o644, text.into()))]);
        let trees = Trees { old: tree(old), new: tree(new) };
        let mut out = Vec::new();
        write(&trees.changes(&[]), &trees, width, color, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn old_and_new_stand_beside_each_other() {
        insta::assert_snapshot!(shown("a\nold line\nz\n", "a\nnew line\nmore\nz\n", 60, false), @r"
        M x
        ── @@ -1,3 +1,4 @@ ─────────────────────────────────────────
            1   a                    │     1   a
            2 - old line             │     2 + new line
                                     │     3 + more
            3   z                    │     4   z
        ");
    }

    #[test]
    fn wide_characters_tabs_and_long_lines_keep_the_columns() {
        insta::assert_snapshot!(shown("日本語日本語日本語日本語\n", "\tx\u{301}y\u{202e}\u{1b}[31m\n", 60, false), @r"
        M x
        ── @@ -1 +1 @@ ─────────────────────────────────────────────
            1 - 日本語日本語日本語日 │     1 +         x́y\u{202e}\u
                本語                 │         {1b}[31m
        ");
    }

    #[test]
    fn words_that_differ_are_marked() {
        let text = shown("one two three\n", "one 2 three\n", 60, true);
        assert!(text.contains("\x1b[31mone \x1b[m\x1b[31;7mtwo\x1b[m\x1b[31m three\x1b[m"), "{text:?}");
        assert!(text.contains("\x1b[32;7m2\x1b[m"), "{text:?}");
    }
}
