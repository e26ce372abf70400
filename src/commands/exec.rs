//! `cowbox exec` and `cowbox shell`: another command in a live session, or in what a failed setup left.

use std::ffi::OsString;

use super::context::Context;
use super::{environment, failed};
use crate::cli::{ExecArgs, ShellArgs};
use crate::engine::ExecSpec;
use crate::error::{Error, Result};
use crate::process::{self, supervise};
use crate::session::State;
use crate::session::state::Action;
use crate::ui::{Ui, sanitize};

/// Runs `exec`.
pub fn exec(args: ExecArgs, ui: &Ui) -> Result<u8> {
    if args.print_argv {
        return print_argv(&args, ui);
    }
    enter(Some(&args.session), &args.command, ui)
}

/// `--print-argv`: for programs that run commands by themselves.
fn print_argv(args: &ExecArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let session = context.session(Some(&args.session))?;
    session.record.state.allow(Action::Enter, session.name())?;
    if session.record.state == State::Failed {
        return Err(Error::new(format!("nothing runs in session {}", session.name()))
            .hint(format!("`cowbox shell {}` looks at what there is", session.name())));
    }
    let mut words = context.engine(&session)?.exec_prefix(&session.record)?;
    words.extend(args.command.iter().cloned());
    let text = |word: OsString| {
        let odd = |word: OsString| {
            Error::new(format!("`{}` is not UTF-8, and JSON is", sanitize::text(&word.to_string_lossy())))
        };
        word.into_string().map_err(odd)
    };
    ui.json(&words.into_iter().map(text).collect::<Result<Vec<String>>>()?)?;
    Ok(0)
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
    let env = environment::of_exec(&context, &session)?;
    let spec = ExecSpec { command, env: &env, user: None, workdir: None, terminal: process::has_terminal() };
    let engine = context.engine(&session)?;
    let signals = supervise::watch()?;
    let mut sandbox = engine.exec(&session.record, &spec)?;
    Ok(supervise::wait(sandbox.as_mut(), &signals, None)?.code)
}
