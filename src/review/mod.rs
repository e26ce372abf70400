//! What a person sees of a change set.

pub mod export;
pub mod pager;
mod tool;
pub mod viewer;
