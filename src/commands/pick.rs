//! `cowbox apply -p`, and the choices of a review: which files, hunks and lines land.

use std::collections::HashSet;
use std::path::Path;

use super::contents::Reachable;
use super::context::Context;
use super::look::Look;
use crate::apply::picks::Picks;
use crate::changes::details::{self, Details};
use crate::changes::filter::Filter;
use crate::changes::{Change, Class};
use crate::cli::ApplyArgs;
use crate::error::{Error, Kind, Result, show};
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

/// `apply -p`: a person chooses, among the paths that were named.
pub fn of_apply(context: &Context<'_>, session: &Session, args: &ApplyArgs) -> Result<Picks> {
    if !args.plain && !context.ui.can_ask() {
        return Err(Error::of(Kind::Consent, "choosing hunks needs a terminal to choose on")
            .hint("`cowbox apply -- PATH` applies some paths without a question")
            .hint("`--plain` reads its answers from stdin, line by line"));
    }
    super::heal::check_idle(session)?;
    let look = context.look_closely(session)?;
    let wanted = named(session, &look, args)?;
    let wanted = |change: &Change| {
        wanted.contains(change.path.as_path()) && (args.include_ignored || change.class != Class::Ignored)
    };
    let shown = Shown::new(context, session, &look, wanted)?;
    context.reviewed(session, &look)?;
    match shown.choose(context, Depth::Lines, args.plain)? {
        (Ended::Chosen, picks) => Ok(picks),
        _ => Err(Error::of(Kind::Interrupted, "nothing was chosen, and nothing was applied")),
    }
}

/// The paths that the arguments name.
pub fn named<'a>(session: &Session, look: &'a Look, args: &ApplyArgs) -> Result<HashSet<&'a Path>> {
    let repo = session.record.repo.0.as_path();
    let filter = Filter::in_repo(&args.paths, Some(repo), &super::diff::subdir(repo))?;
    if let Some(nothing) = filter.unmatched(look.set()).first() {
        return Err(Error::new(format!("no change of session {} matches {}", session.name(), show(nothing)))
            .hint(format!("`cowbox diff --name-status {}` lists them", session.name())));
    }
    Ok(filter.choose(look.set()).iter().map(|change| change.path.as_path()).collect())
}
