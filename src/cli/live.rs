//! Verbs for live sessions: `exec`, `shell`, `stop`.

use std::ffi::OsString;

use clap::Args;

use super::RepoArgs;

/// `exec`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox exec api-7k3q -- git status
  cowbox exec api-7k3q --print-argv          what another program has to put before a command, as JSON")]
pub struct ExecArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix
    pub session: String,
    /// Run nothing: print the words that would, for another program to put before its commands, as JSON
    #[arg(long)]
    pub print_argv: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "print_argv", value_name = "CMD")]
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
