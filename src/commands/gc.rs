//! `cowbox gc`: free space. Never unapplied work, unless `--force`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::context::Context;
use crate::apply::undo;
use crate::changes::base::Base;
use crate::changes::pack;
use crate::cli::GcArgs;
use crate::engine::oci::beside::data;
use crate::error::{Error, Result};
use crate::layer::{access, remove};
use crate::policy::limits::show_size;
use crate::session::lock::Lock;
use crate::session::{Session, SessionId, State, record};
use crate::setup::built::Built;
use crate::setup::cache::{Cache, Prepared};
use crate::setup::{downloads, keep, room};
use crate::task::cached;
use crate::ui::Ui;

/// After as many days an apply cannot be taken back any more: `gc` frees what it replaced.
const UNDO_DAYS: u64 = 7;

/// After as many days without use a prepared environment goes.
const ENVIRONMENT_DAYS: u32 = 30;

/// After as many days the logs of a setup that failed go, and environments that were made once more.
const FAILED_SETUP_DAYS: u32 = 7;

/// How the history of a session tells of that.
pub const UNDO_FREED: &str = "undo freed";

#[derive(Serialize)]
struct Report {
    schema: u32,
    removed: Vec<Removed>,
    freed: u64,
    dry_run: bool,
}

#[derive(Serialize)]
struct Removed {
    id: String,
    name: Option<String>,
    why: &'static str,
    bytes: u64,
}

/// Runs the verb.
pub fn gc(args: GcArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let mut report = Report { schema: 1, removed: Vec::new(), freed: 0, dry_run: args.dry_run };
    for id in context.store.ids()? {
        if let Err(error) = one(&context, &id, &args, &mut report) {
            ui.warn(&format!("session {id}: {}", error.message()));
        }
    }
    let used = used_environments(&context)?;
    if let Some(used) = &used {
        old_environments(&context, used, &args, &mut report)?;
    }
    unfinished_environments(&context, used.as_deref(), &args, &mut report);
    old_images(&context, &args, &mut report)?;
    old_downloads(&context, &args, &mut report);
    old_code(&context, &args, &mut report)?;
    for layer in crate::engine::native::orphaned_home_layers() {
        let bytes = size(&layer);
        let id = layer.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if args.dry_run || crate::engine::native::remove_orphan(&layer).is_ok() {
            report.freed += bytes;
            report.removed.push(Removed { id, name: None, why: "leftover", bytes });
        }
    }
    if args.json {
        ui.json(&report)?;
        return Ok(0);
    }
    for removed in &report.removed {
        let name = removed.name.as_deref().unwrap_or(&removed.id);
        let why = match removed.why {
            "undo" => "undo of old applies",
            "bases" => "old bases of merges",
            "code" => "code of tasks",
            why => why,
        };
        ui.data(format!("{name}  {why}  {}\n", show_size(removed.bytes)).as_bytes())?;
    }
    let done = if args.dry_run { "would be freed" } else { "freed" };
    ui.say(&format!("{} {done}", show_size(report.freed)));
    Ok(0)
}

