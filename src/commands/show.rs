//! `cowbox show`: one session in full; also the report of `run`.

use serde::Serialize;

use super::context::Context;
use crate::cli::ShowArgs;
use crate::error::{Error, Result};
use crate::paths;
use crate::policy::limits::{Limits, show_size};
use crate::session::record::{now, rfc3339};
use crate::session::tally::Tally;
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
    changes: Option<Counts>,
    size: Option<u64>,
    history: Vec<Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

/// Why a command was not started.
#[derive(Debug, Serialize)]
pub struct Problem {
    message: String,
    hints: Vec<String>,
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        Self { message: error.message().to_owned(), hints: error.hints().to_vec() }
    }
}

/// What is known of the changes without counting.
#[derive(Debug, Serialize)]
struct Counts {
    files: u64,
    insertions: Option<u64>,
    deletions: Option<u64>,
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
        let tally = session.tally();
        let counts = |t: Tally| Counts { files: t.files, insertions: t.insertions, deletions: t.deletions };
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
            changes: tally.map(counts),
            size: tally.map(|tally| tally.bytes),
            history: record.history.iter().map(|h| Event { time: rfc3339(h.time), event: h.event.clone() }).collect(),
            error: None,
        }
    }

    /// Adds why its command was not started.
    pub fn fail(&mut self, error: &Error) {
        self.exit = Some(i32::from(error.exit_code()));
        self.error = Some(error.into());
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
    ui.say(&next(session.record.state, session.name()));
    Ok(0)
}

fn text(session: &Session) -> String {
    let record = &session.record;
    let summary = Summary::of(session);
    let mut rows: Vec<(&str, String)> = vec![
        ("session", format!("{} ({})", record.name, record.id)),
        ("state", record.state.to_string()),
        ("repo", sanitize::path(&record.repo.0)),
        ("engine", format!("{} {}", record.engine.kind, record.engine.version)),
        ("command", command(session)),
        ("created", format!("{} ago", age(record.created))),
    ];
    let mut optional = |name: &'static str, value: Option<String>| {
        if let Some(value) = value {
            rows.push((name, value));
        }
    };
    let tally = session.tally();
    let ended = record.incarnation.as_ref().and_then(|run| run.ended);
    optional("ended", ended.map(|ended| format!("{} ago", age(ended))));
    optional("exit", summary.exit.map(|e| e.to_string()));
    let changes = |t: Tally| t.lines().map_or_else(|| t.files(), |lines| format!("{}, {lines}", t.files()));
    optional("changes", tally.map(changes));
    optional("size", tally.map(|tally| show_size(tally.bytes)));
    optional("image", summary.image.map(|i| sanitize::text(&i)));
    optional("network", summary.network.map(|n| format!("{n:?}").to_lowercase()));
    optional("memory", summary.limits.memory.map(show_size));
    optional("cpus", summary.limits.cpus.map(|n| n.to_string()));
    optional("pids", summary.limits.pids.map(|n| n.to_string()));
    optional("container", summary.container);
    optional("last", record.history.last().map(|h| format!("{}, {} ago", sanitize::text(&h.event), age(h.time))));
    optional("setup log", session.failed_setup().map(|dir| sanitize::path(&dir.join("logs"))));
    optional("directory", Some(sanitize::path(session.dir())));
    rows.iter().map(|(name, value)| format!("{name:10} {value}\n")).collect()
}

/// The last command of a session, for people.
pub fn command(session: &Session) -> String {
    let words = &session.record.command;
    if words.is_empty() { "(shell)".to_owned() } else { sanitize::text(&words.join(" ")) }
}

/// What can be done with a session in this state.
fn next(state: State, name: &str) -> String {
    match state {
        State::Running => format!("next: `cowbox shell {name}`, `cowbox diff {name}`, `cowbox stop {name}`"),
        State::Stopped => format!("next: `cowbox diff {name}`, `cowbox apply {name}`, `cowbox discard {name}`"),
        State::Failed => {
            format!("next: `cowbox shell {name}` looks at what the setup left, `cowbox discard {name}`")
        }
        State::Created | State::Preparing | State::Ready => format!("it is being made; `cowbox show {name}` again"),
        State::Discarded => "its changes are gone; `cowbox gc` removes what is left".to_owned(),
    }
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
