//! Making the directories of an overlay.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use super::{Encoding, marks};
use crate::error::{Error, Result};
use crate::plan::{Overlay, Plan};

/// Makes the directories of an overlay. The merged root takes its looks from the upper, so the
/// upper gets those of the repo. One that is there already has them, or what the command made of them.
pub fn layers(overlay: &Overlay) -> Result<()> {
    // A session whose repo is gone cannot go on: better said before anything starts.
    for lower in &overlay.lowers {
        fs::metadata(lower).map_err(|e| Error::io("read", lower, e))?;
    }
    let is_new = !overlay.upper.exists();
    for dir in [&overlay.upper, &overlay.work] {
        fs::create_dir_all(dir).map_err(|e| Error::io("create", dir, e))?;
    }
    // An earlier volatile mount left a mark in here, and the kernel refuses a new mount over it.
    let _ = crate::layer::remove::tree(&overlay.work.join("work"));
    if is_new {
        let top = overlay.lowers.first().unwrap_or(&overlay.upper);
        take_looks(top, &overlay.upper).map_err(|e| Error::io("prepare", &overlay.upper, e))?;
    }
    Ok(())
}

/// The directories of every overlay, and a config that git needs in the gitdir's.
pub fn of_plan(plan: &Plan) -> Result<()> {
    let overlays = plan.overlays();
    for overlay in &overlays {
        layers(overlay)?;
    }
    let config = plan.gitdir.as_ref().and_then(|git| git.config.as_ref());
    if let (Some(config), Some(overlay)) = (config, overlays.get(1)) {
        // In a resumed session this place is the sandbox's own: nothing there is followed or replaced.
        let path = overlay.upper.join("config");
        match File::options().write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            opened => opened.and_then(|mut file| file.write_all(config)).map_err(|e| Error::io("write", &path, e))?,
        }
    }
    Ok(())
}

fn take_looks(lower: &Path, upper: &Path) -> io::Result<()> {
    let (from, to) = (File::open(lower)?, File::open(upper)?);
    let meta = from.metadata()?;
    for (name, value) in marks::read(from.as_fd(), Encoding::Plain)?.xattrs {
        marks::set(&to, &name, &value)?;
    }
    to.set_permissions(meta.permissions())?;
    if let Ok(mtime) = meta.modified() {
        let _ = to.set_times(fs::FileTimes::new().set_modified(mtime));
    }
    Ok(())
}
