//! Names that git takes for `.git` on some file system, by git's own rules.

/// Whether a path component is `.git` in disguise: in any case, with characters that HFS+ does not
/// see, or as NTFS spells it.
pub fn is_dotgit(name: &[u8]) -> bool {
    is_hfs(name) || name.split(|b| *b == b'\\').any(is_ntfs)
}

/// HFS+ ignores some characters altogether.
fn is_hfs(name: &[u8]) -> bool {
    let mut left: &[u8] = b".git";
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars().filter(|c| !is_ignorable(*c)) {
            match left.split_first() {
                Some((want, rest)) if c.to_ascii_lowercase() == char::from(*want) => left = rest,
                _ => return false,
            }
        }
        if !chunk.invalid().is_empty() {
            return false;
        }
    }
    left.is_empty()
}

/// Characters that HFS+ does not see in a name.
pub fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// NTFS has a short name for it, drops dots and blanks at the end, and has streams after a colon.
fn is_ntfs(name: &[u8]) -> bool {
    let rest = [&b".git"[..], b"git~1"].into_iter().find_map(|stem| {
        let (head, rest) = name.split_at_checked(stem.len())?;
        head.eq_ignore_ascii_case(stem).then_some(rest)
    });
    rest.is_some_and(|rest| rest.iter().find(|b| !matches!(b, b'.' | b' ')).is_none_or(|b| *b == b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_seen_through() {
        for name in [
            ".git",
            ".GIT",
            ".gIt",
            ".g\u{200c}it",
            "\u{feff}.GI\u{206f}T",
            "git~1",
            "GIT~1",
            ".git .",
            ".git...",
            ".git ",
            "git~1. ",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            "a\\.git",
            ".git\\config",
        ] {
            assert!(is_dotgit(name.as_bytes()), "{name:?}");
        }
        for name in [".gitignore", "git", ".gi", "", "git~2", ".git~1", "x.git", ".gıt", ".git.x", ".g\u{200b}it"] {
            assert!(!is_dotgit(name.as_bytes()), "{name:?}");
        }
        assert!(!is_dotgit(b".g\xffit"));
    }
}
