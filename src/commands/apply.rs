//! `cowbox apply`: land the changes of a session on the host, as one transaction.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contents::Reachable;
use super::context::Context;
use super::heal::Word;
use super::look::Look;
use super::pick;
use crate::apply::host::Host;
use crate::apply::journal::Journal;
use crate::apply::picks::Picks;
use crate::apply::plan::{self, Plan};
use crate::apply::stage::Dropped;
use crate::apply::transaction::{Desk, Failure};
use crate::changes::risk::{CODES, Risk, Tier};
use crate::changes::sides::Sides;
use crate::changes::{Change, ChangeKind, Class, Conflict, details};
use crate::cli::{ApplyArgs, OnConflict};
use crate::error::{Error, Kind, Result, reason, show};
use crate::layer::{access, entry};
use crate::paths;
use crate::policy::limits::show_size;
use crate::session::Session;
use crate::session::repos::RepoState;
use crate::session::state::Action;
use crate::ui::{Ui, ask, sanitize};

/// Runs the verb.
pub fn apply(args: ApplyArgs, ui: &Ui) -> Result<u8> {
    check_codes(&args.allow)?;
    let context = Context::new(ui)?;
    let mut session = context.session_as_it_is(args.session.as_deref())?;
    session.record.state.allow(Action::Apply, session.name())?;
    let _lock = context.lock(&session)?;
    session.reload()?;
    session.record.state.allow(Action::Apply, session.name())?;
    if let Some(branch) = &args.commits {
        return super::commits::bring_in(&context, &mut session, branch.as_deref(), word(&args));
    }
    let picks = match args.patch {
        true => Some(pick::of_apply(&context, &session, &args)?),
        false => None,
    };
    let outcome = land(&context, &mut session, &args, picks.as_ref())?;
    if args.json {
        ui.json(&outcome.document(&session, args.dry_run))?;
    }
    Ok(outcome.exit_code())
}

/// What to do with what was cut off before.
fn word(args: &ApplyArgs) -> Word {
    match (args.dry_run, args.yes) {
        (true, _) => Word::Refuse,
        (false, true) => Word::Applied,
        (false, false) => Word::Insist,
    }
}

/// Refuses an `--allow` that could never match.
fn check_codes(allow: &[String]) -> Result<()> {
    let known =
        |code: &String| code == "all" || CODES.iter().any(|(name, tier, _)| name == code && *tier == Tier::Consent);
    match allow.iter().find(|code| !known(code)) {
        None => Ok(()),
        Some(code) => {
            let consent = CODES.iter().filter(|(_, tier, _)| *tier == Tier::Consent).map(|(name, ..)| *name);
            let list = consent.collect::<Vec<_>>().join(", ");
            Err(Error::of(
                Kind::Usage,
                format!("`{}` is not the code of a risk that can be allowed", sanitize::text(code)),
            )
            .hint(format!("one of {list}, or all")))
        }
    }
}

/// What came of an apply.
#[derive(Debug, Default)]
pub struct Outcome {
    applied: Vec<PathBuf>,
    left: Vec<(PathBuf, String)>,
    consent: bool,
    conflicts: Vec<(PathBuf, Conflict)>,
    notices: Vec<(PathBuf, Risk)>,
}

impl Outcome {
    /// As the design has it.
    pub fn exit_code(&self) -> u8 {
        match (self.conflicts.is_empty(), self.consent) {
            (false, _) => Kind::Conflict.exit_code(),
            (true, true) => Kind::Consent.exit_code(),
            (true, false) => 0,
        }
    }

