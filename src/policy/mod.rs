//! What the sandbox may see, reach and use.

pub mod certificates;
pub mod environment;
pub mod limits;
pub mod mounts;
pub mod trust;

use serde::{Deserialize, Serialize};

/// Network of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing but a loopback of its own.
    None,
    /// As the host has it.
    Full,
}

/// Capabilities that package installs need inside a container; every other one is dropped.
pub const CONTAINER_CAPABILITIES: [&str; 8] =
    ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETFCAP", "SETGID", "SETUID"];
