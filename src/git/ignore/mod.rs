//! What the host's git ignores, with git's precedence.
//!
//! A path is asked from the top: below an ignored directory all is ignored. For one path the nearest
//! `.gitignore` decides, then those above it, `info/exclude`, and the user's own file. Only files of
//! the host are read, those of the working tree never through a link.

mod pattern;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::GitDirs;
use super::config::{Config, expand};
use super::dir::{Dir, open_followed, read_all};
use crate::error::{Error, Result, show};

/// Git reads no larger one either (100 MiB); this is a hundred times what people write.
const LARGEST: u64 = 8 << 20;

/// Where the user's own settings are.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, or `.config` in the home.
    pub config: Option<PathBuf>,
    /// The settings of the system.
    pub system: Option<PathBuf>,
}

impl User {
    /// The one who runs this.
    pub fn current() -> Self {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let config = absolute("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        Self { home, config, system: Some("/etc/gitconfig".into()) }
    }
}

/// The rules of one working tree; each directory's are read when they are first needed.
pub struct Rules {
    tree: Option<Dir>,
    fold_case: bool,
    /// `info/exclude`, then the user's: the first that matches decides.
    outer: Vec<Gitignore>,
    dirs: RefCell<HashMap<PathBuf, Rc<Directory>>>,
}

struct Directory {
    ignored: bool,
    rules: Gitignore,
}

impl Rules {
    /// The rules of the working tree at `root`.
    pub fn new(root: &Path, dirs: &GitDirs, user: &User) -> Result<Self> {
        let config = settings(dirs, user)?;
        let fold_case = config.is_on("core", "ignorecase");
        let own = match config.last("core", "excludesfile") {
            Some(value) => Some(root.join(expand(value, user.home.as_deref()))),
            None => user.config.as_ref().map(|config| config.join("git/ignore")),
        };
        let mut outer = Vec::new();
        for path in [Some(dirs.common.join("info/exclude")), own].into_iter().flatten() {
            let failed = |e| Error::io("read", &path, e);
            if let Some(file) = open_followed(&path).map_err(failed)? {
                outer.push(compile(&read_all(file, LARGEST).map_err(failed)?, fold_case, &path)?);
            }
        }
        let tree = Dir::strict(root).map_err(|e| Error::io("read", root, e))?;
        Ok(Self { tree, fold_case, outer, dirs: RefCell::default() })
    }

    /// Whether git ignores `path`, relative to the root, if it is not tracked.
    pub fn is_ignored(&self, path: &Path, is_dir: bool) -> Result<bool> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let mut chain: Vec<Rc<Directory>> = Vec::with_capacity(above.len());
        for dir in above {
            let known = self.dirs.borrow().get(dir).cloned();
            let directory = match known {
                Some(directory) => directory,
                None => self.enter(dir, &chain)?,
            };
            if directory.ignored {
                return Ok(true);
            }
            chain.push(directory);
        }
        Ok(self.matches(path, is_dir, &chain))
    }

    /// Reads the rules of a directory; `above` are those over it, from the root.
    fn enter(&self, dir: &Path, above: &[Rc<Directory>]) -> Result<Rc<Directory>> {
        let ignored = !above.is_empty() && self.matches(dir, true, above);
        // Git does not look into an ignored directory.
        let rules = if ignored { Gitignore::empty() } else { self.own_rules(dir)? };
        let directory = Rc::new(Directory { ignored, rules });
        self.dirs.borrow_mut().insert(dir.to_path_buf(), Rc::clone(&directory));
        Ok(directory)
    }

    fn own_rules(&self, dir: &Path) -> Result<Gitignore> {
        let path = dir.join(".gitignore");
        let text = match &self.tree {
            Some(tree) => tree.read(&path, LARGEST).map_err(|e| Error::io("read", &path, e))?,
            None => None,
        };
        text.map_or_else(|| Ok(Gitignore::empty()), |text| compile(&text, self.fold_case, &path))
    }

    fn matches(&self, path: &Path, is_dir: bool, chain: &[Rc<Directory>]) -> bool {
        // `path` loses one component for each directory that is nearer to the root.
        let parts: Vec<_> = path.iter().collect();
        // Most directories have no rules: a path of thousands of them must not be put together for each.
        let with_rules = chain.iter().enumerate().rev().filter(|(_, directory)| !directory.rules.is_empty());
        let near = with_rules.map(|(depth, directory)| {
            let rest: PathBuf = parts.get(depth..).unwrap_or_default().iter().collect();
            (Cow::Owned(rest), &directory.rules)
        });
        let outer = self.outer.iter().map(|rules| (Cow::Borrowed(path), rules));
        for (path, rules) in near.chain(outer).filter(|(_, rules)| !rules.is_empty()) {
            match rules.matched(path.as_ref(), is_dir) {
                Match::None => {}
                found => return found.is_ignore(),
            }
        }
        false
    }
}

/// All of git's settings that apply to a working tree, the strongest last.
pub(super) fn settings(dirs: &GitDirs, user: &User) -> Result<Config> {
    let mut config = Config::default();
    let home = user.home.as_deref();
    let users = [
        user.system.clone(),
        user.config.as_ref().map(|config| config.join("git/config")),
        home.map(|home| home.join(".gitconfig")),
        Some(dirs.common.join("config")),
    ];
    for path in users.into_iter().flatten() {
        config.add(&path, home)?;
    }
    if config.is_on("extensions", "worktreeconfig") {
        config.add(&dirs.gitdir.join("config.worktree"), home)?;
    }
    Ok(config)
}

fn compile(text: &[u8], fold_case: bool, from: &Path) -> Result<Gitignore> {
    let failed = |e: ignore::Error| Error::new(format!("cannot use the ignore rules of {}: {e}", show(from)));
    let mut builder = GitignoreBuilder::new("");
    builder.case_insensitive(fold_case).map_err(failed)?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A pattern that cannot be read matches nothing, as in git.
        if let Ok(line) = std::str::from_utf8(line) {
            let _ = builder.add_line(None, &pattern::translate(line));
        }
    }
    builder.build().map_err(failed)
}
