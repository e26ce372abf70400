//! Making the directories of an overlay.

use std::fs::{self, File};

use crate::error::{Error, Result};
use crate::plan::Overlay;

/// Makes the directories of an overlay. The merged root takes its looks from the upper, so the
/// upper gets those of the repo.
pub fn layers(overlay: &Overlay) -> Result<()> {
    for dir in [&overlay.upper, &overlay.work] {
        fs::create_dir_all(dir).map_err(|e| Error::io("create", dir, e))?;
    }
    // An earlier volatile mount left a mark in here, and the kernel refuses a new mount over it.
    let _ = crate::layer::remove::tree(&overlay.work.join("work"));
    let failed = |e: std::io::Error| Error::io("prepare", &overlay.upper, e);
    let lower = fs::metadata(&overlay.lower).map_err(|e| Error::io("read", &overlay.lower, e))?;
    fs::set_permissions(&overlay.upper, lower.permissions()).map_err(failed)?;
    if let (Ok(mtime), Ok(dir)) = (lower.modified(), File::open(&overlay.upper)) {
        let _ = dir.set_times(fs::FileTimes::new().set_modified(mtime));
    }
    Ok(())
}
