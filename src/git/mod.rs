//! Git's own files, read natively: the index, ignore rules, objects and refs.
//!
//! Git is never run in here. The host's files are trusted as far as the user trusts them; what comes
//! from a session's layer is hostile: nothing is followed, and memory, depth and work have limits.

pub mod commits;
pub mod config;
mod delta;
pub mod dir;
pub mod dirs;
pub mod dotgit;
pub mod id;
pub mod ignore;
pub mod index;
mod inflate;
mod nested;
pub mod obeyed;
pub mod object;
mod pack;
pub mod place;
mod reach;
pub mod refname;
pub mod refs;
pub mod tree;
pub mod view;

#[cfg(test)]
pub(crate) mod testing;

pub use dirs::GitDirs;
pub use id::{Hash, Id};
