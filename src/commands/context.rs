//! What most verbs start from: the places, the store, the repo, and one session in its true state.

use std::cell::Cell;
use std::path::PathBuf;

use super::failed;
use super::heal::Word;
use crate::changes;
use crate::changes::at_start::AtStart;
use crate::engine::{self, Engine};
use crate::error::{Error, Result, reason, show};
use crate::layer::access;
use crate::repo::Repo;
use crate::session::lock::Lock;
use crate::session::{Session, State, Store, select};
use crate::settings::Places;
use crate::ui::Ui;

/// Shared by the verbs.
pub struct Context<'a> {
    pub places: Places,
    pub store: Store,
    pub ui: &'a Ui,
    rights: Rights,
}

/// What may be done to read layers of other ids.
enum Rights {
    /// This process enters a namespace for that, and stays there.
    Taken,
    /// Nothing; whether it would have had to.
    Kept(Cell<bool>),
}

impl<'a> Context<'a> {
    pub fn new(ui: &'a Ui) -> Result<Self> {
        Ok(Self::at(Places::find()?, ui))
    }

    /// The same for who knows the places already.
    pub fn at(places: Places, ui: &'a Ui) -> Self {
        let store = Store::new(&places.state);
        Self { places, store, ui, rights: Rights::Taken }
    }

    /// For a process that goes on with other work: whatever a session holds, it must stay who it is.
    pub fn staying(self) -> Self {
        Self { rights: Rights::Kept(Cell::new(false)), ..self }
    }

    /// Whether something could not be read for that reason.
    pub fn has_stayed(&self) -> bool {
        matches!(&self.rights, Rights::Kept(refused) if refused.get())
    }

    /// The repo that the user stands in; `-C` has been followed by now.
    pub fn repo(&self) -> Result<Repo> {
        let here = std::env::current_dir();
        let lost = |e| {
            Error::new(format!("cannot tell the current directory: {}", reason(&e)))
                .hint("the directory may be gone: `cd` to one that exists, or use `-C DIR`")
        };
        Repo::find(&here.map_err(lost)?)
    }

    /// The session that was asked for, in its true state; what was cut off in its repo is said.
    pub fn session(&self, wanted: Option<&str>) -> Result<Session> {
        let session = self.session_as_it_is(wanted)?;
        self.heal(&session.record.repo.0, Word::Ask)?;
        Ok(session)
    }

    /// The same for verbs that look after what was cut off on their own.
    pub fn session_as_it_is(&self, wanted: Option<&str>) -> Result<Session> {
        // With a name the repo does not matter, and it may not even exist any more.
        let root = match wanted {
            Some(_) => PathBuf::new(),
            None => self.repo()?.root,
        };
        let mut session = select::find(&self.store, wanted, &root, self.ui)?;
        self.reconcile(&mut session)?;
        Ok(session)
    }

    /// A session that says it runs, with nobody holding its lock, lost its supervisor: to SIGKILL, a
    /// crash, a reboot. What is left of it is ended, and its changes are kept.
    pub fn reconcile(&self, session: &mut Session) -> Result<()> {
        if matches!(session.record.state, State::Stopped | State::Discarded | State::Failed) {
            return Ok(());
        }
        let Some(_lock) = session.try_lock()? else { return Ok(()) };
        session.reload()?;
        let next = match session.record.state {
            State::Running => State::Stopped,
            State::Preparing => State::Failed,
            _ => return Ok(()),
        };
        self.engine(session)?.sweep(&session.record)?;
        session.record.advance(next)?;
        if let Err(error) = session.save() {
            // A full disk must not keep anybody from looking, or from discarding.
            self.ui.warn(error.message());
        }
        // Apart: it may take rights that whoever goes on to start a sandbox must not have.
        if next == State::Stopped
            && let Err(error) = access::apart(|| self.look_at_end(session, &AtStart::default()).map(|_| ()))
        {
            self.ui.warn(error.message());
        }
        // What a task left is thrown away with it.
        if session.record.task.is_some() {
            return Ok(());
        }
        self.ui.warn(&format!(
            "session {} had lost its supervisor; it is {next} now and its changes are kept",
            session.name()
        ));
        Ok(())
    }

    /// The engine of a session.
    pub fn engine(&self, session: &Session) -> Result<Box<dyn Engine>> {
        engine::of_session(&session.record, &self.places, self.ui)
    }

    /// The lock of a session that nobody runs.
    pub fn lock(&self, session: &Session) -> Result<Lock> {
        session.try_lock()?.ok_or_else(|| {
            Error::new(format!("another cowbox is working on session {}", session.name()))
                .hint(format!("wait for it, or stop it with `cowbox stop {}`", session.name()))
        })
    }

    /// Runs a reader; where it is refused for want of rights, gets them and runs it again.
    pub fn with_access<T>(
        &self,
        session: &Session,
        read: impl Fn() -> Result<T, changes::read::Unreadable>,
    ) -> Result<T> {
        let failed = |e: changes::read::Unreadable| self.unreadable(session, &e);
        match read() {
            Err(e) if e.needs_access() && session.record.state != State::Running => {
                self.gain_access(session)?;
                read().map_err(failed)
            }
            other => other.map_err(failed),
        }
    }

    /// Makes the layers of a session readable to this process, whatever ids their files have.
    pub fn gain_access(&self, session: &Session) -> Result<()> {
        if let Rights::Kept(refused) = &self.rights {
            refused.set(true);
            return Err(Error::new("more rights are needed to read the layers than this process may take"));
        }
        self.reclaim(session)?;
        access::gain()
    }

    /// What could not be read, in words.
    pub fn unreadable(&self, session: &Session, e: &changes::read::Unreadable) -> Error {
        Error::new(format!("cannot read {} of session {}: {}", show(&e.path), session.name(), reason(&e.source)))
            .because_of(&e.source)
    }

    fn reclaim(&self, session: &Session) -> Result<()> {
        self.engine(session)?.reclaim(session.dir())
    }

    /// Removes the layers of a session, whatever ids their files have, and what a failed setup left it.
    pub fn remove_layers(&self, session: &Session) -> Result<()> {
        failed::clear(self, session)?;
        self.remove_own_layers(session)
    }

    /// The session with everything that it has: nobody will look at it again. The caller holds its lock.
    pub fn remove_session(&self, session: &Session) -> Result<()> {
        self.remove_layers(session)?;
        crate::layer::remove::tree(session.dir()).map_err(|e| Error::io("remove", session.dir(), e))
    }

    /// The layers less what they stand on.
    pub fn remove_own_layers(&self, session: &Session) -> Result<()> {
        let dir = session.dir().to_path_buf();
        let parts =
            ["upper", "work", "mounts", "home", "layers", "links", "hooks", "logs", "undo", "base.jsonl", "base.pack"];
        let remove = || parts.iter().try_for_each(|part| crate::layer::remove::tree(&dir.join(part)));
        let failed = |e: std::io::Error| Error::io("remove the layers in", &dir, e);
        match remove() {
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                self.reclaim(session)?;
                access::in_child(|| {
                    remove().or_else(|_| {
                        std::thread::sleep(std::time::Duration::from_millis(200));
                        remove()
                    })
                })
                .map_err(|e| e.context(format_args!("cannot remove the layers in {}", show(&dir))))?;
            }
            other => other.map_err(failed)?,
        }
        crate::engine::native::remove_home_layer(&dir).map_err(|e| Error::io("remove the home layer of", &dir, e))
    }
}
