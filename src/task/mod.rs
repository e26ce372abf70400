//! Task runs: from a task file to artifacts and a report that can be checked.

pub mod artifacts;
pub mod attend;
pub mod cached;
pub mod child;
pub mod compare;
pub mod compat;
pub mod desk;
pub mod events;
pub mod expect;
pub mod freeze;
pub mod halt;
pub mod herald;
pub mod here;
pub mod known;
pub mod links;
pub mod log;
pub mod meter;
pub mod out;
pub mod outcome;
pub mod record;
pub mod report;
pub mod source;
pub mod spec;
pub mod stage;
