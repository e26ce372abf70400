//! What a person sees of a change set, and how they choose from it.

pub mod glance;
pub mod menu;
pub mod pager;
pub mod pick;
