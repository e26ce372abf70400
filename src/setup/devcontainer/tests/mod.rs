//! Whole plans from whole configs.

mod hostile;
mod merging;
mod places;
mod stances;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::error::Result;
use crate::setup::files::RepoFiles;
use crate::setup::plan::{Refused, SetupPlan};

const PATH: &str = ".devcontainer/devcontainer.json";

/// A repo called `app`, a host, and what the user allows.
struct Case {
    dir: tempfile::TempDir,
    env: BTreeMap<String, String>,
    passed: BTreeMap<String, String>,
    /// Words of consents; `""` allows everything.
    allowed: Vec<&'static str>,
    path: &'static str,
}

fn case() -> Case {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("app")).unwrap();
    let env = [("HOME", "/home/u"), ("USER", "u"), ("SECRET", "s3cret"), ("TOKEN", "host's")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Case { dir, env, passed: BTreeMap::new(), allowed: Vec::new(), path: PATH }
}

impl Case {
    fn root(&self) -> PathBuf {
        self.dir.path().join("app")
    }

    fn file(self, path: &str) -> Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
        self
    }

    fn allow(mut self, words: &[&'static str]) -> Self {
        self.allowed = words.to_vec();
        self
    }

    fn at(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    fn try_plan(&self, config: &[u8], parts: &[Part]) -> Result<Planned> {
        let files = RepoFiles::open(&self.root()).unwrap();
        let consent = |asked: &Refused| self.allowed.iter().any(|word| asked.consent.contains(word));
        let host = Host {
            files: &files,
            env: &self.env,
            passed: &self.passed,
            cpus: || Some(4),
            memory: || Some(8 << 30),
            consent: &consent,
        };
        plan(&Config::parse(Path::new(self.path), config)?, parts, &host)
    }

    fn planned(&self, config: &Value, parts: &[Part]) -> Planned {
        self.try_plan(config.to_string().as_bytes(), parts).unwrap()
    }

    fn plan(&self, config: &Value) -> SetupPlan {
        self.planned(config, &[]).plan
    }

    fn error(&self, config: &Value) -> String {
        self.try_plan(config.to_string().as_bytes(), &[]).unwrap_err().message().to_owned()
    }
}

fn image(metadata: Value) -> Part {
    Part { origin: Origin::Image, metadata }
}

fn feature(id: &str, metadata: Value) -> Part {
    Part { origin: Origin::Feature(id.to_owned()), metadata }
}

fn keys(plan: &SetupPlan) -> Vec<&str> {
    plan.refused.iter().map(|refused| refused.key.as_str()).collect()
}
