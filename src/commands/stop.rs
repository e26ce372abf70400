//! `cowbox stop`: end a live session and keep its changes.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::context::Context;
use crate::cli::StopArgs;
use crate::error::{Error, Result};
use crate::session::{State, state::Action};
use crate::ui::Ui;

/// A little longer than the supervisor gives the command itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the supervisor may take to let go when all is written.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs the verb.
pub fn stop(args: StopArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let mut session = context.session(args.session.as_deref())?;
    session.record.state.allow(Action::Stop, session.name())?;
    if let Some(incarnation) = &session.record.incarnation {
        // Whoever supervises it does the stopping: one place that knows how.
        incarnation.runner.signal(Signal::TERM);
    }
    let start = Instant::now();
    while session.record.state == State::Running {
        if start.elapsed() > PATIENCE
            && let Some(incarnation) = &session.record.incarnation
        {
            incarnation.runner.signal(Signal::KILL);
        }
        if start.elapsed() > PATIENCE * 2 {
            return Err(Error::new(format!("session {} does not stop", session.name()))
                .hint("try again; `cowbox doctor` tells whether the engine answers"));
        }
        std::thread::sleep(Duration::from_millis(20));
        session.reload()?;
        context.reconcile(&mut session)?;
    }
    // The record says so before its writer lets go of it, and what is typed next may need the lock.
    let start = Instant::now();
    while session.try_lock()?.is_none() && start.elapsed() < LAST_WORDS {
        std::thread::sleep(Duration::from_millis(20));
    }
    ui.say(&format!("session {} is stopped · its changes: `cowbox diff {}`", session.name(), session.name()));
    Ok(0)
}
