//! Where a session's copy of a gitdir is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::view::View;
use super::{GitDirs, Hash, nested};
use crate::error::{Error, Result, show};
use crate::paths;
use crate::repo::gitdir;

/// A repository has a few submodules; some have hundreds.
const MOST: usize = 2000;
/// `modules/a/modules/b`, and names with slashes.
const DEEPEST: usize = 32;

/// A shared gitdir of the host, and what a session wrote over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    /// The gitdir on the host. Trusted.
    pub host: PathBuf,
    /// The upper directory of the overlay that shows it, made by cowbox. What is below it is hostile.
    pub upper: PathBuf,
    /// Where in `upper` the gitdir is: `.git`, or nothing if the overlay shows the gitdir itself.
    pub within: PathBuf,
    /// The gitdir of a linked worktree, relative to `host`; empty for a main one.
    pub worktree: PathBuf,
    /// The working tree, relative to the repo's root; empty for the repo itself.
    pub repo: PathBuf,
}

impl GitPlace {
    /// The gitdir of the repo at `root` in the session at `session_dir`; `None` without git, or if the
    /// session was not shown the gitdir.
    pub fn find(root: &Path, session_dir: &Path) -> Option<Self> {
        let (dirs, upper, base) = match gitdir::elsewhere(root) {
            Some(away) => {
                let base = away.common.clone();
                let dirs = GitDirs { gitdir: away.gitdir, common: away.common };
                (dirs, session_dir.join("mounts/gitdir/upper"), base)
            }
            None => (GitDirs::of(root)?, session_dir.join("upper"), root.canonicalize().ok()?),
        };
        let below = |path: &Path, base: &Path| path.strip_prefix(base).ok().map(Path::to_path_buf);
        let (within, worktree) = (below(&dirs.common, &base)?, below(&dirs.gitdir, &dirs.common)?);
        Some(Self { host: dirs.common, upper, within, worktree, repo: PathBuf::new() })
    }

    /// The host's side.
    pub fn dirs(&self) -> GitDirs {
        GitDirs { gitdir: self.host.join(&self.worktree), common: self.host.clone() }
    }

    /// How objects are named. Refuses what keeps its refs in a way that is not known.
    pub fn format(&self) -> Result<Hash> {
        let dirs = self.dirs();
        match dirs.config()?.last("extensions", "refstorage") {
            Some(kind) if !kind.eq_ignore_ascii_case(b"files") => Err(Error::new(format!(
                "{} keeps its branches as `{}`, which cowbox cannot read",
                show(&self.host),
                crate::ui::sanitize::bytes(kind)
            ))),
            _ => dirs.hash(),
        }
    }

    /// The session's view of it.
    pub fn view(&self) -> Result<View> {
        View::new(&self.host, &self.upper, &self.within).map_err(|e| Error::io("read", &self.upper, e))
    }

    /// The other repositories in the repo at `root` that the session wrote to and the host has: submodules, and what
    /// has a `.git` of its own.
    pub fn submodules(&self, root: &Path, session_dir: &Path) -> Result<Vec<Self>> {
        let root = root.canonicalize().map_err(|e| Error::io("read", root, e))?;
        let mut found = self.in_modules(&root)?;
        let upper = session_dir.join("upper");
        for repo in nested::find(&root, &upper, MOST).map_err(|e| Error::io("read", &upper, e))? {
            let within = repo.join(".git");
            let place = Self { host: root.join(&within), upper: upper.clone(), within, worktree: PathBuf::new(), repo };
            found.extend(place.in_modules(&root)?);
            found.push(place);
        }
        found.sort_by(|a, b| a.repo.cmp(&b.repo));
        Ok(found)
    }

    /// The submodules whose gitdirs lie in this one.
    fn in_modules(&self, root: &Path) -> Result<Vec<Self>> {
        let view = self.view()?;
        let base = self.worktree.join("modules");
        let mut found = Vec::new();
        let mut left = vec![(base.clone(), 0)];
        while let Some((dir, depth)) = left.pop() {
            let names = match view.session_dir(&dir).map_err(|e| Error::io("read", &dir, e))? {
                Some(dir) => dir.names(Path::new(""), MOST).map_err(|e| Error::io("read", &self.upper, e))?,
                None => continue,
            };
            for path in names.into_iter().map(|name| dir.join(name)) {
                let host = self.host.join(&path);
                // Only what is a directory on the host too: a submodule that is new has no place to go to.
                if !host.is_dir() || depth >= DEEPEST {
                    continue;
                }
                if found.len() + left.len() >= MOST {
                    return Err(Error::new(format!("more than {MOST} submodules were written to")));
                }
                if host.join("HEAD").is_file() && host.join("objects").is_dir() {
                    let name = path.strip_prefix(&base).unwrap_or(&path);
                    found.push(Self {
                        repo: work_tree(&host, root).unwrap_or_else(|| name.to_path_buf()),
                        host,
                        upper: self.upper.clone(),
                        within: self.within.join(&path),
                        worktree: PathBuf::new(),
                    });
                    left.push((path.join("modules"), depth + 2));
                } else {
                    left.push((path, depth + 1));
                }
            }
        }
        Ok(found)
    }
}

/// Where the working tree of a submodule is, by the host's config, relative to the root.
fn work_tree(gitdir: &Path, root: &Path) -> Option<PathBuf> {
    let config = Config::file(&gitdir.join("config")).ok()?;
    let value = config.last("core", "worktree")?;
    let path = paths::by_words(&gitdir.join(OsStr::from_bytes(value)));
    path.strip_prefix(root).ok().map(Path::to_path_buf)
}
