//! What a run leaves: changes as a patch and as JSON, files that are wanted, and whether they are as they should be.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::changes::at_start::AtStart;
use crate::changes::base::Base;
use crate::changes::read::{self, Layers};
use crate::changes::sides::{Reader, Sides};
use crate::changes::{Change, ChangeSet, Class, details, digest};
use crate::commands::contents::Reachable;
use crate::commands::context::Context;
use crate::commands::look::Look;
use crate::diff::{Failed, Style, json, patch};
use crate::error::{Error, Result, reason};
use crate::git;
use crate::layer::stack::Dir;
use crate::layer::{Encoding, access, remove};
use crate::paths::BytePath;
use crate::session::clock::Clock;
use crate::session::{Session, SessionId};
use crate::task::artifacts;
use crate::task::compat::layer;
use crate::task::expect::{self, Seen};
use crate::task::halt::Halt;
use crate::task::outcome::Outcome;
use crate::task::record::{self, LayerFacts, first};
use crate::task::spec::Task;

/// Nobody reads more.
const MOST_NOTICES: usize = 100;
/// What is written of changes at most: one file may have many names, and each is told of.
const MOST_BYTES: u64 = 4 << 30;

/// A file that has an end.
struct Bounded {
    file: BufWriter<File>,
    left: u64,
}

impl Bounded {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io("write", path, e))?;
        Ok(Self { file: BufWriter::new(file), left: MOST_BYTES })
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| io::Error::other(format!("it is more than {} GiB", MOST_BYTES >> 30)))?;
        self.file.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What was found in a session that has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Gathered {
    /// What it changed.
    pub changes: Option<LayerFacts>,
    /// The hash of its whole layer, also of what is not shown; none if that is empty.
    pub layer: Option<String>,
    /// The report of tests that there is before the command runs; asked for where the session goes on.
    pub report: Option<Seen>,
    /// What is not as the task wants it.
    pub wrong: Vec<String>,
    /// What was kept.
    pub artifacts: Vec<BytePath>,
    /// How many more were.
    pub artifacts_more: usize,
    /// What somebody should know.
    pub notices: Vec<String>,
    /// Why there is no more.
    pub error: Option<String>,
    /// Whether the host is to blame for that, and not what the task left.
    pub is_of_host: bool,
}

/// What somebody wants of a session that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Its changes, by whom.
    pub changes: Option<&'static str>,
    /// Whether its layer is kept.
    pub layer: bool,
    /// Whether it goes on after that.
    pub goes_on: bool,
    /// Expectations and artifacts.
    pub files: bool,
    /// What the command began with.
    pub before: Before,
    /// Whether its patch is part of the record.
    pub kept: bool,
}

impl Asked {
    /// Where what is wanted of a run goes.
    pub fn place(&self, run: &Path) -> PathBuf {
        if self.kept { run.to_path_buf() } else { run.join("work") }
    }
}

/// The report of tests that the command cannot have written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// What lies below its session, which began with it.
    #[default]
    Below,
    /// What the agent left in the session, if anything.
    Left(Option<Seen>),
}

/// All that is wanted, or why not.
pub fn all(context: &Context<'_>, id: &SessionId, asked: &Asked, task: &Task, run: &Path) -> Gathered {
    let mut out = Gathered::default();
    let ended = super::inside::session(context, id).and_then(|mut session| {
        context.reconcile(&mut session)?;
        Ok(session)
    });
    let session = match ended {
        Ok(session) => session,
        Err(error) => return Gathered { is_of_host: true, ..Gathered::unread(error.message()) },
    };
    let mut look = || -> Result<()> {
        if let Some(by) = asked.changes {
            out.changes = Some(changes(context, &session, by, asked.goes_on, run)?);
        }
        if asked.layer {
            out.layer = hash_of_layer(context, &session)?;
        }
        if asked.goes_on {
            out.report = report(context, &session, task)?;
        }
        if asked.files { files(context, &session, task, asked.before, run, &mut out) } else { Ok(()) }
    };
    if let Err(error) = look() {
        (out.error, out.is_of_host) = (Some(error.message().to_owned()), error.is_of_host());
    }
    out
}

