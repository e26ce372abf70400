//! The lines of a file as rows of a table: two numbers, a sign, the text.

use std::io::{self, Write};
use std::ops::Range;

use similar::DiffOp;

use super::escape;
use crate::diff::hunks;
use crate::diff::lines::LineDiff;

/// Rows of one file; what is beyond is counted. A browser could not show it, and nobody reads it there.
const MOST_ROWS: usize = 10_000;

const COLUMNS: &str = "<table>\n<colgroup><col class=\"no\"><col class=\"no\"><col class=\"sign\"><col></colgroup>\n";

/// Bytes of one line; what is beyond is counted.
const LONGEST: usize = 4_000;

/// Writes all hunks; `ends`: a last line without a newline is told.
pub fn write(diff: &LineDiff<'_>, ends: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table { out, ends, rows: 0, cut: 0 };
    table.out.write_all(COLUMNS.as_bytes())?;
    for hunk in diff.hunks() {
        if table.rows < MOST_ROWS {
            let place = escape::text(hunks::place(&hunk));
            writeln!(table.out, "<tr class=\"h\"><td colspan=\"4\">{place}</td></tr>")?;
        }
        hunk.iter().try_for_each(|op| table.op(diff, op))?;
    }
    let cut = table.cut;
    out.write_all(b"</table>\n")?;
    if cut > 0 {
        let command = "cowbox diff -- PATH";
        writeln!(
            out,
            "<p class=\"cut\">{cut} more lines are not on this page: <code>{command}</code> shows them.</p>"
        )?;
    }
    Ok(())
}

struct Table<'w> {
    out: &'w mut dyn Write,
    ends: bool,
    rows: usize,
    cut: usize,
}

impl Table<'_> {
    fn op(&mut self, diff: &LineDiff<'_>, op: &DiffOp) -> io::Result<()> {
        if let DiffOp::Equal { .. } = op {
            let mut both = op.old_range().zip(op.new_range());
            return both.try_for_each(|(old, new)| self.row(Some(old), Some(new), diff.new_line(new), &[]));
        }
        let (gone, come) = hunks::marks(diff, op);
        let marks = |list: &[Vec<Range<usize>>], at: usize| list.get(at).cloned().unwrap_or_default();
        for (at, index) in op.old_range().enumerate() {
            self.row(Some(index), None, diff.old_line(index), &marks(&gone, at))?;
        }
        for (at, index) in op.new_range().enumerate() {
            self.row(None, Some(index), diff.new_line(index), &marks(&come, at))?;
        }
        Ok(())
    }

    fn row(&mut self, old: Option<usize>, new: Option<usize>, line: &[u8], marks: &[Range<usize>]) -> io::Result<()> {
        if self.rows >= MOST_ROWS {
            self.cut += 1;
            return Ok(());
        }
        self.rows += 1;
        let (class, sign, mark) = match (old, new) {
            (Some(_), None) => (" class=\"del\"", "-", "del"),
            (None, Some(_)) => (" class=\"add\"", "+", "ins"),
            _ => ("", " ", "span"),
        };
        write!(self.out, "<tr{class}>")?;
        // Numbers are drawn by the style: copied text has none.
        for number in [old, new] {
            let number = number.map(|index| (index + 1).to_string()).unwrap_or_default();
            write!(self.out, "<td data-n=\"{number}\"></td>")?;
        }
        write!(self.out, "<td>{sign}</td><td>")?;
        let whole = line.strip_suffix(b"\n");
        let text = whole.unwrap_or(line);
        let shown = &text[..shown_length(text)];
        let mut at = 0;
        for range in marks {
            let (start, end) = (range.start.clamp(at, shown.len()), range.end.clamp(at, shown.len()));
            if start == end {
                continue;
            }
            escape::bytes(&shown[at..start], self.out)?;
            write!(self.out, "<{mark}>")?;
            escape::bytes(&shown[start..end], self.out)?;
            write!(self.out, "</{mark}>")?;
            at = end;
        }
        escape::bytes(&shown[at..], self.out)?;
        if shown.len() < text.len() {
            write!(self.out, "<i> … {} more bytes</i>", text.len() - shown.len())?;
        }
        if whole.is_none() && self.ends {
            self.out.write_all(b"<i> no newline at the end</i>")?;
        }
        self.out.write_all(b"</td></tr>\n")
    }
}

/// As much as is shown, without cutting a character.
fn shown_length(text: &[u8]) -> usize {
    let is_middle = |at: &usize| text[*at] & 0xc0 == 0x80;
    match text.len() {
        length if length <= LONGEST => length,
        _ => (LONGEST - 3..=LONGEST).rev().find(|at| !is_middle(at)).unwrap_or(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let mut out = Vec::new();
        write(&LineDiff::of(old.as_bytes(), new.as_bytes()), true, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_have_numbers_signs_and_marked_words() {
        insta::assert_snapshot!(shown("same\nlet x = <1>;\n", "same\nlet x = <2>;"), @r#"
        <table>
        <colgroup><col class="no"><col class="no"><col class="sign"><col></colgroup>
        <tr class="h"><td colspan="4">@@ -1,2 +1,2 @@</td></tr>
        <tr><td data-n="1"></td><td data-n="1"></td><td> </td><td>same</td></tr>
        <tr class="del"><td data-n="2"></td><td data-n=""></td><td>-</td><td>let x = &lt;<del>1</del>&gt;;</td></tr>
        <tr class="add"><td data-n=""></td><td data-n="2"></td><td>+</td><td>let x = &lt;<ins>2</ins>&gt;;<i> no newline at the end</i></td></tr>
        </table>
        "#);
    }

    #[test]
    fn what_is_too_much_is_cut_and_counted() {
        let page = shown("", &"x\n".repeat(MOST_ROWS + 7));
        assert_eq!(page.matches("<tr class=\"add\">").count(), MOST_ROWS);
        assert!(page.contains("7 more lines are not on this page"));
        let page = shown("", &"é".repeat(LONGEST));
        assert!(page.contains(&format!("{}<i> … {LONGEST} more bytes</i>", "é".repeat(LONGEST / 2))));
    }
}
