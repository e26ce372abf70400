//! Options of `task`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::EngineChoice;
use crate::policy::limits;

/// How often a task can be run in a batch.
pub const MOST_REPEATS: u32 = 1000;

/// `task`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox task run fix-parser.yaml            one task; its record goes to runs/
  cowbox task run -j 4 tasks/                all tasks of a directory, four at a time
  cowbox task run --resume runs              go on with a batch that was stopped
  cowbox task verify runs/20260101T120000Z__01J…   run one again, and compare

docs/tasks.md describes task files, docs/task.schema.json checks them.")]
pub struct TaskArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: TaskVerb,
}

/// Verbs of `task`.
#[derive(Debug, Subcommand)]
pub enum TaskVerb {
    /// Run tasks, and keep a record of each
    Run(Box<TaskRunArgs>),
    /// Run a recorded run again, and compare both
    Verify(TaskVerifyArgs),
}

/// `task run`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox task run --engine native task.toml
  cowbox task run -j 4 --fail-fast tasks/
  cowbox task run --repeat 2 --check task.yaml     twice, and both must be the same
  cowbox task run --events - task.yaml | jq .event
  cowbox task run --resume runs

A task file is trusted like a command line: it names what is mounted, which variables of yours are shown, and the
image. Read one that somebody else wrote before you run it.

Exit status: 0 if every run ended as its task expects, 1 if not, 2 if a task file is wrong, 130 if it was stopped.")]
pub struct TaskRunArgs {
    /// Task files (.yaml, .yml, .json, .toml), or directories with some
    #[arg(value_name = "FILE", required_unless_present = "batch")]
    pub files: Vec<PathBuf>,
    /// What runs the sandboxes
    #[arg(long, value_enum, value_name = "ENGINE", env = "COWBOX_ENGINE")]
    pub engine: Option<EngineChoice>,
    /// Where runs are kept
    #[arg(long, value_name = "DIR", default_value = "runs", conflicts_with = "batch")]
    pub out: PathBuf,
    /// Run as many at the same time
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Run each task N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPEATS)))]
    pub repeat: u32,
    /// With --repeat: compare the runs of a task with its first, as `verify` does
    #[arg(long, conflicts_with = "batch")]
    pub check: bool,
    /// Begin no further run after one that did not end well
    #[arg(long)]
    pub fail_fast: bool,
    /// Go on with the batch in DIR: what has ended is not run again
    #[arg(long = "resume", value_name = "DIR", conflicts_with_all = ["files", "repeat"])]
    pub batch: Option<PathBuf>,
    /// Keep at most so much of each output: its head and its tail
    #[arg(long, value_name = "SIZE", default_value = "16m", value_parser = limits::parse_size, conflicts_with = "batch")]
    pub max_log: u64,
    /// Write what happens as lines of JSON, while it does; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Have the output of every stage in the events too
    #[arg(long)]
    pub stream: bool,
    /// The summary as one JSON document (see docs/tasks.md)
    #[arg(long)]
    pub json: bool,
}

/// `task verify`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cowbox task verify runs/20260101T120000Z__01J…
  cowbox task verify runs/20260101T120000Z__01J… --json

Where outputs differ, the first lines are shown that do, without times, ids and the like.

Exit status: 0 if both are the same in everything that must not vary, 1 if not, 2 if DIR is no record of a run that
has ended, 130 if it was stopped.")]
pub struct TaskVerifyArgs {
    /// The directory of the run
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Where the new run is kept; left out, beside the old one
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON document (see docs/tasks.md)
    #[arg(long)]
    pub json: bool,
}
