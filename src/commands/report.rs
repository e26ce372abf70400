//! `run --report FILE`: where the result goes.

use std::path::{Path, PathBuf};

use super::place::Place;
use super::show::Summary;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::ui::Ui;

/// An opened place for the report.
#[derive(Debug)]
pub struct Report {
    path: PathBuf,
    place: Place,
}

impl Report {
    /// Opens the place that `path` names.
    pub fn open(path: &Path) -> Result<Self> {
        let place = Place::open(path).map_err(|e| Error::io("write the report to", path, e))?;
        Ok(Self { path: path.to_path_buf(), place })
    }

    /// Whether it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        matches!(self.place, Place::Stdout)
    }

    /// Writes what is known of the session.
    pub fn write(&self, session: &Session, ui: &Ui) -> Result<()> {
        let summary = Summary::of(session);
        let mut text =
            serde_json::to_vec_pretty(&summary).map_err(|e| Error::new(format!("cannot write the report: {e}")))?;
        text.push(b'\n');
        match self.place {
            Place::Stdout => ui.data(&text),
            _ => self
                .place
                .write(|out| out.write_all(&text))
                .map_err(|e: std::io::Error| Error::io("write the report to", &self.path, e)),
        }
    }
}
