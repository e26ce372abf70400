//! A path of the user's home that an agent finds in its own.

use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::ui::sanitize;

/// `~/.claude`, or `SRC:~/.claude` for one that lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// On the host; `~/` is the user's home.
    source: String,
    /// In the agent's home.
    pub target: PathBuf,
}

impl Shown {
    /// Reads one; else why not.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (source, target) = match text.rsplit_once(":~/") {
            Some((source, target)) => (source.to_owned(), target),
            None => (text.to_owned(), text.strip_prefix("~/").unwrap_or_default()),
        };
        let path = PathBuf::from(target);
        // Engines and a shell get to see it.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/@+".contains(c);
        let names = path.components().all(|part| matches!(part, Component::Normal(_)));
        let absolute = source.starts_with("~/") || source.starts_with('/');
        if target.is_empty() || !names || !absolute || !target.chars().all(plain) {
            let text = sanitize::text(text);
            return Err(format!("`{text}` must be ~/PATH or SRC:~/PATH, the path of plain letters and without `..`"));
        }
        Ok(Self { source, target: path })
    }

    /// The host path, links resolved; `None` if it is not there.
    pub fn on_host(&self, home: &Path) -> Option<PathBuf> {
        let path = match self.source.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => PathBuf::from(&self.source),
        };
        path.canonicalize().ok()
    }

    /// As the user wrote it.
    pub fn text(&self) -> String {
        let target = format!("~/{}", self.target.display());
        if self.source == target { target } else { format!("{}:{target}", self.source) }
    }
}
