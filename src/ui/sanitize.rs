//! Escapes what came from the sandbox before a person sees it.
//!
//! File names, link targets and engine messages are written by the other side. Control characters,
//! bidirectional overrides and invisible characters are shown as escapes instead of acted upon.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Escapes a text.
pub fn text(input: &str) -> String {
    let mut out = String::with_capacity(input.len());
    for c in input.chars() {
        push(&mut out, c);
    }
    out
}

/// Escapes a name of any bytes; bytes that are not UTF-8 become `\xNN`.
pub fn bytes(input: &[u8]) -> String {
    let mut out = String::with_capacity(input.len());
    for chunk in input.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push(&mut out, c));
        push_bytes(&mut out, chunk.invalid());
    }
    out
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Escapes a line of a file: as [`bytes`], and tabs and the blanks of ordinary text stay what they are.
pub fn line(input: &[u8]) -> String {
    let mut out = String::with_capacity(input.len());
    for chunk in input.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\t' || is_written_blank(c) { out.push(c) } else { push(&mut out, c) }
        }
        push_bytes(&mut out, chunk.invalid());
    }
    out
}

/// What a program printed, line by line: colours are taken out, a carriage return ends a line too, the rest is
/// escaped.
pub fn output(input: &[u8]) -> Vec<String> {
    let mut plain = Vec::with_capacity(input.len());
    let mut rest = input;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if let (0x1b, Some((b'[', more))) = (*first, more.split_first()) {
            // Parameters, then one letter.
            let end = more.iter().position(|b| (0x40..0x7f).contains(b)).map_or(more.len(), |at| at + 1);
            rest = &more[end..];
        } else {
            plain.push(*first);
        }
    }
    let lines = plain.split(|b| matches!(b, b'\n' | b'\r')).map(line);
    lines.filter(|text| !text.trim().is_empty()).collect()
}

/// Escapes what a terminal could act upon in a JSON document; it stays the same document.
pub fn json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        // Below the first blank JSON has escaped everything but its own line breaks.
        if c != '\n' && is_dangerous(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Escapes a path.
pub fn path(path: &Path) -> String {
    bytes(path.as_os_str().as_bytes())
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if hides_in_a_name(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Characters that change how text around them is shown, or that cannot be seen at all.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00ad | 0x034f | 0x061c | 0x115f..=0x1160 | 0x1680 | 0x17b4..=0x17b5 | 0x180b..=0x180f
            | 0x2000..=0x200f | 0x2028..=0x202e | 0x205f..=0x206f | 0x2800 | 0x3164 | 0xfe00..=0xfe0f
            | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x13430..=0x1343f | 0x1bca0..=0x1bca3
            | 0x1d159 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

/// The same for names, where a blank that is not the usual one looks like none, or like the usual one.
pub fn hides_in_a_name(c: char) -> bool {
    is_dangerous(c) || is_written_blank(c)
}

/// Blanks that people write: in French before a colon, in Japanese between words. In a name they hide.
fn is_written_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{202f}' | '\u{3000}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_overrides_are_shown_not_acted_upon() {
        assert_eq!(text("a\x1b]52;c;x\x07b"), "a\\u{1b}]52;c;x\\u{7}b");
        assert_eq!(text("x\u{202e}y\u{200b}\u{2028}"), "x\\u{202e}y\\u{200b}\\u{2028}");
        assert_eq!(text("line\r\n\u{9b}31m"), "line\\r\\n\\u{9b}31m");
    }

    #[test]
    fn blanks_that_are_none_are_shown() {
        assert_eq!(text(".envrc\u{2800}"), ".envrc\\u{2800}");
        assert_eq!(bytes("a\u{a0}\u{2003}\u{1d173}".as_bytes()), "a\\u{a0}\\u{2003}\\u{1d173}");
        assert_eq!(line("oui\u{a0}: 日本\u{3000}\u{2800}".as_bytes()), "oui\u{a0}: 日本\u{3000}\\u{2800}");
    }

    #[test]
    fn json_stays_the_same_document() {
        let value = serde_json::json!({ "a": "x\u{9b}y\u{202e}\u{e0001}\n\u{7f}é" });
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.chars().all(|c| c == '\n' || !is_dangerous(c)));
    }

    #[test]
    fn ordinary_text_of_any_script_is_left_alone() {
        assert_eq!(text("naïve 日本語 — ok"), "naïve 日本語 — ok");
        assert_eq!(bytes(b"ok\xff\xfe"), "ok\\xff\\xfe");
        assert_eq!(line(b"\tif x:\r"), "\tif x:\\r");
    }
}