fn one(context: &Context<'_>, id: &SessionId, args: &GcArgs, report: &mut Report) -> Result<()> {
    let dir = context.store.dir(id);
    if let Ok(Some(mut session)) = context.store.read(id)
        && !args.dry_run
    {
        // What a killed cowbox left running.
        context.reconcile(&mut session)?;
    }
    // Whoever holds the lock is alive: leave it alone.
    let Some(lock) = Lock::try_take(&dir)? else { return Ok(()) };
    let session = context.store.read(id);
    let (why, name) = match &session {
        Ok(None) => ("leftover", None),
        Ok(Some(session)) => match session.record.state {
            State::Discarded => ("discarded", Some(session.name().to_owned())),
            State::Failed => ("failed", Some(session.name().to_owned())),
            _ => {
                // What was cut off needs all of it.
                super::heal::check_idle(session)?;
                if !args.force {
                    old_undo(session.clone(), args, report)?;
                    return old_bases(session, args, report);
                }
                ("forced", Some(session.name().to_owned()))
            }
        },
        Err(_) if args.force => ("unreadable", None),
        Err(error) => return Err(Error::new(error.message()).hint("`cowbox gc --force` removes it")),
    };
    let failed = session.as_ref().ok().and_then(|session| session.as_ref()?.failed_setup());
    let bytes = size(&dir) + failed.map_or(0, |dir| size(&dir));
    if !args.dry_run {
        if let Ok(Some(session)) = &session {
            remove_session(context, session)?;
        }
        crate::engine::native::remove_home_layer(&dir).map_err(|e| Error::io("remove the home layer of", &dir, e))?;
        drop(lock);
        remove::tree(&dir).map_err(|e| Error::io("remove", &dir, e))?;
    }
    report.freed += bytes;
    report.removed.push(Removed { id: id.to_string(), name, why, bytes });
    Ok(())
}

/// Frees what applies replaced that are too old to be taken back. No journal is left of one that was cut off.
fn old_undo(mut session: Session, args: &GcArgs, report: &mut Report) -> Result<()> {
    let read = |e| Error::io("read what was applied in", session.dir(), e);
    let oldest = record::now().saturating_sub(UNDO_DAYS * 24 * 60 * 60 * 1000);
    let done = undo::all(session.dir()).map_err(read)?;
    let old = done.iter().filter(|done| done.intent.time < oldest);
    let mut dirs: Vec<PathBuf> = old.map(|done| session.dir().join("undo").join(&done.intent.id)).collect();
    dirs.extend(undo::half_freed(session.dir()).map_err(read)?);
    if dirs.is_empty() {
        return Ok(());
    }
    let bytes = dirs.iter().map(|dir| size(dir)).sum();
    if !args.dry_run {
        // First: cut off in the middle, `undo` must know why it cannot.
        session.record.history.push(record::HistoryEntry::now(UNDO_FREED));
        session.save()?;
        for dir in &dirs {
            undo::free(dir).map_err(|e| Error::io("remove", dir, e))?;
        }
    }
    report.freed += bytes;
    let (id, name) = (session.record.id.to_string(), Some(session.name().to_owned()));
    report.removed.push(Removed { id, name, why: "undo", bytes });
    Ok(())
}

/// Frees what later merges and undos do not need any more of the contents that they are made with.
fn old_bases(session: &Session, args: &GcArgs, report: &mut Report) -> Result<()> {
    let failed = |e| Error::io("free old contents in", session.dir(), e);
    let base = Base::load(session.dir(), session.record.stamp()).map_err(failed)?;
    let applies = undo::all(session.dir()).map_err(failed)?;
    let places = base.places().chain(applies.iter().flat_map(|done| done.intent.places())).collect();
    let bytes = pack::free_all_but(session.dir(), places, args.dry_run).map_err(failed)?;
    if bytes > 0 {
        report.freed += bytes;
        let (id, name) = (session.record.id.to_string(), Some(session.name().to_owned()));
        report.removed.push(Removed { id, name, why: "bases", bytes });
    }
    Ok(())
}

