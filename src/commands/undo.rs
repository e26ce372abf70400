//! `cowbox undo`: take the last apply back.

use super::context::Context;
use super::heal::{Healed, Word};
use crate::apply::host::Host;
use crate::apply::transaction::{Desk, Failure};
use crate::apply::undo;
use crate::changes::base::Base;
use crate::cli::UndoArgs;
use crate::error::{Error, Kind, Result, show};
use crate::layer::access;
use crate::session::repos::RepoState;
use crate::session::state::Action;
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
    if context.heal_session(&mut session, &repo_lock, word)? == Healed::AsBefore {
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
            ))
            .hint("where git tracks the files it may still have them: `git diff`, `git log`"));
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
    let count = undo.plan.settled.len();
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
    // Also where nothing is to be written: what is gone already is to be known as undone.
    let mut base = Base::load(session.dir(), session.record.stamp()).map_err(read)?;
    repo_lock.begin(&session.record.id)?;
    let (session_dir, taken) = (session.dir().to_path_buf(), paths(count));
    let mut note = |id: &str| session.note_transaction(id, format!("undone: {taken}"));
    let mut desk = Desk { host: &host, session_dir: &session_dir, base: &mut base, note: &mut note };
    match desk.carry_out(&undo.plan, None, Some(&done), undo.left) {
        // The session has closed a directory of its layer since, into which a file comes back.
        Err(Failure::Stuck(_, e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            context.heal_session(&mut session, &repo_lock, Word::AsBefore)?;
        }
        other => {
            other.map_err(explain)?;
            repo_lock.end(&session.record.id)?;
        }
    }
    ui.say(&format!("{taken} taken back · apply again with `cowbox apply {}`", session.name()));
    if undo.refused.is_empty() {
        return Ok(0);
    }
    for path in &undo.refused {
        ui.warn(&format!("{} was changed on the host since, and stays as it is", show(path)));
    }
    Ok(Kind::Conflict.exit_code())
}

/// Not "changes": a rename is one change and two paths.
pub fn paths(count: usize) -> String {
    if count == 1 { "1 path".to_owned() } else { format!("{count} paths") }
}

/// What went wrong, in words.
fn explain(failure: Failure) -> Error {
    match failure {
        Failure::Io(path, e) => Error::io("take back", &path, e).hint("everything is as it was"),
        Failure::Stuck(path, e) => Error::io("complete the undo at", &path, e)
            .hint("the next cowbox command here completes it or rolls it back"),
        other => super::apply::explain(other),
    }
}
