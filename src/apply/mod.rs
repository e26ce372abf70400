//! Landing changes on the host as one transaction, and taking it back.
//!
//! `plan` decides what is to be done, `stage` puts new content beside its targets, `transaction` swaps it
//! in under a journal, `recover` completes or rolls back what was cut off, `undo` reverses what was done.
//! `host` opens the repo and resolves every path in it: what the others write there goes through its descriptors.

pub mod access_list;
pub mod commits;
pub mod copy;
pub mod duplicate;
pub mod host;
pub mod intent;
pub mod journal;
pub mod keeper;
pub mod picks;
pub mod plan;
pub mod recover;
pub mod stage;
pub mod steps;
pub mod transaction;
pub mod undo;

mod crash;
mod leaders;
mod moved;
mod ours;
mod settle;
mod space;
