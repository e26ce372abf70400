//! Compose files, as far as a dev container names one.
//!
//! ```text
//! project ─→ yaml ─→ interpolate ─→ normal ─→ merge ─→ service, volumes, closure ─→ Composed
//! (which     (bounded)             (one form)          (what is used, and what is not)
//!  files)
//! ```
//!
//! The named service becomes the sandbox, those that it depends on run beside it. Nothing is asked of a compose
//! program: the files are read here, and every key that is not used is listed.

mod beside;
mod build;
mod closure;
mod composed;
mod dotenv;
mod environment;
mod health;
mod interpolate;
mod keys;
mod merge;
mod normal;
mod project;
mod service;
mod volumes;
mod words;
mod yaml;

pub use composed::{Composed, Request, compose};

#[cfg(test)]
mod tests;
