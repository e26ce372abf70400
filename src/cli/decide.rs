//! Verbs that decide about changes: `review`, `apply`, `undo`, `discard`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::RepoArgs;

/// `review`
#[derive(Args, Debug)]
pub struct ReviewArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
}

/// `apply`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox apply                         everything that the latest session changed
  cowbox apply -- src 'docs/*.md'      some of it; the rest stays in the session
  cowbox apply -p                      choose hunks and lines
  cowbox apply --dry-run               only say what would be done
  cowbox undo                          take it back")]
pub struct ApplyArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
    /// Choose hunks and lines; what is not chosen stays in the session
    #[arg(short, long, conflicts_with_all = ["yes", "json", "commits", "conflict"])]
    pub patch: bool,
    /// With -p: ask line by line instead of drawing (also where TERM is dumb)
    #[arg(long, requires = "patch")]
    pub plain: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// What to do where the host changed the same path
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub conflict: OnConflict,
    /// Also what git ignores
    #[arg(long)]
    pub include_ignored: bool,
    /// Also what carries this risk (see docs/risks.md); `all` for every one that can be allowed
    #[arg(long, value_name = "RISK", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Bring in the commits that were made inside, as a new branch (default: cowbox/<session>), instead of files
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true, conflicts_with_all = ["paths", "json", "dry_run"])]
    pub commits: Option<Option<String>>,
    /// Ask nothing
    #[arg(short, long)]
    pub yes: bool,
    /// One JSON document (see docs/json.md)
    #[arg(long)]
    pub json: bool,
    /// Only these paths: names, directories or globs
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

impl ApplyArgs {
    /// All that can be applied without a question.
    pub fn everything() -> Self {
        Self {
            repo: RepoArgs::default(),
            session: None,
            patch: false,
            plain: false,
            dry_run: false,
            conflict: OnConflict::Refuse,
            include_ignored: false,
            allow: Vec::new(),
            commits: None,
            yes: true,
            json: false,
            paths: Vec::new(),
        }
    }

    /// The same, with questions where one is needed.
    pub fn asking() -> Self {
        Self { yes: false, ..Self::everything() }
    }
}

/// What to do where the host changed the same path in a way that cannot be merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// Apply nothing at all, and list them
    #[default]
    Refuse,
    /// Keep the host's version
    Ours,
    /// Take the session's version
    Theirs,
    /// Put both into the file, with conflict markers
    Markers,
}

/// `undo`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox undo                        take the last apply of the latest session back
  cowbox undo api-7k3q -y            of this one, without a question")]
pub struct UndoArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `discard`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox discard                     throw the latest session's changes away
  cowbox discard api-7k3q -y         this one's, without a question")]
pub struct DiscardArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}
