//! Getting a feature that is not in the repo.
//!
//! No engine of today can pull an artifact that is not an image, so this takes what the host has for it: `skopeo` or
//! `oras` for a registry, `curl` for an address. What came is kept by its digest, and so is which digest a version
//! had: the second start asks nobody.

mod manifest;
mod store;
mod tool;
mod untar;

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use self::manifest::Manifest;
use self::store::Store;
use self::tool::Tools;
use super::graph::{Fetch, Fetched};
use super::id::{FeatureId, RegistryRef, Source};
use super::metadata::{FILE, Metadata};
use crate::error::{Error, Result};

/// What people can do where a feature cannot be had.
const VENDOR: &str = "to do without it, copy the feature into `.devcontainer/` and name it `./<directory>`";

/// Fetches with the tools of the host.
#[derive(Debug)]
pub struct HostFetch {
    store: Store,
    tools: Tools,
    offline: bool,
    refresh: bool,
}

impl HostFetch {
    /// Keeps what it got below `cache`. `offline` asks nobody; `refresh` asks again what a version is.
    pub fn new(cache: PathBuf, offline: bool, refresh: bool) -> Self {
        Self { store: Store::new(cache), tools: Tools::find(&crate::engine::client::search_path()), offline, refresh }
    }

    /// What it must be, or what it was when it was last asked for.
    fn known_digest(&self, id: &FeatureId) -> Option<String> {
        let remembered = || if self.refresh { None } else { self.store.digest_of(&name(id)) };
        id.required_digest().map(str::to_owned).or_else(remembered)
    }

    fn may_ask(&self, id: &FeatureId) -> Result<()> {
        if self.offline { Err(unavailable(id, "there is no network")) } else { Ok(()) }
    }

    /// Has the content of a feature in the store, and gives its digest.
    fn obtain(&self, id: &FeatureId) -> Result<String> {
        if let Some(digest) = self.known_digest(id).filter(|digest| self.store.has(digest)) {
            return Ok(digest);
        }
        self.may_ask(id)?;
        let digest = match &id.source {
            Source::Registry(reference) => self.pull(id, reference)?,
            Source::Tarball(address) => self.download(id, address)?,
            Source::Local(_) | Source::Release(_) => return Err(unsupported(id)),
        };
        self.store.remember(&name(id), &digest)?;
        Ok(digest)
    }

    fn pull(&self, id: &FeatureId, reference: &RegistryRef) -> Result<String> {
        let tool = self.tools.registry().ok_or_else(|| {
            unavailable(id, "neither `skopeo` nor `oras` is installed").hint("install skopeo (or oras)")
        })?;
        let failed = |e: Error| unavailable(id, e.message());
        let version = match id.required_digest() {
            Some(digest) => format!("@{digest}"),
            None => format!(":{}", reference.tag.as_deref().unwrap_or("latest")),
        };
        let resource = reference.resource();
        let content = tool.manifest(&format!("{resource}{version}")).map_err(failed)?;
        let digest = sha256(&content);
        if let Some(want) = id.required_digest().filter(|want| *want != digest) {
            return Err(unavailable(id, &format!("the registry gave {digest} for {want}")));
        }
        if self.store.has(&digest) {
            return Ok(digest);
        }
        let manifest = Manifest::parse(&content).map_err(failed)?;
        let layer = self.store.scratch()?;
        let blob = tool.layer(&resource, &digest, &manifest.layer, layer.path()).map_err(failed)?;
        let archive = untar::read_file(&blob).map_err(failed)?;
        if sha256(&archive) != manifest.layer {
            return Err(unavailable(id, "its content is not what its manifest says"));
        }
        self.store.keep(&digest, |dir| untar::unpack(&archive, dir)).map_err(failed)?;
        Ok(digest)
    }

    fn download(&self, id: &FeatureId, address: &str) -> Result<String> {
        let curl = self.tools.curl().ok_or_else(|| unavailable(id, "`curl` is not installed").hint("install curl"))?;
        let failed = |e: Error| unavailable(id, e.message());
        let scratch = self.store.scratch()?;
        let file = scratch.path().join("archive");
        curl.download(address, &file).map_err(failed)?;
        let archive = untar::read_file(&file).map_err(failed)?;
        let digest = sha256(&archive);
        if id.pin.as_ref().is_some_and(|pin| *pin != digest) {
            return Err(unavailable(id, &format!("its digest is {digest}, which is not the pinned one")));
        }
        self.store.keep(&digest, |dir| untar::unpack(&archive, dir)).map_err(failed)?;
        Ok(digest)
    }
}

impl Fetch for HostFetch {
    fn metadata(&self, id: &FeatureId) -> Result<Fetched> {
        let digest = self.obtain(id)?;
        let file = self.store.dir(&digest).join(FILE);
        let content = fs::read(&file).map_err(|e| Error::io("read", &file, e))?;
        Ok(Fetched { metadata: Metadata::parse(&file, &content)?, digest: Some(digest) })
    }

    fn files(&self, id: &FeatureId, fetched: &Fetched) -> Result<PathBuf> {
        let dir = fetched.digest.as_ref().map(|digest| self.store.dir(digest)).ok_or_else(|| unsupported(id))?;
        if dir.join("install.sh").is_file() {
            return Ok(dir);
        }
        Err(Error::new(format!("the feature {id} has no install.sh")))
    }
}

/// What a version is remembered by.
fn name(id: &FeatureId) -> String {
    match &id.source {
        Source::Registry(reference) => {
            format!("{}:{}", reference.resource(), reference.tag.as_deref().unwrap_or("latest"))
        }
        Source::Tarball(address) => address.clone(),
        Source::Local(_) | Source::Release(_) => id.written.clone(),
    }
}

fn sha256(content: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn unavailable(id: &FeatureId, why: &str) -> Error {
    Error::new(format!("the feature {id} cannot be fetched: {why}")).hint(VENDOR)
}

fn unsupported(id: &FeatureId) -> Error {
    Error::new(format!("the feature {id} is named by a release of a repository, which is not supported"))
        .hint("write its name in a registry: `registry/namespace/id:version`")
        .hint(VENDOR)
}

#[cfg(test)]
mod tests;
