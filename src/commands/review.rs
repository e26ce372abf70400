//! `cowbox review`, which every run on a terminal ends with: what changed, and what is to become of it.

use super::context::Context;
use super::look::Look;
use super::pick::Shown;
use super::shells::Shells;
use super::{apply, diff, discard};
use crate::apply::picks::Picks;
use crate::changes::Class;
use crate::changes::at_start::AtStart;
use crate::cli::{ApplyArgs, ReviewArgs};
use crate::error::{Error, Kind, Result};
use crate::git::commits;
use crate::review::glance::Glance;
use crate::review::menu::{self, Choice};
use crate::review::pick::{Depth, Ended};
use crate::session::lock::Lock;
use crate::session::state::Action;
use crate::session::{Session, State};
use crate::ui::Ui;

/// What a person can say to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Apply,
    Files,
    Hunks,
    View,
    Shell,
    Keep,
    Discard,
}

const CHOICES: [Choice<Answer>; 7] = [
    Choice { key: 'a', words: "apply all", answer: Answer::Apply },
    Choice { key: 'f', words: "choose files", answer: Answer::Files },
    Choice { key: 'h', words: "choose hunks", answer: Answer::Hunks },
    Choice { key: 'v', words: "view the diff", answer: Answer::View },
    Choice { key: 's', words: "open a shell to look", answer: Answer::Shell },
    Choice { key: 'k', words: "keep for later", answer: Answer::Keep },
    Choice { key: 'd', words: "discard", answer: Answer::Discard },
];

/// Where to keep is among them.
const KEEP: usize = 5;

/// How a review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything is decided.
    Done,
    /// Something is kept.
    Kept,
    /// The same, and nobody said so: Ctrl-C, or the terminal is gone.
    Interrupted,
}

/// Runs the verb.
pub fn review(args: ReviewArgs, ui: &Ui) -> Result<u8> {
    if !ui.can_ask() {
        return Err(Error::of(Kind::Consent, "a review needs a terminal to ask on")
            .hint("`cowbox diff`, `cowbox apply` and `cowbox discard` do the same without questions"));
    }
    let context = Context::new(ui)?;
    let mut session = context.session(args.session.as_deref())?;
    session.record.state.allow(Action::Apply, session.name())?;
    let shells = Shells::new(session.name(), ui)?;
    let end = Review { context: &context, shells, look: None }.talk(&mut session)?;
    Ok(if end == End::Interrupted { Kind::Interrupted.exit_code() } else { 0 })
}

/// The end of a run. The session's lock is let go of before the question: nobody knows how long that takes, and the
/// shell of the review takes it.
pub fn at_end(context: &Context<'_>, session: &mut Session, lock: Option<Lock>, start: &AtStart) -> Result<End> {
    let shells = Shells::new(session.name(), context.ui)?;
    let look = context.note_at_end(session, start)?;
    drop(lock);
    Review { context, shells, look: Some(look) }.talk(session)
}

struct Review<'a> {
    context: &'a Context<'a>,
    shells: Shells,
    /// What the end of a run has read already.
    look: Option<Look>,
}

/// What came of one question.
enum Heard {
    /// There was nothing to ask about: so many changes inside `.git`, and so many commits.
    Nothing { vcs: usize, commits: usize },
    /// Nobody is there any more.
    Silence,
    /// An answer, and whether work would be lost with the session.
    Answer { answer: Answer, picks: Option<Picks>, at_stake: bool },
}