    fn document(&self, session: &Session, dry_run: bool) -> Document {
        let entry = |path: &Path, why: String| Entry { path: paths::text(path), path_b64: paths::exact(path), why };
        Document {
            schema: 1,
            session: session.record.id.to_string(),
            name: session.name().to_owned(),
            dry_run,
            applied: self.applied.iter().map(|path| entry(path, String::new())).collect(),
            left: self.left.iter().map(|(path, why)| entry(path, why.clone())).collect(),
            conflicts: self.conflicts.iter().map(|(path, c)| entry(path, words(*c).to_owned())).collect(),
        }
    }
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    session: String,
    name: String,
    dry_run: bool,
    applied: Vec<Entry>,
    left: Vec<Entry>,
    conflicts: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    path: String,
    path_b64: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
}

/// Applies; the session's lock is held. With `picks` a person has chosen, and nothing else lands.
pub fn land(context: &Context<'_>, session: &mut Session, args: &ApplyArgs, picks: Option<&Picks>) -> Result<Outcome> {
    let ui = context.ui;
    let repo = session.record.repo.0.clone();
    let repo_lock = RepoState::new(&context.places.state, &repo).lock()?;
    context.heal_session(session, &repo_lock, word(args))?;
    let look = context.look_closely(session)?;
    context.check_reviewed(session, &look)?;
    let mut outcome = Outcome::default();
    let chosen = choose(context, session, &look, args, picks, &mut outcome)?;
    if !outcome.conflicts.is_empty() {
        for (path, conflict) in &outcome.conflicts {
            ui.warn(&format!("{}: {}", show(path), words(*conflict)));
        }
        ui.error(
            &Error::of(Kind::Conflict, "the host changed the same paths, nothing was applied")
                .hint("`--conflict ours` keeps the host's, `theirs` takes the session's, `markers` puts both into the file")
                .hint("name paths to decide for them alone: `cowbox apply --conflict theirs -- PATH`"),
        );
        return Ok(outcome);
    }
    let host = Host::open(&repo).map_err(|e| Error::io("open", &repo, e))?;
    let chosen: Vec<&Change> = chosen.into_iter().map(|number| &look.set().changes[number]).collect();
    let marked = |change: &Change| change.conflict.is_some() && args.conflict == OnConflict::Markers;
    let plan = {
        let sides = look.sides(session.name())?;
        plan::plan(look.set(), &chosen, picks.unwrap_or(&Picks::default()), &marked, &sides, &host)
            .map_err(|e| Error::new(format!("cannot read {}: {}", show(&e.path), reason(&e.source))))?
    };
    outcome.left.extend(plan.left.iter().map(|(path, why)| (path.clone(), (*why).to_owned())));
    let left: HashSet<&Path> = plan.left.iter().map(|(path, _)| path.as_path()).collect();
    outcome.applied = chosen.iter().map(|c| c.path.clone()).filter(|path| !left.contains(path.as_path())).collect();
    for risk in &look.risks.whole {
        ui.say(&format!("{} ({})", sanitize::text(&risk.reason), risk.code));
    }
    report(ui, session, &plan, &outcome, args);
    if args.dry_run || outcome.applied.is_empty() {
        return Ok(outcome);
    }
    repo_lock.begin(&session.record.id)?;
    let event = format!("applied: {}", changes(outcome.applied.len()));
    let dropped = carry_out(session, &host, &plan, &look, &event).or_else(|failure| match failure {
        // A file that its owner may not read, or of a sub-id: in a user namespace it can be. All was rolled back.
        Failure::Io(_, e) if e.kind() == ErrorKind::PermissionDenied && is_idle(session) => {
            access::gain()?;
            carry_out(session, &host, &plan, &look, &event).map_err(explain)
        }
        failure => Err(explain(failure)),
    })?;
    for (path, what) in plan.dropped.iter().chain(&dropped) {
        ui.say(&format!("{}: {what}", show(path)));
    }
    repo_lock.end(&session.record.id)?;
    let in_part = match plan.parts.len() {
        0 => String::new(),
        n => format!(", {n} of them in part"),
    };
    let count = changes(outcome.applied.len());
    ui.say(&format!("{count} applied{in_part} · take it back with `cowbox undo {}`", session.name()));
    Ok(outcome)
}

