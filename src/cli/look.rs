//! Verbs that look at sessions: `diff`, `ls`, `show`.

use std::path::PathBuf;

use clap::Args;

use super::RepoArgs;

/// `diff`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox diff                      a patch; on a terminal with colours and a pager
  cowbox diff --stat               one line a file
  cowbox diff -- src '*.toml'      only these paths
  cowbox diff --side-by-side       old and new in two columns
  cowbox diff --html review.html   a page for a browser or a pull request
  cowbox diff | git apply          land it by hand
  cowbox diff api-7k3q --json      everything, for scripts
  cowbox diff -z                   names of any bytes, ended by NUL

Pager: COWBOX_PAGER, else PAGER, else `less -FRX`; empty for none.")]
pub struct DiffArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
    /// One line and one bar a file
    #[arg(long, conflicts_with_all = ["name_status", "json", "null"])]
    pub stat: bool,
    /// One letter and one path a line
    #[arg(long, conflicts_with = "json")]
    pub name_status: bool,
    /// One JSON document (see docs/json.md)
    #[arg(long)]
    pub json: bool,
    /// As --name-status, each field ended with NUL instead of a new line, and names not quoted
    #[arg(short = 'z', conflicts_with = "json")]
    pub null: bool,
    /// One page for a browser that needs nothing else, written to FILE; `-` for stdout
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stat", "name_status", "json", "null"])]
    pub html: Option<PathBuf>,
    /// Old and new beside each other, on a terminal of at least 120 columns
    #[arg(long, visible_alias = "sbs", conflicts_with_all = ["stat", "name_status", "json", "null", "html"])]
    pub side_by_side: bool,
    /// What preparing the environment changed in the repository, instead of what the session did
    #[arg(long)]
    pub setup: bool,
    /// Exit with 1 if there are changes: what git ignores counts if PATH names it, what is inside .git never does
    #[arg(long)]
    pub exit_code: bool,
    /// Only these paths: files, directories or patterns, relative to where you are
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// `ls`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox ls                          sessions of this repository
  cowbox ls --all                    of every repository
  cowbox ls --json                   for scripts")]
pub struct LsArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Sessions of every repository
    #[arg(short, long)]
    pub all: bool,
    /// One JSON document (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `show`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox show                        the latest session of this repository
  cowbox show api-7k3q --json        everything about one, for scripts")]
pub struct ShowArgs {
    /// Repository to look in.
    #[command(flatten)]
    pub repo: RepoArgs,
    /// Session name, id or unique prefix; left out, the latest of this repository
    pub session: Option<String>,
    /// One JSON document (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}
