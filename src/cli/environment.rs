//! Verbs about the environment: `prepare` and `trust`.

use clap::Args;

use super::{EngineChoice, NetworkArg, RepoArgs, SetupArgs};

/// `prepare`
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  cowbox prepare                     have everything ready before the first run
  cowbox prepare --dry-run           what would be done, and why
  cowbox prepare --rebuild           once more, from the start")]
pub struct PrepareArgs {
    /// Repository to prepare.
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
    /// Network of the setup
    #[arg(long, value_enum, value_name = "POLICY")]
    pub network: Option<NetworkArg>,
    /// User inside: a name or UID[:GID]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Explain, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Build and prepare again, whatever is there
    #[arg(long, conflicts_with = "dry_run")]
    pub rebuild: bool,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
}

/// `trust`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  cowbox trust                       what is asked for, one question each
  cowbox trust -y                    yes to exactly that
  cowbox trust --revoke              no to everything, again")]
pub struct TrustArgs {
    /// Repository to look at.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Which devcontainer, where there are several
    #[arg(long, value_name = "NAME")]
    pub config: Option<String>,
    /// Allow exactly what is listed
    #[arg(short, long)]
    pub yes: bool,
    /// Take everything back that was allowed for this repository
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// One JSON document
    #[arg(long)]
    pub json: bool,
}

impl TrustArgs {
    /// The options that decide what is read.
    pub fn as_prepare(&self) -> PrepareArgs {
        let setup = SetupArgs { config: self.config.clone(), ..SetupArgs::default() };
        PrepareArgs { repo: self.repo.clone(), setup, ..PrepareArgs::default() }
    }
}
