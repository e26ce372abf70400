//! `cowbox` runs a command over a repository that it cannot touch.
//!
//! The flow of data is the architecture. Each stage hands one typed value to the next:
//!
//! ```text
//! cli ─→ settings ─→ plan ─→ engine ─→ changes ─→ diff
//!        (origin     (what    (podman,  (read the  (show)
//!         of each)    to run)  docker,   upper)
//!                              native)
//! ```
//!
//! `review` brings it to a person, `apply` lands it on the host, `session` keeps what outlives a process,
//! `process` supervises children, `policy` says what the sandbox may see, `layer` knows overlayfs, `git`
//! reads git's own files, `sys` talks to the kernel where the compiler cannot check it.

pub mod apply;
pub mod changes;
pub mod cli;
pub mod commands;
pub mod complete;
pub mod diff;
pub mod engine;
pub mod error;
#[cfg(test)]
mod error_list;
pub mod git;
pub mod jsonc;
pub mod layer;
pub mod man;
pub mod near;
pub mod paths;
pub mod plan;
pub mod policy;
pub mod process;
pub mod profile;
pub mod repo;
pub mod review;
pub mod session;
pub mod settings;
pub mod setup;
pub mod sys;
pub mod task;
pub mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

/// Parses `args`, runs the verb and gives the exit code. Never calls `exit`, so destructors run.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let [_, verb, rest @ ..] = &args[..]
        && verb == engine::oci::hook::VERB
    {
        return match engine::oci::hook::run(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                // The runtime shows only the exit code; its log has the words.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("cowbox: error: {why}\n").as_bytes());
                ExitCode::FAILURE
            }
        };
    }
    if let [_, verb, rest @ ..] = &args[..]
        && verb == complete::VERB
    {
        complete::run(rest);
        return ExitCode::SUCCESS;
    }
    let cli = match cli::parse(&args) {
        Ok(cli) => cli,
        Err(refused) => return ExitCode::from(cli::report(&refused, &args)),
    };
    let ui = ui::Ui::new(&cli.global);
    match commands::dispatch(cli, &ui) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            ui.error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
