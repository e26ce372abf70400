//! `A  path`, one a line; with `-z` exact and ended by NUL.

use std::os::unix::ffi::OsStrExt;

use crate::changes::Change;

/// Names as git quotes them: plain where they are, C-escaped where a line could be misread.
pub fn lines<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<u8> {
    let mut out = Vec::new();
    for change in changes {
        out.extend_from_slice(
            format!("{}  {}\n", change.kind.letter(), quote(change.path.as_os_str().as_bytes())).as_bytes(),
        );
    }
    out
}

/// Letter, NUL, name, NUL.
pub fn nul<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<u8> {
    let mut out = Vec::new();
    for change in changes {
        out.push(change.kind.letter() as u8);
        out.push(0);
        out.extend_from_slice(change.path.as_os_str().as_bytes());
        out.push(0);
    }
    out
}

fn quote(name: &[u8]) -> String {
    let text = std::str::from_utf8(name).ok();
    let escaped = crate::ui::sanitize::bytes(name);
    let special = name.iter().any(|b| matches!(b, b'"' | b'\\'));
    if text == Some(escaped.as_str()) && !special {
        return escaped;
    }
    let mut out = String::from("\"");
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => {
                    out.push('\\');
                    out.push(c);
                }
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                // Whatever a terminal could act upon, byte by byte.
                c if crate::ui::sanitize::text(c.encode_utf8(&mut [0; 4])).starts_with('\\') => {
                    let mut buffer = [0; 4];
                    c.encode_utf8(&mut buffer).bytes().for_each(|b| out.push_str(&format!("\\{b:03o}")));
                }
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|b| out.push_str(&format!("\\{b:03o}")));
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        assert_eq!(quote(b"src/a b.rs"), "src/a b.rs");
        assert_eq!(quote("é".as_bytes()), "é");
        assert_eq!(quote(b"a\nb"), r#""a\nb""#);
        assert_eq!(quote(b"a\"b\\"), r#""a\"b\\""#);
        assert_eq!(quote(b"\x1b[31m\xff"), r#""\033[31m\377""#);
        assert_eq!(quote("x\u{202e}y".as_bytes()), r#""x\342\200\256y""#);
    }
}
