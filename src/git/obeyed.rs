//! What in the working tree the host's git obeys because its settings say so: hooks, included settings, attributes.
//!
//! Conditions of includes do not count: they may hold tomorrow. Git is not run.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::GitDirs;
use super::config::{Config, expand};
use super::dir::{open_followed, read_all};
use super::dotgit::is_dotgit;
use super::ignore::User;
use crate::error::Result;
use crate::paths::by_words;

/// Repositories inside of one, and hooks in one folder.
const MOST: usize = 2000;
/// `modules/a/modules/b`, and names with slashes.
const DEEPEST: usize = 32;
/// A pointer is a path and a few words.
const POINTER: u64 = 64 << 10;

/// Places relative to the repo's root. What lies in a gitdir is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Obeyed {
    /// Folders of hooks, or single ones. An empty path is the root itself.
    pub hooks: Vec<PathBuf>,
    /// Files that are read as settings.
    pub settings: Vec<PathBuf>,
    /// Files of attributes.
    pub attributes: Vec<PathBuf>,
}

impl Obeyed {
    /// Nothing.
    pub const NOTHING: Self = Self { hooks: Vec::new(), settings: Vec::new(), attributes: Vec::new() };

    /// By the repo at `root`, its worktrees and submodules, and by the repositories around the `changed` paths.
    pub fn of<'a>(root: &Path, changed: impl Iterator<Item = &'a Path>, user: &User) -> Result<Self> {
        let mut obeyed = Self::default();
        let dirs = GitDirs::of(root);
        obeyed.add(root, root, dirs.as_ref(), user)?;
        let linked = dirs.map(|dirs| [worktrees(&dirs.common), modules(&dirs.common)].concat()).unwrap_or_default();
        let around = around(root, changed).into_iter().filter_map(|tree| GitDirs::of(&tree).map(|dirs| (tree, dirs)));
        for (tree, dirs) in around.chain(linked) {
            // One that cannot be read is of no use to the host's git either.
            let _ = obeyed.add(root, &tree, Some(&dirs), user);
        }
        for places in [&mut obeyed.hooks, &mut obeyed.settings, &mut obeyed.attributes] {
            places.sort();
            places.dedup();
        }
        Ok(obeyed)
    }

    /// What one working tree adds.
    fn add(&mut self, root: &Path, tree: &Path, dirs: Option<&GitDirs>, user: &User) -> Result<()> {
        let home = user.home.as_deref();
        let (mut config, mut files) = (Config::default(), Vec::new());
        let of_user = [
            user.system.clone(),
            user.config.as_ref().map(|config| config.join("git/config")),
            home.map(|home| home.join(".gitconfig")),
        ];
        let own = dirs.map(|dirs| [dirs.common.join("config"), dirs.gitdir.join("config.worktree")]);
        for path in of_user.into_iter().flatten().chain(own.into_iter().flatten()) {
            config.add_every(&path, home, &mut files)?;
        }
        let named = |key: &str| -> Vec<PathBuf> {
            let values = config.every("core", key).filter(|value| !value.is_empty());
            values.map(|value| tree.join(expand(value, home))).collect()
        };
        let default = user.config.as_ref().map(|config| config.join("git/attributes"));
        let hooks = named("hookspath").into_iter().chain(dirs.map(|dirs| own_hooks(&dirs.common)).unwrap_or_default());
        self.settings.extend(files.iter().flat_map(|path| inside(root, path)));
        self.attributes.extend(named("attributesfile").iter().chain(&default).flat_map(|path| inside(root, path)));
        self.hooks.extend(hooks.flat_map(|path| inside(root, &path)));
        Ok(())
    }
}

/// The gitdir's own folder of hooks and what is in it: as links they may lead into the tree.
fn own_hooks(common: &Path) -> Vec<PathBuf> {
    let folder = common.join("hooks");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().take(MOST).map(|entry| entry.path());
    entries.chain([folder.clone()]).collect()
}

/// Where a path is below the root, by its words and by where links on the way lead.
fn inside(root: &Path, path: &Path) -> Vec<PathBuf> {
    let words = by_words(path).strip_prefix(by_words(root)).map(Path::to_path_buf);
    let real = real(path).strip_prefix(real(root)).map(Path::to_path_buf);
    let mut found: Vec<PathBuf> = [words, real].into_iter().flatten().collect();
    found.retain(|path| !path.iter().any(|name| is_dotgit(name.as_bytes())));
    found.dedup();
    found
}

/// With links followed as far as the path is there.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    known.map_or_else(|| by_words(path), |(above, rest)| by_words(&above.join(rest)))
}

/// Folders above the paths, and below the root, that have a `.git`.
fn around<'a>(root: &Path, paths: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut seen: HashSet<&Path> = HashSet::new();
    let mut found = Vec::new();
    for path in paths {
        // What was seen once had all above it looked at too.
        for dir in path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty()) {
            if !seen.insert(dir) {
                break;
            }
            let tree = root.join(dir);
            if found.len() < MOST && tree.join(".git").symlink_metadata().is_ok() {
                found.push(tree);
            }
        }
    }
    found
}

/// The linked worktrees of a repository, with their gitdirs.
fn worktrees(common: &Path) -> Vec<(PathBuf, GitDirs)> {
    let tree_of = |dir: PathBuf| {
        let text = read_all(open_followed(&dir.join("gitdir")).ok()??, POINTER).ok()?;
        let dot = dir.join(OsStr::from_bytes(text.trim_ascii_end()));
        Some((dot.parent()?.to_path_buf(), GitDirs::at(&dir)?))
    };
    folders(&common.join("worktrees")).into_iter().filter_map(tree_of).collect()
}

