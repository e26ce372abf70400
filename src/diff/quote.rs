//! Names as git quotes them: plain where they are, C-escaped where a line could be misread.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::ui::sanitize;

/// A path, quoted if it must be.
pub fn path(path: &Path) -> String {
    name(path.as_os_str().as_bytes())
}

/// A path with `a/` or `b/` in front, quoted as a whole if it must be.
pub fn prefixed(prefix: &str, path: &Path) -> String {
    name(&[prefix.as_bytes(), path.as_os_str().as_bytes()].concat())
}

/// A name of any bytes, quoted if it must be.
pub fn name(name: &[u8]) -> String {
    let escaped = sanitize::bytes(name);
    let special = name.iter().any(|b| matches!(b, b'"' | b'\\'));
    if name == escaped.as_bytes() && !special { escaped } else { always(name) }
}

/// A name in quotes, whatever it is.
pub fn always(name: &[u8]) -> String {
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
                c if sanitize::hides_in_a_name(c) => octal(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => out.push(c),
            }
        }
        octal(&mut out, chunk.invalid());
    }
    out.push('"');
    out
}

fn octal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push_str(&format!("\\{byte:03o}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        assert_eq!(name(b"src/a b.rs"), "src/a b.rs");
        assert_eq!(name("é".as_bytes()), "é");
        assert_eq!(name(b"a\nb"), r#""a\nb""#);
        assert_eq!(name(b"a\"b\\"), r#""a\"b\\""#);
        assert_eq!(name(b"\x1b[31m\xff"), r#""\033[31m\377""#);
        assert_eq!(name("x\u{202e}y".as_bytes()), r#""x\342\200\256y""#);
        assert_eq!(prefixed("a/", Path::new("t\tb")), r#""a/t\tb""#);
    }
}
