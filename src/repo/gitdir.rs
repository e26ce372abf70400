//! Where a repository keeps its git data, read from files: git is never run to find out.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::paths::by_words;

/// A git directory outside of the repository, which must be shown inside for git to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// What `.git` says, as written: absolute or relative to the root.
    pub pointer: PathBuf,
    /// Canonical path of the worktree's own gitdir.
    pub gitdir: PathBuf,
    /// Canonical path of the shared one (equal to `gitdir` for a submodule).
    pub common: PathBuf,
}

/// Whether `dir` is the top of a working tree, as git sees it.
pub fn is_git_root(dir: &Path) -> bool {
    let dot = dir.join(".git");
    match fs::symlink_metadata(&dot) {
        Ok(meta) if meta.is_file() => pointer(&dot).is_some(),
        Ok(_) => dot.join("HEAD").symlink_metadata().is_ok(),
        Err(_) => false,
    }
}

/// Whether `.git` there was put by somebody that the user trusts anyway: git has the same rule.
pub fn is_trusted(dir: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(dir.join(".git")).is_ok_and(|meta| meta.uid() == me || meta.uid() == 0)
}

/// The gitdir of `root` if it lies outside of it: a linked worktree, or a submodule on its own.
pub fn elsewhere(root: &Path) -> Option<Elsewhere> {
    let pointer = pointer(&root.join(".git"))?;
    let gitdir = root.join(&pointer).canonicalize().ok()?;
    let common = match read(&gitdir.join("commondir")) {
        Ok(text) => gitdir.join(OsStr::from_bytes(text.trim_ascii_end())).canonicalize().ok()?,
        Err(_) => gitdir.clone(),
    };
    // `.git` is a file of the repo and may name anything. Only a gitdir that names this working tree
    // in turn is shown inside.
    let is_gitdir = common.join("HEAD").exists() && common.join("objects").is_dir();
    let outside = !common.starts_with(root) && !root.starts_with(&common);
    (is_gitdir && outside && points_back(&gitdir, root)).then_some(Elsewhere { pointer, gitdir, common })
}

/// A gitdir outside of `root` that `.git` names, and that does not name `root` in turn.
pub fn not_shown(root: &Path) -> Option<PathBuf> {
    let gitdir = root.join(pointer(&root.join(".git"))?).canonicalize().ok()?;
    (!gitdir.starts_with(root) && elsewhere(root).is_none()).then_some(gitdir)
}

/// A worktree's gitdir has a file `gitdir` with the way back, a submodule's config a `worktree`.
fn points_back(gitdir: &Path, root: &Path) -> bool {
    let back = |text: &[u8]| gitdir.join(OsStr::from_bytes(text.trim_ascii())).canonicalize().ok();
    if let Ok(text) = read(&gitdir.join("gitdir")) {
        return back(&text) == root.join(".git").canonicalize().ok();
    }
    let config = read(&gitdir.join("config")).unwrap_or_default();
    let worktree = config.split(|b| *b == b'\n').find_map(|line| {
        let (key, value) = line.split_at(line.iter().position(|b| *b == b'=')?);
        key.trim_ascii().eq_ignore_ascii_case(b"worktree").then(|| value[1..].to_vec())
    });
    worktree.is_some_and(|text| back(&text).as_deref() == Some(root))
}

impl Elsewhere {
    /// Where the shared gitdir must stand inside so that `.git`, read at `workspace`, leads to it.
    pub fn inside(&self, workspace: &Path) -> Option<PathBuf> {
        // Inside there is nothing yet to resolve against.
        let gitdir = by_words(&workspace.join(&self.pointer));
        if self.gitdir == self.common {
            return Some(gitdir);
        }
        // A worktree's gitdir is below the shared one; the same distance holds inside.
        let below = self.gitdir.strip_prefix(&self.common).ok()?;
        gitdir.ancestors().nth(below.components().count()).map(Path::to_path_buf)
    }

    /// For a submodule: its config names the working tree relative to the gitdir, which no longer
    /// fits when both stand elsewhere. Gives the config with the right one.
    pub fn config_for(&self, workspace: &Path) -> Option<Vec<u8>> {
        let text = read(&self.common.join("config")).ok()?;
        let mut changed = false;
        let mut out = Vec::with_capacity(text.len() + 32);
        for line in text.split_inclusive(|b| *b == b'\n') {
            let key: &[u8] = line.split(|b| *b == b'=').next().unwrap_or_default();
            if key.trim_ascii().eq_ignore_ascii_case(b"worktree") {
                changed = true;
                out.extend_from_slice(b"\tworktree = ");
                out.extend_from_slice(workspace.as_os_str().as_bytes());
                out.push(b'\n');
            } else {
                out.extend_from_slice(line);
            }
        }
        changed.then_some(out)
    }
}

/// Reads a small file of git's. Never a pipe, which could keep us waiting, and never much.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = fs::File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(1 << 20).read_to_end(&mut text)?;
    Ok(text)
}

/// What a `.git` file points to.
fn pointer(dot: &Path) -> Option<PathBuf> {
    if !fs::symlink_metadata(dot).ok()?.is_file() {
        return None;
    }
    let text = read(dot).ok()?;
    let path = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_leads_to_the_same_place_inside() {
        let at = Elsewhere {
            pointer: "/src/main/.git/worktrees/x".into(),
            gitdir: "/src/main/.git/worktrees/x".into(),
            common: "/src/main/.git".into(),
        };
        assert_eq!(at.inside(Path::new("/workspace")), Some("/src/main/.git".into()));
    }

    #[test]
    fn a_submodule_keeps_its_relative_way() {
        let at = Elsewhere {
            pointer: "../.git/modules/sub".into(),
            gitdir: "/src/main/.git/modules/sub".into(),
            common: "/src/main/.git/modules/sub".into(),
        };
        assert_eq!(at.inside(Path::new("/workspace")), Some("/.git/modules/sub".into()));
    }
}
