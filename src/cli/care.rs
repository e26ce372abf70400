//! Verbs that care for the machine: `doctor` and `gc`.

use clap::Args;

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
