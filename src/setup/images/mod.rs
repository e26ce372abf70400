//! Our own images: a base and one per runtime, laid on top of each other as a repo needs them.
//!
//! The files are those of `containerfiles/`, kept in the binary. A tag carries a hash of everything that an
//! image is made of, so an image that is there is the right one.

mod embedded;
mod recipe;
mod version;

pub use recipe::{ImageStep, Recipe, recipe};
