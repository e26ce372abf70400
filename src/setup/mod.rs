//! Getting the environment ready before the hand-over.
//!
//! One source is chosen and becomes one [`plan::SetupPlan`], which says what will be done and why. It is
//! carried out once; what it left is an image and a layer, found again by a key (`cache`).

pub mod build;
pub mod built;
pub mod cache;
pub mod choose;
pub mod compose;
pub mod conventions;
pub mod detect;
pub mod devcontainer;
pub mod downloads;
pub mod features;
pub mod files;
pub mod find;
pub mod furnish;
pub mod image;
pub mod images;
pub mod keep;
pub mod key;
pub mod layer;
pub mod make;
pub mod packages;
pub mod path;
pub mod pins;
pub mod plan;
pub mod probe;
pub mod progress;
pub mod project;
pub mod quote;
pub mod ready;
pub mod redact;
pub mod room;
pub mod service;
pub mod start;
