//! What a session changed, with everything that is known about it.

use std::io;

use rustix::process::{WaitOptions, waitpid};
use rustix::thread::UnshareFlags;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::context::Context;
use crate::changes::at_start::AtStart;
use crate::changes::base::Base;
use crate::changes::classify::Classifier;
use crate::changes::read::{self, Layers, Reading};
use crate::changes::risk::{self, OfSet, Risk};
use crate::changes::sides::Sides;
use crate::changes::{Change, ChangeSet, Class, ended, rename};
use crate::engine;
use crate::error::{Error, Result, reason, show};
use crate::git::ignore::User;
use crate::git::obeyed::Obeyed;
use crate::layer::entry::{Identity, Kind};
use crate::session::{Session, State};
use crate::sys::process::{Side, exit_now, fork_into};

/// Length of [`Look::state`].
const STATE_LENGTH: usize = 64;

/// A change set, and what it was read from.
pub struct Look {
    pub layers: Layers,
    pub base: Base,
    pub reading: Reading,
    /// Risks that only the whole set shows.
    pub risks: OfSet,
    /// What in the repo the host's git obeys.
    pub obeyed: Obeyed,
}

impl Look {
    /// The change set.
    pub fn set(&self) -> &ChangeSet {
        &self.reading.set
    }

    /// The contents of both sides.
    pub fn sides(&self, name: &str) -> Result<Sides<'_>> {
        Sides::open(&self.layers, &self.base, name)
            .map_err(|e| Error::new(format!("cannot read {}: {}", show(&e.path), reason(&e.source))))
    }

    /// Risks of a change that only the others beside it show.
    pub fn risks_of(&self, change: &Change) -> Vec<Risk> {
        // Both are sorted: a session with a risk on each of 100,000 paths must not cost their square.
        let at = |number: usize| self.set().changes.get(number).map(|c| c.path.as_path());
        let first = self.risks.changes.partition_point(|(number, _)| at(*number) < Some(change.path.as_path()));
        let here = self.risks.changes.iter().skip(first).take_while(|(n, _)| at(*n) == Some(change.path.as_path()));
        here.map(|(_, risk)| risk.clone()).collect()
    }

    /// One number for the state of everything that the session wrote: it changes whenever that does.
    pub fn state(&self) -> String {
        let mut hash = Sha256::new();
        // What an apply has moved to the host is still the session's.
        let mut wrote: BTreeMap<&Path, Identity> = self.base.moved_away().collect();
        for seen in &self.reading.seen {
            match seen.session {
                Some(id) => wrote.insert(&seen.path, self.base.before_moves(&seen.path, id)),
                None => wrote.remove(seen.path.as_path()),
            };
        }
        for (path, id) in wrote {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update([0]);
            // The times of a directory tell of what is in it.
            let parts = if id.is_dir() { [0; 4] } else { [id.inode as i64, id.size as i64, id.mtime, id.ctime] };
            parts.iter().for_each(|part| hash.update(part.to_le_bytes()));
            hash.update(id.mode.to_le_bytes());
        }
        for path in &self.reading.hidden {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update([0]);
        }
        hash.update(self.reading.attributes.clone().finalize());
        hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl Context<'_> {
    /// What a session changed, whatever ids its files have.
    pub fn look(&self, session: &Session) -> Result<Look> {
        self.look_with(session, &AtStart::default())
    }

    fn look_with(&self, session: &Session, start: &AtStart) -> Result<Look> {
        let layers = session.layers();
        let root = session.record.incarnation.as_ref().and_then(|run| run.root);
        let base = self.base(session)?.with_start(&session.record.repo.0, root, start);
        let reading = self.with_access(session, || read::read(&layers, &base))?;
        Ok(Look { layers, base, reading, risks: OfSet::default(), obeyed: Obeyed::NOTHING })
    }

    /// The same, with what the host's git says of each path and what the set as a whole shows.
    pub fn look_closely(&self, session: &Session) -> Result<Look> {
        self.look_closer(session, self.look(session)?)
    }

    /// The same for what has been read already.
    pub fn look_closer(&self, session: &Session, mut look: Look) -> Result<Look> {
        self.classify(session, &mut look)?;
        let repo = &session.record.repo.0;
        let changed = look.reading.set.changes.iter().map(|change| &*change.path);
        look.obeyed = Obeyed::of(repo, changed, &User::current())?;
        let on_host = |path: &std::path::Path| repo.join(path).symlink_metadata().is_ok();
        look.risks = risk::of_set(&look.reading.set.changes, on_host);
        Ok(look)
    }

    fn classify(&self, session: &Session, look: &mut Look) -> Result<()> {
        let classifier = Classifier::new(&session.record.repo.0);
        for change in &mut look.reading.set.changes {
            let is_dir = change.new.or(change.old).is_some_and(|meta| meta.kind == Kind::Dir);
            change.class = classifier.classify(&change.path, is_dir)?;
        }
        rename::part(&mut look.reading.set, |path| classifier.classify(path, false))?;
        Ok(())
    }

    /// What preparing the environment of a session changed in the repo.
    pub fn look_at_setup(&self, session: &Session) -> Result<Look> {
        let layers = session.layers();
        let setup = layers.setup.clone().ok_or_else(|| {
            Error::new(format!("nothing was prepared for session {}, or it left the repository alone", session.name()))
                .hint("`cowbox prepare --dry-run` explains what would be done")
        })?;
        let layers = Layers { session: vec![setup], setup: None, below: layers.below };
        let base = Base::nothing();
        let reading = self.with_access(session, || read::read(&layers, &base))?;
        let mut look = Look { layers, base, reading, risks: OfSet::default(), obeyed: Obeyed::NOTHING };
        self.classify(session, &mut look)?;
        Ok(look)
    }

    /// The same when a run has ended: what the session saw of the host is written down, and counted for lists. `start`
    /// has what somebody has held since then, if somebody has.
    pub fn look_at_end(&self, session: &Session, start: &AtStart) -> Result<Look> {
        let look = self.note_at_end(session, start)?;
        self.tally_at_end(session, &look);
        Ok(look)
    }

    /// The same for a session that nobody will look at again: nothing is written down.
    pub fn look_at_last(&self, session: &Session) -> Result<Look> {
        self.look_and_take_over(session, &AtStart::default())
    }

    fn look_and_take_over(&self, session: &Session, start: &AtStart) -> Result<Look> {
        let look = self.look_with(session, start)?;
        // Taking files over changes their ctime, by which they are known: better now than later.
        if look.reading.foreign && session.record.engine.kind == engine::Kind::Docker {
            self.engine(session)?.reclaim(session.dir())?;
            return self.look_with(session, start);
        }
        Ok(look)
    }

    /// The same for whoever counts by himself.
    pub fn note_at_end(&self, session: &Session, start: &AtStart) -> Result<Look> {
        let mut look = self.look_and_take_over(session, start)?;
        if !look.base.is_complete() {
            let noted = ended::note(&look.reading, &look.layers, &mut look.base);
            if let Err(error) = noted {
                // Without it a later edit on the host is a conflict where it could have been merged.
                self.ui.warn(&format!(
                    "cannot note the state of {} for later merges: {}",
                    show(&error.path),
                    reason(&error.source)
                ));
            }
        }
        Ok(look)
    }

    /// Sees to it that what a session saw of the host is written down before it goes on: from the next start on
    /// it could not be told any more. Mostly the end of the last run has done it.
    pub fn note_before_resume(&self, session: &Session) -> Result<()> {
        let failed = |e| Error::io("read", &session.dir().join("base.jsonl"), e);
        let is_noted = || Base::is_noted(session.dir(), session.record.stamp()).map_err(failed);
        if is_noted()? {
            return Ok(());
        }
        // In a child, should it have to enter a user namespace: engines are not started from there.
        let looked = in_child(|| {
            if let Err(error) = self.look_at_end(session, &AtStart::default()) {
                self.ui.warn(error.message());
            }
        });
        looked.map_err(|e| Error::new(format!("cannot start a helper process: {}", reason(&e))))?;
        if is_noted()? {
            return Ok(());
        }
        let name = session.name();
        Err(Error::new(format!("session {name} cannot go on: what it saw of the host could not be written down"))
            .hint(format!("apply its changes first (`cowbox apply {name}`), or free some space")))
    }

    /// What a session saw of the host.
    pub fn base(&self, session: &Session) -> Result<Base> {
        let run = session.record.incarnation.as_ref();
        let base = Base::load(session.dir(), session.record.stamp())
            .map_err(|e| Error::io("read", &session.dir().join("base.jsonl"), e))?;
        Ok(base.with_commit(&session.record.repo.0, run.and_then(|run| run.head.as_deref())))
    }

    /// Remembers that a person or a program has seen the changes in this state.
    pub fn reviewed(&self, session: &Session, look: &Look) -> Result<()> {
        if session.record.state != State::Stopped {
            return Ok(());
        }
        let path = session.dir().join("reviewed");
        let mut seen = look.state().into_bytes();
        // What git ignores was only counted.
        let ignored = look.set().changes.iter().filter(|change| change.class == Class::Ignored);
        ignored.for_each(|change| seen.extend(short_hash(&change.path)));
        std::fs::write(&path, seen).map_err(|e| Error::io("write", &path, e))
    }

    /// Refuses what was changed after it had been seen.
    pub fn check_reviewed(&self, session: &Session, look: &Look) -> Result<()> {
        let Ok(seen) = std::fs::read(session.dir().join("reviewed")) else { return Ok(()) };
        let name = session.name();
        let again = |what: String| Error::new(what).hint(format!("look again with `cowbox diff {name}`"));
        let (state, ignored) = seen.split_at_checked(STATE_LENGTH).unwrap_or((&seen, &[]));
        if state != look.state().as_bytes() {
            return Err(again(format!("session {name} has changed since it was last looked at; nothing was applied")));
        }
        // An ignore file that has landed since must not bring in what nobody has seen.
        let ignored: HashSet<&[u8]> = ignored.chunks_exact(8).collect();
        let shown = |change: &&Change| change.class != Class::Ignored && !change.is_vcs();
        let mut changes = look.set().changes.iter().filter(shown);
        match changes.find(|change| ignored.contains(&short_hash(&change.path)[..])) {
            Some(change) => Err(again(format!(
                "git ignored {} when session {name} was last looked at, and does not any more; nothing was applied",
                show(&change.path)
            ))),
            None => Ok(()),
        }
    }
}

/// Does `work` in a child, so that this process stays what it was.
fn in_child(work: impl FnOnce()) -> io::Result<()> {
    match fork_into(UnshareFlags::empty())? {
        Side::Child => {
            work();
            exit_now(0)
        }
        Side::Parent(child) => waitpid(Some(child), WaitOptions::empty()).map(drop).map_err(Into::into),
    }
}

/// Enough to tell the paths of a session apart; whoever finds two alike is only asked to look again.
fn short_hash(path: &Path) -> [u8; 8] {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let mut short = [0; 8];
    short.copy_from_slice(&hash[..8]);
    short
}
