//! As much of Python's grammar as it takes not to change strings and comments.

/// Which bytes are code: neither in a string nor in a comment.
pub(super) fn code(text: &str) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut code = vec![true; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'#' => bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n),
            b'"' | b'\'' => string_end(bytes, at),
            _ => {
                at += 1;
                continue;
            }
        };
        code[at..end].fill(false);
        at = end;
    }
    code
}

/// Where the string ends that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let triple = bytes[start..].starts_with(&[quote; 3]);
    let (mut at, close) = if triple { (start + 3, 3) } else { (start + 1, 1) };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' if !triple => return at,
            b if b == quote && bytes[at..].starts_with(&vec![quote; close]) => return at + close,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether a byte can be part of a name.
pub(super) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_no_code() {
        let text = "a = 'x\\'y' # c\nb = \"\"\"d\n'e\"\"\" + f\ng = 'h\ni";
        let kept: String = text.char_indices().filter(|(at, _)| code(text)[*at]).map(|(_, letter)| letter).collect();
        assert_eq!(kept, "a =  \nb =  + f\ng = \ni");
        for cut in 0..text.len() {
            assert_eq!(code(&text[..cut]).len(), cut);
        }
    }
}
