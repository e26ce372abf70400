//! The host directory that is protected: finding it, and refusing what cannot be protected.

pub mod gitdir;
pub mod mountinfo;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result, show};

/// The repository of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repo {
    /// Canonical path of the git root, or of the directory itself.
    pub root: PathBuf,
    /// Where the user stands, relative to the root.
    pub subdir: PathBuf,
}

impl Repo {
    /// Finds the repository that holds `start`, without running git.
    pub fn find(start: &Path) -> Result<Self> {
        let here = start.canonicalize().map_err(|e| Error::io("enter", start, e))?;
        if !here.is_dir() {
            return Err(Error::new(format!("{} is not a directory", show(&here)))
                .hint("name the project's directory with `-C DIR`"));
        }
        // A `.git` that somebody else put above us, in /tmp for instance, does not decide what is shown.
        let is_root = |dir: &&Path| gitdir::is_git_root(dir) && (*dir == here || gitdir::is_trusted(dir));
        let root = here.ancestors().find(is_root).unwrap_or(&here).to_path_buf();
        let subdir = here.strip_prefix(&root).map(Path::to_path_buf).unwrap_or_default();
        Ok(Self { root, subdir })
    }

    /// Refuses what no overlay can protect. `home` is the user's home; in `own` cowbox writes.
    pub fn check(&self, home: Option<&Path>, own: &[(&str, &Path)]) -> Result<()> {
        let root = &self.root;
        if root.parent().is_none() {
            return Err(Error::new("the repository would be `/`, the whole system")
                .hint("go to the project's directory, or name it with `-C DIR`"));
        }
        if home.is_some_and(|home| home.starts_with(root)) {
            return Err(Error::new(format!("the repository would be {}, which holds your home directory", show(root)))
                .hint("go to the project's directory, or name it with `-C DIR`; for a repository kept in your home, `git init` the project"));
        }
        for (variable, dir) in own {
            if dir.starts_with(root) {
                return Err(Error::new(format!("cowbox would write to {}, inside the repository", show(dir)))
                    .hint(format!("set {variable} to a directory outside of it")));
            }
        }
        let nested = mountinfo::below(root)?;
        if let Some(first) = nested.first() {
            return Err(Error::new(format!(
                "{} is a mount inside the repository, and an overlay cannot show it",
                show(first)
            ))
            .hint("unmount it, or work on a repository without it"));
        }
        Ok(())
    }

    /// Last component of the root, for names.
    pub fn dir_name(&self) -> String {
        self.root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_git_root_above_is_found_and_the_place_in_it_kept() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("a b");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        let repo = Repo::find(&root.join("src/deep")).unwrap();
        assert_eq!((repo.root, repo.subdir), (root, PathBuf::from("src/deep")));
    }

    #[test]
    fn without_git_the_directory_itself_is_the_repo() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let repo = Repo::find(&root).unwrap();
        assert_eq!((repo.root, repo.subdir), (root, PathBuf::new()));
    }

    #[test]
    fn home_above_it_and_the_root_are_refused_with_a_hint() {
        let check = |root: &str| {
            let repo = Repo { root: root.into(), subdir: PathBuf::new() };
            repo.check(Some(Path::new("/home/u")), &[("COWBOX_STATE_DIR", Path::new("/home/u/.local/state/cowbox"))])
        };
        for root in ["/", "/home", "/home/u"] {
            assert!(check(root).unwrap_err().hints()[0].contains("-C DIR"), "{root}");
        }
        assert!(check("/home/u/.local").unwrap_err().message().contains("inside the repository"));
        assert!(check("/home/u/project").is_ok());
    }
}