/// Writes `changes.patch` and `changes.json` of a session. One that `goes_on` must know later what it saw by then.
fn changes(context: &Context<'_>, session: &Session, by: &str, goes_on: bool, run: &Path) -> Result<LayerFacts> {
    let look =
        if goes_on { context.note_at_end(session, &AtStart::default())? } else { context.look_at_last(session)? };
    // Most commands change nothing: then nobody has to be asked what git makes of it.
    let look = if look.set().changes.is_empty() { look } else { context.look_closer(session, look)? };
    let contents = Reachable::new(context, session, &look)?;
    let shown = shown(&look);
    let unwritten = |failed: Failed| match failed {
        Failed::Unreadable(e) => context.unreadable(session, &e),
        Failed::Write(e) => Error::io("write", run, e),
    };
    let create = |name: &str| Bounded::create(&run.join(name));
    let mut file = create("changes.patch")?;
    patch::write(&shown.changes, &contents, Style::default(), &mut file).map_err(unwritten)?;
    file.flush().map_err(|e| Error::io("write", run, e))?;
    let whole = context.with_access(session, || digest::digest(look.set(), contents.sides()))?;
    let own = context.with_access(session, || digest::digest(&shown, contents.sides()))?;
    let details = |change: &Change| {
        let mut details = details::of(change, &contents)?;
        details.risks.extend(look.risks_of(change));
        Ok(details)
    };
    // A commit is a change, here or in a gitdir that lies elsewhere.
    let commits = if look.set().changes.is_empty() && !session.dir().join("mounts").exists() {
        Ok(git::commits::Commits::default())
    } else {
        git::commits::list(&session.record.repo.0, session.dir())
    };
    let commits = commits.map_or(json::Commits::UNKNOWN, json::Commits::from);
    let head = json::Head::of(session, whole);
    let mut file = create("changes.json")?;
    json::write(&head, &look.set().changes, &details, &commits, &mut file).map_err(unwritten)?;
    file.flush().map_err(|e| Error::io("write", run, e))?;
    let (files, more) = names(&shown);
    Ok(LayerFacts { by: by.to_owned(), digest: own, files, more, patch: "changes.patch".to_owned() })
}

fn hash_of_layer(context: &Context<'_>, session: &Session) -> Result<Option<String>> {
    let upper = session.upper();
    let hash = match layer::hash_of(&upper) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            context.gain_access(session)?;
            layer::hash_of(&upper)
        }
        other => other,
    };
    hash.map_err(|e| Error::new(format!("cannot read what the fix changed: {}", reason(&e))))
}

/// What an apply would land: what git ignores is not the work of anybody.
fn shown(look: &Look) -> ChangeSet {
    let mut set = look.set().clone();
    set.changes.retain(|change| !change.is_vcs() && change.class != Class::Ignored);
    set
}

fn names(set: &ChangeSet) -> (Vec<BytePath>, usize) {
    record::names(set.changes.iter().map(|change| change.path.as_path()))
}

/// What layers of fixes change, as `compat.patch`.
pub fn fixes(layers: &[PathBuf], repo: &Path, run: &Path) -> Result<LayerFacts> {
    let session = layers.iter().map(|layer| (layer.clone(), Encoding::Userxattr)).collect();
    let layers = Layers { session, setup: None, below: vec![(repo.to_path_buf(), Encoding::Plain)] };
    let base = Base::nothing();
    let unreadable =
        |e: read::Unreadable| Error::new(format!("cannot read {}: {}", crate::error::show(&e.path), reason(&e.source)));
    let set = match read::read(&layers, &base) {
        Err(e) if e.needs_access() => {
            access::gain()?;
            read::read(&layers, &base)
        }
        other => other,
    };
    let set = set.map_err(unreadable)?.set;
    let sides = Sides::open(&layers, &base, "compat").map_err(unreadable)?;
    let path = run.join("compat.patch");
    let mut file = Bounded::create(&path)?;
    patch::write(&set.changes, &sides, Style::default(), &mut file).map_err(|failed| match failed {
        Failed::Unreadable(e) => unreadable(e),
        Failed::Write(e) => Error::io("write", &path, e),
    })?;
    file.flush().map_err(|e| Error::io("write", &path, e))?;
    let digest = digest::digest(&set, &sides).map_err(unreadable)?;
    let (files, more) = names(&set);
    Ok(LayerFacts { by: "compat".to_owned(), digest, files, more, patch: "compat.patch".to_owned() })
}

