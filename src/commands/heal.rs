//! What a crash left half done is said, and completed or rolled back, before anything else happens.

use std::io;
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::apply::host::Host;
use crate::apply::journal::{Intent, Journal, Reached};
use crate::apply::keeper::Keeper;
use crate::apply::recover;
use crate::changes::base::Base;
use crate::error::{Error, Kind, Result, reason, show};
use crate::layer::access;
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
    /// Refuse to go on, and touch nothing.
    Refuse,
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
    /// Looks after a transaction that was cut off on `repo`, whatever session's it is.
    pub fn heal(&self, repo: &Path, word: Word) -> Result<()> {
        match self.heal_repo(repo, word) {
            // What cannot be mended must not keep anybody from looking.
            Err(error) if word == Word::Ask && error.kind() != Kind::Interrupted => {
                let hints: String = error.hints().iter().map(|hint| format!("; {hint}")).collect();
                self.ui.warn(&format!("{}{hints}", error.message()));
                Ok(())
            }
            other => other,
        }
    }

    fn heal_repo(&self, repo: &Path, word: Word) -> Result<()> {
        let state = RepoState::new(&self.places.state, repo);
        if state.pending()?.is_none() {
            return Ok(());
        }
        match state.try_lock()? {
            Some(lock) => self.heal_pending(&lock, word),
            // Somebody is at it right now. One can look at that, but not build on it.
            None if word == Word::Ask => Ok(()),
            None => self.heal_pending(&state.lock()?, word),
        }
    }

    /// What is left on the repo of a lock, whatever session's it is.
    fn heal_pending(&self, lock: &RepoLock, word: Word) -> Result<()> {
        let Some(id) = lock.pending()? else { return Ok(()) };
        match self.store.read(&id)? {
            Some(mut session) => {
                let Some(_lock) = session.try_lock()? else {
                    let name = session.name();
                    return Err(Error::new(format!(
                        "another cowbox is working on session {name}, whose apply was cut off here"
                    ))
                    .hint("wait until it is done"));
                };
                session.reload()?;
                self.heal_own(&mut session, lock, word).map(|_| ())
            }
            None => {
                self.ui.warn(&format!(
                    "an apply was cut off here, and its session {id} is gone; look for files named `.cowbox-*`"
                ));
                lock.end(&id)
            }
        }
    }

    /// The same where the lock is ours already, for a session that is about to write. Tells what was done about
    /// its own transaction; what another session has left on the repo is looked after first.
    pub fn heal_session(&self, session: &mut Session, lock: &RepoLock, word: Word) -> Result<Healed> {
        if lock.pending()?.is_some_and(|id| id != session.record.id) {
            self.heal_pending(lock, word)?;
        }
        self.heal_own(session, lock, word)
    }

    fn heal_own(&self, session: &mut Session, lock: &RepoLock, word: Word) -> Result<Healed> {
        if word == Word::Refuse {
            return check_idle(session).map(|()| Healed::Nothing);
        }
        let left = Journal::left(session.dir()).map_err(|e| unreadable(session, e))?;
        let Some((journal, reached)) = left else {
            lock.end(&session.record.id)?;
            return Ok(Healed::Nothing);
        };
        let is_apply = journal.intent.undoes.is_none();
        let what = if is_apply { "apply" } else { "undo" };
        let name = session.name().to_owned();
        let name = name.as_str();
        let finish = match reached {
            Reached::Nothing | Reached::Back(_) => false,
            Reached::Committed(_) => true,
            Reached::Staged(_) => match self.word(what, name, word)? {
                Some(finish) => finish,
                None => return Ok(Healed::Nothing),
            },
        };
        let mended = match mend(session, finish) {
            // Directories may be closed to their owner; in a user namespace they are not. In a child, for this
            // process may be about to start a sandbox.
            Err(stopped) if stopped.needs_access() => access::apart(|| {
                access::gain()?;
                mend(session, finish).map_err(|stopped| stopped.explain(what, name))
            }),
            other => other.map_err(|stopped| stopped.explain(what, name)),
        };
        mended?;
        // A child may have noted it.
        session.reload()?;
        let now = if finish { "it is complete now" } else { "it was rolled back" };
        self.ui.warn(&format!("the {what} of session {name} had been cut off; {now}"));
        lock.end(&session.record.id)?;
        Ok(if finish == is_apply { Healed::Applied } else { Healed::AsBefore })
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
            Word::Ask | Word::Insist | Word::Refuse => {}
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

fn unreadable(session: &Session, e: io::Error) -> Error {
    Error::io("read the journal in", session.dir(), e)
        .hint("it tells what an apply or undo was doing; an update of cowbox may be able to read it")
}

/// Why a transaction could be neither completed nor rolled back.
enum Stopped {
    /// Something could not be done.
    At(PathBuf, io::Error),
    /// Rolling back would lose what the host has done to these since.
    Changed(Vec<PathBuf>, Onward),
}

/// Whether the other way is open.
enum Onward {
    Open,
    Closed,
}

impl From<(PathBuf, io::Error)> for Stopped {
    fn from((path, e): (PathBuf, io::Error)) -> Self {
        Self::At(path, e)
    }
}

impl Stopped {
    fn needs_access(&self) -> bool {
        matches!(self, Self::At(_, e) if e.kind() == io::ErrorKind::PermissionDenied)
    }

    fn explain(self, what: &str, name: &str) -> Error {
        match self {
            Self::At(path, e) => Error::new(format!("cannot clear up {}: {}", show(&path), reason(&e))).hint(
                "nothing is lost: what was there before is beside it, named `.cowbox-*`, or in the session's `undo/`",
            ),
            Self::Changed(paths, onward) => {
                let list = paths.iter().map(|path| show(path)).collect::<Vec<_>>().join(", ");
                let error = Error::of(
                    Kind::Conflict,
                    format!("the {what} of session {name} cannot be rolled back: the host has changed {list} since"),
                );
                match onward {
                    Onward::Open => error.hint(format!("`cowbox {what} -y {name}` completes it and keeps that")),
                    Onward::Closed => error,
                }
                .hint("moved away, it is not in the way any more")
            }
        }
    }
}

/// Completes what was left in a session or rolls it back, with the rights that this process has. Can be begun again.
fn mend(session: &Session, finish: bool) -> Result<(), Stopped> {
    let at_journal = |e| Stopped::At(session.dir().join("journal"), e);
    let Some((mut journal, reached)) = Journal::left(session.dir()).map_err(at_journal)? else { return Ok(()) };
    let repo = journal.intent.repo.0.clone();
    let host = Host::open(&repo).map_err(|e| Stopped::At(repo.clone(), e))?;
    let keeper = Keeper::new(session.dir(), &journal.intent);
    let at_base = |e| Stopped::At(session.dir().join("base.jsonl"), e);
    let mut base = Base::load(session.dir(), session.record.stamp()).map_err(at_base)?;
    match (&reached, finish) {
        (Reached::Staged(staged) | Reached::Committed(staged), true) => {
            if matches!(reached, Reached::Staged(_)) {
                recover::roll_forward(&host, &journal.intent, staged)?;
                host.sync().map_err(|e| Stopped::At(repo, e))?;
                journal.committed().map_err(at_journal)?;
            }
            recover::complete(&host, &journal.intent, staged, &keeper, &mut base)?;
            let event = event(&journal.intent);
            let noted = session.clone().note_transaction(&journal.intent.id, event);
            noted.map_err(|e| Stopped::At(session.dir().join("session.json"), e))?;
        }
        (reached, _) => {
            let staged = reached.staged();
            let changed = recover::changed_since(&host, &journal.intent, staged)?;
            if !changed.is_empty() {
                let onward = if matches!(reached, Reached::Back(_)) { Onward::Closed } else { Onward::Open };
                return Err(Stopped::Changed(changed, onward));
            }
            recover::roll_back(&host, &mut journal, staged, &keeper, &mut base)?;
        }
    }
    journal.end().map_err(at_journal)
}

/// How the history tells of one that was completed after it had been cut off.
fn event(intent: &Intent) -> String {
    let what = if intent.undoes.is_none() { "applied" } else { "undone" };
    format!("{what}: {} (recovered)", super::undo::paths(intent.settled.len()))
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
