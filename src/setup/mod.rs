//! Getting the environment ready before the hand-over.
//!
//! One source is chosen and becomes one [`plan::SetupPlan`], which says what will be done and why. It is
//! carried out once; what it left is an image and a layer, found again by a key (`cache`).

pub mod build;
pub mod files;
pub mod images;
pub mod plan;
