//! What the host's git says of a path. Costs nothing until the first question.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::Class;
use crate::error::{Error, Result, show};
use crate::git::dir::Dir;
use crate::git::dotgit::is_dotgit;
use crate::git::ignore::{Rules, User};
use crate::git::index::{Found, Index};
use crate::git::object::Objects;
use crate::git::{GitDirs, Id};
use crate::repo::gitdir::is_git_root;

/// Sorts paths by what git on the host says of them: its index and its ignore rules, never those of
/// a session.
pub struct Classifier {
    root: PathBuf,
    user: User,
    main: OnceCell<Option<Rc<Tree>>>,
    pinned: OnceCell<Option<Dir>>,
    /// Directories below the root, and the repository that begins there.
    nested: RefCell<HashMap<PathBuf, At>>,
}

/// What the host has at a path.
#[derive(Clone)]
enum At {
    /// No directory, so that nothing is below it either.
    Nothing,
    /// A directory.
    Dir,
    /// One where a repository begins.
    Repo(Rc<Tree>),
}

/// One working tree. What failed once is not tried again: the words of it are kept.
struct Tree {
    root: PathBuf,
    dirs: Option<GitDirs>,
    index: OnceCell<Result<Index, String>>,
    rules: OnceCell<Result<Rules, String>>,
}

impl Classifier {
    /// For the repo at `repo_root`. Reads nothing yet.
    pub fn new(repo_root: &Path) -> Self {
        Self::for_user(repo_root, User::current())
    }

    /// The same, with the settings of a certain user.
    pub fn for_user(repo_root: &Path, user: User) -> Self {
        Self {
            root: repo_root.to_path_buf(),
            user,
            main: OnceCell::new(),
            pinned: OnceCell::new(),
            nested: RefCell::default(),
        }
    }

    /// The class of `path`, relative to the root. `is_dir`: it is a directory, on either side.
    ///
    /// What lies in a nested repository (a submodule, a clone) is sorted by that one's index, unless
    /// the repository around it ignores it altogether.
    pub fn classify(&self, path: &Path, is_dir: bool) -> Result<Class> {
        let parts: Vec<&[u8]> = components(path)?;
        if parts.iter().any(|part| is_dotgit(part)) {
            return Ok(Class::Vcs);
        }
        let main = self.main.get_or_init(|| is_git_root(&self.root).then(|| Rc::new(Tree::new(self.root.clone()))));
        let Some(mut tree) = main.clone() else { return Ok(Class::Untracked) };
        let mut begin = 0;
        for end in 1..parts.len() {
            let inner = match self.nested_at(&join(&parts, 0, end)) {
                At::Nothing => break,
                At::Dir => continue,
                At::Repo(inner) => inner,
            };
            if tree.classify(&join(&parts, begin, end), true, &self.user)? == Class::Ignored {
                return Ok(Class::Ignored);
            }
            tree = inner;
            begin = end;
        }
        let class = tree.classify(&join(&parts, begin, parts.len()), is_dir, &self.user);
        // A nested repository that cannot be read is none of the user's; the user's own must be said.
        if begin > 0 { Ok(class.unwrap_or(Class::Untracked)) } else { class }
    }

    /// The repository that begins at a directory below the root, reached without any link.
    fn nested_at(&self, dir: &Path) -> At {
        if let Some(known) = self.nested.borrow().get(dir) {
            return known.clone();
        }
        let pinned = self.pinned.get_or_init(|| Dir::strict(&self.root).ok().flatten()).as_ref();
        let is_dir = pinned.is_some_and(|root| matches!(root.sub(dir), Ok(Some(_))));
        let root = self.root.join(dir);
        let found = match is_dir {
            false => At::Nothing,
            true if is_git_root(&root) => At::Repo(Rc::new(Tree::new(root))),
            true => At::Dir,
        };
        self.nested.borrow_mut().insert(dir.to_path_buf(), found.clone());
        found
    }
}

impl Tree {
    fn new(root: PathBuf) -> Self {
        Self { dirs: GitDirs::of(&root), root, index: OnceCell::new(), rules: OnceCell::new() }
    }

    fn classify(&self, path: &Path, is_dir: bool, user: &User) -> Result<Class> {
        let Some(dirs) = &self.dirs else {
            return Err(Error::new(format!("the git directory of {} cannot be found", show(&self.root))));
        };
        let bytes = path.as_os_str().as_bytes();
        let load = || Index::read(dirs).map(Option::unwrap_or_default).map_err(|e| e.message().to_string());
        let index = self.index.get_or_init(load).as_ref().map_err(Error::new)?;
        match index.find(bytes) {
            Found::Entry { .. } | Found::Dir => return Ok(Class::Tracked),
            Found::Sparse { tree, rest } if in_tree(dirs, &tree, rest)? => return Ok(Class::Tracked),
            Found::Sparse { .. } | Found::No => {}
        }
        if bytes.is_empty() {
            // The root itself: no rule is about it.
            return Ok(Class::Untracked);
        }
        let load = || Rules::new(&self.root, dirs, user).map_err(|e| e.message().to_string());
        let rules = self.rules.get_or_init(load).as_ref().map_err(Error::new)?;
        Ok(if rules.is_ignored(path, is_dir)? { Class::Ignored } else { Class::Untracked })
    }
}

/// What a sparse index leaves out is in a tree. Rare, so the objects are opened each time.
fn in_tree(dirs: &GitDirs, tree: &Id, rest: &[u8]) -> Result<bool> {
    let found = Objects::of_host(dirs)?.entry_at(tree, Path::new(OsStr::from_bytes(rest)))?;
    Ok(found.is_some())
}