fn carry_out(
    session: &mut Session,
    host: &Host,
    plan: &Plan,
    look: &Look,
    event: &str,
) -> Result<Vec<Dropped>, Failure> {
    use crate::changes::base::Base;
    // The contents are read while what is known of them is written: two views of one file.
    let mut base = Base::load(session.dir(), session.record.stamp())
        .map_err(|e| Failure::Io(session.dir().join("base.jsonl"), e))?;
    let sides = Sides::open(&look.layers, &look.base, session.name()).map_err(|e| Failure::Io(e.path, e.source))?;
    let session_dir = session.dir().to_path_buf();
    let mut note = |id: &str| session.note_transaction(id, event.to_owned());
    let mut desk = Desk { host, session_dir: &session_dir, base: &mut base, note: &mut note };
    desk.carry_out(plan, Some(&sides), None, None)
}

/// Whether nothing is left of a transaction.
fn is_idle(session: &Session) -> bool {
    matches!(Journal::is_left(session.dir()), Ok(false))
}

/// Sorts out what lands. Numbers of changes, in their order.
fn choose(
    context: &Context<'_>,
    session: &Session,
    look: &Look,
    args: &ApplyArgs,
    picks: Option<&Picks>,
    outcome: &mut Outcome,
) -> Result<Vec<usize>> {
    let wanted = pick::named(session, look, args)?;
    let contents = Reachable::new(context, session, look)?;
    let mut chosen = Vec::new();
    // Directories whose replacement stays behind.
    let mut kept: Vec<&Path> = Vec::new();
    for (number, change) in look.set().changes.iter().enumerate() {
        if !wanted.contains(change.path.as_path()) || picks.is_some_and(|picks| !picks.has(&change.path)) {
            continue;
        }
        if let Some(part) = picks.and_then(|picks| picks.part(&change.path))
            && !part.is_of(change)
        {
            return Err(Error::of(
                Kind::Conflict,
                format!("{} has changed since it was chosen from; nothing was applied", show(&change.path)),
            )
            .hint("choose again"));
        }
        let why = match kept.iter().any(|dir| change.path.starts_with(dir)) {
            true if change.new.is_none() => Some("what replaces its directory is left out".to_owned()),
            _ => decide(context, look, &contents, args, picks.is_some(), change, outcome)?,
        };
        match why {
            None => chosen.push(number),
            Some(why) => {
                if change.kind == ChangeKind::TypeChanged && change.old.is_some_and(|old| old.kind == entry::Kind::Dir)
                {
                    kept.push(&change.path);
                }
                outcome.left.push((change.path.clone(), why));
            }
        }
    }
    let in_conflict: HashSet<&Path> = outcome.conflicts.iter().map(|(path, _)| path.as_path()).collect();
    outcome.left.retain(|(path, _)| !in_conflict.contains(path.as_path()));
    Ok(chosen)
}

