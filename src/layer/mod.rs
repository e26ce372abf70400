//! The overlay format on disk: whiteouts, opaque directories, and what is ours to ignore.

pub mod access;
pub mod create;
pub mod entry;
pub mod filesystem;
pub mod remove;

use serde::{Deserialize, Serialize};

/// How an overlay writes its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// The kernel's overlay with `userxattr`: 0/0 devices and `user.overlay.*`. All engines use it.
    Userxattr,
}
