//! The command line as clap types. Doc comments here are the help that users read.

mod config;
mod documents;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

pub use config::{ConfigArgs, ConfigVerb};
pub use documents::{CompletionsArgs, ManArgs};
pub use run::{EngineChoice, MountArg, NetworkArg, OnExit, RunArgs, SetupArgs};

use crate::error::Kind;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Run a command or a coding agent over your repository without letting it touch the repository.
///
/// The repository is mounted read-only, a writable overlay lies on top. When the command ends you
/// look at what changed and keep it, or throw it away.
#[derive(Debug, Parser)]
#[command(name = "cowbox", version, styles = STYLES, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Examples:
  cowbox run                              a shell over this repository
  cowbox run -- make test                 one command
  cowbox run --network none -- ./agent    without network
  cowbox diff                             what the last session changed
  cowbox discard                          throw it away")]
pub struct Cli {
    /// What every verb takes.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options of every verb.
#[derive(Args, Clone, Debug)]
pub struct GlobalArgs {
    /// Say nothing but errors and warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice for every engine call
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Never ask: fail where a question would be needed
    #[arg(long, global = true)]
    pub no_input: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The verbs, the common ones first.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a command in a new session over this repository
    Run(Box<RunArgs>),
    /// Show what a session changed
    Diff(DiffArgs),
    /// Look at what a session changed, and decide
    Review(ReviewArgs),
    /// Land the changes of a session on the host
    Apply(ApplyArgs),
    /// Take the last apply back
    Undo(UndoArgs),
    /// Throw the changes of a session away
    Discard(DiscardArgs),
    /// List the sessions of this repository
    Ls(LsArgs),
    /// Show one session in full
    Show(ShowArgs),
    /// Run another command in a live session
    Exec(ExecArgs),
    /// Open a shell in a live session, or in what a failed setup left
    Shell(ShellArgs),
    /// Stop a live session and keep its changes
    Stop(StopArgs),
    /// Prepare the environment, or explain how that would be done
    Prepare(PrepareArgs),
    /// Show what this repository asks for beyond the sandbox, and allow it
    Trust(TrustArgs),
    /// Check engines and kernel by really trying them
    Doctor(DoctorArgs),
    /// Free space: discarded sessions and leftovers, never unapplied work
    Gc(GcArgs),
    /// Show settings with their origin; profiles; a file to begin with
    Config(ConfigArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Write the man pages into a directory
    Man(ManArgs),
}

impl Verb {
    /// What `-C` says.
    pub fn directory(&self) -> Option<&Path> {
        let repo = match self {
            Verb::Run(args) => &args.repo,
            Verb::Diff(args) => &args.repo,
            Verb::Review(args) => &args.repo,
            Verb::Apply(args) => &args.repo,
            Verb::Undo(args) => &args.repo,
            Verb::Discard(args) => &args.repo,
            Verb::Ls(args) => &args.repo,
            Verb::Show(args) => &args.repo,
            Verb::Exec(args) => &args.repo,
            Verb::Shell(args) => &args.repo,
            Verb::Stop(args) => &args.repo,
            Verb::Prepare(args) => &args.repo,
            Verb::Trust(args) => &args.repo,
            Verb::Config(args) => &args.repo,
            Verb::Doctor(_) | Verb::Gc(_) | Verb::Completions(_) | Verb::Man(_) => return None,
        };
        repo.directory.as_deref()
    }
}

/// Which repository a verb works on.
#[derive(Args, Clone, Debug, Default)]
pub struct RepoArgs {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

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

/// `doctor`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox doctor                      try everything, and say what to do
  cowbox doctor --json               for a bug report")]
pub struct DoctorArgs {
    /// One JSON document (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// `gc`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox gc --dry-run                what would be freed
  cowbox gc                          free it
  cowbox gc --force                  stopped sessions with their changes, too")]
pub struct GcArgs {
    /// Only say what would be freed
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove stopped sessions with their unapplied changes
    #[arg(long)]
    pub force: bool,
    /// One JSON document (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

/// Parses the arguments.
pub fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(args)
}

/// The whole command, for generated documents.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Prints help or a usage error and gives its exit code. A verb that runs a command must not use 2,
/// which could be the command's own: there a wrong usage is "failed before it started".
pub fn report(refused: &clap::Error, args: &[OsString]) -> u8 {
    let _ = refused.print();
    if !refused.use_stderr() {
        return 0;
    }
    let words = args.iter().skip(1).take_while(|word| *word != "--");
    let verbs: Vec<String> = command().get_subcommands().map(|v| v.get_name().to_owned()).collect();
    let verb = words.filter_map(|word| word.to_str()).find(|word| verbs.iter().any(|v| v == word));
    let runs = matches!(verb, Some("run" | "exec" | "shell"));
    if runs { Kind::NotStarted.exit_code() } else { Kind::Usage.exit_code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