/// Why a change stays behind; `None`: it lands.
fn decide(
    context: &Context<'_>,
    look: &Look,
    contents: &Reachable<'_>,
    args: &ApplyArgs,
    picked: bool,
    change: &Change,
    outcome: &mut Outcome,
) -> Result<Option<String>> {
    if change.is_vcs() || change.class == Class::Vcs {
        return Ok(Some("inside a git directory, never applied as a file".to_owned()));
    }
    if change.class == Class::Ignored && !args.include_ignored {
        return Ok(Some("ignored by git (`--include-ignored` applies it)".to_owned()));
    }
    let mut risks = details::judge(change, contents).map_err(|e| context.unreadable(contents.session(), &e))?;
    risks.extend(look.risks_of(change));
    if let Some(risk) = risks.iter().find(|risk| risk.tier == Tier::Blocked) {
        return Ok(Some(format!("never applied ({}): {}", risk.code, sanitize::text(&risk.reason))));
    }
    let mut asked = risks.iter().filter(|risk| risk.tier == Tier::Consent);
    let refused = asked.find(|risk| !args.allow.iter().any(|code| code == risk.code || code == "all"));
    if let Some(risk) = refused {
        let reason = sanitize::text(&risk.reason);
        // Whoever picked it has read the reason beside it.
        let yes = picked
            || context.ui.can_ask() && !args.yes && !args.dry_run && {
                context.ui.say(&format!("{}: {reason}", show(&change.path)));
                ask::confirm("Apply it all the same?")?
            };
        if !yes {
            outcome.consent = true;
            return Ok(Some(format!("{reason} (`--allow {}` applies it)", risk.code)));
        }
    }
    match (change.conflict, args.conflict) {
        (None, _) | (Some(_), OnConflict::Theirs) | (Some(Conflict::Content), OnConflict::Markers) => {
            let notices = risks.into_iter().filter(|risk| risk.tier == Tier::Notice);
            outcome.notices.extend(notices.map(|risk| (change.path.clone(), risk)));
            Ok(None)
        }
        (Some(_), OnConflict::Ours) => Ok(Some("the host's version is kept".to_owned())),
        (Some(conflict), _) => {
            outcome.conflicts.push((change.path.clone(), conflict));
            Ok(Some("in conflict".to_owned()))
        }
    }
}

fn report(ui: &Ui, session: &Session, plan: &Plan, outcome: &Outcome, args: &ApplyArgs) {
    for (path, risk) in &outcome.notices {
        ui.say(&format!("{}: {} ({})", show(path), sanitize::text(&risk.reason), risk.code));
    }
    for path in &plan.unlinked {
        ui.say(&format!("{} has several names on the host; this one gets a file of its own", show(path)));
    }
    let mut counted: std::collections::BTreeMap<&str, (usize, &Path)> = std::collections::BTreeMap::new();
    for (path, why) in &outcome.left {
        counted.entry(why).or_insert((0, path)).0 += 1;
    }
    for (why, (count, first)) in counted {
        match count {
            1 => ui.say(&format!("left out: {}: {why}", show(first))),
            n => ui.say(&format!("left out: {n} paths: {why}")),
        }
    }
    if outcome.applied.is_empty() {
        ui.say(&format!("nothing of session {} to apply", session.name()));
    } else if args.dry_run {
        for path in &outcome.applied {
            ui.say(&format!("would apply {}", show(path)));
        }
        ui.say(&format!("{} would be applied ({})", changes(outcome.applied.len()), show_size(plan.bytes)));
    }
}

/// One sentence for a conflict.
pub fn words(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::Content => "both the session and the host changed it, in the same place or without a known base",
        Conflict::Binary => "both the session and the host changed it, and it is not text that could be merged",
        Conflict::Type => "both the session and the host changed what it is",
        Conflict::Mode => "both the session and the host changed its permissions",
        Conflict::DeletedHere => "the session deleted it, the host changed it",
        Conflict::DeletedThere => "the session changed it, the host deleted it",
    }
}

/// `1 change`, `2 changes`
pub fn changes(count: usize) -> String {
    if count == 1 { "1 change".to_owned() } else { format!("{count} changes") }
}

/// What went wrong, in words.
pub fn explain(failure: Failure) -> Error {
    match failure {
        Failure::HostChanged(path) => Error::of(
            Kind::Conflict,
            format!("{} changed on the host at this very moment; everything was rolled back", show(&path)),
        )
        .hint("run it again to look anew"),
        Failure::Space { at, needed, free } => Error::new(format!(
            "not enough space in {}: {} are needed, {} are free; everything is as it was",
            show(&at),
            show_size(needed),
            show_size(free)
        ))
        .hint("free some space; `cowbox gc` removes what is not needed any more"),
        Failure::Io(path, e) => Error::io("apply", &path, e).hint("everything is as it was"),
        Failure::Stuck(path, e) => Error::io("complete the apply at", &path, e)
            .hint("the next cowbox command here completes it or rolls it back"),
    }
}