/// All layers of a session, the topmost first, and how many of them are its own.
fn layers_of(session: &Session) -> (Vec<(PathBuf, Encoding)>, usize) {
    let Layers { session: mut all, setup, below } = session.layers();
    let own = all.len();
    all.extend(setup);
    all.extend(below);
    (all, own)
}

fn reader(layers: &[(PathBuf, Encoding)]) -> io::Result<Reader> {
    let stack: Vec<(&Path, Encoding)> = layers.iter().map(|(path, encoding)| (path.as_path(), *encoding)).collect();
    Ok(Reader::new(Dir::root(&stack)?))
}

/// Looks at layers, with more rights if it takes them.
fn look<T>(context: &Context<'_>, session: &Session, look: impl Fn() -> io::Result<T>) -> Result<T> {
    let found = match look() {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            context.gain_access(session)?;
            look()
        }
        other => other,
    };
    let unread = |e: io::Error| Error::new(format!("cannot read what the run left: {}", reason(&e))).because_of(&e);
    found.map_err(unread)
}

/// The report that the agent leaves. Whoever writes it after this gives it a later time.
fn report(context: &Context<'_>, session: &Session, task: &Task) -> Result<Option<Seen>> {
    if task.expect.tests.is_none() {
        return Ok(None);
    }
    let (layers, _) = layers_of(session);
    let found = look(context, session, || expect::report(&reader(&layers)?, &task.expect));
    Clock::start().stamp();
    found
}

/// Files that the task expects and wants, as the session left them. `run` is where they are kept.
fn files(
    context: &Context<'_>,
    session: &Session,
    task: &Task,
    before: Before,
    run: &Path,
    out: &mut Gathered,
) -> Result<()> {
    let (layers, own) = layers_of(session);
    let kept_in = run.join("artifacts");
    let found = look(context, session, || {
        // Somebody may have been cut off in the middle of it.
        if fs::read_dir(&kept_in)?.next().is_some() {
            remove::tree(&kept_in)?;
            fs::create_dir(&kept_in)?;
        }
        let before = match before {
            Before::Left(seen) => seen,
            Before::Below => expect::report(&reader(&layers[own..])?, &task.expect)?,
        };
        let reader = reader(&layers)?;
        let wrong = expect::check(&reader, &task.expect, before)?;
        let kept = artifacts::keep(&reader, &task.artifacts, &kept_in)?;
        Ok(Gathered { wrong, artifacts: kept.files, notices: kept.notices, ..Gathered::default() })
    })?;
    out.wrong = found.wrong;
    (out.artifacts, out.artifacts_more) = record::names(found.artifacts.iter().map(|path| path.0.as_path()));
    let more;
    (out.notices, more) = first(found.notices, MOST_NOTICES);
    if more > 0 {
        out.notices.push(format!("{more} more notices are left out"));
    }
    Ok(())
}

impl Gathered {
    /// Of what cannot be read.
    pub fn unread(why: impl Into<String>) -> Self {
        Self { error: Some(why.into()), ..Self::default() }
    }

    /// Of a process that died.
    pub fn lost() -> Self {
        Self::unread("the process that collects died")
    }

    /// What a run that did well comes to if there should be more. What cannot be read is the doing of whoever left it.
    pub fn halt(&self) -> Option<Halt> {
        let outcome = if self.is_of_host { Outcome::InfraError } else { Outcome::Failed };
        self.error.clone().map(|why| Halt::Over(outcome, why))
    }
}
