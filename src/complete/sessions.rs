//! Names of sessions, by their records alone. What a record says of the state may be old; a verb looks again.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

use serde::Deserialize;

use super::Candidate;
use super::values::Asked;
use crate::paths::BytePath;
use crate::repo::Repo;
use crate::session::{State, Store};
use crate::settings::Places;

/// Records are a few kilobytes.
const LIMIT: u64 = 1 << 20;
/// Longer than most records.
const USUAL: usize = 16 << 10;
/// So many are read even on a slow machine.
const ALWAYS: usize = 50;

/// Which ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those that still have changes.
    Any,
    /// Where a command runs.
    Live,
    /// Where none does.
    Stopped,
}

/// What is needed of a record.
#[derive(Deserialize)]
struct Brief {
    id: String,
    name: String,
    state: State,
    repo: BytePath,
    command: Vec<String>,
    #[serde(skip)]
    dir: PathBuf,
}

/// Their names: those of this repo, or of every one where it has none that fits.
pub fn names(asked: &Asked<'_>, wanted: Wanted) -> Vec<Candidate> {
    let root = asked.directory().and_then(|dir| Repo::find(&dir).ok()).map(|repo| repo.root);
    let fits = |brief: &Brief| match wanted {
        Wanted::Any => brief.state != State::Discarded,
        Wanted::Live => brief.state == State::Running,
        Wanted::Stopped => brief.state == State::Stopped,
    };
    let found: Vec<Brief> =
        briefs(asked.deadline).filter(|brief| fits(brief) && brief.name.starts_with(&asked.line.current)).collect();
    let here = |brief: &&Brief| root.as_ref() == Some(&brief.repo.0);
    let any_here = found.iter().any(|brief| here(&brief));
    let candidate = |brief: &Brief| {
        let command = brief.command.join(" ");
        let short: String = command.chars().take(40).collect();
        Candidate { value: brief.name.clone(), about: format!("{} · {short}", brief.state) }
    };
    found.iter().filter(|brief| !any_here || here(brief)).map(candidate).collect()
}

/// The upper layer of the session that the line names, or of the latest here.
pub fn upper(asked: &Asked<'_>, repo: &Repo) -> Option<PathBuf> {
    let wanted = asked.line.value("session");
    let fits = |brief: &Brief| match wanted {
        Some(text) => brief.name.starts_with(text) || brief.id.starts_with(&text.to_ascii_uppercase()),
        None => brief.repo.0 == repo.root,
    };
    let mut all = briefs(asked.deadline).filter(|brief| brief.state != State::Discarded);
    all.find(fits).map(|brief| brief.dir.join("upper"))
}

/// The newest first, as many as time allows.
fn briefs(deadline: Instant) -> impl Iterator<Item = Brief> {
    let store = Places::find().ok().map(|places| Store::new(&places.state));
    let ids = store.as_ref().and_then(|store| store.ids().ok()).unwrap_or_default();
    let in_time = move |number: usize| number < ALWAYS || Instant::now() < deadline;
    let mut buffer = vec![0; USUAL];
    let mut read = move |id| {
        let dir = store.as_ref()?.dir(&id);
        // One call for most of them: a thousand records are read within a key press.
        let mut file = File::open(dir.join("session.json")).ok()?;
        let length = file.read(&mut buffer).ok()?;
        let brief: Brief = if length < buffer.len() {
            serde_json::from_slice(&buffer[..length]).ok()?
        } else {
            let mut text = buffer.clone();
            file.take(LIMIT).read_to_end(&mut text).ok()?;
            serde_json::from_slice(&text).ok()?
        };
        Some(Brief { dir, ..brief })
    };
    ids.into_iter()
        .rev()
        .enumerate()
        .take_while(move |(number, _)| in_time(*number))
        .filter_map(move |(_, id)| read(id))
}
