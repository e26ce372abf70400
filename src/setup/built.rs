//! Images that were built from files of a repo or of the user's: written down, so that `gc` can remove them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::engine::Kind;
use crate::error::{Error, Result};

/// One image.
#[derive(Debug, Serialize, Deserialize)]
pub struct Built {
    /// The engine that has it.
    pub engine: Kind,
    /// Its name.
    pub image: String,
    /// Where this is written down.
    #[serde(skip)]
    note: PathBuf,
}

impl Built {
    /// Writes down that an image was made or used just now.
    pub fn note(cache: &Path, engine: Kind, image: &str) -> Result<()> {
        let dir = cache.join("built");
        let name: String = image.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = dir.join(format!("{engine}-{name}.json"));
        let failed = |e: std::io::Error| Error::io("write", &path, e);
        let built = Built { engine, image: image.to_owned(), note: PathBuf::new() };
        let text = serde_json::to_vec(&built).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        fs::create_dir_all(&dir).map_err(failed)?;
        fs::write(&path, text).map_err(failed)
    }

    /// All that are written down.
    pub fn all(cache: &Path) -> Vec<Built> {
        let notes = fs::read_dir(cache.join("built")).into_iter().flatten().flatten().map(|entry| entry.path());
        let read =
            |note: PathBuf| Some(Built { note: note.clone(), ..serde_json::from_slice(&fs::read(note).ok()?).ok()? });
        notes.filter_map(read).collect()
    }

    /// When it was last used.
    pub fn last_used(&self) -> SystemTime {
        fs::metadata(&self.note).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// It is gone.
    pub fn forget(&self) -> Result<()> {
        fs::remove_file(&self.note).map_err(|e| Error::io("remove", &self.note, e))
    }
}
