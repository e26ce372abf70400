//! What the user agreed to, repo by repo: bound to exactly what was asked for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::paths::BytePath;
use crate::session::record::now;

const FORMAT: u32 = 1;

/// What the user agreed to for one repo.
#[derive(Debug)]
pub struct Trust {
    path: PathBuf,
    record: Record,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    format: u32,
    repo: BytePath,
    agreed: Vec<Agreed>,
}

/// One thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// What was asked for, in full.
    pub consent: String,
    /// When, in milliseconds since 1970.
    pub time: u64,
}

impl Trust {
    /// Of a repo. A file that cannot be read is an error: an answer must not be guessed.
    pub fn load(state: &Path, repo: &Path) -> Result<Self> {
        let hash = Sha256::digest(repo.as_os_str().as_encoded_bytes());
        let name: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let path = state.join("trust").join(format!("{name}.json"));
        let record = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|e| {
                Error::new(format!("{} is unreadable: {e}", path.display()))
                    .hint("remove it, then allow again what you want with `cowbox trust`")
            })?,
            // Where the state directory is none, others say so in better words.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Record { format: FORMAT, repo: repo.into(), agreed: Vec::new() }
            }
            Err(e) => return Err(Error::io("read", &path, e)),
        };
        if record.format > FORMAT {
            return Err(Error::new(format!("{} was written by a newer cowbox", path.display())).hint("update cowbox"));
        }
        Ok(Self { path, record })
    }

    /// Whether the user agreed to this very thing.
    pub fn has(&self, consent: &str) -> bool {
        self.record.agreed.iter().any(|agreed| agreed.consent == consent)
    }

    /// Everything, oldest first.
    pub fn all(&self) -> &[Agreed] {
        &self.record.agreed
    }

    /// Remembers a yes.
    pub fn agree(&mut self, consent: &str) -> Result<()> {
        if !self.has(consent) {
            self.record.agreed.push(Agreed { consent: consent.to_owned(), time: now() });
            self.save()?;
        }
        Ok(())
    }

    /// Takes everything back; how much it was.
    pub fn revoke(&mut self) -> Result<usize> {
        let count = self.record.agreed.len();
        self.record.agreed.clear();
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &self.path, e)),
            _ => Ok(count),
        }
    }

    fn save(&self) -> Result<()> {
        let failed = |e: io::Error| Error::io("write", &self.path, e);
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir).map_err(failed)?;
        let mut temp = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        serde_json::to_writer_pretty(&mut temp, &self.record).map_err(|e| failed(e.into()))?;
        temp.as_file().sync_all().map_err(failed)?;
        temp.persist(&self.path).map(drop).map_err(|e| failed(e.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_is_for_one_thing_in_one_repo_until_it_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let load = |repo: &str| Trust::load(dir.path(), Path::new(repo)).unwrap();
        load("/a").agree("privileged: true").unwrap();
        assert!(load("/a").has("privileged: true"));
        assert!(!load("/a").has("privileged: false") && !load("/b").has("privileged: true"));
        assert_eq!(load("/a").revoke().unwrap(), 1);
        assert!(!load("/a").has("privileged: true"));
        load("/a").agree("x").unwrap();
        let file = fs::read_dir(dir.path().join("trust")).unwrap().next().unwrap().unwrap().path();
        fs::write(file, "{").unwrap();
        assert!(Trust::load(dir.path(), Path::new("/a")).is_err());
    }
}
