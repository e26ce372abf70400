//! What steps leave on disk: kept as a prepared environment, kept to be looked at after a failure, or cleared away.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::cache::{self, Making};
use super::layer;
use super::ready::Preparer;
use super::room::{self, Room};
use crate::engine::client::Client;
use crate::engine::oci::beside::data;
use crate::engine::{Engine, Kind as EngineKind, native};
use crate::error::{Error, Kind, Result};
use crate::layer::{access, remove};

/// What a setup left that failed.
#[derive(Debug)]
pub struct Half {
    /// Its name in the cache.
    pub name: String,
    /// The layer over the repo.
    pub layer: PathBuf,
    /// The layer over the home (native).
    pub home: Option<PathBuf>,
    /// The image of its container.
    pub image: Option<String>,
    /// Who the steps were, inside.
    pub user: Option<String>,
}

/// Makes a session of it, and says the name of that.
pub type KeepHalf<'a> = &'a dyn Fn(&Half) -> Result<String>;

/// Why nothing was prepared, and whether an image of what there was has been kept.
pub(super) struct Unmade {
    pub error: Error,
    pub kept: bool,
}

impl From<Error> for Unmade {
    fn from(error: Error) -> Self {
        Self { error, kept: false }
    }
}

impl Preparer<'_> {
    /// What the steps left on disk, put where it belongs.
    pub(super) fn keep(&self, dir: &Path, record: &mut cache::Record) -> Result<()> {
        if self.engine.record().kind == EngineKind::Docker {
            self.engine.reclaim(dir)?;
        }
        let upper = dir.join("upper");
        let layer = dir.join("layer");
        fs::rename(&upper, &layer).map_err(|e| Error::io("keep", &upper, e))?;
        for part in ["work", "links", "hooks"] {
            let path = dir.join(part);
            remove::tree(&path).map_err(|e| Error::io("remove", &path, e))?;
        }
        record.covers = layer::finish(&layer, &self.plan.below, self.files.root())
            .or_else(|_| layer::finish_closed(&layer, &self.plan.below, self.files.root(), &dir.join("covers.json")))?;
        record.home = self.keep_home(dir)?.as_deref().map(Into::into);
        Ok(())
    }

    /// The layer over the home cannot lie in the home itself: see `native::home`.
    fn keep_home(&self, dir: &Path) -> Result<Option<PathBuf>> {
        let native = self.engine.record().kind == EngineKind::Native;
        let Some(layer) = native::home_layer(dir).filter(|_| native) else { return Ok(None) };
        let name = dir.file_name().unwrap_or_default().to_string_lossy().replace(".new", "");
        // Beside the session's own layers, or beside what is being made, which will be renamed.
        let beside = if layer.starts_with(dir) { dir } else { &layer };
        let kept = beside.with_file_name(format!("{name}.home"));
        let failed = |e: std::io::Error| Error::io("keep", &layer, e);
        remove::tree(&kept).map_err(failed)?;
        fs::rename(layer.join("upper"), &kept).map_err(failed)?;
        remove::tree(&layer).map_err(failed)?;
        Ok(Some(kept))
    }

    /// Keeps the container of steps that failed as an image, if somebody wants to look at it.
    pub(super) fn keep_half(&self, making: &Making, room: &Room<'_>, error: &Error) -> bool {
        if self.failed.is_none() || error.kind() == Kind::Interrupted {
            return false;
        }
        let (Some(client), Some(container)) = (self.engine.client(), room.container()) else { return true };
        let kept = client.commit(container, &failed_image(&making.id));
        if let Err(error) = &kept {
            self.ui.detail(&format!("what there was is not kept: {}", error.message()));
        }
        kept.is_ok()
    }

    /// After a failure: its logs stay, and what there was of it if it was kept.
    pub(super) fn give_up(&self, making: &Making, unmade: Unmade) -> Error {
        let Unmade { error, kept } = unmade;
        let half = if kept { self.half(making) } else { None };
        if half.is_none() {
            self.clear_parts(&making.dir, &["upper", "layer", "home"]);
            // Of the next one, or of `gc`: the failure itself is what counts.
            let _ = native::remove_home_layer(&making.dir);
        }
        self.clear_parts(&making.dir, &["work", "links", "hooks"]);
        if let Some(client) = self.engine.client().filter(|_| !self.plan.services.is_empty()) {
            data::forget(client, &making.id);
        }
        if error.kind() == Kind::Interrupted {
            return error;
        }
        let name = making.fail().and_then(|()| self.hand_over(making, half.as_ref()));
        match name {
            Ok(Some(name)) => error.hint(format!("`cowbox shell {name}` looks at what there was by then")),
            Ok(None) => error,
            Err(why) => {
                self.ui.detail(&format!("what there was is not kept: {}", why.message()));
                error
            }
        }
    }

    fn half(&self, making: &Making) -> Option<Half> {
        let dir = making.after_failure();
        Some(Half {
            name: dir.file_name()?.to_string_lossy().into_owned(),
            layer: dir.join("upper"),
            home: self.keep_home(&making.dir).ok()?,
            image: self.engine.client().map(|_| failed_image(&making.id)),
            user: self.step_user().map(str::to_owned),
        })
    }

    /// Makes a session of it; the name of that.
    fn hand_over(&self, making: &Making, half: Option<&Half>) -> Result<Option<String>> {
        let (Some(half), Some(keep)) = (half, self.failed) else { return Ok(None) };
        let name = keep(half);
        if name.is_err() {
            remove_beside(self.engine.client(), half.image.as_deref(), half.home.as_deref());
            self.clear_parts(&making.after_failure(), &["upper"]);
        }
        name.map(Some)
    }

    fn clear_parts(&self, dir: &Path, parts: &[&str]) {
        let paths = parts.iter().map(|part| dir.join(part));
        for path in paths.filter(|path| path.symlink_metadata().is_ok()) {
            if let Err(error) = remove_tree(self.engine, dir, &path) {
                self.ui.detail(error.message());
            }
        }
    }
}

/// The image of a prepared environment.
pub fn prepared_image(id: &str) -> String {
    format!("localhost/cowbox/prepared:{id}")
}

fn failed_image(id: &str) -> String {
    format!("localhost/cowbox/failed:{id}")
}

/// Removes one whose making was cut off: its sandbox, its images, its files.
pub fn clear_unfinished(engine: &dyn Engine, dir: &Path) -> Result<()> {
    if let Some(record) = room::left_in(dir) {
        engine.sweep(&record)?;
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let id = name.trim_end_matches(".new");
        for image in [prepared_image(id), failed_image(id)] {
            remove_beside(engine.client(), Some(&image), None);
        }
        engine.client().iter().for_each(|client| data::forget(client, id));
    }
    native::remove_home_layer(dir).map_err(|e| Error::io("remove the home layer of", dir, e))?;
    remove_tree(engine, dir, dir)
}

/// Removes image and home layer of one that was not, or is no more.
pub fn remove_beside(client: Option<&Client>, image: Option<&str>, home: Option<&Path>) {
    if let (Some(client), Some(image)) = (client, image) {
        client.attempt(&["rmi", image]);
    }
    if let Some(home) = home {
        // Of somebody else's ids. What is left is found by `gc`.
        let _ = access::in_child(|| remove::tree(home));
    }
}

/// Removes what steps left in `dir`, whoever owns it.
pub fn remove_tree(engine: &dyn Engine, dir: &Path, part: &Path) -> Result<()> {
    match remove::tree(part) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            engine.reclaim(dir)?;
            access::in_child(|| remove::tree(part))
        }
        other => other.map_err(|e| Error::io("remove", part, e)),
    }
}
