//! The static helper for containers (`guest/`), embedded and laid out in the cache once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result, show};

/// Where it is mounted inside.
pub const INSIDE: &str = "/.cowbox/guest";

/// How the line begins in which it says `word` before anything else runs.
pub fn mark(word: &str) -> String {
    format!("cowbox tell {word}")
}

static BINARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cowbox-guest"));

/// The path of the helper on the host, written first if it is not there as it should be.
pub fn path(cache: &Path) -> Result<PathBuf> {
    let hash = Sha256::digest(BINARY);
    let name: String = hash.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let dir = cache.join("guest");
    let file = dir.join(name);
    // Whole content, not the name alone: a torn write must not become pid 1.
    if fs::read(&file).is_ok_and(|have| have == BINARY) {
        return Ok(file);
    }
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(&dir)?;
        let temp = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempfile_in(&dir)?;
        fs::write(temp.path(), BINARY)?;
        // Closed before it is used: an open writer would make exec fail with "text file busy".
        temp.into_temp_path().persist(&file).map_err(|e| e.error)
    };
    write().map_err(|e| {
        let why = crate::error::reason(&e);
        let next = "set COWBOX_CACHE_DIR to a directory that you can write to";
        Error::new(format!("cannot write {}: {why}; {next}", show(&file)))
    })?;
    Ok(file)
}
