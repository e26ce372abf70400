//! The manifest of a feature in a registry.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::setup::features::id::is_digest;

const CONFIG: &str = "application/vnd.devcontainers";
const LAYER: &str = "application/vnd.devcontainers.layer.v1+tar";

/// What of it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Digest of the one archive.
    pub(super) layer: String,
}

#[derive(Deserialize)]
struct Document {
    config: Part,
    layers: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    media_type: String,
    digest: String,
}

impl Manifest {
    pub(super) fn parse(content: &[u8]) -> Result<Self> {
        let document: Document =
            serde_json::from_slice(content).map_err(|_| Error::new("its manifest is not that of a feature"))?;
        if document.config.media_type != CONFIG {
            return Err(Error::new("what has this name in the registry is not a feature"));
        }
        match document.layers.as_slice() {
            [layer] if layer.media_type == LAYER && is_digest(&layer.digest) => {
                Ok(Self { layer: layer.digest.clone() })
            }
            _ => Err(Error::new("its manifest does not have exactly one archive")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(config: &str, layers: &str) -> Result<Manifest> {
        let text = format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"{config}","digest":"sha256:x","size":2}},"layers":[{layers}],
                "annotations":{{"dev.containers.metadata":"{{}}"}}}}"#
        );
        Manifest::parse(text.as_bytes())
    }

    #[test]
    fn only_a_feature_with_one_archive_is_taken() {
        let digest = format!("sha256:{}", "a1".repeat(32));
        let layer = format!(r#"{{"mediaType":"{LAYER}","digest":"{digest}","size":9}}"#);
        assert_eq!(manifest(CONFIG, &layer).unwrap().layer, digest);
        assert!(manifest(CONFIG, "").is_err());
        assert!(manifest(CONFIG, &format!("{layer},{layer}")).is_err());
        assert!(manifest(CONFIG, &layer.replace("a1a1", "../a")).is_err());
        assert!(manifest("application/vnd.oci.image.config.v1+json", &layer).is_err());
        assert!(Manifest::parse(b"<html>").is_err());
    }
}
