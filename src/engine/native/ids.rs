//! Which ids a sandbox knows.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::is_root_user;
use crate::engine::idmap::IdMap;
use crate::plan::Plan;

/// How many entries of a directory are looked at: one may hold a million.
const LOOKED_AT: usize = 1000;

/// The map that a plan asks for. The helpers for sub-ids take a fifth of a start: only where there is something of theirs.
pub fn of(plan: &Plan) -> IdMap {
    match plan.user.as_deref() {
        Some(user) if is_root_user(user) => IdMap::as_root(),
        _ if plan.overlays().iter().flat_map(|overlay| &overlay.lowers).any(|dir| is_partly_others(dir)) => {
            IdMap::same()
        }
        _ => IdMap::own(),
    }
}

/// Whether a directory, or something that lies directly in it, belongs to another id: what engines leave there does.
fn is_partly_others(dir: &Path) -> bool {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let is_others = |meta: &Metadata| meta.uid() != uid || meta.gid() != gid;
    let inside = fs::read_dir(dir).into_iter().flatten().take(LOOKED_AT).flatten();
    fs::symlink_metadata(dir).is_ok_and(|meta| is_others(&meta))
        || inside.filter_map(|entry| entry.metadata().ok()).any(|meta| is_others(&meta))
}
