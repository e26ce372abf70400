//! `cowbox task`: runs of tasks, recorded.

mod answer;
mod batch;
mod compat;
mod gather;
mod inside;
mod job;
mod run;
mod sink;
mod spare;
mod stages;
mod stand;
mod stopping;
mod table;
mod told;
mod verify;
mod waiting;
mod watch;
mod worker;

use crate::cli::{TaskArgs, TaskVerb};
use crate::error::Result;
use crate::ui::Ui;

/// Runs the verb.
pub fn task(args: TaskArgs, ui: &Ui) -> Result<u8> {
    match args.verb {
        TaskVerb::Run(args) => run::run(*args, ui),
        TaskVerb::Verify(args) => verify::verify(args, ui),
    }
}
