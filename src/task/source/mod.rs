//! The code of a task: fetched once into a mirror, laid out once per commit, shared read-only by all runs.

mod checkout;
mod git;
pub mod mirror;
mod submodules;
#[cfg(test)]
pub(super) mod tests;
pub mod url;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use checkout::{Patch, Wish, checkout};
pub use git::{Configuration, git, git_with};
pub use mirror::Mirror;

use super::halt::Halt;
use super::stage::Stage;

/// Who runs programs of the host for a stage: with its logs, its time and its right to stop.
pub trait Host {
    /// What follows belongs to this stage; whether it asks servers.
    fn begin(&mut self, stage: Stage, asks_servers: bool) -> Result<(), Halt>;

    /// Waits for a lock that somebody else may hold.
    fn lock(&mut self, file: &File) -> Result<(), Halt>;

    /// Runs it to its end; what it printed on stdout. Anything but success is a halt that says `doing`.
    fn run(&mut self, command: Command, doing: &str) -> Result<Vec<u8>, Halt>;

    /// The same for one that fills `dir` with what somebody else made: that has an end.
    fn fill(&mut self, dir: &Path, command: Command, doing: &str) -> Result<(), Halt>;
}

/// The code, ready to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The directory.
    pub root: PathBuf,
    /// What was asked for.
    pub from: String,
    /// The commit, where there is one.
    pub commit: Option<String>,
    /// Its tree, where the directory is that and nothing else.
    pub tree: Option<String>,
    /// The tree with patches upon it, where there are some.
    pub patched_tree: Option<String>,
}

/// A directory as it is.
pub fn as_it_is(path: &Path) -> Result<Source, Halt> {
    let root = path
        .canonicalize()
        .map_err(|e| Halt::infra(format!("{}: {}", crate::error::show(path), crate::error::reason(&e))))?;
    if !root.is_dir() {
        return Err(Halt::infra(format!("{} is no directory", crate::error::show(path))));
    }
    let from = root.to_string_lossy().into_owned();
    let commit = crate::changes::blobs::head(&root);
    Ok(Source { root, from, commit, tree: None, patched_tree: None })
}
