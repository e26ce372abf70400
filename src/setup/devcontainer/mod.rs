//! Dev containers: from a `devcontainer.json` to a plan.
//!
//! Nothing here starts a process, asks an engine or writes a file. [`discover`] finds the config,
//! [`Config`] holds what it says, and [`plan`] decides what of it is done: what reaches out of the
//! sandbox only with the user's consent. `plan` is asked twice: without parts it says which image and
//! which features are needed; with their settings ([`parse_label`]) it is complete.

mod args;
mod config;
mod discover;
mod hooks;
mod id;
mod image;
mod inputs;
mod jsonc;
mod keys;
mod label;
mod layers;
mod ledger;
mod mounts;
mod node;
mod paths;
mod plan;
mod requirements;
mod run_args;
mod snippet;
mod substitute;
#[cfg(test)]
mod tests;
mod withhold;
mod workspace;

pub use config::{Build, Compose, Config};
pub use discover::discover;
pub use hooks::Commands;
pub use label::{LABEL, Label, Origin, Part, parse_label};
pub use ledger::Host;
pub use plan::{Planned, plan};
pub use substitute::{is_harmless, substitute_container_env};
