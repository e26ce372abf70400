//! The lock file: which very content a feature was when it was written. It is read, never written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::id::{self, FeatureId, Source};
use super::json;
use crate::error::{Error, Result, show};
use crate::setup::files::RepoFiles;

/// Pins by id, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    file: Option<PathBuf>,
    features: BTreeMap<String, Pin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Pin {
    resolved: String,
    integrity: String,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    features: BTreeMap<String, Pin>,
}

impl Lock {
    /// Reads the one beside a `devcontainer.json`; there may be none. An empty one is a mark of the reference: no pins.
    pub fn read(files: &RepoFiles, config_file: &Path) -> Result<Self> {
        let hidden = config_file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let file =
            config_file.with_file_name(if hidden { ".devcontainer-lock.json" } else { "devcontainer-lock.json" });
        match files.read(&file).map_err(|e| Error::io("read", &file, e))? {
            Some(content) => Self::parse(&file, &content),
            None => Ok(Self::default()),
        }
    }

    fn parse(file: &Path, content: &[u8]) -> Result<Self> {
        let features = if content.trim_ascii().is_empty() {
            BTreeMap::new()
        } else {
            json::parse::<Document>(file, content)?.features
        };
        let features = features.into_iter().map(|(id, pin)| (id.to_lowercase(), pin)).collect();
        Ok(Self { file: Some(file.to_path_buf()), features })
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The digest that a feature must have. A pin that leads elsewhere is an error.
    pub fn pin(&self, id: &FeatureId) -> Result<Option<String>> {
        let Some(pin) = self.features.get(&id.written.to_lowercase()) else { return Ok(None) };
        let wrong = |why: &str| {
            let file = self.file.as_deref().unwrap_or(Path::new("the lock file"));
            Error::new(format!("{}: the pin of the feature {id} {why}", show(file)))
                .hint("write the lock file again with the tool that made it")
        };
        if !id::is_digest(&pin.integrity) {
            return Err(wrong("has no sha256 as its `integrity`"));
        }
        match &id.source {
            Source::Registry(reference) => {
                let resolved = id::registry(&pin.resolved).map_err(|_| wrong("has no usable `resolved`"))?;
                if resolved.resource() != reference.resource() {
                    return Err(wrong("leads to another feature"));
                }
                if resolved.digest.as_ref() != Some(&pin.integrity) {
                    return Err(wrong("has two different digests"));
                }
                if reference.digest.as_ref().is_some_and(|written| *written != pin.integrity) {
                    return Err(wrong("has another digest than its id"));
                }
            }
            Source::Tarball(address) if pin.resolved != *address => return Err(wrong("leads to another address")),
            Source::Tarball(_) => {}
            // The reference records none of these.
            Source::Local(_) | Source::Release(_) => return Ok(None),
        }
        Ok(Some(pin.integrity.clone()))
    }
}
