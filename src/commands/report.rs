//! `run --report FILE`: where the result goes.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::place::Place;
use super::show::{Problem, Summary};
use crate::engine::EngineRecord;
use crate::error::{Error, Result};
use crate::paths;
use crate::session::{Session, State};
use crate::ui::Ui;

/// An opened place for the report.
#[derive(Debug)]
pub struct Report {
    path: PathBuf,
    place: Place,
    is_written: Cell<bool>,
}

/// What is known of a run before it has a session.
#[derive(Debug, Default)]
pub struct Attempt {
    pub repo: Option<PathBuf>,
    pub engine: Option<EngineRecord>,
    pub name: Option<String>,
}

/// A run that ended before there was a session.
#[derive(Serialize)]
struct Unstarted<'a> {
    schema: u32,
    id: Option<&'a str>,
    name: Option<&'a str>,
    state: State,
    engine: Option<String>,
    repo: Option<String>,
    repo_b64: Option<String>,
    exit: u8,
    error: Problem,
}

impl Report {
    /// Opens the place that `path` names.
    pub fn open(path: &Path) -> Result<Self> {
        let place = Place::open(path).map_err(|e| Error::io("write the report to", path, e))?;
        Ok(Self { path: path.to_path_buf(), place, is_written: Cell::new(false) })
    }

    /// Whether it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        matches!(self.place, Place::Stdout)
    }

    /// Writes what is known of the session, and why its command was not started.
    pub fn write(&self, session: &Session, failure: Option<&Error>, ui: &Ui) -> Result<()> {
        let mut summary = Summary::of(session);
        if let Some(error) = failure {
            summary.fail(error);
        }
        self.put(&summary, ui)
    }

    /// Writes why a run never came to its command, unless that is written. `session`: one that was to go on, or that
    /// a failed setup left.
    pub fn fail(&self, attempt: &Attempt, session: Option<&Session>, error: &Error, ui: &Ui) -> Result<()> {
        if self.is_written.get() {
            return Ok(());
        }
        if let Some(session) = session {
            return self.write(session, Some(error), ui);
        }
        let repo = attempt.repo.as_deref();
        let document = Unstarted {
            schema: 1,
            id: None,
            name: attempt.name.as_deref(),
            state: State::Failed,
            engine: attempt.engine.as_ref().map(|engine| engine.kind.to_string()),
            repo: repo.map(paths::text),
            repo_b64: repo.and_then(paths::exact),
            exit: error.exit_code(),
            error: error.into(),
        };
        self.put(&document, ui)
    }

    fn put(&self, document: &impl Serialize, ui: &Ui) -> Result<()> {
        let mut text =
            serde_json::to_vec_pretty(document).map_err(|e| Error::new(format!("cannot write the report: {e}")))?;
        text.push(b'\n');
        self.is_written.set(true);
        match self.place {
            Place::Stdout => ui.data(&text),
            _ => self
                .place
                .write(|out| out.write_all(&text))
                .map_err(|e: std::io::Error| Error::io("write the report to", &self.path, e)),
        }
    }
}
