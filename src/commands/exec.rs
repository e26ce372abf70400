//! `cowbox exec` and `cowbox shell`: another command in a live session, or in what a failed setup left.

use std::ffi::OsString;

use super::context::Context;
use super::failed;
use crate::cli::{ExecArgs, ShellArgs};
use crate::engine::{ExecSpec, Kind};
use crate::error::Result;
use crate::policy::environment::Environment;
use crate::process::{self, supervise};
use crate::session::State;
use crate::session::state::Action;
use crate::ui::Ui;

/// Runs `exec`.
pub fn exec(args: ExecArgs, ui: &Ui) -> Result<u8> {
    enter(Some(&args.session), &args.command, ui)
}

/// Runs `shell`.
pub fn shell(args: ShellArgs, ui: &Ui) -> Result<u8> {
    enter(args.session.as_deref(), &[], ui)
}

fn enter(wanted: Option<&str>, command: &[OsString], ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let session = context.session(wanted)?;
    session.record.state.allow(Action::Enter, session.name())?;
    if session.record.state == State::Failed {
        return failed::enter(&context, session, command);
    }
    let native = session.record.engine.kind == Kind::Native;
    let env = Environment::build(std::env::vars_os(), native, &[])?;
    let spec = ExecSpec { command, env: &env, user: None, workdir: None, terminal: process::has_terminal() };
    let engine = context.engine(&session)?;
    let signals = supervise::watch()?;
    let mut sandbox = engine.exec(&session.record, &spec)?;
    Ok(supervise::wait(sandbox.as_mut(), &signals, None)?.code)
}
