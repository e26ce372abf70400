//! Options of `run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{PrepareArgs, RepoArgs};
pub use crate::policy::mounts::MountArg;
use crate::policy::{limits, mounts};

/// `run`
#[derive(Args, Debug, Default)]
#[command(after_help = "Examples:
  cowbox run                                     a shell
  cowbox run -- npm test                         one command, changes kept for review
  cowbox run --on-exit discard -- make           look, touch nothing, forget
  cowbox run --engine native --network none -- ./script.sh
  cowbox run --profile claude                    an agent: see `cowbox config profiles`
  cowbox run --resume api-7k3q                   go on where a session stopped")]
pub struct RunArgs {
    /// Repository to protect.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// What runs the sandbox
    #[arg(long, value_enum, value_name = "ENGINE", env = "COWBOX_ENGINE")]
    pub engine: Option<EngineChoice>,
    /// Image for podman and docker
    #[arg(long, value_name = "REF", env = "COWBOX_IMAGE")]
    pub image: Option<String>,
    /// How the environment is prepared.
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Name of the session
    #[arg(long, conflicts_with = "resume")]
    pub name: Option<String>,
    /// Go on in a stopped session
    #[arg(long, value_name = "S")]
    pub resume: Option<String>,
    /// What to do with the changes when the command ends
    #[arg(long, value_enum, value_name = "ACTION")]
    pub on_exit: Option<OnExit>,
    /// Network of the command
    #[arg(long, value_enum, value_name = "POLICY")]
    pub network: Option<NetworkArg>,
    /// Set a variable, or pass one on by its name
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub env: Vec<OsString>,
    /// Show a host path inside: read-only, writable, or copy-on-write
    #[arg(long, value_name = "SRC:DST[:ro|rw|cow]", value_parser = mounts::parser())]
    pub mount: Vec<MountArg>,
    /// Memory limit (k, m, g)
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_size)]
    pub memory: Option<u64>,
    /// Processor limit
    #[arg(long, value_name = "N", value_parser = limits::parse_cpus)]
    pub cpus: Option<f64>,
    /// Limit of processes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pids: Option<u32>,
    /// End the command, and all that it started, after this time (exit 124)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// User inside: a name or UID[:GID]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Directory inside to start in
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<PathBuf>,
    /// OCI runtime of the engine, for instance runsc
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<String>,
    /// Leave the command running in the background and print the session's id
    #[arg(long)]
    pub detach: bool,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The command and its arguments; left out, the default profile's, or a shell
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

impl RunArgs {
    /// Those of a run that would use what is prepared.
    pub fn to_prepare(args: &PrepareArgs) -> Self {
        Self {
            repo: args.repo.clone(),
            engine: args.engine,
            image: args.image.clone(),
            setup: args.setup.clone(),
            network: args.network,
            user: args.user.clone(),
            ..Self::default()
        }
    }
}

/// How the environment is prepared
#[derive(Args, Clone, Debug, Default)]
pub struct SetupArgs {
    /// Prepare the environment: by what the repository says (auto), not at all (none), or by a command
    #[arg(long, value_name = "auto|none|COMMAND", env = "COWBOX_SETUP")]
    pub setup: Option<String>,
    /// Build the image from this file
    #[arg(long, value_name = "FILE", conflicts_with = "image")]
    pub containerfile: Option<PathBuf>,
    /// Start a known agent, with what it needs; words after `--` are its arguments
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Which devcontainer, where there are several: a folder of .devcontainer, or a file
    #[arg(long, value_name = "NAME")]
    pub config: Option<String>,
    /// Set a variable for the setup alone, or pass one on by its name
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub setup_env: Vec<OsString>,
}

/// `--engine`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// The first of podman, docker, native that works
    Auto,
    /// podman, rootless or rootful
    Podman,
    /// docker, through its daemon
    Docker,
    /// No engine: namespaces of the kernel
    Native,
}

/// `--on-exit`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExit {
    /// Ask (on a terminal)
    Ask,
    /// Apply the changes
    Apply,
    /// Throw them away
    Discard,
    /// Keep them for later
    Keep,
}

/// `--network`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkArg {
    /// No network at all
    None,
    /// As the host
    Full,
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    // A bare number is seconds, as for timeout(1).
    let parsed = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(text).map_err(|e| format!("{e}; write for instance 90s, 10m or 1h30m"))?,
    };
    if parsed.is_zero() { Err("must be more than zero".into()) } else { Ok(parsed) }
}
