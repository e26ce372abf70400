//! What a person sees of a change set, and how they choose from it.

pub mod export;
pub mod glance;
pub mod menu;
pub mod pager;
pub mod pick;
mod tool;
pub mod viewer;
