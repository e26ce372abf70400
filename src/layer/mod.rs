//! The overlay format on disk: whiteouts, opaque directories, stacks of layers.

pub mod access;
pub mod create;
pub mod entry;
pub mod filesystem;
pub mod idle;
pub mod marks;
pub mod remove;
pub mod spread;
pub mod stack;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// How an overlay writes its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// No overlay at all: the repo itself.
    Plain,
    /// The kernel's overlay with `userxattr`: 0/0 devices and `user.overlay.*`. All engines use it.
    Userxattr,
    /// The kernel's overlay of root: 0/0 devices and `trusted.overlay.*`.
    Trusted,
    /// fuse-overlayfs: 0/0 devices or `.wh.NAME`, and `user.fuseoverlayfs.*`.
    Fuse,
}
