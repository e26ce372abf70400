//! The stages of a run, in their order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::spec::Network;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The code comes from its url into the mirror.
    Fetch,
    /// The commit is laid out.
    Checkout,
    /// The task's patches are applied to it.
    Patches,
    /// Fixes for old code, as a layer.
    Compat,
    /// The environment is made ready.
    Setup,
    /// The command, before the agent: it must fail.
    Baseline,
    /// The agent works.
    Agent,
    /// The command.
    Run,
    /// What is wanted is copied out.
    Collect,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Fetch => "fetch",
            Stage::Checkout => "checkout",
            Stage::Patches => "patches",
            Stage::Compat => "compat",
            Stage::Setup => "setup",
            Stage::Baseline => "baseline",
            Stage::Agent => "agent",
            Stage::Run => "run",
            Stage::Collect => "collect",
        })
    }
}

/// What a stage may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What programs of the host reach.
    Host,
    /// What the task says for a sandbox.
    Sandbox(Network),
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::Host => f.write_str("host"),
            Reach::Sandbox(network) => network.fmt(f),
        }
    }
}
