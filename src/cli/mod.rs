//! The command line as clap types. Doc comments here are the help that users read.

mod care;
mod config;
mod decide;
mod documents;
mod environment;
mod live;
mod look;
mod parse;
mod run;
mod task;

use std::path::{Path, PathBuf};

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use care::{DoctorArgs, GcArgs};
pub use config::{ConfigArgs, ConfigVerb};
pub use decide::{ApplyArgs, DiscardArgs, OnConflict, ReviewArgs, UndoArgs};
pub use documents::{CompletionsArgs, ManArgs};
pub use environment::{PrepareArgs, TrustArgs};
pub use live::{ExecArgs, ShellArgs, StopArgs};
pub use look::{DiffArgs, LsArgs, ShowArgs};
pub use parse::{command, parse, report};
pub use run::{EngineChoice, MountArg, NetworkArg, OnExit, RunArgs, SetupArgs};
pub use task::{MOST_REPEATS, TaskArgs, TaskRunArgs, TaskVerb, TaskVerifyArgs};

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
    /// Run tasks from files, with artifacts and reports
    Task(TaskArgs),
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
            Verb::Task(_) | Verb::Doctor(_) | Verb::Gc(_) | Verb::Completions(_) | Verb::Man(_) => return None,
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
