//! How the lines of a patch look: coloured and escaped for a person, byte-exact for a program.

use std::io::{self, Write};
use std::ops::Range;

use super::Style;
use crate::ui::sanitize;

/// What a line of a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The same in both.
    Context,
    /// Only in the old one.
    Removed,
    /// Only in the new one.
    Added,
}

impl Sign {
    /// What stands before the line.
    pub fn letter(self) -> &'static str {
        match self {
            Sign::Context => " ",
            Sign::Removed => "-",
            Sign::Added => "+",
        }
    }

    /// Its colour (SGR code).
    pub fn code(self) -> &'static str {
        match self {
            Sign::Context => "",
            Sign::Removed => "31",
            Sign::Added => "32",
        }
    }
}

/// Writes lines in a style.
pub struct Painter<'w> {
    out: &'w mut dyn Write,
    style: Style,
}

impl<'w> Painter<'w> {
    /// A painter that writes to `out`.
    pub fn new(out: &'w mut dyn Write, style: Style) -> Self {
        Self { out, style }
    }

    /// How it paints.
    pub fn style(&self) -> Style {
        self.style
    }

    /// A line about a file, in words of ours and with names quoted.
    pub fn header(&mut self, line: &str) -> io::Result<()> {
        self.painted("1", line)?;
        self.out.write_all(b"\n")
    }

    /// A line that says where a hunk lies.
    pub fn place(&mut self, line: &str) -> io::Result<()> {
        self.painted("36", line)?;
        self.out.write_all(b"\n")
    }

    /// A text of ours in a colour (SGR code, empty for none).
    pub fn painted(&mut self, code: &str, text: &str) -> io::Result<()> {
        if self.style.color && !code.is_empty() && !text.is_empty() {
            return write!(self.out, "\x1b[{code}m{text}\x1b[m");
        }
        self.out.write_all(text.as_bytes())
    }

    /// Something that is neither coloured nor escaped.
    pub fn plain(&mut self) -> &mut dyn Write {
        self.out
    }

    /// A line of a file. `marks`: the parts that differ from its other version.
    pub fn line(&mut self, sign: Sign, line: &[u8], marks: &[Range<usize>]) -> io::Result<()> {
        let whole = line.strip_suffix(b"\n");
        let text = whole.unwrap_or(line);
        let code = if self.style.color { sign.code() } else { "" };
        if !code.is_empty() {
            write!(self.out, "\x1b[{code}m")?;
        }
        self.out.write_all(sign.letter().as_bytes())?;
        let mut at = 0;
        for mark in marks.iter().filter(|_| !code.is_empty()) {
            let (start, end) = (mark.start.clamp(at, text.len()), mark.end.clamp(at, text.len()));
            self.content(&text[at..start])?;
            self.out.write_all(b"\x1b[7m")?;
            self.content(&text[start..end])?;
            self.out.write_all(b"\x1b[27m")?;
            at = end;
        }
        self.content(&text[at..])?;
        if !code.is_empty() {
            self.out.write_all(b"\x1b[m")?;
        }
        self.out.write_all(b"\n")?;
        if whole.is_none() {
            self.out.write_all(b"\\ No newline at end of file\n")?;
        }
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.style.escape {
            return self.out.write_all(sanitize::line(bytes).as_bytes());
        }
        self.out.write_all(bytes)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges is meant")]
mod tests {
    use super::*;

    const HOSTILE: &[u8] = b"\ta\x1b]52;c;x\x07\rb\xe2\x80\xae\xe2\x80\x8b\xff\xc2\x9b31m\r\n";

    fn shown(style: Style, line: &[u8], marks: &[Range<usize>]) -> Vec<u8> {
        let mut out = Vec::new();
        Painter::new(&mut out, style).line(Sign::Added, line, marks).unwrap();
        out
    }

    #[test]
    fn for_a_program_every_byte_stays() {
        assert_eq!(shown(Style::new(false, false), HOSTILE, &[]), [b"+", HOSTILE].concat());
    }

    #[test]
    fn for_a_person_nothing_acts_on_the_terminal() {
        let plain = shown(Style::new(false, true), HOSTILE, &[]);
        let expected = "+\ta\\u{1b}]52;c;x\\u{7}\\rb\\u{202e}\\u{200b}\\xff\\u{9b}31m\\r\n";
        assert_eq!(String::from_utf8(plain).unwrap(), expected);
        let painted = shown(Style::new(true, false), HOSTILE, &[]);
        assert_eq!(String::from_utf8(painted).unwrap(), format!("\x1b[32m{}\x1b[m\n", expected.trim_end()));
    }

    #[test]
    fn marks_are_reversed_and_bounded_by_the_line() {
        let style = Style::new(true, true);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(text(shown(style, b"one two\n", &[4..7])), "\x1b[32m+one \x1b[7mtwo\x1b[27m\x1b[m\n");
        assert_eq!(
            text(shown(style, b"ab", &[1..9])),
            "\x1b[32m+a\x1b[7mb\x1b[27m\x1b[m\n\\ No newline at end of file\n"
        );
    }
}
