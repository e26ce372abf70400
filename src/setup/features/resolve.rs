//! From what is written under `features` to what is installed, in order.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::graph::{self, Fetch, Fetched, Item};
use super::id::{Place, Source};
use super::local::{self, Everywhere};
use super::lock::Lock;
use super::metadata::Metadata;
use super::{options, order, quote, short};
use crate::error::{Error, Result};
use crate::setup::files::RepoFiles;
use crate::setup::plan::FeatureInstall;
use crate::ui::sanitize;

/// What a `devcontainer.json` says about features.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The file, relative to the repo.
    pub config_file: &'a Path,
    /// The workspace that it belongs to, relative to the repo; empty: the repo itself.
    pub workspace: &'a Path,
    /// `features`, in the order of the file.
    pub features: &'a [(String, Value)],
    /// `overrideFeatureInstallOrder`
    pub override_order: &'a [String],
    /// The registry that short names stand for.
    pub default_registry: Option<&'a str>,
}

/// What is to be installed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// First to last.
    pub features: Vec<Feature>,
    /// What the user should know, one line each.
    pub notices: Vec<String>,
    /// Files of the repo that decide about it.
    pub inputs: Vec<PathBuf>,
}

/// One feature, ready to be installed.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// How.
    pub install: FeatureInstall,
    /// What it says of itself.
    pub metadata: Metadata,
    /// What it is, if it came from elsewhere.
    pub digest: Option<String>,
}

impl Resolved {
    /// What each adds to the image's metadata: who says it, and the snippet.
    pub fn snippets(&self) -> Vec<(String, Map<String, Value>)> {
        let snippet = |feature: &Feature| {
            let id = &feature.install.id;
            (format!("feature {}", sanitize::text(id)), feature.metadata.contribution(id))
        };
        self.features.iter().map(snippet).collect()
    }
}

/// Finds all features, their order and their options. Nothing is installed, and nothing is written into the repo.
pub fn resolve(request: &Request<'_>, files: &RepoFiles, elsewhere: &dyn Fetch) -> Result<Resolved> {
    let mut resolved = Resolved::default();
    let place = Place {
        config_file: request.config_file,
        workspace: request.workspace,
        default_registry: request.default_registry,
    };
    let mut wanted = request.features.to_vec();
    short::fold(&mut wanted, request.default_registry, &mut resolved.notices);
    for (id, _) in wanted.iter().filter(|(id, _)| short::is_old(id)) {
        resolved.notices.push(format!("`{id}` is an old name of a feature: write its full name in a registry"));
    }
    let lock = Lock::read(files, request.config_file)?;
    resolved.inputs.extend(lock.file().map(Path::to_path_buf));
    let fetch = Everywhere { files, elsewhere };
    let mut graph = graph::build(&wanted, &place, &lock, &fetch)?;
    for absent in order::prefer(&mut graph, request.override_order, &place)? {
        resolved.notices.push(format!("overrideFeatureInstallOrder names {absent}, which is not installed"));
    }
    for at in order::rounds(&graph)? {
        let feature = finish(&graph.items[at], &fetch, &mut resolved.notices)?;
        if let Source::Local(dir) = &graph.items[at].id.source {
            resolved.inputs.extend(local::inputs(files, dir)?);
        }
        resolved.features.push(feature);
    }
    resolved.inputs.sort();
    resolved.inputs.dedup();
    Ok(resolved)
}

fn finish(item: &Item, fetch: &dyn Fetch, notices: &mut Vec<String>) -> Result<Feature> {
    let Item { id, metadata, digest, .. } = item;
    if metadata.deprecated {
        notices.push(format!("feature {id}: it is deprecated"));
    }
    if let Some(current) = metadata.current_id.as_ref().filter(|current| **current != metadata.id) {
        notices.push(format!("feature {id}: it is called `{}` now", sanitize::text(current)));
    }
    for (name, value) in &metadata.container_env {
        check_env(name, value).map_err(|e| e.context(format!("feature {id}, containerEnv")))?;
    }
    let fetched = Fetched { metadata: metadata.clone(), digest: digest.clone() };
    let install = FeatureInstall {
        id: id.written.clone(),
        short: quote::file_name(id.name()),
        dir: fetch.files(id, &fetched)?,
        options: options::variables(id, metadata, &item.options, notices)?,
        env: metadata.container_env.clone(),
    };
    Ok(Feature { install, metadata: metadata.clone(), digest: digest.clone() })
}

/// It becomes an instruction of a build: there a line break would begin the next one.
fn check_env(name: &str, value: &str) -> Result<()> {
    let shown = sanitize::text(name);
    if !quote::is_variable(name) {
        return Err(Error::new(format!("`{shown}` cannot be the name of a variable")));
    }
    if value.chars().any(char::is_control) {
        return Err(Error::new(format!("the value of `{shown}` has a line break or another control character in it")));
    }
    // The builder expands `$NAME` and `${NAME}` only, and would fail with words that help nobody.
    match ["${localEnv:", "${env:", "${containerEnv:"].iter().find(|token| value.contains(**token)) {
        Some(token) => Err(Error::new(format!("`{shown}` uses `{token}…}}`, which a feature cannot"))
            .hint("set the variable in `containerEnv` of devcontainer.json instead")),
        None => Ok(()),
    }
}
