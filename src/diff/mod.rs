//! Change sets as people and scripts read them.

pub mod json;
pub mod name_status;
