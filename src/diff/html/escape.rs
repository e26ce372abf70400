//! Text for a page. Whatever came from the session cannot become markup, hide, or turn the text around it.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::ui::sanitize;

/// Writes a text of any bytes. Characters that cannot be seen or that would act are shown as marked escapes.
pub fn bytes(input: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for chunk in input.utf8_chunks() {
        // Runs of plain text are written at once.
        let mut rest = chunk.valid();
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_special(*c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            special(c, out)?;
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())?;
        for byte in chunk.invalid() {
            write!(out, "<i>\\x{byte:02x}</i>")?;
        }
    }
    Ok(())
}

/// The same as a value, for short ones.
pub fn text(input: impl AsRef<[u8]>) -> String {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = bytes(input.as_ref(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A path, kept apart from the direction of the text around it.
pub fn path(path: &Path) -> String {
    format!("<bdi>{}</bdi>", text(path.as_os_str().as_bytes()))
}

fn is_special(c: char) -> bool {
    matches!(c, '&' | '<' | '>' | '"' | '\'') || (c != '\t' && sanitize::is_dangerous(c))
}

fn special(c: char, out: &mut dyn Write) -> io::Result<()> {
    match c {
        '&' => out.write_all(b"&amp;"),
        '<' => out.write_all(b"&lt;"),
        '>' => out.write_all(b"&gt;"),
        '"' => out.write_all(b"&quot;"),
        '\'' => out.write_all(b"&#39;"),
        '\n' => out.write_all(b"<i>\\n</i>"),
        '\r' => out.write_all(b"<i>\\r</i>"),
        c => write!(out, "<i>\\u{{{:x}}}</i>", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(text("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
        assert_eq!(text("\" onload=x & &lt;"), "&quot; onload=x &amp; &amp;lt;");
        assert_eq!(path(Path::new("<b>/é")), "<bdi>&lt;b&gt;/é</bdi>");
    }

    #[test]
    fn what_cannot_be_seen_is_shown_and_marked() {
        assert_eq!(text("a\u{202e}b\u{200b}\u{1b}\0"), "a<i>\\u{202e}</i>b<i>\\u{200b}</i><i>\\u{1b}</i><i>\\u{0}</i>");
        assert_eq!(text(b"x\xff\xc0<\r\n\t."), "x<i>\\xff</i><i>\\xc0</i>&lt;<i>\\r</i><i>\\n</i>\t.");
        // A file that only says so is not marked.
        assert_eq!(text("\\u{202e}"), "\\u{202e}");
    }

    #[test]
    fn nothing_of_any_bytes_leaves_the_text() {
        let all: Vec<u8> = (0..=255).collect();
        let every: String = ('\0'..='\u{3000}').chain('\u{e000}'..='\u{10ffff}').collect();
        for shown in [text(all), text(every)] {
            let ours = shown.replace("<i>", "").replace("</i>", "");
            assert!(!ours.contains(['<', '>', '"', '\'']));
            assert!(!ours.contains(|c: char| c != '\t' && sanitize::is_dangerous(c)));
        }
    }
}
