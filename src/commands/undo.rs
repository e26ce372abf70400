//! `cowbox undo`: take the last apply back.

use super::context::Context;
use super::heal::{Healed, Word};
use crate::apply::host::Host;
use crate::apply::recover::{Done, write_done};
use crate::apply::transaction::Desk;
use crate::apply::undo;
use crate::changes::base::Base;
use crate::cli::UndoArgs;
use crate::error::{Error, Kind, Result, show};
use crate::layer::access;
use crate::session::repos::RepoState;
use crate::session::state::Action;
use crate::session::{Session, record};
use crate::ui::{Ui, ask};

/// Runs the verb.
pub fn undo(args: UndoArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let mut session = context.session_as_it_is(args.session.as_deref())?;
    session.record.state.allow(Action::Undo, session.name())?;
    let _lock = context.lock(&session)?;
    session.reload()?;
    session.record.state.allow(Action::Undo, session.name())?;
    let repo = session.record.repo.0.clone();
    let repo_lock = RepoState::new(&context.places.state, &repo).lock()?;
    let word = if args.yes { Word::AsBefore } else { Word::Insist };
    if context.heal_session(&session, &repo_lock, word)? == Healed::AsBefore {
        return Ok(0);
    }
    let read = |e| Error::io("read what was applied in", session.dir(), e);
    let Some(done) = undo::all(session.dir()).map_err(read)?.pop() else {
        let freed =
            session.record.history.iter().rev().find(|entry| entry.event != "stopped" && entry.event != "running");
        if freed.is_some_and(|entry| entry.event == super::gc::UNDO_FREED) {
            return Err(Error::new(format!(
                "what session {} applied is too old to be taken back, `cowbox gc` has freed what it replaced",
                session.name()
            )));
        }
        return Err(Error::new(format!("nothing of session {} has been applied", session.name()))
            .hint(format!("`cowbox diff {}` shows what could be", session.name())));
    };
    let host = Host::open(&repo).map_err(|e| Error::io("open", &repo, e))?;
    let undo = match undo::plan(&done, &host) {
        // A directory that the session closed, and an apply made so.
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            access::gain()?;
            undo::plan(&done, &host)
        }
        other => other,
    };
    let undo = undo.map_err(|e| Error::io("read", &repo, e))?;
    let steps = undo.plan.steps.len() + undo.plan.looks.len();
    let count = if steps == 0 { 0 } else { undo.plan.settled.len() };
    if !args.yes {
        if !ui.can_ask() {
            return Err(Error::of(
                Kind::Consent,
                "an undo writes to the repository, and there is no terminal to ask on",
            )
            .hint("say `-y` to do it without a question"));
        }
        if !ask::confirm(&format!("Take back {} in {}?", paths(count), show(&repo)))? {
            ui.say("nothing was taken back");
            return Ok(Kind::Failed.exit_code());
        }
    }
    if steps > 0 {
        let mut base = Base::load(session.dir(), session.record.stamp()).map_err(read)?;
        repo_lock.begin(&session.record.id)?;
        let mut desk = Desk { host: &host, session_dir: session.dir(), base: &mut base };
        let _none = desk.carry_out(&undo.plan, None, Some(&done), undo.left).map_err(super::apply::explain)?;
        repo_lock.end(&session.record.id)?;
    } else {
        match &undo.left {
            Some(left) => keep(&session, left)?,
            None => forget(&session, &done.intent.id)?,
        }
    }
    let taken = paths(count);
    session.record.history.push(record::HistoryEntry { time: record::now(), event: format!("undone: {taken}") });
    session.save()?;
    ui.say(&format!("{taken} taken back · `cowbox apply {}` would bring them again", session.name()));
    if undo.refused.is_empty() {
        return Ok(0);
    }
    for path in &undo.refused {
        ui.warn(&format!("{} was changed on the host since, and stays as it is", show(path)));
    }
    Ok(Kind::Conflict.exit_code())
}

/// Not "changes": a rename is one change and two paths.
fn paths(count: usize) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

/// Removes what an apply had put aside: it has been taken back.
fn forget(session: &Session, id: &str) -> Result<()> {
    let dir = session.dir().join("undo").join(id);
    crate::layer::remove::tree(&dir).map_err(|e| Error::io("remove", &dir, e))
}

/// Keeps what could not be taken back yet.
fn keep(session: &Session, left: &Done) -> Result<()> {
    let dir = session.dir().join("undo").join(&left.intent.id);
    write_done(&dir, left).map_err(|e| Error::io("write", &dir, e))
}
