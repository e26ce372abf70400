//! Features of a repo on disk and of a registry that is not there.

mod containerfile;
mod ids;
mod lock;
mod metadata;
mod options;
mod order;
mod order_traps;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::error::{Error, Result};
use crate::setup::files::RepoFiles;

/// A registry's host that cannot exist.
const HOST: &str = "registry.example";

/// A repo with `.devcontainer/devcontainer.json`, and a registry.
struct World {
    dir: TempDir,
    config: PathBuf,
    override_order: Vec<String>,
    registry: Fake,
}

/// Features by what they are asked for.
#[derive(Default)]
struct Fake {
    features: BTreeMap<String, (Value, String)>,
    asked: RefCell<Vec<String>>,
}

impl Fetch for Fake {
    fn metadata(&self, id: &FeatureId) -> Result<Fetched> {
        let name = match &id.source {
            Source::Registry(reference) => {
                format!("{}:{}", reference.resource(), reference.tag.as_deref().unwrap_or("by-digest"))
            }
            Source::Tarball(address) => address.clone(),
            _ => return Err(Error::new("not fetched here")),
        };
        self.asked.borrow_mut().push(name.clone());
        let (value, digest) = self.features.get(&name).ok_or_else(|| Error::new(format!("no {name}")))?;
        let metadata = Metadata::parse(Path::new(&name), value.to_string().as_bytes())?;
        Ok(Fetched { metadata, digest: Some(digest.clone()) })
    }

    fn files(&self, id: &FeatureId, _: &Fetched) -> Result<PathBuf> {
        Ok(Path::new("/cache").join(id.name()))
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".devcontainer")).unwrap();
        let config = PathBuf::from(".devcontainer/devcontainer.json");
        Self { dir, config, override_order: Vec::new(), registry: Fake::default() }
    }

    /// Adds `./name` with more keys.
    fn local(mut self, name: &str, more: Value) -> Self {
        self.write(&format!(".devcontainer/{name}/install.sh"), "#!/bin/sh\n");
        let mut value = json!({ "id": name, "version": "1.0.0", "name": name });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write(&format!(".devcontainer/{name}/devcontainer-feature.json"), &value.to_string());
        self
    }

    /// Adds `HOST/team/name:tag` with the digest of `content`.
    fn remote(mut self, name: &str, content: &str, more: Value) -> Self {
        let (id, _) = name.split_once(':').unwrap();
        let mut value = json!({ "id": id, "version": "1.0.0", "name": id });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.registry.features.insert(format!("{HOST}/team/{name}"), (value, digest(content)));
        self
    }

    fn write(&mut self, path: &str, content: &str) {
        let file = self.dir.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    fn prefer(mut self, ids: &[&str]) -> Self {
        self.override_order = ids.iter().map(|id| (*id).to_owned()).collect();
        self
    }

    fn resolve(&self, features: &[(&str, Value)]) -> Result<Resolved> {
        let features: Vec<(String, Value)> = features.iter().map(|(id, v)| ((*id).to_owned(), v.clone())).collect();
        let request = Request {
            config_file: &self.config,
            workspace: Path::new(""),
            features: &features,
            override_order: &self.override_order,
            default_registry: Some(HOST),
        };
        resolve(&request, &RepoFiles::open(self.dir.path()).unwrap(), &self.registry)
    }

    /// The ids in order, those of the registry without its name.
    fn order(&self, features: &[(&str, Value)]) -> Vec<String> {
        let resolved = self.resolve(features).unwrap();
        let name = |feature: &Feature| feature.install.id.replace(&format!("{HOST}/team/"), "");
        resolved.features.iter().map(name).collect()
    }

    /// The ids in order, where nothing is told to any of them.
    fn order_of(&self, ids: &[&str]) -> Vec<String> {
        self.order(&ids.iter().map(|id| (*id, json!({}))).collect::<Vec<_>>())
    }
}

/// A digest that is well-formed.
fn digest(content: &str) -> String {
    use sha2::Digest;
    let hash: String = sha2::Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hash}")
}

/// The full name of a feature of the registry.
fn at(name: &str) -> String {
    format!("{HOST}/team/{name}")
}
