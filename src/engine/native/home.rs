//! The home directory of a native sandbox: copy-on-write, in a layer of its own.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::show;
use crate::layer::{access, spread};
use crate::repo::mountinfo;

/// The file in a layer that names its session's directory.
const OWNER: &str = "session";

/// The user's homes: what HOME says first, then what the system says.
pub fn directories() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = Vec::new();
    for home in candidates() {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// The one that is overlaid.
fn directory() -> Option<PathBuf> {
    candidates().next()
}

/// As they are asked for: whoever wants the first need not ask the system.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let from_env = std::env::var_os("HOME").filter(|h| !h.is_empty()).map(PathBuf::from);
    let from_system = || crate::engine::passwd::by_uid(access::user()).map(|entry| entry.home);
    let all = from_env.into_iter().chain(std::iter::once_with(from_system).flatten());
    all.filter_map(|home| home.canonicalize().ok()).filter(|home| home.parent().is_some() && home.is_dir())
}

/// Why the home cannot be copy-on-write: the kernel refuses an overlay over a tree with mounts in it.
pub fn why_read_only() -> Option<String> {
    let home = directory()?;
    let nested = mountinfo::below(&home).ok()?;
    nested.first().map(|at| format!("{} is a mount inside it", show(at)))
}

/// Why its changes are not kept: somebody else was there first.
pub fn why_in_memory(session_dir: &Path) -> Option<String> {
    (directory().is_some() && layer(session_dir).is_none())
        .then(|| format!("/var/tmp/cowbox-{} is not a directory of yours alone", access::user()))
}

/// Where the layer lies. Sessions usually lie below the home itself, and the kernel refuses an upper
/// inside its own lower; so then it is in `/var/tmp`, which survives a reboot too. `None`: in memory.
pub fn layer(session_dir: &Path) -> Option<PathBuf> {
    let home = directory()?;
    if !session_dir.starts_with(&home) {
        return Some(session_dir.join("home"));
    }
    let uid = access::user();
    let base = PathBuf::from(format!("/var/tmp/cowbox-{uid}"));
    if DirBuilder::new().mode(0o700).create(&base).is_ok() {
        spread::entries_of(&base);
    }
    // Anybody can create names in /var/tmp: only a directory that is ours alone will do.
    let meta = fs::symlink_metadata(&base).ok()?;
    let ours = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0;
    ours.then(|| base.join(session_dir.file_name().unwrap_or_default()))
}

/// Layers in `/var/tmp` whose session is gone: its state directory was removed by hand.
pub fn orphans() -> Vec<PathBuf> {
    let base = PathBuf::from(format!("/var/tmp/cowbox-{}", access::user()));
    let layers = fs::read_dir(base).into_iter().flatten().flatten().map(|entry| entry.path());
    layers.filter(|layer| owner(layer).is_some_and(|session| !session.exists())).collect()
}

/// Writes down whose layer it is.
pub fn sign(layer: &Path, session_dir: &Path) -> std::io::Result<()> {
    // Whole or not at all: `gc` of another cowbox may be reading.
    let temp = layer.join(".session");
    fs::write(&temp, session_dir.as_os_str().as_bytes())?;
    fs::rename(temp, layer.join(OWNER))
}

fn owner(layer: &Path) -> Option<PathBuf> {
    let bytes = fs::read(layer.join(OWNER)).ok()?;
    Some(PathBuf::from(OsString::from_vec(bytes))).filter(|path| path.is_absolute())
}

/// Removes the layer of a session that goes.
pub fn remove_layer(session_dir: &Path) -> std::io::Result<()> {
    match layer(session_dir) {
        Some(dir) if !dir.starts_with(session_dir) => crate::layer::remove::tree(&dir),
        _ => Ok(()),
    }
}
