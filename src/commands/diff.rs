//! `cowbox diff`: what a session changed.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::contents::Reachable;
use super::context::Context;
use super::look::Look;
use super::place::Place;
use crate::changes::details::{self, Details};
use crate::changes::filter::Filter;
use crate::changes::read::Unreadable;
use crate::changes::{Change, Class, digest};
use crate::cli::DiffArgs;
use crate::diff::stat::{self, LeftOut};
use crate::diff::{Failed, html, json, name_status, patch, side_by_side};
use crate::error::{Error, Kind, Result, reason, show};
use crate::git::{self, commits::Commits};
use crate::review::pager;
use crate::session::{Session, State, state::Action};
use crate::settings;
use crate::ui::Ui;

/// Runs the verb.
pub fn diff(args: DiffArgs, ui: &Ui) -> Result<u8> {
    if args.null && std::io::stdout().is_terminal() {
        return Err(Error::of(Kind::Usage, "`-z` writes names as they are, and a terminal could act upon them")
            .hint("send it to a program or a file"));
    }
    let context = Context::new(ui)?;
    let session = context.session(args.session.as_deref())?;
    session.record.state.allow(Action::Read, session.name())?;
    let repo = session.record.repo.0.as_path();
    let filter = Filter::in_repo(&args.paths, Some(repo), &subdir(repo))?;
    if session.record.state == State::Running {
        ui.say(&format!("session {} is running; this is what it has changed so far", session.name()));
    }
    let look = if args.setup { context.look_at_setup(&session)? } else { context.look_closely(&session)? };
    let chosen = filter.choose(look.set());
    let contents = Reachable::new(&context, &session, &look)?;
    let whole = args.paths.is_empty() && !args.setup;
    let view = View { context: &context, session: &session, look: &look, contents, whole };
    if args.json {
        view.json(&chosen)?;
    } else {
        let (mut visible, vcs): (Vec<&Change>, Vec<&Change>) = chosen.iter().partition(|change| !change.is_vcs());
        let mut left_out = LeftOut { vcs: vcs.len(), ..LeftOut::default() };
        let names = args.null || args.name_status;
        if !names && args.paths.is_empty() {
            // What an apply would leave out is counted; with its path it is shown.
            left_out.ignored = visible.iter().filter(|change| change.class == Class::Ignored).count();
            visible.retain(|change| change.class != Class::Ignored);
        }
        if let Some(file) = &args.html {
            view.html(&visible, left_out, file, args.setup)?;
        } else if args.stat {
            view.stat(&visible, left_out)?;
        } else if names {
            view.names(&visible, args.null)?;
        } else if args.side_by_side {
            view.side_by_side(&visible)?;
        } else if !view.viewer(&visible)? {
            view.patch(&visible)?;
        }
        if !args.stat && args.html.is_none() {
            view.say_left_out(left_out);
        }
        if !args.setup && args.html.is_none() {
            view.say_commits();
            view.say_whole();
        }
    }
    if !args.setup {
        context.reviewed(&session, &look)?;
    }
    let named = !args.paths.is_empty();
    let counts = |change: &&Change| !change.is_vcs() && (named || change.class != Class::Ignored);
    Ok(if args.exit_code && chosen.iter().any(counts) { Kind::Failed.exit_code() } else { 0 })
}

/// The whole patch of what would land, in the user's viewer or through the pager.
pub fn patch_of(context: &Context<'_>, session: &Session, look: &Look) -> Result<()> {
    let contents = Reachable::new(context, session, look)?;
    let view = View { context, session, look, contents, whole: true };
    let shown: Vec<&Change> = look.set().visible().filter(|change| change.class != Class::Ignored).collect();
    if view.viewer(&shown)? { Ok(()) } else { view.patch(&shown) }
}

/// Where the user stands in the repo; its root for somebody who stands elsewhere.
pub fn subdir(repo: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    here.strip_prefix(repo).map(Path::to_path_buf).unwrap_or_default()
}

struct View<'a> {
    context: &'a Context<'a>,
    session: &'a Session,
    look: &'a Look,
    contents: Reachable<'a>,
    /// All changes of the session are looked at.
    whole: bool,
}

