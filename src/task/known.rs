//! Which batches were begun by this user: the directory of a batch says what is run when it goes on, and may have been
//! written by somebody else.

use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::out;
use crate::error::{Error, Result};

/// A digest and a path are less.
const LARGEST: u64 = 64 << 10;
/// More than anybody keeps.
const MOST_PLACES: usize = 200;

/// The batches that are known, in the state directory: a file for each, with where it is and what it says.
#[derive(Debug)]
pub struct Known(PathBuf);

impl Known {
    /// Of this user.
    pub fn new(state: &Path) -> Self {
        Self(state.join("batches"))
    }

    /// Remembers a batch, and forgets those whose place it takes, or whose place is gone.
    pub fn remember(&self, id: &str, out: &Path, plan: &[u8]) -> Result<()> {
        let failed = |e| Error::io("create", &self.0, e);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        for other in fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if place(&other).is_some_and(|place| place == plain(out) || !place.exists()) {
                let _ = fs::remove_file(other);
            }
        }
        out::replace(&self.0, id, &text(out, plan))
    }

    /// Where they are.
    pub fn places(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(&self.0).into_iter().flatten().flatten().filter_map(|entry| place(&entry.path()));
        all.take(MOST_PLACES).collect()
    }

    /// Whether a batch was begun there, and said the same.
    pub fn has(&self, id: &str, out: &Path, plan: &[u8]) -> bool {
        out::read(&self.0.join(id), LARGEST).is_ok_and(|known| known == text(out, plan))
    }
}

/// What a file says of where its batch is.
fn place(file: &Path) -> Option<PathBuf> {
    let text = out::read(file, LARGEST).ok()?;
    let place = text.splitn(2, |b| *b == b'\n').nth(1)?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(place)))
}

fn text(out: &Path, plan: &[u8]) -> Vec<u8> {
    let digest: String = Sha256::digest(plan).iter().map(|b| format!("{b:02x}")).collect();
    [digest.as_bytes(), b"\n", plain(out).as_os_str().as_bytes()].concat()
}

/// Without a slash at its end: the same place is the same text.
fn plain(out: &Path) -> PathBuf {
    out.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_known_where_it_was_begun_as_long_as_it_says_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let known = Known::new(dir.path());
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        [&here, &there].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        assert!(!known.has("A", &here, b"plan"));
        known.remember("A", &here, b"plan").unwrap();
        known.remember("B", &there, b"plan").unwrap();
        assert!(known.has("A", &here, b"plan") && known.has("B", &there, b"plan"));
        assert!(known.has("A", &here.join(""), b"plan"), "a slash at the end is no other place");
        assert!(!known.has("A", &there, b"plan") && !known.has("A", &here, b"other") && !known.has("", &here, b"plan"));
        let mut places = known.places();
        places.sort();
        assert_eq!(places, [here.clone(), there.clone()]);
        fs::remove_dir(&there).unwrap();
        known.remember("C", &here, b"plan").unwrap();
        assert!(known.has("C", &here, b"plan"));
        assert_eq!(fs::read_dir(dir.path().join("batches")).unwrap().count(), 1, "the others are over");
    }
}
