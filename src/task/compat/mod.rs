//! Fixes for code that is older than its environment. Each is a small change of text, made by cowbox itself: it needs
//! nothing inside. What they change is a layer of its own, never part of what an agent did.

mod bindings;
mod collections_abc;
pub mod layer;
pub mod patch;
mod pytest_bump;
mod python;
mod requirements;
mod setuptools_cap;
mod suppress_warnings;
pub mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::spec::Fix;

/// More files than this are not looked at: the fix says so instead of taking for ever.
pub const MOST_FILES: usize = 50_000;
/// Larger than any source that a person wrote.
pub const LARGEST: u64 = 4 << 20;
/// All that a fix changes is in memory at once.
const MOST_BYTES: usize = 256 << 20;

/// What a fix reads.
pub trait Tree {
    /// Files whose names `wanted` accepts, relative to the root, in order.
    fn files(&self, wanted: &dyn Fn(&Path) -> bool) -> std::io::Result<Vec<PathBuf>>;

    /// A file as text; `None` if there is none, or it is no text.
    fn text(&self, path: &Path) -> Option<String>;

    /// Whether there is time for another file.
    fn has_time(&self) -> bool {
        true
    }
}

/// What a fix gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// New contents, by path.
    pub files: BTreeMap<PathBuf, String>,
    /// Variables for every stage inside; `{workspace}` stands for its path there.
    pub env: BTreeMap<String, String>,
}

impl Fixed {
    /// Applies `edit` to every file that `wanted` accepts, and keeps what it changed.
    fn edit(tree: &dyn Tree, wanted: &dyn Fn(&Path) -> bool, edit: &dyn Fn(&str) -> String) -> std::io::Result<Self> {
        let mut fixed = Self::default();
        let mut bytes = 0;
        for path in tree.files(wanted)? {
            if !tree.has_time() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            let Some(text) = tree.text(&path) else { continue };
            let new = edit(&text);
            if new != text {
                bytes += new.len();
                if bytes > MOST_BYTES {
                    return Err(std::io::Error::other(format!("it would change more than {} MiB", MOST_BYTES >> 20)));
                }
                fixed.files.insert(path, new);
            }
        }
        Ok(fixed)
    }
}

impl std::fmt::Display for Fix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Fix::CollectionsAbc => "collections-abc",
            Fix::SetuptoolsCap => "setuptools-cap",
            Fix::PytestBump => "pytest-bump",
            Fix::SuppressWarnings => "suppress-warnings",
        })
    }
}

/// Makes a fix.
pub fn apply(fix: Fix, tree: &dyn Tree) -> std::io::Result<Fixed> {
    match fix {
        Fix::CollectionsAbc => collections_abc::apply(tree),
        Fix::SetuptoolsCap => setuptools_cap::apply(tree),
        Fix::PytestBump => pytest_bump::apply(tree),
        Fix::SuppressWarnings => suppress_warnings::apply(tree),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Files in memory.
    pub(crate) struct Files(pub BTreeMap<PathBuf, String>);

    impl Files {
        pub(crate) fn new(files: &[(&str, &str)]) -> Self {
            Self(files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect())
        }
    }

    impl Tree for Files {
        fn files(&self, wanted: &dyn Fn(&Path) -> bool) -> std::io::Result<Vec<PathBuf>> {
            Ok(self.0.keys().filter(|path| wanted(path)).cloned().collect())
        }

        fn text(&self, path: &Path) -> Option<String> {
            self.0.get(path).cloned()
        }
    }

    /// What a fix makes of one file; `None`: it leaves it alone.
    pub(crate) fn one(fix: Fix, path: &str, text: &str) -> Option<String> {
        apply(fix, &Files::new(&[(path, text)])).unwrap().files.remove(Path::new(path))
    }
}