impl View<'_> {
    fn json(&self, chosen: &[&Change]) -> Result<()> {
        let digest =
            self.context.with_access(self.session, || digest::digest(self.look.set(), self.contents.sides()))?;
        let head = json::Head::of(self.session, digest);
        let details = |change: &Change| self.details(change);
        let commits = self.commits().map_or(json::Commits::UNKNOWN, json::Commits::from);
        let written = pager::plain(|out| json::write(&head, chosen.iter().copied(), &details, &commits, out));
        self.done(written).map(|_| ())
    }

    /// The commits that were made inside. If they cannot be listed that is said, and no reason to show nothing.
    fn commits(&self) -> Option<Commits> {
        let listed = git::commits::list(&self.session.record.repo.0, self.session.dir());
        let why = |e: &Error| format!("the commits of the session cannot be listed: {}", e.message());
        listed.inspect_err(|error| self.context.ui.warn(&why(error))).ok()
    }

    fn say_commits(&self) {
        let Some(Commits { commits, truncated }) = self.commits() else { return };
        if !commits.is_empty() {
            let (n, s) = (commits.len(), if commits.len() == 1 { "" } else { "s" });
            self.context.ui.say(&format!("{n} commit{s} made inside (`cowbox apply --commits` brings them in)"));
        }
        if truncated {
            self.context.ui.say("more commits were made inside than can be listed, or some that cannot be read");
        }
    }

    fn say_left_out(&self, left_out: LeftOut) {
        let ui = self.context.ui;
        if left_out.ignored > 0 {
            ui.say(&format!("{} more ignored by git (`--name-status` lists them)", left_out.ignored));
        }
        if left_out.vcs > 0 {
            ui.say(&format!("{} more inside .git, never applied as files (`--json` lists them)", left_out.vcs));
        }
    }

    /// Risks that only the whole set shows.
    fn say_whole(&self) {
        for risk in &self.look.risks.whole {
            self.context.ui.say(&format!("{}: {}", risk.code, crate::ui::sanitize::text(&risk.reason)));
        }
    }

    fn stat(&self, changes: &[&Change], left_out: LeftOut) -> Result<()> {
        let rows = self.all_details(changes)?;
        let (style, width) = (self.context.ui.style(), self.context.ui.width().unwrap_or(stat::WIDTH));
        self.show(|out| Ok(stat::write(&rows, left_out, width, style, out)?)).map(|_| ())
    }

    fn html(&self, changes: &[&Change], left_out: LeftOut, file: &Path, setup: bool) -> Result<()> {
        let unwritable = |e: std::io::Error| Error::io("write the page to", file, e);
        let place = Place::open(file).map_err(unwritable)?;
        let rows = self.all_details(changes)?;
        let digest =
            self.context.with_access(self.session, || digest::digest(self.look.set(), self.contents.sides()))?;
        let head = html::Head::of(self.session, digest);
        let commits = if setup { Some(Commits::default()) } else { self.commits() };
        let beside = html::Beside { left_out, commits: commits.as_ref(), whole: &self.look.risks.whole };
        let render = |out: &mut dyn Write| html::write(&head, &rows, beside, &self.contents, out);
        if matches!(place, Place::Stdout) {
            return self.done(pager::plain(render)).map(|_| ());
        }
        place.write(render).map_err(|failed| match failed {
            Failed::Unreadable(e) => self.context.unreadable(self.session, &e),
            Failed::Write(e) => unwritable(e),
        })?;
        self.context.ui.say(&format!("wrote {}; open it in a browser", show(file)));
        Ok(())
    }

    fn all_details<'c>(&self, changes: &[&'c Change]) -> Result<Vec<(&'c Change, Details)>> {
        let rows = changes.iter().map(|change| Ok((*change, self.details(change)?)));
        let rows: Vec<_> =
            rows.collect::<Result<_, Unreadable>>().map_err(|e| self.context.unreadable(self.session, &e))?;
        if self.whole && self.session.record.state == State::Stopped {
            self.context.tally_of(self.session, self.look, &rows);
        }
        Ok(rows)
    }

    fn names(&self, changes: &[&Change], null: bool) -> Result<()> {
        let changes = || changes.iter().copied();
        if null {
            return self.done(pager::plain(|out| Ok(name_status::nul(changes(), out)?))).map(|_| ());
        }
        self.show(|out| Ok(name_status::lines(changes(), out)?)).map(|_| ())
    }

    /// Shows them with the user's viewer; `false` if there is none to use.
    fn viewer(&self, changes: &[&Change]) -> Result<bool> {
        let ui = self.context.ui;
        if !ui.may_page() || changes.is_empty() {
            return Ok(false);
        }
        let Some(viewer) = settings::viewer(&self.context.places, ui)? else { return Ok(false) };
        let repo = &self.session.record.repo.0;
        let shown = viewer.show(changes, &self.contents, ui, repo, self.session.dir());
        self.done(shown.map(Some)).map(|shown| shown.unwrap_or(false))
    }

    fn side_by_side(&self, changes: &[&Change]) -> Result<()> {
        let ui = self.context.ui;
        let width = ui.width().unwrap_or(side_by_side::WIDTH);
        if width < side_by_side::NARROWEST {
            let wanted = side_by_side::NARROWEST;
            ui.say(&format!("two columns need {wanted}, this terminal has {width}: here is the patch instead"));
            return self.patch(changes);
        }
        let color = ui.style().color;
        let render =
            |out: &mut dyn Write| side_by_side::write(changes.iter().copied(), &self.contents, width, color, out);
        self.show(render).map(|_| ())
    }

    fn patch(&self, changes: &[&Change]) -> Result<()> {
        let style = self.context.ui.style();
        let omitted = self.show(|out| patch::write(changes.iter().copied(), &self.contents, style, out))?;
        match omitted.map(|omitted| omitted.to_string()) {
            Some(text) if !text.is_empty() => {
                self.context.ui.say(&format!("not in the patch: {text} (`--name-status` lists them)"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Lines and risks.
    fn details(&self, change: &Change) -> Result<Details, Unreadable> {
        let mut details = details::of(change, &self.contents)?;
        details.risks.extend(self.look.risks_of(change));
        Ok(details)
    }

    fn show<T>(&self, render: impl FnMut(&mut dyn Write) -> Result<T, Failed>) -> Result<Option<T>> {
        self.done(pager::show(self.context.ui, &self.session.record.repo.0, render))
    }

    fn done<T>(&self, shown: Result<Option<T>, Failed>) -> Result<Option<T>> {
        shown.map_err(|failed| match failed {
            Failed::Unreadable(e) => self.context.unreadable(self.session, &e),
            Failed::Write(e) => Error::new(format!("cannot write to stdout: {}", reason(&e))),
        })
    }
}