impl Review<'_> {
    fn talk(&mut self, session: &mut Session) -> Result<End> {
        // Somebody else may have discarded it or gone on in it; that has been said then.
        while session.record.state == State::Stopped {
            let look = match self.look.take() {
                Some(look) => self.context.look_closer(session, look)?,
                None => self.context.look_closely(session)?,
            };
            let (answer, picks, at_stake) = match self.ask(session, &look)? {
                Heard::Nothing { vcs, commits } => return self.nothing(session, vcs, commits),
                Heard::Silence => return Ok(self.kept(session, End::Interrupted)),
                Heard::Answer { answer, picks, at_stake } => (answer, picks, at_stake),
            };
            match answer {
                Answer::Keep => return Ok(self.kept(session, End::Kept)),
                Answer::Apply => self.land(session, None),
                Answer::Files | Answer::Hunks => {
                    if let Some(picks) = picks {
                        self.land(session, Some(&picks));
                    }
                }
                Answer::View => self.view(session, &look),
                Answer::Shell => {
                    let goes_on = self.shells.open()?;
                    session.reload()?;
                    if !goes_on {
                        return Ok(self.kept(session, End::Interrupted));
                    }
                }
                Answer::Discard => {
                    if !at_stake || self.is_sure(session) {
                        self.discard(session)?;
                        self.context.ui.say(&format!("session {} is discarded", session.name()));
                        return Ok(End::Done);
                    }
                }
            }
        }
        Ok(End::Done)
    }

    /// Says what there is and asks; picking files or hunks is part of the answer.
    fn ask(&self, session: &Session, look: &Look) -> Result<Heard> {
        let (context, ui) = (self.context, self.context.ui);
        let shown = Shown::new(context, session, look, |change| change.class != Class::Ignored)?;
        let commits = commits::list(&session.record.repo.0, session.dir()).map_or(0, |found| found.commits.len());
        let glance = Glance {
            session: session.name(),
            shown: &shown.changes,
            ignored: look.set().visible().filter(|change| change.class == Class::Ignored).count(),
            vcs: look.set().vcs(),
            commits,
            setup: setup_names(look),
            whole: &look.risks.whole,
        };
        if glance.shown.is_empty() && glance.ignored == 0 {
            return Ok(Heard::Nothing { vcs: glance.vcs, commits });
        }
        context.tally_of(session, look, &shown.changes);
        ui.say(&glance.headline());
        if !ui.is_quiet() {
            ui.show(&glance.rows(ui.talk_width(), ui.talk_color()));
        }
        glance.beside().iter().for_each(|line| ui.say(line));
        context.reviewed(session, look)?;
        let start = if glance.shown.is_empty() { KEEP } else { 0 };
        let Some(answer) = menu::ask(ui, "What now?", &CHOICES, start) else { return Ok(Heard::Silence) };
        let depth = match answer {
            Answer::Files => Some(Depth::Files),
            Answer::Hunks => Some(Depth::Lines),
            _ => None,
        };
        let picks = match depth.map(|depth| shown.choose(context, depth, false)).transpose()? {
            Some((Ended::Gone, _)) => return Ok(Heard::Silence),
            Some((Ended::Chosen, picks)) => Some(picks),
            _ => None,
        };
        Ok(Heard::Answer { answer, picks, at_stake: !shown.changes.is_empty() || commits > 0 })
    }

    /// Nothing that could be applied: an empty session goes, unless there is something in it to come back to.
    fn nothing(&self, session: &mut Session, vcs: usize, commits: usize) -> Result<End> {
        let ui = self.context.ui;
        let name = session.name().to_owned();
        if vcs == 0 && commits == 0 && !holds_more(session) {
            self.discard(session)?;
            ui.say(&format!("no changes · session {name} is discarded"));
            return Ok(End::Done);
        }
        let inside = if vcs > 0 { format!(" ({vcs} more inside .git)") } else { String::new() };
        ui.say(&format!("no changes left{inside} · session {name} kept"));
        if commits > 0 {
            ui.say(&format!("`cowbox apply --commits {name}` brings in the commits that were made inside"));
        }
        Ok(End::Kept)
    }

    fn kept(&self, session: &Session, end: End) -> End {
        let name = session.name();
        self.context.ui.say(&format!(
            "kept · go on with `cowbox review {name}`, `cowbox apply {name}` or `cowbox discard {name}`"
        ));
        end
    }

    /// What is refused is said, and asked about again.
    fn land(&self, session: &mut Session, picks: Option<&Picks>) {
        let done = self.locked(session, Action::Apply, |session| {
            apply::land(self.context, session, &ApplyArgs::asking(), picks).map(|_| ())
        });
        if let Err(error) = done {
            self.context.ui.error(&error);
        }
    }

    fn view(&self, session: &Session, look: &Look) {
        if let Err(error) = diff::patch_of(self.context, session, look) {
            self.context.ui.error(&error);
        }
    }

    fn is_sure(&self, session: &Session) -> bool {
        let title = format!("Throw the changes of session {} away?", session.name());
        let choices = [
            Choice { key: 'n', words: "no, go back", answer: false },
            Choice { key: 'y', words: "yes, discard them", answer: true },
        ];
        menu::ask(self.context.ui, &title, &choices, 0) == Some(true)
    }

    fn discard(&self, session: &mut Session) -> Result<()> {
        self.locked(session, Action::Discard, |session| {
            super::heal::check_idle(session)?;
            discard::throw_away(self.context, session, true)
        })
    }

    /// Nobody had the lock while a person was asked: what was decided must still be possible.
    fn locked(
        &self,
        session: &mut Session,
        action: Action,
        work: impl FnOnce(&mut Session) -> Result<()>,
    ) -> Result<()> {
        let _lock = self.context.lock(session)?;
        session.reload()?;
        session.record.state.allow(action, session.name())?;
        work(session)
    }
}

/// What preparing wrote, by the names at its top: the layer itself may hold a hundred thousand files.
fn setup_names(look: &Look) -> Vec<std::ffi::OsString> {
    let Some(entries) = look.layers.setup.as_ref().and_then(|(layer, _)| std::fs::read_dir(layer).ok()) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

/// Whether there is an apply to take back, or a mount of its own with something in it.
fn holds_more(session: &Session) -> bool {
    let is_filled = |dir: std::path::PathBuf| std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    let mounts = std::fs::read_dir(session.dir().join("mounts")).into_iter().flatten().flatten();
    is_filled(session.dir().join("undo")) || mounts.map(|mount| mount.path().join("upper")).any(is_filled)
}
