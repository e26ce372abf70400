//! Verbs for live sessions: `exec`, `shell`, `stop`.

use std::ffi::OsString;

use clap::Args;

use super::RepoArgs;

/// `exec`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox exec api-7k3q -- git status")]
pub struct ExecArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix
    pub session: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `shell`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox shell                       look around in the session that runs
  cowbox shell api-7k3q              in this one")]
pub struct ShellArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
}

/// `stop`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox stop                        end the session that runs; its changes are kept
  cowbox stop api-7k3q               end this one")]
pub struct StopArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
}