/// The submodules whose gitdirs lie in this one, with their working trees.
fn modules(common: &Path) -> Vec<(PathBuf, GitDirs)> {
    let mut found = Vec::new();
    let mut left = vec![(common.join("modules"), 0)];
    while let Some((dir, depth)) = left.pop() {
        for dir in folders(&dir) {
            if found.len() + left.len() >= MOST || depth >= DEEPEST {
                break;
            }
            let Some(dirs) = GitDirs::at(&dir) else {
                left.push((dir, depth + 1));
                continue;
            };
            let config = dirs.config().unwrap_or_default();
            if let Some(tree) = config.last("core", "worktree") {
                found.push((by_words(&dir.join(OsStr::from_bytes(tree))), dirs));
            }
            left.push((dir.join("modules"), depth + 1));
        }
    }
    found
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST);
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    fn of(repo: &TestRepo, changed: &[&str]) -> Obeyed {
        let user = User { home: Some(repo.home()), ..User::default() };
        Obeyed::of(&repo.root(), changed.iter().map(Path::new), &user).unwrap()
    }

    #[track_caller]
    fn check(found: &[PathBuf], expected: &[&str]) {
        assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn only_a_folder_of_hooks_inside_counts() {
        let repo = TestRepo::new();
        check(&of(&repo, &[]).hooks, &[]);
        let absolute = repo.root().join("a/b").to_str().unwrap().to_owned();
        for (value, expected) in [
            ("tools/hooks", &["tools/hooks"][..]),
            ("x/../hooks/", &["hooks"]),
            (".", &[""]),
            ("../hooks", &[]),
            ("/etc", &[]),
            (&absolute, &["a/b"]),
        ] {
            repo.git(&["config", "core.hooksPath", value]);
            check(&of(&repo, &[]).hooks, expected);
        }
        repo.write("real/pre-commit", "x");
        std::os::unix::fs::symlink("real", repo.root().join("link")).unwrap();
        repo.git(&["config", "core.hooksPath", "link"]);
        check(&of(&repo, &[]).hooks, &["link", "real"]);
    }

    #[test]
    fn hooks_that_are_links_into_the_tree_are_hooks() {
        let repo = TestRepo::new();
        repo.write("scripts/check", "x");
        std::fs::create_dir_all(repo.root().join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("../../scripts/check", repo.root().join(".git/hooks/pre-commit")).unwrap();
        check(&of(&repo, &[]).hooks, &["scripts/check"]);
    }

    #[test]
    fn included_settings_and_named_attributes_are_found_there_or_not() {
        let repo = TestRepo::new();
        repo.git(&["config", "include.path", "../.gitsettings"]);
        repo.git(&["config", "includeIf.gitdir:/nowhere/.path", "../conf/other"]);
        repo.git(&["config", "core.attributesFile", "conf/attributes"]);
        repo.write("conf/other", "[include]\npath = deeper\n[core]\nhooksPath = h\n");
        let user = format!("[include]\npath = {}\n", repo.root().join("from-user").to_str().unwrap());
        std::fs::write(repo.home().join(".gitconfig"), user).unwrap();
        let found = of(&repo, &[]);
        check(&found.settings, &[".gitsettings", "conf/deeper", "conf/other", "from-user"]);
        check(&found.attributes, &["conf/attributes"]);
        check(&found.hooks, &["h"]);
    }

    #[test]
    fn settings_of_the_user_that_lie_in_the_repo_count() {
        let repo = TestRepo::new();
        repo.write("dotfiles/gitconfig", "");
        std::os::unix::fs::symlink(repo.root().join("dotfiles/gitconfig"), repo.home().join(".gitconfig")).unwrap();
        check(&of(&repo, &[]).settings, &["dotfiles/gitconfig"]);
    }

    #[test]
    fn repositories_inside_and_worktrees_have_settings_of_their_own() {
        let repo = TestRepo::new();
        repo.commit("first");
        let clone = repo.root().join("vendor/clone");
        std::fs::create_dir_all(&clone).unwrap();
        repo.git_in(&clone, &["init", "-q"]);
        repo.git_in(&clone, &["config", "core.hooksPath", "../shared"]);
        check(&of(&repo, &["src/a"]).hooks, &[]);
        check(&of(&repo, &["vendor/clone/src/a"]).hooks, &["vendor/shared"]);

        repo.git(&["config", "extensions.worktreeConfig", "true"]);
        repo.git(&["worktree", "add", "-q", "wt"]);
        repo.git_in(&repo.root().join("wt"), &["config", "--worktree", "core.hooksPath", "mine"]);
        check(&of(&repo, &[]).hooks, &["wt/mine"]);
    }

    #[test]
    fn submodules_are_found_wherever_the_change_is() {
        let repo = TestRepo::new();
        let other = TestRepo::new();
        other.commit("first");
        repo.git(&["submodule", "--quiet", "add", other.root().to_str().unwrap(), "lib/sub"]);
        repo.git_in(&repo.root().join("lib/sub"), &["config", "core.hooksPath", "../hooks"]);
        check(&of(&repo, &[]).hooks, &["lib/hooks"]);
    }
}