/// Names of the environments that sessions stand on; `None` if one cannot be read: it may stand on any of them.
fn used_environments(context: &Context<'_>) -> Result<Option<Vec<String>>> {
    let mut used = Vec::new();
    for id in context.store.ids()? {
        match context.store.read(&id) {
            Ok(Some(session)) if session.record.state != State::Discarded => {
                used.extend(session.record.setup.map(|setup| setup.key));
            }
            Ok(_) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(used))
}

/// Prepared environments that nobody has used for a while, and that no session stands on.
fn old_environments(context: &Context<'_>, used: &[String], args: &GcArgs, report: &mut Report) -> Result<()> {
    let cache = Cache::new(&context.places.cache);
    let all = cache.all();
    for prepared in &all {
        let newer =
            |other: &&Prepared| other.record.made > prepared.record.made && other.record.key == prepared.record.key;
        let days = all.iter().find(newer).map_or(ENVIRONMENT_DAYS, |_| FAILED_SETUP_DAYS);
        let id = prepared.id();
        if used.contains(&id) || (!args.force && prepared.last_used() > days_ago(days)) {
            continue;
        }
        let bytes = size(prepared.dir());
        if !args.dry_run
            && let Err(error) = remove_environment(context, &cache, prepared, args.force)
        {
            context.ui.warn(&format!("environment {id}: {}", error.message()));
            continue;
        }
        report.freed += bytes;
        report.removed.push(Removed { id, name: None, why: "environment", bytes });
    }
    Ok(())
}

/// Images that were built for a repo, that nobody has used for a while and that no session needs.
fn old_images(context: &Context<'_>, args: &GcArgs, report: &mut Report) -> Result<()> {
    let mut used = Vec::new();
    for id in context.store.ids()? {
        if let Ok(Some(session)) = context.store.read(&id)
            && session.record.state != State::Discarded
        {
            used.extend(session.record.policy.image);
            used.extend(session.record.setup.and_then(|setup| setup.image));
        }
    }
    for built in Built::all(&context.places.cache) {
        if used.contains(&built.image) || (!args.force && built.last_used() > days_ago(ENVIRONMENT_DAYS)) {
            continue;
        }
        if !args.dry_run {
            let engine = crate::engine::detect::open(built.engine, &context.places, context.ui);
            if let Some(client) = engine.as_ref().ok().and_then(|engine| engine.client()) {
                client.attempt(&["rmi", &built.image]);
            }
            built.forget()?;
        }
        report.removed.push(Removed { id: built.image, name: None, why: "image", bytes: 0 });
    }
    Ok(())
}

/// What package managers downloaded for repos that were not prepared for a while, or too much of it.
fn old_downloads(context: &Context<'_>, args: &GcArgs, report: &mut Report) {
    let all = downloads::all(&context.places.cache).into_iter().map(|kept| (size(&kept.dir), kept));
    let all: Vec<_> = all.map(|(bytes, kept)| (kept, bytes)).collect();
    let gone = if args.force { all } else { downloads::outdated(all, SystemTime::now(), downloads::MOST) };
    for (kept, bytes) in gone {
        let id = kept.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match if args.dry_run { Ok(true) } else { kept.clear(|dir| remove_downloads(context, dir)) } {
            Ok(false) => {}
            Ok(true) => {
                report.freed += bytes;
                report.removed.push(Removed { id, name: None, why: "downloads", bytes });
            }
            Err(error) => context.ui.warn(&format!("downloads {id}: {}", error.message())),
        }
    }
}

/// Code of tasks that nobody has run for a while, and that no session stands on.
fn old_code(context: &Context<'_>, args: &GcArgs, report: &mut Report) -> Result<()> {
    let mut used = Vec::new();
    for id in context.store.ids()? {
        if let Ok(Some(session)) = context.store.read(&id) {
            used.push(session.record.repo.0);
            used.extend(session.record.below.into_iter().map(|layer| layer.0));
        }
    }
    for one in cached::all(&context.places.cache) {
        if !one.is_old(SystemTime::now(), args.force) || used.iter().any(|path| one.holds(path)) {
            continue;
        }
        let bytes = size(&one.dir);
        let id = one.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if args.dry_run || remove_downloads(context, &one.dir).is_ok() {
            report.freed += bytes;
            report.removed.push(Removed { id, name: None, why: "code", bytes });
        }
    }
    Ok(())
}

/// Setups may have written as another id of the user's, or as docker's root.
fn remove_downloads(context: &Context<'_>, dir: &Path) -> Result<()> {
    if remove::tree(dir).is_ok() || access::in_child(|| remove::tree(dir)).is_ok() {
        return Ok(());
    }
    let docker = crate::engine::detect::open(crate::engine::Kind::Docker, &context.places, context.ui);
    docker.map_err(Error::new)?.reclaim(dir)?;
    remove::tree(dir).map_err(|e| Error::io("remove", dir, e))
}

fn days_ago(days: u32) -> SystemTime {
    SystemTime::now() - days * Duration::from_secs(24 * 60 * 60)
}

/// What setups left that failed or were killed: logs, and with the latter a sandbox.
fn unfinished_environments(context: &Context<'_>, used: Option<&[String]>, args: &GcArgs, report: &mut Report) {
    for (_lock, dir) in Cache::new(&context.places.cache).unfinished() {
        let sandbox = room::left_in(&dir);
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // What was cut off is of no use to anybody; of what failed there are logs to be read.
        if dir.extension().is_some_and(|e| e == "failed") {
            let made = dir.metadata().and_then(|meta| meta.modified());
            let is_new = sandbox.is_none() && made.is_ok_and(|made| made > days_ago(FAILED_SETUP_DAYS));
            // A session may show what there was of it.
            if !args.force && is_new || used.is_none_or(|used| used.contains(&id)) {
                continue;
            }
        }
        let bytes = size(&dir);
        if !args.dry_run
            && let Err(error) = remove_unfinished(context, &dir, sandbox)
        {
            context.ui.warn(&format!("{id}: {}", error.message()));
            continue;
        }
        report.freed += bytes;
        report.removed.push(Removed { id, name: None, why: "setup", bytes });
    }
}

fn remove_unfinished(context: &Context<'_>, dir: &Path, sandbox: Option<record::Record>) -> Result<()> {
    if let Some(record) = sandbox {
        let engine =
            crate::engine::detect::open(record.engine.kind, &context.places, context.ui).map_err(Error::new)?;
        return keep::clear_unfinished(engine.as_ref(), dir);
    }
    crate::engine::native::remove_home_layer(dir).map_err(|e| Error::io("remove the home layer of", dir, e))?;
    match remove::tree(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => access::in_child(|| remove::tree(dir)),
        other => other.map_err(|e| Error::io("remove", dir, e)),
    }
}

fn remove_environment(context: &Context<'_>, cache: &Cache, prepared: &Prepared, force: bool) -> Result<()> {
    let failed = |e: std::io::Error| Error::io("remove", prepared.dir(), e);
    if let Some(image) = &prepared.record.image
        && let Err(error) = remove_from_engine(context, prepared, image)
    {
        // Nobody would know of the image any more.
        if !force {
            return Err(error);
        }
        context.ui.warn(error.message());
    }
    if let Some(home) = &prepared.record.home {
        access::in_child(|| remove::tree(&home.0))?;
    }
    match cache.remove(prepared) {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => access::in_child(|| cache.remove(prepared)),
        other => other.map_err(failed),
    }
}

/// Its image, and what services wrote.
fn remove_from_engine(context: &Context<'_>, prepared: &Prepared, image: &str) -> Result<()> {
    let left = |why: &str| Error::new(format!("the image {image} cannot be removed: {why}"));
    let engine = crate::engine::detect::open(prepared.record.engine, &context.places, context.ui);
    let engine = engine.map_err(|why| left(&why))?;
    let Some(client) = engine.client() else { return Ok(()) };
    if !prepared.record.volumes.is_empty() {
        data::forget(client, &prepared.id());
    }
    match client.capture(&["rmi", image]) {
        Err(error) if !matches!(engine.image_facts(image), Ok(None)) => Err(left(error.message())),
        _ => Ok(()),
    }
}

fn remove_session(context: &Context<'_>, session: &Session) -> Result<()> {
    if session.record.state == State::Running {
        context.engine(session)?.sweep(&session.record)?;
    }
    context.remove_layers(session)
}

/// Bytes on disk. What cannot be read counts as nothing: it is a figure for people.
fn size(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    let own = meta.blocks() * 512;
    if !meta.is_dir() {
        return own;
    }
    let children = std::fs::read_dir(path).into_iter().flatten().flatten();
    own + children.map(|entry| size(&entry.path())).sum::<u64>()
}
