//! Where the host's git takes its hooks from, if that is inside of the working tree.

use std::path::{Path, PathBuf};

use super::GitDirs;
use super::config::expand;
use super::ignore::{User, settings};
use crate::error::Result;
use crate::paths::by_words;

/// The folder that `core.hooksPath` names, relative to `root`; `None` if it is not set or lies elsewhere.
pub fn folder(root: &Path, user: &User) -> Result<Option<PathBuf>> {
    let Some(dirs) = GitDirs::of(root) else { return Ok(None) };
    let config = settings(&dirs, user)?;
    let Some(value) = config.last("core", "hookspath").filter(|value| !value.is_empty()) else { return Ok(None) };
    let named = root.join(expand(value, user.home.as_deref()));
    // Where a link leads is what counts; a folder that is not there yet has only its words.
    let inside = |path: PathBuf, root: &Path| path.strip_prefix(root).map(Path::to_path_buf).ok();
    Ok(match (named.canonicalize(), root.canonicalize()) {
        (Ok(real), Ok(root)) => inside(real, &root),
        _ => inside(by_words(&named), &by_words(root)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    #[test]
    fn only_a_folder_inside_counts() {
        let repo = TestRepo::new();
        let folder = || folder(&repo.root(), &User::default()).unwrap();
        assert_eq!(folder(), None);
        let absolute = repo.root().join("a/b").to_str().unwrap().to_owned();
        for (value, expected) in [
            ("tools/hooks", Some("tools/hooks")),
            ("x/../hooks/", Some("hooks")),
            ("../hooks", None),
            ("/etc", None),
            (&absolute, Some("a/b")),
        ] {
            repo.git(&["config", "core.hooksPath", value]);
            assert_eq!(folder().as_deref(), expected.map(Path::new), "{value}");
        }
        repo.write("real/pre-commit", "x");
        std::os::unix::fs::symlink("real", repo.root().join("link")).unwrap();
        repo.git(&["config", "core.hooksPath", "link"]);
        assert_eq!(folder().as_deref(), Some(Path::new("real")));
    }
}
