//! Options of `config`.

use clap::{Args, Subcommand};

use super::RepoArgs;

/// `config`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox config                      every setting, and where it comes from
  cowbox config init                 a file with every key in it, as comments
  cowbox config profiles             the agents that `run --profile` knows
  cowbox config schema > FILE        for editors that complete TOML by a JSON schema")]
pub struct ConfigArgs {
    /// Repository whose own file counts, too.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// What to do; left out: show.
    #[command(subcommand)]
    pub verb: Option<ConfigVerb>,
}

/// What `config` does.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ConfigVerb {
    /// Show every setting with its origin
    Show {
        /// One JSON document (see docs/json.md)
        #[arg(long)]
        json: bool,
    },
    /// Write a commented file to begin with; one that is there stays as it is
    Init,
    /// List the profiles of `run --profile`
    Profiles {
        /// One JSON document (see docs/json.md)
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of the file
    Schema,
}