fn components(path: &Path) -> Result<Vec<&[u8]>> {
    let parts = path.components().filter(|part| *part != Component::CurDir).map(|part| match part {
        Component::Normal(name) => Ok(name.as_bytes()),
        _ => Err(Error::new(format!("{} is not a path inside the repository", show(path)))),
    });
    parts.collect()
}

fn join(parts: &[&[u8]], begin: usize, end: usize) -> PathBuf {
    parts.get(begin..end).unwrap_or_default().iter().map(|part| OsStr::from_bytes(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    fn classifier(root: &Path) -> Classifier {
        Classifier::for_user(root, User::default())
    }

    fn class(of: &Classifier, path: &str) -> Class {
        of.classify(Path::new(path), path.ends_with('/')).unwrap()
    }

    #[test]
    fn the_four_classes() {
        let repo = TestRepo::new();
        repo.write(".gitignore", "*.o\nout/\n");
        repo.write("src/a.c", "");
        repo.write("src/kept.o", "");
        repo.git(&["add", "-A", "-f"]);
        let of = classifier(&repo.root());
        for (path, expected) in [
            ("src/a.c", Class::Tracked),
            ("src/kept.o", Class::Tracked),
            ("src/", Class::Tracked),
            (".", Class::Tracked),
            ("src/new.c", Class::Untracked),
            ("new/", Class::Untracked),
            ("src/new.o", Class::Ignored),
            ("out/", Class::Ignored),
            ("out/deep/x", Class::Ignored),
            ("src/a.c/x", Class::Untracked),
            (".git/hooks/x", Class::Vcs),
            ("deep/.GIT/config", Class::Vcs),
            ("deep/.g\u{200c}it", Class::Vcs),
            ("git~1/config", Class::Vcs),
            (".git ./x", Class::Vcs),
        ] {
            assert_eq!(class(&of, path), expected, "{path}");
        }
        assert!(of.classify(Path::new("../x"), false).is_err());
    }

    #[test]
    fn what_a_sparse_checkout_leaves_out_is_tracked() {
        let repo = TestRepo::new();
        for name in ["in/a", "out/b", "out/deep/c", ".gitignore"] {
            repo.write(name, "*.o\n");
        }
        repo.commit("all");
        repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
        let of = classifier(&repo.root());
        for path in ["in/a", "out/", "out/b", "out/deep/", "out/deep/c"] {
            assert_eq!(class(&of, path), Class::Tracked, "{path}");
        }
        assert_eq!((class(&of, "out/x"), class(&of, "out/x.o")), (Class::Untracked, Class::Ignored));
    }

    #[test]
    fn without_git_all_is_untracked_but_gitdirs() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".gitignore"), "*\n").unwrap();
        let of = classifier(dir.path());
        assert_eq!((class(&of, "x"), class(&of, ".git/HEAD")), (Class::Untracked, Class::Vcs));
    }

    #[test]
    fn the_root_of_an_empty_repository_is_not_ignored() {
        let repo = TestRepo::new();
        repo.write(".gitignore", "*\n");
        let of = classifier(&repo.root());
        assert_eq!((class(&of, "."), class(&of, "x")), (Class::Untracked, Class::Ignored));
    }

    #[test]
    fn an_index_that_cannot_be_read_is_said() {
        let repo = TestRepo::new();
        repo.write(".git/index", "nonsense of some length");
        let error = classifier(&repo.root()).classify(Path::new("x"), false).unwrap_err();
        assert!(error.message().contains("index"), "{error}");
    }

    #[test]
    fn submodules_clones_and_worktrees_have_their_own_index() {
        let repo = TestRepo::new();
        let lib = TestRepo::new();
        lib.write("f", "");
        lib.write(".gitignore", "*.o\n");
        lib.commit("lib");
        let from = lib.root().display().to_string();
        repo.write(".gitignore", "vendor/\n*.x\n");
        repo.git(&["submodule", "--quiet", "add", &from, "libs/sub"]);
        repo.git(&["clone", "-q", &from, "clone"]);
        repo.git(&["clone", "-q", &from, "vendor/lib"]);
        let of = classifier(&repo.root());
        for (path, expected) in [
            ("libs/sub/", Class::Tracked),
            ("libs/sub/f", Class::Tracked),
            ("libs/sub/new", Class::Untracked),
            ("libs/sub/new.x", Class::Untracked),
            ("libs/sub/new.o", Class::Ignored),
            ("clone/f", Class::Tracked),
            ("vendor/lib/f", Class::Ignored),
        ] {
            assert_eq!(class(&of, path), expected, "{path}");
        }
        // A nested repository that cannot be read.
        std::fs::write(repo.root().join("clone/.git/index"), "x").unwrap();
        assert_eq!(class(&classifier(&repo.root()), "clone/f"), Class::Untracked);

        repo.commit("all");
        let tree = repo.beside("tree");
        repo.git(&["worktree", "add", "-q", "-b", "wt", &tree.display().to_string()]);
        std::fs::write(tree.join("only-here"), "").unwrap();
        repo.git_in(&tree, &["add", "only-here"]);
        let of = classifier(&tree);
        assert_eq!((class(&of, "only-here"), class(&of, "y.x")), (Class::Tracked, Class::Ignored));
        assert_eq!(class(&classifier(&repo.root()), "only-here"), Class::Untracked);
    }
}
