//! `cowbox discard`: throw the changes of a session away.

use super::context::Context;
use crate::cli::DiscardArgs;
use crate::error::{Error, Kind, Result};
use crate::session::{Session, State, state::Action};
use crate::ui::{Ui, ask};

/// Runs the verb.
pub fn discard(args: DiscardArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let mut session = context.session(args.session.as_deref())?;
    session.record.state.allow(Action::Discard, session.name())?;
    let _lock = context.lock(&session)?;
    // Somebody may have resumed it between our look and our lock.
    session.reload()?;
    if session.record.state == State::Running {
        // The lock is ours, so nobody runs it: only that could not be written down.
        session.record.advance(State::Stopped)?;
    }
    session.record.state.allow(Action::Discard, session.name())?;
    super::heal::check_idle(&session)?;
    if !args.yes {
        if !ui.can_ask() {
            return Err(Error::of(Kind::Consent, "discarding throws work away, and there is no terminal to ask on")
                .hint("say `-y` to do it without a question"));
        }
        let lost = context.look(&session).map_or_else(
            |_| "its changes".to_owned(),
            |look| match look.set().visible().count() {
                1 => "1 change".to_owned(),
                n => format!("{n} changes"),
            },
        );
        if !ask::confirm(&format!("Throw away {lost} of session {}?", session.name()))? {
            ui.say("nothing was discarded");
            return Ok(Kind::Failed.exit_code());
        }
    }
    throw_away(&context, &mut session, true)?;
    ui.say(&format!("session {} is discarded", session.name()));
    Ok(0)
}

/// Marks first, then removes. The other way round, a crash would leave half a change set that looks
/// whole; this way it leaves a discarded session that `gc` finishes.
/// A session that was to be discarded from its start was never `durable`, and need not be now.
pub fn throw_away(context: &Context<'_>, session: &mut Session, durable: bool) -> Result<()> {
    session.record.advance(State::Discarded)?;
    if session.write(durable).is_err() {
        // On a full disk this is what makes room. Without a record it is a leftover, which `gc` finishes.
        let path = session.dir().join("session.json");
        std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        context.remove_layers(session)?;
        return session.write(durable);
    }
    context.remove_layers(session)
}
