//! Change sets as people and scripts read them. No process is started here, git least of all.

pub mod binary;
pub mod body;
mod cells;
pub mod colour;
pub mod columns;
#[cfg(test)]
pub mod double;
pub mod facts;
pub mod html;
pub mod hunks;
pub mod json;
pub mod lines;
pub mod name_status;
pub mod omitted;
pub mod patch;
pub mod quote;
pub mod side_by_side;
pub mod stat;
#[cfg(test)]
mod with_git;
pub mod words;

use std::io;

use crate::changes::read::Unreadable;

/// How a view is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// With colours.
    pub color: bool,
    /// What came from the sandbox is escaped; else it is byte-exact.
    pub escape: bool,
}

impl Style {
    /// `terminal`: a person sees it, directly or through a pager. Coloured output is no patch for a
    /// program any more, and will be seen sooner or later: it is escaped too.
    pub fn new(color: bool, terminal: bool) -> Self {
        Self { color, escape: terminal || color }
    }
}

/// Why a view could not be written.
#[derive(Debug)]
pub enum Failed {
    /// The session or the repo could not be read.
    Unreadable(Unreadable),
    /// The other end could not be written to.
    Write(io::Error),
}

impl From<Unreadable> for Failed {
    fn from(error: Unreadable) -> Self {
        Failed::Unreadable(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Write(error)
    }
}
