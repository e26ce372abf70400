//! Patterns with `*` over bytes. Linear enough for hostile text: pieces are looked for once, from left to right.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::git::dotgit::is_ignorable;

/// Whether `text` as a whole fits `pattern`. `*` stands for any bytes, none included.
pub(super) fn fits(pattern: &str, text: &[u8]) -> bool {
    fits_by(pattern, text, |a, b| a == b)
}

/// As [`fits`], with a way to compare pieces of the same length.
fn fits_by(pattern: &str, text: &[u8], same: Same) -> bool {
    let mut pieces = pattern.split('*').map(str::as_bytes);
    let first = pieces.next().unwrap_or_default();
    let Some((head, mut rest)) = text.split_at_checked(first.len()) else { return false };
    let mut pieces = pieces.peekable();
    if !same(head, first) {
        return false;
    }
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.len() >= piece.len() && same(&rest[rest.len() - piece.len()..], piece);
        }
        let found = if piece.is_empty() { Some(0) } else { rest.windows(piece.len()).position(|w| same(w, piece)) };
        match found {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// Whether it fits one of them.
pub(super) fn fits_any(patterns: &[&str], text: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, text.as_bytes()))
}

/// Where `piece` starts in `text`.
pub(super) fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    text.windows(piece.len()).position(|window| window == piece)
}

/// How a path meets a pattern such as `.github/workflows/**` or `*.code-workspace`, at any depth of the repo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    /// It is such a file.
    Fully,
    /// It is a folder on the way to such files: as a link it would bring them along.
    OnTheWay,
}

/// A path as file systems compare it that do not tell cases apart, and see no invisible characters.
pub(super) fn folded(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_ascii() => {
            let seen = text.chars().filter(|c| !is_ignorable(*c));
            seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect::<String>().into_bytes()
        }
        _ => bytes.to_ascii_lowercase(),
    }
}

/// The first byte of the name that a path must have to be what a pattern says, or `*`.
pub(super) const fn first_byte(pattern: &str) -> u8 {
    let bytes = pattern.as_bytes();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'/' {
            if at + 2 < bytes.len() && bytes[at + 1] == b'*' && bytes[at + 2] == b'*' {
                break;
            }
            start = at + 1;
        }
        at += 1;
    }
    if start < bytes.len() { bytes[start].to_ascii_lowercase() } else { b'*' }
}

/// Which bytes the names of a folded path begin with: most patterns need no closer look.
pub(super) fn first_bytes(path: &[u8]) -> [bool; 256] {
    let mut found = [false; 256];
    found[usize::from(b'*')] = true;
    for name in path.split(|byte| *byte == b'/') {
        name.first().into_iter().for_each(|byte| found[usize::from(*byte)] = true);
    }
    found
}

/// Compares a path with a pattern from its end, name by name; cases are not told apart. A last `**` is everything
/// below; one in the middle is any folders, or none.
pub(super) fn path_meets(pattern: &str, path: &[u8]) -> Option<Meets> {
    meets_by(pattern, path, |a, b| a.eq_ignore_ascii_case(b))
}

/// Whether a path is what a pattern says, with cases told apart: `*Test.java` is not `latest.java`.
pub(super) fn path_is(pattern: &str, path: &[u8]) -> bool {
    meets_by(pattern, path, |a, b| a == b) == Some(Meets::Fully)
}

/// How pieces of the same length are compared.
type Same = fn(&[u8], &[u8]) -> bool;

fn meets_by(pattern: &str, path: &[u8], same: Same) -> Option<Meets> {
    let tail_fits = |pattern: &str, path: &[u8]| {
        let mut names = path.rsplit(|byte| *byte == b'/');
        pattern.rsplit('/').all(|piece| names.next().is_some_and(|name| fits_by(piece, name, same)))
    };
    let (names, below) = match pattern.split_once("/**") {
        Some((head, tail)) => (head, Some(tail.trim_start_matches('/'))),
        None => (pattern, None),
    };
    match below {
        Some(tail) => {
            let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
            let mut rests = slashes.filter(|at| tail_fits(names, &path[..*at])).map(|at| &path[at + 1..]).peekable();
            let inside = rests.peek().is_some();
            if rests.any(|rest| tail.is_empty() || tail_fits(tail, rest)) {
                return Some(Meets::Fully);
            }
            if inside || tail_fits(names, path) {
                return Some(Meets::OnTheWay);
            }
        }
        None if tail_fits(names, path) => return Some(Meets::Fully),
        None => {}
    }
    let folders = names.match_indices('/').map(|(at, _)| &names[..at]);
    folders.into_iter().any(|head| tail_fits(head, path)).then_some(Meets::OnTheWay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_bytes() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("*", "", true),
            ("ab*ab", "ab", false),
        ] {
            assert_eq!(fits(pattern, text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_folded_path_is_as_a_mac_sees_it() {
        for (path, expected) in [
            (".VSCode/X", ".vscode/x"),
            (".v\u{17f}code", ".vscode"),
            (".en\u{200c}vrc", ".envrc"),
            ("MA\u{212a}EFILE", "makefile"),
            ("Ä", "ä"),
        ] {
            assert_eq!(folded(Path::new(path)), expected.as_bytes(), "{path}");
        }
    }

    #[test]
    fn the_first_byte_never_rules_out_what_meets() {
        for (pattern, byte) in [("Makefile", b'm'), (".a/x.json", b'x'), ("*.mk", b'*'), (".a/**", b'.'), ("", b'*')] {
            assert_eq!(first_byte(pattern), byte, "{pattern}");
        }
        assert_eq!(first_byte("a/bin/**/*.md"), b'b');
        let bytes = first_bytes(b".a/x.json");
        assert!(bytes[usize::from(b'.')] && bytes[usize::from(b'x')] && !bytes[usize::from(b'a')]);
    }

    #[test]
    fn paths_are_compared_from_their_end() {
        for (pattern, path, expected) in [
            ("Makefile", "Makefile", Some(Meets::Fully)),
            ("Makefile", "a/b/Makefile", Some(Meets::Fully)),
            ("Makefile", "Makefile/x", None),
            ("Makefile", "aMakefile", None),
            (".vscode/tasks.json", "x/.vscode/tasks.json", Some(Meets::Fully)),
            (".vscode/tasks.json", "x/.vscode", Some(Meets::OnTheWay)),
            (".vscode/tasks.json", "tasks.json", None),
            (".husky/**", "a/.husky/b/c", Some(Meets::Fully)),
            (".husky/**", "a/.husky", Some(Meets::OnTheWay)),
            (".husky/**", "a/x.husky/b", None),
            (".github/workflows/**", ".github", Some(Meets::OnTheWay)),
            (".github/workflows/**", ".github/x/y", None),
            (".pi/**/*.md", "x/.pi/a.md", Some(Meets::Fully)),
            (".pi/**/*.md", ".pi/a/b/c.md", Some(Meets::Fully)),
            (".pi/**/*.md", ".pi/a/b", Some(Meets::OnTheWay)),
            (".pi/**/*.md", ".pi", Some(Meets::OnTheWay)),
            (".pi/**/*.md", "a.md", None),
            ("Makefile", "a/MAKEFILE", Some(Meets::Fully)),
            (".vscode/tasks.json", ".VSCode/Tasks.JSON", Some(Meets::Fully)),
        ] {
            assert_eq!(path_meets(pattern, path.as_bytes()), expected, "{pattern} {path}");
        }
    }
}
