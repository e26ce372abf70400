//! Importing a session's commits: `apply --commits[=BRANCH]`.
//!
//! Git inside the sandbox makes a pack. On the host it is checked in a repository apart, with git's
//! full check of every object, and only then handed to the host's repository under a new branch. No
//! config, hook, attribute, index or ref of the session is ever read by the host's git, and no ref
//! of the host is ever moved.
//!
//! The session's HEAD becomes BRANCH, every other branch with new commits `BRANCH-<its name>`. If HEAD
//! has nothing new and just one other branch has, that one becomes BRANCH. Tags, stashes and notes stay
//! behind. A submodule's commits go to the submodule's own repository, by the same rules.

mod arrival;
mod git;
mod names;
mod quarantine;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use self::arrival::Arrival;
use self::git::HostGit;
use crate::error::{Error, Result, show};
use crate::git::Id;
use crate::git::commits::walk;
use crate::git::place::GitPlace;

/// Longer packs are no work of one session.
pub const PACK_LIMIT: u64 = 16 << 30;
/// More is no work of one session.
const MOST: usize = 50_000;

/// What to import.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The repo.
    pub root: &'a Path,
    /// The session's own directory on the host.
    pub session_dir: &'a Path,
    /// The branch to make, such as `cowbox/<session name>`.
    pub branch: &'a str,
}

/// What git inside the sandbox must be asked for: `git -C <working tree> <args>`, with `stdin`, and
/// its stdout is the pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackRequest {
    /// The working tree, relative to the repo's root; empty for the repo itself.
    pub repo: PathBuf,
    /// Arguments after `git -C …`.
    pub args: Vec<OsString>,
    /// The tips, one name a line, and with `^` what the host has already.
    pub stdin: Vec<u8>,
}

/// Runs git inside the sandbox and writes the pack to the file. What it writes is not trusted.
pub type Packer<'a> = &'a mut dyn FnMut(&PackRequest, &mut File) -> Result<()>;

/// One branch that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The repository: empty for the main one, else the submodule's path.
    pub repo: PathBuf,
    /// The new branch, without `refs/heads/`.
    pub branch: String,
    /// Its commit.
    pub tip: String,
    /// How many commits of it the host did not have.
    pub count: usize,
}

/// Imports the commits; gives the new branches, none if the session made no commits.
pub fn import(request: &Request<'_>, pack: Packer<'_>) -> Result<Vec<Imported>> {
    names::check(request.branch)?;
    let main = GitPlace::find(request.root, request.session_dir).ok_or_else(|| {
        Error::new(format!("{} has no git repository to import to", show(request.root)))
            .hint("`git init` it first, or apply the files: `cowbox apply`")
    })?;
    let mut found = Vec::new();
    // Submodules first: the main repository's commits name theirs.
    for place in main.submodules(request.root, request.session_dir)?.into_iter().chain([main]) {
        let walk = walk(&place, MOST)?;
        if walk.truncated {
            return Err(Error::new("the session has commits that cannot be read, or far too many of them")
                .hint("`git fsck` inside the session tells what is wrong"));
        }
        if !walk.tips.is_empty() {
            let branches = names::assign(&walk.tips, request.branch)?;
            names::check_free(&place, &branches)?;
            found.push((place, branches, walk));
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let git = HostGit::find(request.root)?;
    let mut arrivals = Vec::new();
    for (place, branches, walk) in found {
        arrivals.push(Arrival::new(&git, request, place, branches, &walk, &mut *pack)?);
    }
    // All is checked: from here on the host's repositories are written to.
    for arrival in &arrivals {
        arrival.move_in(&git)?;
    }
    let mut done: Vec<&Arrival> = Vec::new();
    for arrival in &arrivals {
        if let Err(error) = arrival.make_branches(&git, request.session_dir) {
            done.iter().for_each(|arrival| arrival.remove_branches(&git, request.session_dir));
            return Err(error);
        }
        done.push(arrival);
    }
    Ok(arrivals.into_iter().rev().flat_map(|arrival| arrival.imported).collect())
}

/// The lines for `--stdin` and `--revs`.
fn revisions(tips: &[Id], known: &[Id]) -> Vec<u8> {
    let tips = tips.iter().map(|id| format!("{id}\n"));
    tips.chain(known.iter().map(|id| format!("^{id}\n"))).collect::<String>().into_bytes()
}
