//! Compose files of a repo on disk.

mod beside;
mod environment;
mod hostile;
mod interpolation;
mod keys;
mod merging;
mod services;
mod volumes;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::error::Result;
use crate::setup::files::RepoFiles;
use crate::setup::plan::ImageRequest;
use crate::setup::service::Service;

/// A repo called `shop` with `.devcontainer/devcontainer.json`.
struct World {
    _dir: TempDir,
    root: std::path::PathBuf,
    files: Vec<String>,
    run_services: Vec<String>,
    variables: BTreeMap<String, String>,
    allowed: Vec<String>,
}

impl World {
    /// With `.devcontainer/compose.yml`.
    fn new(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("shop");
        let mut world = Self {
            _dir: dir,
            root,
            files: vec!["compose.yml".to_owned()],
            run_services: Vec::new(),
            variables: BTreeMap::new(),
            allowed: Vec::new(),
        };
        world.write(".devcontainer/compose.yml", text);
        world
    }

    /// With one service `app` that has an image and these lines.
    fn app(lines: &str) -> Self {
        let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
        Self::new(&format!("services:\n  app:\n    image: base\n{lines}"))
    }

    fn write(&mut self, path: &str, text: &str) {
        let file = self.root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn with(mut self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn allow(mut self, consent: &str) -> Self {
        self.allowed.push(consent.to_owned());
        self
    }

    fn read_as(&self, service: &str) -> Result<Composed> {
        let request = Request {
            config_file: Path::new(".devcontainer/devcontainer.json"),
            workspace: Path::new(""),
            files: &self.files,
            service,
            run_services: &self.run_services,
            variables: &self.variables,
        };
        let allowed = |consent: &str| self.allowed.iter().any(|known| known == consent);
        compose(&request, &RepoFiles::open(&self.root).unwrap(), &allowed)
    }

    fn read(&self) -> Composed {
        self.read_as("app").unwrap()
    }

    fn why(&self) -> String {
        self.read_as("app").unwrap_err().message().to_owned()
    }
}

/// Keys that were left out.
fn left(composed: &Composed) -> Vec<&str> {
    composed.ignored.iter().map(|ignored| ignored.key.as_str()).collect()
}

/// What was refused, as a consent would have it.
fn refused(composed: &Composed) -> Vec<&str> {
    composed.refused.iter().map(|refused| refused.consent.as_str()).collect()
}

/// Names of what runs beside.
fn names(services: &[Service]) -> Vec<&str> {
    services.iter().map(|service| service.name.as_str()).collect()
}
