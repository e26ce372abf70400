//! `cowbox diff`: what a session changed.

use super::context::{Context, is_chosen};
use crate::changes::{ChangeSet, digest};
use crate::cli::DiffArgs;
use crate::diff::{json, name_status};
use crate::error::{Kind, Result};
use crate::session::{State, state::Action};
use crate::ui::Ui;

/// Runs the verb.
pub fn diff(args: DiffArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let session = context.session(args.session.as_deref())?;
    session.record.state.allow(Action::Read, session.name())?;
    if session.record.state == State::Running {
        ui.say(&format!("session {} is running; this is what it has changed so far", session.name()));
    }
    let all = context.changes(&session)?;
    let chosen =
        ChangeSet { changes: all.changes.iter().filter(|c| is_chosen(&c.path, &args.paths)).cloned().collect() };
    if args.json {
        let digest = context.with_access(&session, || digest::digest(&all, &session.upper()))?;
        ui.json(&json::document(&session, &chosen, digest))?;
    } else {
        let text = if args.null { name_status::nul(chosen.visible()) } else { name_status::lines(chosen.visible()) };
        ui.data(&text)?;
        if chosen.vcs() > 0 {
            ui.say(&format!("{} more inside .git, never applied as files (`--json` lists them)", chosen.vcs()));
        }
    }
    let found = !chosen.changes.is_empty();
    Ok(if args.exit_code && found { Kind::Failed.exit_code() } else { 0 })
}
