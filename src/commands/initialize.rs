//! `initializeCommand`: what a devcontainer runs on the host before anything else, with the user's consent only.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Kind, Result, reason};
use crate::setup::choose::Choice;
use crate::setup::make::argv;
use crate::setup::plan::StepCommand;
use crate::ui::sanitize;

/// Runs them all at the same time, in the repo, and waits for all: what fails first is the failure.
pub fn on_host(choice: &Choice, repo: &Path) -> Result<()> {
    let commands = choice.devcontainer.as_ref().map(|d| d.initialize.as_slice()).unwrap_or_default();
    let started: Vec<Result<Child>> = commands.iter().map(|command| start(command, repo)).collect();
    let ended: Vec<Result<()>> =
        started.into_iter().zip(commands).map(|(child, command)| end(child?, command)).collect();
    ended.into_iter().collect()
}

/// Nobody answers it, and stdout is the sandboxed command's.
fn start(command: &StepCommand, repo: &Path) -> Result<Child> {
    let words = argv(command);
    let failed = |e: std::io::Error| failure(command, &format!("cannot be run: {}", reason(&e)));
    let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
    let Some((program, rest)) = words.split_first() else { return Err(failure(command, "is empty")) };
    Command::new(program).args(rest).current_dir(repo).stdin(Stdio::null()).stdout(stderr).spawn().map_err(failed)
}

fn end(mut child: Child, command: &StepCommand) -> Result<()> {
    let status = child.wait().map_err(|e| failure(command, &format!("was lost: {}", reason(&e))))?;
    match (status.success(), status.code()) {
        (true, _) => Ok(()),
        (false, Some(code)) => Err(failure(command, &format!("failed with exit code {code}"))),
        (false, None) => Err(failure(command, "was ended by a signal")),
    }
}

fn failure(command: &StepCommand, what: &str) -> Error {
    let text = match command {
        StepCommand::Shell(text) => text.clone(),
        StepCommand::Argv(words) => words.join(" "),
    };
    Error::of(Kind::NotStarted, format!("initializeCommand `{}` on the host {what}", sanitize::text(&text)))
        .hint("`cowbox trust --revoke` takes back that it may run; `--setup none` runs nothing of it")
}
