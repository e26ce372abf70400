//! The home directory of a native sandbox: copy-on-write, in a layer of its own.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::show;
use crate::layer::{access, spread};
use crate::repo::mountinfo;

/// The link in a layer that leads to where its session lies, which has the same name.
const OWNER: &str = "session";
/// Where layers lie that cannot lie with their sessions. It survives a reboot.
const ROOT: &str = "/var/tmp";
/// How many names are tried there: anybody can create them, and inside of nested namespaces root's is a user's.
const NAMES: usize = 8;

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
        .then(|| format!("{}/cowbox-{} is not a directory of yours alone", ROOT, access::user()))
}

/// Where the layer lies. Sessions usually lie below the home itself, and the kernel refuses an upper
/// inside its own lower; so then it is in `/var/tmp`, which survives a reboot too. `None`: in memory.
pub fn layer(session_dir: &Path) -> Option<PathBuf> {
    let home = directory()?;
    if !session_dir.starts_with(&home) {
        return Some(session_dir.join("home"));
    }
    layer_in(Path::new(ROOT), session_dir.file_name().unwrap_or_default())
}

/// The layer of a session below `root`: where it is already, else in the first directory that is ours alone.
fn layer_in(root: &Path, session: &OsStr) -> Option<PathBuf> {
    let mut places = Vec::new();
    for base in bases(root) {
        match fs::symlink_metadata(&base) {
            Ok(meta) if is_ours(&meta) => {
                let layer = base.join(session);
                if layer.symlink_metadata().is_ok() {
                    return Some(layer);
                }
                places.push((base, true));
            }
            Ok(_) => {}
            Err(_) => places.push((base, false)),
        }
    }
    let (base, is_there) = places.into_iter().next()?;
    if !is_there && DirBuilder::new().mode(0o700).create(&base).is_ok() {
        spread::entries_of(&base);
    }
    fs::symlink_metadata(&base).is_ok_and(|meta| is_ours(&meta)).then(|| base.join(session))
}

/// The names that are tried, in order.
fn bases(root: &Path) -> impl Iterator<Item = PathBuf> {
    let uid = access::user();
    let name = move |n| if n == 0 { format!("cowbox-{uid}") } else { format!("cowbox-{uid}-{n}") };
    (0..NAMES).map(move |n| root.join(name(n)))
}

/// Only a directory that is ours alone will do.
fn is_ours(meta: &fs::Metadata) -> bool {
    meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0
}

/// Layers in `/var/tmp` whose session is gone: its state directory was removed by hand.
pub fn orphans() -> Vec<PathBuf> {
    let ours = bases(Path::new(ROOT)).filter(|base| fs::symlink_metadata(base).is_ok_and(|meta| is_ours(&meta)));
    let layers = ours.filter_map(|base| fs::read_dir(base).ok()).flat_map(|listing| listing.flatten());
    layers.map(|entry| entry.path()).filter(|layer| owner(layer).is_some_and(|session| !session.exists())).collect()
}

/// Removes one of those. Under another name first: a session may be about to go on under another name, and its layer
/// with it. Then one of the two is too late, and finds nothing.
pub fn remove_orphan(layer: &Path) -> std::io::Result<()> {
    let mut name = layer.file_name().unwrap_or_default().to_owned();
    name.push(".gone");
    let gone = layer.with_file_name(name);
    fs::rename(layer, &gone)?;
    crate::layer::remove::tree(&gone)
}

/// Writes down whose layer it is. A link is there whole or not at all: `gc` of another cowbox may be reading. A short
/// one takes no room on most disks.
pub fn sign(layer: &Path, session_dir: &Path) -> std::io::Result<()> {
    let (link, sessions) = (layer.join(OWNER), session_dir.parent().unwrap_or(session_dir));
    match symlink(sessions, &link) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        signed => return signed,
    }
    if owner(layer).as_deref() == Some(session_dir) {
        return Ok(());
    }
    // The sessions have moved.
    let new = layer.join(".session");
    let _ = fs::remove_file(&new);
    symlink(sessions, &new)?;
    fs::rename(new, link)
}

fn owner(layer: &Path) -> Option<PathBuf> {
    let sessions = fs::read_link(layer.join(OWNER)).ok().filter(|path| path.is_absolute())?;
    Some(sessions.join(layer.file_name()?))
}

/// Removes the layer of a session that goes.
pub fn remove_layer(session_dir: &Path) -> std::io::Result<()> {
    match layer(session_dir) {
        Some(dir) if !dir.starts_with(session_dir) => crate::layer::remove::tree(&dir),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_layer_knows_its_session() {
        let dir = tempfile::tempdir().unwrap();
        let (layer, session) = (dir.path().join("homes/01"), dir.path().join("sessions/01"));
        fs::create_dir_all(&layer).unwrap();
        assert_eq!(owner(&layer), None);
        for _ in 0..2 {
            sign(&layer, &session).unwrap();
            assert_eq!(owner(&layer), Some(session.clone()));
        }
        sign(&layer, Path::new("/moved/01")).unwrap();
        assert_eq!(owner(&layer), Some("/moved/01".into()));
    }

    #[test]
    fn an_orphan_that_has_another_name_by_now_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::create_dir_all(old.join("upper")).unwrap();
        fs::rename(&old, &new).unwrap();
        assert!(remove_orphan(&old).is_err() && new.join("upper").exists());
        remove_orphan(&new).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_name_that_somebody_else_took_is_passed_over_and_a_layer_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let names: Vec<PathBuf> = bases(root).collect();
        // Open to others, it is as good as somebody else's.
        DirBuilder::new().mode(0o755).create(&names[0]).unwrap();
        let layer = |session: &str| layer_in(root, session.as_ref());
        assert_eq!(layer("a"), Some(names[1].join("a")));
        fs::create_dir(names[1].join("a")).unwrap();
        fs::remove_dir(&names[0]).unwrap();
        assert_eq!(layer("a"), Some(names[1].join("a")), "a session keeps the layer that it has");
        assert_eq!(layer("b"), Some(names[0].join("b")));
        fs::remove_dir(&names[0]).unwrap();
        fs::remove_dir_all(&names[1]).unwrap();
        names.iter().for_each(|name| DirBuilder::new().mode(0o755).create(name).unwrap());
        assert_eq!(layer("a"), None);
    }
}
