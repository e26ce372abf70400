//! A commit laid out in a directory of its own: made once, complete or not there at all, never written to again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::git::{Configuration, git, git_with};
use super::mirror::Mirror;
use super::{Host, Source, submodules, url};
use crate::error::Error;
use crate::layer::remove;
use crate::task::cached;
use crate::task::halt::Halt;
use crate::task::stage::Stage;

/// What is laid out.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// The commit.
    pub commit: &'a str,
    /// Its tree.
    pub tree: &'a str,
    /// With its submodules.
    pub submodules: bool,
    /// Patches upon it, in order.
    pub patches: &'a [Patch],
}

/// A patch with what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// For messages.
    pub name: String,
    /// Its text.
    pub content: Vec<u8>,
}

impl Wish<'_> {
    /// The same for the same result.
    fn name(&self, from: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{from}\0{}\0{}\0", self.commit, self.submodules));
        for patch in self.patches {
            hash.update((patch.content.len() as u64).to_le_bytes());
            hash.update(&patch.content);
        }
        hash.finalize()[..12].iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// Lays a commit out, unless it is there already.
pub fn checkout(cache: &Path, mirror: &Mirror, wish: &Wish<'_>, host: &mut dyn Host) -> Result<Source, Halt> {
    let name = wish.name(&url::plain(mirror.from()));
    let all = cache.join("checkouts");
    let root = all.join(&name).join("repo");
    fs::create_dir_all(&all).map_err(|e| Error::io("create", &all, e))?;
    let lock = all.join(format!("{name}.lock"));
    let lock_file = File::options().create(true).write(true).truncate(false).open(&lock);
    let lock_file = lock_file.map_err(|e| Error::io("open", &lock, e))?;
    host.lock(&lock_file)?;
    if root.is_dir() {
        cached::touch(&all.join(&name));
        return source(root, mirror, wish, host);
    }
    let new = all.join(format!("{name}.new"));
    remove::tree(&new).map_err(|e| Error::io("remove", &new, e))?;
    fs::create_dir_all(new.join("repo")).map_err(|e| Error::io("create", &new, e))?;
    cached::touch(&new);
    let repo = new.join("repo");
    let laid_out = lay_out(&repo, mirror, wish, host).and_then(|()| patch(&repo, wish.patches, host));
    if let Err(halt) = laid_out {
        let _ = remove::tree(&new);
        return Err(halt);
    }
    fs::rename(&new, all.join(&name)).map_err(|e| Error::io("rename", &new, e))?;
    source(root, mirror, wish, host)
}

fn source(root: PathBuf, mirror: &Mirror, wish: &Wish<'_>, host: &mut dyn Host) -> Result<Source, Halt> {
    let patched_tree = match wish.patches {
        [] => None,
        _ => {
            let ask = git_with(&root, Configuration::None, ["rev-parse", "--verify", "HEAD^{tree}"]);
            let said = host.run(ask, "look at the patched tree")?;
            Some(String::from_utf8_lossy(&said).trim().to_owned())
        }
    };
    let (commit, tree) = (Some(wish.commit.to_owned()), Some(wish.tree.to_owned()));
    Ok(Source { root, from: mirror.from().to_owned(), commit, tree, patched_tree })
}

fn lay_out(root: &Path, mirror: &Mirror, wish: &Wish<'_>, host: &mut dyn Host) -> Result<(), Halt> {
    let none = Configuration::None;
    let commit = wish.commit;
    let mirror_dir = mirror.dir().to_string_lossy().into_owned();
    host.run(git_with(root, none, ["init", "--quiet"]), "make a checkout")?;
    // Objects of its own: what is inside the sandbox cannot see the mirror.
    let name = format!("{commit}:refs/heads/cowbox-task");
    let fetch = ["fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", &mirror_dir, &name];
    let fetch = git_with(root, none, [&["-c", "uploadpack.allowAnySHA1InWant=true"], &fetch[..]].concat());
    host.fill(root, fetch, "copy the commit")?;
    host.fill(root, git_with(root, none, ["checkout", "--quiet", "--detach", commit]), "lay the commit out")?;
    host.run(git_with(root, none, ["branch", "--quiet", "-D", "cowbox-task"]), "tidy up")?;
    let origin = url::plain(mirror.from());
    host.run(git_with(root, none, ["remote", "add", "origin", &origin]), "name the origin")?;
    if wish.submodules {
        submodules::lay_out(root, mirror, host)?;
    }
    Ok(())
}

/// Applies the patches and commits them: what is done later is told from them. By nobody and at no time, so that the
/// same patches give the same commit.
fn patch(root: &Path, patches: &[Patch], host: &mut dyn Host) -> Result<(), Halt> {
    if patches.is_empty() {
        return Ok(());
    }
    host.begin(Stage::Patches, false)?;
    for patch in patches {
        let file = root.with_file_name("patch");
        fs::write(&file, &patch.content).map_err(|e| Error::io("write", &file, e))?;
        let mut apply = git_with(root, Configuration::None, ["apply", "--index", "--whitespace=nowarn", "--"]);
        apply.arg(&file);
        host.run(apply, &format!("apply {}", patch.name))?;
        let _ = fs::remove_file(&file);
    }
    let mut commit = git(root, Configuration::None);
    for who in ["AUTHOR", "COMMITTER"] {
        commit.env(format!("GIT_{who}_NAME"), "cowbox").env(format!("GIT_{who}_EMAIL"), "cowbox@localhost");
        commit.env(format!("GIT_{who}_DATE"), "2000-01-01T00:00:00Z");
    }
    commit.args(["-c", "commit.gpgSign=false", "commit", "--quiet", "--allow-empty", "--no-verify"]);
    commit.args(["-m", "Patches of the task"]);
    host.run(commit, "commit the patches").map(drop)
}
