//! What a crash left half done is said, and completed or rolled back, before anything else happens.

use super::context::Context;
use crate::apply::host::Host;
use crate::apply::journal::{Journal, Reached};
use crate::apply::keeper::Keeper;
use crate::apply::recover;
use crate::changes::base::Base;
use crate::error::{Error, Kind, Result, reason, show};
use crate::session::repos::{RepoLock, RepoState};
use crate::session::{Session, State};
use crate::ui::ask;

/// What to do with a transaction that was cut off in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Ask; without a terminal say so and leave it.
    Ask,
    /// Ask; without a terminal refuse to go on.
    Insist,
    /// Have the changes applied: complete an apply, roll an undo back.
    Applied,
    /// Have everything as it was: roll an apply back, complete an undo.
    AsBefore,
}

/// What was done about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Healed {
    /// There was none, or it was left for now.
    Nothing,
    /// The changes are applied.
    Applied,
    /// Everything is as it was.
    AsBefore,
}

impl Context<'_> {
    /// Looks after a transaction that was cut off on `repo`.
    pub fn heal(&self, repo: &std::path::Path, word: Word) -> Result<Healed> {
        let state = RepoState::new(&self.places.state, repo);
        let Some(id) = state.pending() else { return Ok(Healed::Nothing) };
        // Somebody is at it right now.
        let Some(lock) = state.try_lock()? else { return Ok(Healed::Nothing) };
        match self.store.read(&id) {
            Ok(Some(session)) => self.heal_session(&session, &lock, word),
            _ => {
                self.ui.warn(&format!(
                    "an apply to {} was cut off, and its session {id} is gone; look for files named `.cowbox-*`",
                    show(repo)
                ));
                lock.end()?;
                Ok(Healed::Nothing)
            }
        }
    }

    /// The same where the lock is ours already.
    pub fn heal_session(&self, session: &Session, lock: &RepoLock, word: Word) -> Result<Healed> {
        let failed = |e: std::io::Error| Error::io("read the journal in", session.dir(), e);
        let Some((mut journal, reached)) = Journal::left(session.dir()).map_err(failed)? else {
            lock.end()?;
            return Ok(Healed::Nothing);
        };
        let journal_is_apply = journal.intent.undoes.is_none();
        let what = if journal_is_apply { "apply" } else { "undo" };
        let name = session.name();
        let repo = journal.intent.repo.0.clone();
        let host = Host::open(&repo).map_err(|e| Error::io("open", &repo, e))?;
        let keeper = Keeper::new(session.dir(), &journal.intent);
        // Directories may be closed to their owner; in a user namespace they are not. Where there is none,
        // what cannot be done is said below.
        let _ = crate::layer::access::gain();
        let at = |(path, e): (std::path::PathBuf, std::io::Error)| {
            Error::new(format!("cannot clear up {}: {}", show(&path), reason(&e))).hint(
                "nothing is lost: what was there before is beside it, named `.cowbox-*`, or in the session's `undo/`",
            )
        };
        let (staged, committed) = match &reached {
            Reached::Nothing => (None, false),
            Reached::Staged(staged) => (Some(staged), false),
            Reached::Committed(staged) => (Some(staged), true),
            Reached::Back(staged) => (staged.as_ref(), false),
        };
        let back = matches!(reached, Reached::Back(_));
        let finish = match (staged, committed) {
            (None, _) => false,
            (Some(_), true) => true,
            // Its new things may be gone already.
            (Some(_), false) if back => false,
            (Some(_), false) => match self.word(what, name, word)? {
                Some(finish) => finish,
                None => return Ok(Healed::Nothing),
            },
        };
        let mut base = Base::load(session.dir(), session.record.stamp()).map_err(failed)?;
        if let (true, Some(staged)) = (finish, staged) {
            if !committed {
                recover::roll_forward(&host, &journal.intent, staged).map_err(at)?;
                host.sync().map_err(|e| Error::io("write to", &repo, e))?;
                journal.committed().map_err(failed)?;
            }
            recover::complete(&host, &journal.intent, staged, &keeper, &mut base).map_err(at)?;
            self.ui.warn(&format!("the {what} of session {name} had been cut off; it is complete now"));
        } else {
            if !back {
                journal.back().map_err(failed)?;
            }
            recover::roll_back(&host, &journal.intent, staged, &keeper, &mut base).map_err(at)?;
            self.ui.warn(&format!("the {what} of session {name} had been cut off; it was rolled back"));
        }
        journal.end().map_err(failed)?;
        lock.end()?;
        Ok(if finish == journal_is_apply { Healed::Applied } else { Healed::AsBefore })
    }

    /// `Some(true)`: finish it. `None`: leave it for now.
    fn word(&self, what: &str, name: &str, word: Word) -> Result<Option<bool>> {
        match word {
            Word::Applied => return Ok(Some(what == "apply")),
            Word::AsBefore => return Ok(Some(what == "undo")),
            Word::Ask | Word::Insist if self.ui.can_ask() => {
                self.ui.warn(&format!("the {what} of session {name} was cut off in the middle"));
                return ask::confirm("Complete it? (no: roll it back)").map(Some);
            }
            Word::Ask | Word::Insist => {}
        }
        let said = format!("the {what} of session {name} was cut off in the middle: this repository is half done");
        let (finish, back) =
            (format!("`cowbox apply -y {name}` completes it"), format!("`cowbox undo -y {name}` rolls it back"));
        if word == Word::Insist {
            return Err(Error::of(Kind::Consent, said).hint(finish).hint(back));
        }
        self.ui.warn(&format!("{said}; {finish}, {back}"));
        Ok(None)
    }
}

/// Refuses what would go wrong on a session whose transaction is not through.
pub fn check_idle(session: &Session) -> Result<()> {
    let left = Journal::is_left(session.dir()).map_err(|e| Error::io("read the journal in", session.dir(), e))?;
    if left && session.record.state == State::Stopped {
        let name = session.name();
        return Err(Error::of(Kind::Consent, format!("an apply of session {name} was cut off in the middle")).hint(
            format!(
                "`cowbox apply -y {name}` has the changes applied, `cowbox undo -y {name}` has everything as it was"
            ),
        ));
    }
    Ok(())
}
