//! Dev Container Features: small installers that are laid over an image.
//!
//! ```text
//! id ─→ metadata ─→ graph ─→ order ─→ resolve ─→ containerfile
//!       (local,     (dependsOn, (rounds)  (options)   (what to build)
//!        fetch)      aliases)
//! ```
//!
//! `lock` pins what is fetched, `fetch` gets it with the tools of the host.

mod collate;
mod compare;
mod containerfile;
pub mod fetch;
mod graph;
mod id;
mod json;
mod local;
pub mod lock;
mod metadata;
mod options;
mod order;
mod quote;
mod resolve;
mod short;

pub use containerfile::{BuildContext, ContextSource, Users, containerfile};
pub use graph::{Fetch, Fetched};
pub use id::{FeatureId, RegistryRef, Source};
pub use metadata::{Metadata, OptionKind, OptionSpec};
pub use resolve::{Feature, Request, Resolved, resolve};

#[cfg(test)]
mod tests;
