//! `cowbox gc`: free space. Never unapplied work, unless `--force`.

use std::path::Path;

use serde::Serialize;

use super::context::Context;
use crate::cli::GcArgs;
use crate::error::{Error, Result};
use crate::layer::remove;
use crate::policy::limits::show_size;
use crate::session::lock::Lock;
use crate::session::{Session, SessionId, State};
use crate::ui::Ui;

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
    for layer in crate::engine::native::orphaned_home_layers() {
        let bytes = size(&layer);
        let id = layer.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if args.dry_run || remove::tree(&layer).is_ok() {
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
        ui.data(format!("{name}  {}  {}\n", removed.why, show_size(removed.bytes)).as_bytes())?;
    }
    let done = if args.dry_run { "would be freed" } else { "freed" };
    ui.say(&format!("{} {done}", show_size(report.freed)));
    Ok(0)
}

fn one(context: &Context<'_>, id: &SessionId, args: &GcArgs, report: &mut Report) -> Result<()> {
    let dir = context.store.dir(id);
    // Whoever holds the lock is alive: leave it alone.
    let Some(lock) = Lock::try_take(&dir)? else { return Ok(()) };
    let session = context.store.read(id);
    let (why, name) = match &session {
        Ok(None) => ("leftover", None),
        Ok(Some(session)) => match session.record.state {
            State::Discarded => ("discarded", Some(session.name().to_owned())),
            State::Failed => ("failed", Some(session.name().to_owned())),
            _ if args.force => ("forced", Some(session.name().to_owned())),
            _ => return Ok(()),
        },
        Err(_) if args.force => ("unreadable", None),
        Err(error) => return Err(Error::new(error.message()).hint("`cowbox gc --force` removes it")),
    };
    let bytes = size(&dir);
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
