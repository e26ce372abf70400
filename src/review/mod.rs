//! What a person sees of a change set.

pub mod pager;
