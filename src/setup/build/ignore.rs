//! What need not be copied into a context, because the engine would leave it out anyway.
//!
//! The engine reads the ignore file itself, so this only has to be right, not complete: patterns that name a
//! path, or a name at any depth. With a `!` in the file anything may come back, and everything is copied.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Paths that are left out for certain.
#[derive(Debug, Default)]
pub struct Ignored {
    paths: BTreeSet<Vec<u8>>,
    names: BTreeSet<Vec<u8>>,
}

impl Ignored {
    /// Reads an ignore file.
    pub fn parse(text: &[u8]) -> Self {
        let mut ignored = Self::default();
        for line in text.split(|b| *b == b'\n') {
            let line = line.trim_ascii();
            if line.starts_with(b"!") {
                return Self::default();
            }
            let line = line.strip_prefix(b"/").unwrap_or(line);
            let line = line.strip_suffix(b"/").unwrap_or(line);
            let (set, pattern) = match line.strip_prefix(b"**/") {
                Some(name) if !name.contains(&b'/') => (&mut ignored.names, name),
                _ => (&mut ignored.paths, line),
            };
            let is_plain = pattern.split(|b| *b == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
                && !pattern.iter().any(|b| b"*?[]\\#".contains(b));
            if is_plain {
                set.insert(pattern.to_vec());
            }
        }
        ignored
    }

    /// Whether a path, relative to the context, is left out with all that is below it.
    pub fn covers(&self, path: &Path) -> bool {
        let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        self.paths.contains(path.as_os_str().as_bytes()) || self.names.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(text: &str, path: &str) -> bool {
        Ignored::parse(text.as_bytes()).covers(Path::new(path))
    }

    #[test]
    fn plain_paths_and_names_at_any_depth_are_left_out() {
        let text = "# build\nnode_modules\n/target/\r\n**/__pycache__\ndata/big\n*.log\n";
        for path in ["node_modules", "target", "__pycache__", "a/b/__pycache__", "data/big"] {
            assert!(covered(text, path), "{path}");
        }
        for path in ["a/node_modules", "targets", "data", "x.log", "# build", "build"] {
            assert!(!covered(text, path), "{path}");
        }
    }

    #[test]
    fn with_an_exception_in_the_file_everything_is_kept() {
        assert!(!covered("node_modules\n!node_modules/keep\n", "node_modules"));
    }

    #[test]
    fn patterns_that_need_an_engine_to_read_are_left_to_it() {
        for text in ["a/../b", "./b", "b*", "**/a/b", "[b]", "\\b", ".", "/", ""] {
            assert!(!covered(text, "b") && !covered(text, "a/b") && !covered(text, "a"), "{text}");
        }
    }
}
