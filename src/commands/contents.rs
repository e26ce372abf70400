//! The contents of a session's changes, whatever ids its files have.

use std::cell::Cell;
use std::io;
use std::path::PathBuf;

use super::context::Context;
use super::look::Look;
use crate::changes::contents::{Content, Contents};
use crate::changes::read::Unreadable;
use crate::changes::risk::Host;
use crate::changes::sides::Sides;
use crate::changes::{Change, compose_files};
use crate::error::Result;
use crate::git::obeyed::Obeyed;
use crate::session::{Session, State};

/// Reads both sides; where it is refused for want of rights, gets them once and reads again. Output
/// that has begun goes on where it was.
pub struct Reachable<'a> {
    context: &'a Context<'a>,
    session: &'a Session,
    sides: Sides<'a>,
    obeyed: &'a Obeyed,
    compose: Vec<PathBuf>,
    tried: Cell<bool>,
}

impl<'a> Reachable<'a> {
    pub fn new(context: &'a Context<'a>, session: &'a Session, look: &'a Look) -> Result<Self> {
        let sides = look.sides(session.name())?;
        let compose = compose_files::find(&sides, &look.set().changes);
        Ok(Self { context, session, sides, obeyed: &look.obeyed, compose, tried: Cell::new(false) })
    }

    /// Whose contents they are.
    pub fn session(&self) -> &Session {
        self.session
    }

    /// Without the second try.
    pub fn sides(&self) -> &Sides<'a> {
        &self.sides
    }

    fn reach(&self, read: impl Fn() -> Result<Option<Content>, Unreadable>) -> Result<Option<Content>, Unreadable> {
        match read() {
            Err(e) if e.needs_access() && self.session.record.state != State::Running && !self.tried.replace(true) => {
                let refused = |error: crate::error::Error| io::Error::other(error.message().to_owned());
                self.context
                    .gain_access(self.session)
                    .map_err(|e2| Unreadable { path: e.path, source: refused(e2) })?;
                read()
            }
            other => other,
        }
    }
}

impl Contents for Reachable<'_> {
    fn host_side(&self, change: &Change) -> Result<Option<Content>, Unreadable> {
        self.reach(|| self.sides.host_side(change))
    }

    fn session_side(&self, change: &Change) -> Result<Option<Content>, Unreadable> {
        self.reach(|| self.sides.session_side(change))
    }

    fn host(&self) -> Host<'_> {
        Host { obeyed: self.obeyed, compose: &self.compose, links: &self.sides }
    }
}
