//! One verb per file.

mod apply;
mod commits;
mod config;
mod contents;
mod context;
mod diff;
mod discard;
mod doctor;
mod documents;
mod environment;
mod exec;
mod failed;
mod finish;
mod gc;
mod heal;
mod identity;
mod initialize;
mod launch;
mod look;
mod ls;
mod pick;
mod place;
mod planning;
mod prepare;
mod profile;
mod remember;
mod report;
mod review;
mod run;
mod shells;
mod show;
mod stop;
mod tally;
mod task;
mod trust;
mod undo;

use crate::cli::{Cli, Verb};
use crate::error::{Error, Result};
use crate::ui::Ui;

/// Runs the verb; the exit code of the process.
pub fn dispatch(cli: Cli, ui: &Ui) -> Result<u8> {
    let runs = matches!(cli.verb, Verb::Run(_) | Verb::Exec(_) | Verb::Shell(_));
    // As if started there: the paths of every option are relative to it.
    if let Some(dir) = cli.verb.directory() {
        let entered = std::env::set_current_dir(dir).map_err(|e| Error::io("enter", dir, e));
        entered.map_err(|e| if runs { e.before_start() } else { e })?;
    }
    match cli.verb {
        Verb::Run(args) => run::run(*args, ui).map_err(Error::before_start),
        Verb::Exec(args) => exec::exec(args, ui).map_err(Error::before_start),
        Verb::Shell(args) => exec::shell(args, ui).map_err(Error::before_start),
        Verb::Diff(args) => diff::diff(args, ui),
        Verb::Review(args) => review::review(args, ui),
        Verb::Apply(args) => apply::apply(args, ui),
        Verb::Undo(args) => undo::undo(args, ui),
        Verb::Discard(args) => discard::discard(args, ui),
        Verb::Ls(args) => ls::ls(args, ui),
        Verb::Show(args) => show::show(args, ui),
        Verb::Stop(args) => stop::stop(args, ui),
        Verb::Prepare(args) => prepare::prepare(args, ui),
        Verb::Task(args) => task::task(args, ui),
        Verb::Trust(args) => trust::trust(args, ui),
        Verb::Doctor(args) => doctor::doctor(args, ui),
        Verb::Gc(args) => gc::gc(args, ui),
        Verb::Config(args) => config::config(args, ui),
        Verb::Completions(args) => documents::completions(args, ui),
        Verb::Man(args) => documents::man(args, ui),
    }
}
