//! What the steps left on disk, put where it belongs.

use std::fs;
use std::path::{Path, PathBuf};

use super::{cache, layer};
use crate::engine::{Engine, Kind, native};
use crate::error::{Error, Result};
use crate::layer::remove;

/// Makes a layer of what they wrote into the repo, and notes what it is. `dir` is where it was made.
pub fn what_was_made(engine: &dyn Engine, dir: &Path, repo: &Path, record: &mut cache::Record) -> Result<()> {
    if engine.record().kind == Kind::Docker {
        engine.reclaim(dir)?;
    }
    let upper = dir.join("upper");
    let made = dir.join("layer");
    fs::rename(&upper, &made).map_err(|e| Error::io("keep", &upper, e))?;
    for part in ["work", "links", "hooks"] {
        let path = dir.join(part);
        remove::tree(&path).map_err(|e| Error::io("remove", &path, e))?;
    }
    record.covers =
        layer::finish(&made, repo).or_else(|_| layer::finish_closed(&made, repo, &dir.join("covers.json")))?;
    if let Some(home) = native::home_layer(dir).filter(|_| engine.record().kind == Kind::Native) {
        record.home = Some(of_home(&home, dir)?.as_path().into());
    }
    Ok(())
}

/// The layer over the home cannot lie in the home itself: see `native::home`.
fn of_home(layer: &Path, dir: &Path) -> Result<PathBuf> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().replace(".new", "");
    // Beside the session's own layers, or beside what is being made, which will be renamed.
    let beside = if layer.starts_with(dir) { dir } else { layer };
    let kept = beside.with_file_name(format!("{name}.home"));
    let failed = |e: std::io::Error| Error::io("keep", layer, e);
    remove::tree(&kept).map_err(failed)?;
    fs::rename(layer.join("upper"), &kept).map_err(failed)?;
    remove::tree(layer).map_err(failed)?;
    Ok(kept)
}
