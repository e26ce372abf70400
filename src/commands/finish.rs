//! The end of a run: what there is, what `--on-exit` does with it, and the report.

use super::context::Context;
use super::discard;
use super::launch::Finished;
use super::report::Report;
use crate::changes::at_start::AtStart;
use crate::cli::OnExit;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::lock::Lock;

/// Says what there is, does what `--on-exit` says, and writes the report.
pub fn finish(context: &Context<'_>, finished: Finished, on_exit: OnExit, report: Option<&Report>) -> Result<u8> {
    let Finished { mut session, lock, code, interrupted, failure, start, .. } = finished;
    let mut lock = Some(lock);
    let name = session.name().to_owned();
    let mut applied = 0;
    if on_exit == OnExit::Discard {
        discard::throw_away(context, &mut session, false)?;
    } else if nothing_happened(context, &session, code) {
        // The engine could not start anything: there is nothing to keep.
        discard::throw_away(context, &mut session, true)?;
        crate::layer::remove::tree(session.dir()).map_err(|e| Error::io("remove", session.dir(), e))?;
    } else if on_exit == OnExit::Ask && !interrupted && failure.is_none() {
        ask(context, &mut session, lock.take(), &start, code);
    } else if failure.is_none() {
        match context.look_at_end(&session, &start) {
            Ok(look) if on_exit == OnExit::Apply && !interrupted && !look.set().changes.is_empty() => {
                applied = apply_all(context, &mut session);
            }
            Ok(look) => context.ui.say(&kept(look.set(), &name)),
            Err(error) => context.ui.warn(&format!("{}; the changes are kept", error.message())),
        }
    }
    drop(lock);
    if let Some(report) = report {
        report.write(&session, failure.as_ref(), context.ui)?;
    }
    match failure {
        Some(error) => Err(error),
        // The command's own code counts; where that says "well done", what was refused is said instead.
        None => Ok(if code == 0 { applied } else { code }),
    }
}

/// `--on-exit ask`: the review. Whatever comes of it, the command's own exit code counts.
fn ask(context: &Context<'_>, session: &mut Session, lock: Option<Lock>, start: &AtStart, code: u8) {
    if let Err(error) = super::review::at_end(context, session, lock, start) {
        context.ui.error(&error);
        context.ui.say(&format!("the changes are kept · review with `cowbox diff {}`", session.name()));
    }
    // A shell of the review was a run of its own, and the report is about this one.
    if let Some(run) = &mut session.record.incarnation {
        run.exit = Some(i32::from(code));
    }
}

/// `--on-exit apply`. What cannot be applied is kept.
fn apply_all(context: &Context<'_>, session: &mut Session) -> u8 {
    let outcome = super::apply::land(context, session, &crate::cli::ApplyArgs::everything(), None);
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            context.ui.error(&error);
            context.ui.say(&format!("the changes are kept · review with `cowbox diff {}`", session.name()));
            error.exit_code()
        }
    }
}

/// Whether an engine gave up before the command, and left nothing behind.
fn nothing_happened(context: &Context<'_>, session: &Session, code: u8) -> bool {
    let first_time = session.record.history.iter().filter(|h| h.event == "running").count() == 1;
    code == crate::error::Kind::NotStarted.exit_code()
        && first_time
        && context.look(session).is_ok_and(|look| look.set().changes.is_empty())
}

/// `2 changes kept · review with …`
fn kept(set: &crate::changes::ChangeSet, name: &str) -> String {
    let count = set.visible().count();
    let inside = match set.vcs() {
        0 => String::new(),
        n => format!(" ({n} more inside .git)"),
    };
    match count {
        0 => format!("no changes{inside} · session {name} kept"),
        1 => format!("1 change{inside} kept · review with `cowbox diff {name}`"),
        n => format!("{n} changes{inside} kept · review with `cowbox diff {name}`"),
    }
}
