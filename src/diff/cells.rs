//! A line of a file in a column of a terminal: escaped, tabs made blanks, and continued where it is too long.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::colour::Sign;
use crate::ui::sanitize;

/// Columns from one stop of a tab to the next, as terminals have them.
const TAB: usize = 8;

/// One line of one side.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Which side.
    pub sign: Sign,
    /// Its bytes, with the newline if it has one.
    pub line: &'a [u8],
    /// Parts that differ from the other side.
    pub marks: &'a [Range<usize>],
}

/// What of a line stands in one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Pieces of text, and whether they are marked.
    pub runs: Vec<(String, bool)>,
    /// Columns that it takes.
    pub width: usize,
}

/// The rows of a line in a column that is `width` wide; at least one.
pub fn wrap(cell: &Cell<'_>, width: usize) -> Vec<Part> {
    let text = cell.line.strip_suffix(b"\n").unwrap_or(cell.line);
    let mut rows = vec![Part::default()];
    // Columns from the start of the line: tabs count from there.
    let mut column = 0;
    let mut at = 0;
    for mark in cell.marks {
        let (start, end) = (mark.start.clamp(at, text.len()), mark.end.clamp(at, text.len()));
        push(&mut rows, &text[at..start], false, width, &mut column);
        push(&mut rows, &text[start..end], true, width, &mut column);
        at = end;
    }
    push(&mut rows, &text[at..], false, width, &mut column);
    rows
}

fn push(rows: &mut Vec<Part>, bytes: &[u8], marked: bool, width: usize, column: &mut usize) {
    for c in sanitize::line(bytes).chars() {
        let (c, count) = if c == '\t' { (' ', TAB - *column % TAB) } else { (c, 1) };
        for _ in 0..count {
            // What has no width of its own stays with what stands before it.
            let own = c.width().unwrap_or(0);
            if rows.last().is_some_and(|row| row.width + own > width && row.width > 0) {
                rows.push(Part::default());
            }
            let Some(row) = rows.last_mut() else { return };
            match row.runs.last_mut() {
                Some((text, same)) if *same == marked => text.push(c),
                _ => row.runs.push((c.to_string(), marked)),
            }
            row.width += own;
            *column += own;
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges is meant")]
mod tests {
    use super::*;

    fn wrapped(line: &[u8], marks: &[Range<usize>], width: usize) -> Vec<(String, usize)> {
        let rows = wrap(&Cell { sign: Sign::Added, line, marks }, width);
        let text = |part: &Part| {
            part.runs.iter().map(|(text, marked)| if *marked { format!("[{text}]") } else { text.clone() }).collect()
        };
        rows.iter().map(|part| (text(part), part.width)).collect()
    }

    #[test]
    fn rows_are_as_wide_as_they_look() {
        let row = |text: &str, width| (text.to_owned(), width);
        assert_eq!(wrapped(b"\n", &[], 4), [row("", 0)]);
        assert_eq!(wrapped(b"abcdef\n", &[], 4), [row("abcd", 4), row("ef", 2)]);
        assert_eq!(wrapped("日本語".as_bytes(), &[], 5), [row("日本", 4), row("語", 2)]);
        assert_eq!(wrapped("e\u{301}x".as_bytes(), &[], 1), [row("e\u{301}", 1), row("x", 1)]);
        assert_eq!(wrapped(b"a\tb", &[], 20), [row("a       b", 9)]);
        assert_eq!(wrapped(b"\x1b\xff", &[], 20), [row("\\u{1b}\\xff", 10)]);
    }

    #[test]
    fn marks_go_on_in_the_next_row() {
        let row = |text: &str, width| (text.to_owned(), width);
        assert_eq!(wrapped(b"abcdef", &[2..5], 4), [row("ab[cd]", 4), row("[e]f", 2)]);
    }
}
