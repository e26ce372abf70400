//! `cowbox show`: one session in full; also the report of `run`.

use serde::Serialize;

use super::context::Context;
use crate::cli::ShowArgs;
use crate::error::Result;
use crate::paths;
use crate::policy::limits::{Limits, show_size};
use crate::session::record::{now, rfc3339};
use crate::session::{Session, State};
use crate::ui::{Ui, sanitize};

/// What scripts read of a session: `show --json`, `ls --json`, `run --report`.
#[derive(Debug, Serialize)]
pub struct Summary {
    schema: u32,
    id: String,
    name: String,
    state: State,
    engine: String,
    engine_version: String,
    rootless: bool,
    repo: String,
    repo_b64: Option<String>,
    exit: Option<i32>,
    command: Vec<String>,
    image: Option<String>,
    network: Option<crate::policy::Network>,
    limits: Limits,
    user: Option<String>,
    workdir: String,
    env: Vec<String>,
    created: String,
    started: Option<String>,
    ended: Option<String>,
    container: Option<String>,
    dir: String,
    history: Vec<Event>,
}

#[derive(Debug, Serialize)]
struct Event {
    time: String,
    event: String,
}

impl Summary {
    /// Of one session.
    pub fn of(session: &Session) -> Self {
        let record = &session.record;
        let policy = record.policy.clone();
        let run = record.incarnation.as_ref();
        Self {
            schema: 1,
            id: record.id.to_string(),
            name: record.name.clone(),
            state: record.state,
            engine: record.engine.kind.to_string(),
            engine_version: record.engine.version.clone(),
            rootless: record.engine.rootless,
            repo: paths::text(&record.repo.0),
            repo_b64: paths::exact(&record.repo.0),
            exit: record.exit(),
            command: record.command.clone(),
            image: policy.image,
            network: policy.network,
            limits: policy.limits,
            user: policy.user,
            workdir: paths::text(&policy.workdir.0),
            env: policy.env,
            created: rfc3339(record.created),
            started: run.map(|r| rfc3339(r.started)),
            ended: run.and_then(|r| r.ended).map(rfc3339),
            container: run.and_then(|r| r.container.clone()),
            dir: paths::text(session.dir()),
            history: record.history.iter().map(|h| Event { time: rfc3339(h.time), event: h.event.clone() }).collect(),
        }
    }
}

/// Runs the verb.
pub fn show(args: ShowArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let session = context.session(args.session.as_deref())?;
    if args.json {
        ui.json(&Summary::of(&session))?;
        return Ok(0);
    }
    ui.data(text(&session).as_bytes())?;
    Ok(0)
}

fn text(session: &Session) -> String {
    let record = &session.record;
    let summary = Summary::of(session);
    let command =
        if record.command.is_empty() { "(shell)".to_owned() } else { sanitize::text(&record.command.join(" ")) };
    let mut rows: Vec<(&str, String)> = vec![
        ("session", format!("{} ({})", record.name, record.id)),
        ("state", record.state.to_string()),
        ("repo", sanitize::path(&record.repo.0)),
        ("engine", format!("{} {}", record.engine.kind, record.engine.version)),
        ("command", command),
        ("created", format!("{} ago", age(record.created))),
    ];
    let mut optional = |name: &'static str, value: Option<String>| {
        if let Some(value) = value {
            rows.push((name, value));
        }
    };
    optional("image", summary.image.map(|i| sanitize::text(&i)));
    optional("network", summary.network.map(|n| format!("{n:?}").to_lowercase()));
    optional("memory", summary.limits.memory.map(show_size));
    optional("cpus", summary.limits.cpus.map(|n| n.to_string()));
    optional("pids", summary.limits.pids.map(|n| n.to_string()));
    optional("container", summary.container);
    optional("exit", summary.exit.map(|e| e.to_string()));
    optional("directory", Some(sanitize::path(session.dir())));
    rows.iter().map(|(name, value)| format!("{name:10} {value}\n")).collect()
}

/// How long ago, in one unit.
pub fn age(millis: u64) -> String {
    let seconds = now().saturating_sub(millis) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}
