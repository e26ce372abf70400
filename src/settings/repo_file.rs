//! `.cowbox.toml` of the repo, which is not trusted: it can say how to prepare itself, inside the sandbox, and
//! nothing that reaches further.

use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::setup::files::RepoFiles;
use crate::ui::Ui;

/// Its name in the root of a repo.
pub const NAME: &str = ".cowbox.toml";
/// A hostile file has no more lines to fill a terminal with.
const MOST_NAMED: usize = 8;
/// The keys that a repo may use.
pub const KEYS: &[&str] = &["setup"];

/// The file, key by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RepoSettings {
    /// `setup = "make deps"`, `"none"` or `"auto"`
    pub setup: Option<String>,
}

impl RepoSettings {
    /// Reads the file; none is an empty one.
    pub fn read(repo: &Path, ui: &Ui) -> Result<Self> {
        let read = RepoFiles::open(repo).and_then(|files| files.read(NAME));
        let Some(content) = read.map_err(|e| Error::io("read", &repo.join(NAME), e))? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8_lossy(&content);
        ui.detail(&format!("settings from {NAME}"));
        for (line, what) in super::unknown::of_repo(&text).into_iter().take(MOST_NAMED) {
            ui.warn(&format!("{NAME}, line {line}: {what}"));
        }
        toml::from_str(&text).map_err(|e| {
            let line = e.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            let why = crate::ui::sanitize::text(e.message().lines().next().unwrap_or_default());
            Error::new(format!("{NAME}, line {line}: {why}"))
                .hint("correct the file; docs/configuration.md lists every key")
        })
    }
}
