//! Choosing what lands: files, hunks and lines.
//!
//! `items` are the changes with what is chosen of each, `text` has the lines of one, `tree` lays them out in folders,
//! `view` draws that, `screen` moves about in it, `plain` asks hunk by hunk instead.

pub mod items;
pub mod plain;
pub mod screen;
pub mod text;
mod tree;
mod view;

/// How choosing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a choice.
    Chosen,
    /// Without one.
    Left,
    /// Nobody is there any more.
    Gone,
}

/// How deep a choice goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Whole files.
    Files,
    /// Hunks and lines.
    Lines,
}
