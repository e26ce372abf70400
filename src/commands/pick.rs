//! `cowbox apply -p`, and the choices of a review: which files, hunks and lines land.

use super::contents::Reachable;
use super::context::Context;
use super::look::Look;
use crate::apply::picks::Picks;
use crate::changes::details::{self, Details};
use crate::changes::{Change, Class};
use crate::error::{Error, Kind, Result};
use crate::review::pick::items::Items;
use crate::review::pick::{Depth, Ended, plain, screen};
use crate::session::Session;

/// The changes that would land, each with its lines and risks, and where their contents are.
pub struct Shown<'a> {
    pub look: &'a Look,
    pub contents: Reachable<'a>,
    pub changes: Vec<(&'a Change, Details)>,
}

impl<'a> Shown<'a> {
    /// Those that are `wanted`; the inside of `.git` never is.
    pub fn new(
        context: &'a Context<'a>,
        session: &'a Session,
        look: &'a Look,
        wanted: impl Fn(&Change) -> bool,
    ) -> Result<Self> {
        let contents = Reachable::new(context, session, look)?;
        let mut changes = Vec::new();
        for change in look.set().visible().filter(|change| change.class != Class::Vcs && wanted(change)) {
            let mut details = details::of(change, &contents).map_err(|e| context.unreadable(session, &e))?;
            details.risks.extend(look.risks_of(change));
            changes.push((change, details));
        }
        Ok(Self { look, contents, changes })
    }

    /// Lets a person choose. What is picked counts if that ended with a choice.
    pub fn choose(&self, context: &Context<'_>, depth: Depth, plainly: bool) -> Result<(Ended, Picks)> {
        let ui = context.ui;
        let session = self.contents.session();
        let mut items = Items::of(self.look.set(), &self.changes);
        let failed = |e| context.unreadable(session, &e);
        let title = format!("session {}", session.name());
        let ended = if plainly || !ui.can_draw() {
            plain::run(&mut items, depth, &self.contents, ui).map_err(failed)?
        } else {
            let color = ui.talk_color();
            let (left, ended) = screen::run(items, depth, &title, &self.contents, color).map_err(failed)?;
            items = left;
            ended
        };
        Ok((ended, items.picks()))
    }
}

/// `apply -p`, among what is `wanted`.
pub fn of_apply(
    context: &Context<'_>,
    session: &Session,
    look: &Look,
    plainly: bool,
    wanted: impl Fn(&Change) -> bool,
) -> Result<Picks> {
    if !plainly && !context.ui.can_ask() {
        return Err(Error::of(Kind::Consent, "choosing hunks needs a terminal to choose on")
            .hint("`cowbox apply -- PATH` applies some paths without a question")
            .hint("`--plain` reads its answers from stdin, line by line"));
    }
    let shown = Shown::new(context, session, look, wanted)?;
    context.reviewed(session, look)?;
    let broken_off = || Error::of(Kind::Interrupted, "nothing was chosen, and nothing was applied");
    match shown.choose(context, Depth::Lines, plainly)? {
        (Ended::Chosen, picks) => Ok(picks),
        _ => Err(broken_off()),
    }
}
