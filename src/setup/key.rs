//! What a prepared environment depends on, piece by piece, so that a miss can be explained.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::files::RepoFiles;
use crate::ui::sanitize;

/// Changes whenever the meaning of a prepared environment does.
const FORMAT: u32 = 1;

/// Everything that decides what preparing gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    parts: Vec<Part>,
}

/// One piece: what a person calls it, and a hash of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    name: String,
    hash: String,
}

impl Key {
    /// With what always counts.
    pub fn new() -> Self {
        let mut key = Self::default();
        key.add("the version of cowbox", FORMAT.to_string().as_bytes());
        key.add("the architecture", std::env::consts::ARCH.as_bytes());
        key
    }

    /// Adds a piece.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        self.parts.push(Part { name: name.to_owned(), hash: hex(&Sha256::digest(content)) });
    }

    /// Adds a file of the repo; one that is missing counts as that, one that cannot be read is an error.
    pub fn add_file(&mut self, files: &RepoFiles, path: &Path) -> std::io::Result<()> {
        let name = sanitize::bytes(path.as_os_str().as_encoded_bytes());
        match files.read(path)? {
            Some(content) => self.add(&name, &content),
            None => self.parts.push(Part { name, hash: "missing".into() }),
        }
        Ok(())
    }

    /// The key as a name.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        for part in &self.parts {
            hash.update((part.name.len() as u64).to_le_bytes());
            hash.update(&part.name);
            hash.update(&part.hash);
        }
        hex(&hash.finalize())[..32].to_owned()
    }

    /// What is not as it was in `before`, in words.
    pub fn changed_since(&self, before: &Key) -> Vec<String> {
        let find = |key: &Key, name: &str| key.parts.iter().find(|p| p.name == name).map(|p| p.hash.clone());
        let changed = self.parts.iter().filter_map(|part| match find(before, &part.name) {
            Some(hash) if hash == part.hash => None,
            Some(_) => Some(format!("{} changed", part.name)),
            None => Some(format!("{} is new", part.name)),
        });
        let gone = before.parts.iter().filter(|part| find(self, &part.name).is_none());
        changed.chain(gone.map(|part| format!("{} is gone", part.name))).collect()
    }
}

/// Bytes as text, two digits each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_what_changed() {
        let dir = tempfile::tempdir().unwrap();
        let files = RepoFiles::open(dir.path()).unwrap();
        let key = |lock: Option<&str>, image: &str| {
            let path = dir.path().join("a.lock");
            match lock {
                Some(text) => std::fs::write(path, text).unwrap(),
                None => drop(std::fs::remove_file(path)),
            }
            let mut key = Key::new();
            key.add("the image", image.as_bytes());
            key.add_file(&files, Path::new("a.lock")).unwrap();
            key
        };
        let (first, same) = (key(Some("1"), "x"), key(Some("1"), "x"));
        assert_eq!((first.id(), first.changed_since(&same)), (same.id(), vec![]));
        let other = key(Some("2"), "y");
        assert_ne!(first.id(), other.id());
        assert_eq!(other.changed_since(&first), ["the image changed", "a.lock changed"]);
        assert_eq!(key(None, "x").changed_since(&first), ["a.lock changed"]);
        assert_eq!(Key::new().changed_since(&first), ["the image is gone", "a.lock is gone"]);
    }
}
