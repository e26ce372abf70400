//! Patterns with `*` over bytes. Linear enough for hostile text: pieces are looked for once, from left to right.

/// Whether `text` as a whole fits `pattern`. `*` stands for any bytes, none included.
pub(super) fn fits(pattern: &str, text: &[u8]) -> bool {
    let mut pieces = pattern.split('*').map(str::as_bytes);
    let Some(rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    let mut rest = rest;
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match find(rest, piece) {
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

/// Compares a path with a pattern from its end, name by name. A last `**` is everything below.
pub(super) fn path_meets(pattern: &str, path: &[u8]) -> Option<Meets> {
    let (names, below) = match pattern.strip_suffix("/**") {
        Some(head) => (head, true),
        None => (pattern, false),
    };
    if below {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        if slashes.into_iter().any(|at| tail_fits(names, &path[..at])) {
            return Some(Meets::Fully);
        }
        if tail_fits(names, path) {
            return Some(Meets::OnTheWay);
        }
    } else if tail_fits(names, path) {
        return Some(Meets::Fully);
    }
    let folders = names.match_indices('/').map(|(at, _)| &names[..at]);
    folders.into_iter().any(|head| tail_fits(head, path)).then_some(Meets::OnTheWay)
}

fn tail_fits(pattern: &str, path: &[u8]) -> bool {
    let mut names = path.rsplit(|byte| *byte == b'/');
    pattern.rsplit('/').all(|piece| names.next().is_some_and(|name| fits(piece, name)))
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
        ] {
            assert_eq!(path_meets(pattern, path.as_bytes()), expected, "{pattern} {path}");
        }
    }
}
