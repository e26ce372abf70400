//! Which files make up a project, and which variables they can use.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::interpolate::Interpolator;
use super::{dotenv, merge, normal, yaml};
use crate::error::{Error, Result, show};
use crate::setup::files::RepoFiles;
use crate::ui::sanitize;

const MOST_FILES: usize = 20;

/// A project, merged.
#[derive(Debug, Default)]
pub(super) struct Project {
    /// Where relative paths start: the directory of the first file, relative to the repo.
    pub(super) dir: PathBuf,
    /// The variables that values can use.
    pub(super) variables: BTreeMap<String, String>,
    /// Services by name.
    pub(super) services: BTreeMap<String, Map<String, Value>>,
    /// Volumes by name.
    pub(super) volumes: Map<String, Value>,
    /// Files that were read.
    pub(super) inputs: Vec<PathBuf>,
    /// Names that had no value.
    pub(super) unset: Vec<String>,
}

/// What names a project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub(super) config_file: &'a Path,
    pub(super) workspace: &'a Path,
    pub(super) written: &'a [String],
    pub(super) variables: &'a BTreeMap<String, String>,
}

impl Project {
    /// Reads the files, in order.
    pub(super) fn load(named: &Named<'_>, files: &RepoFiles) -> Result<Self> {
        let mut project = Self { variables: named.variables.clone(), ..Self::default() };
        let of_workspace = project.read_dotenv(named.workspace, files)?;
        let paths = paths(named, &project.variables, files)?;
        project.dir = paths.first().and_then(|file| file.parent()).map(Path::to_path_buf).unwrap_or_default();
        if !of_workspace {
            let dir = project.dir.clone();
            project.read_dotenv(&dir, files)?;
        }
        let mut documents = Vec::new();
        for file in paths {
            let content = files.read(&file).map_err(|e| Error::io("read", &file, e))?;
            let content = content.ok_or_else(|| Error::new(format!("there is no {} in the repo", show(&file))))?;
            documents.push((file.clone(), yaml::parse(&file, &content)?));
            project.inputs.push(file);
        }
        project.name_it(&documents, files);
        let variables = project.variables.clone();
        let mut interpolator = Interpolator::new(&variables);
        let mut merged = Map::new();
        for (file, document) in documents {
            let mut document = Value::Object(document);
            interpolator.tree(&mut document).map_err(|e| e.context(show(&file)))?;
            let Value::Object(mut document) = document else { continue };
            prepare(&mut document).map_err(|e| e.context(show(&file)))?;
            merge::merge(&mut merged, document);
        }
        project.unset = interpolator.unset().into_iter().collect();
        if let Some(Value::Object(services)) = merged.remove("services") {
            let maps = services.into_iter().map(|(name, value)| match value {
                Value::Object(service) => (name, service),
                _ => (name, Map::new()),
            });
            project.services = maps.collect();
        }
        if let Some(Value::Object(volumes)) = merged.remove("volumes") {
            project.volumes = volumes;
        }
        Ok(project)
    }

    /// Takes what a `.env` adds to the environment; tells whether there is one.
    fn read_dotenv(&mut self, dir: &Path, files: &RepoFiles) -> Result<bool> {
        let file = dir.join(".env");
        let Some(content) = files.read(&file).map_err(|e| Error::io("read", &file, e))? else { return Ok(false) };
        let content = String::from_utf8_lossy(&content);
        let found = dotenv::parse(&content, &self.variables).map_err(|e| e.context(show(&file)))?;
        for (name, value) in found {
            self.variables.entry(name).or_insert(value);
        }
        self.inputs.push(file);
        Ok(true)
    }

    /// Files may use the name of the project.
    fn name_it(&mut self, documents: &[(PathBuf, Map<String, Value>)], files: &RepoFiles) {
        let written = documents.iter().rev().find_map(|(_, document)| document.get("name").and_then(Value::as_str));
        let base = |dir: &Path| {
            let dir = files.root().join(dir);
            dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let name = match (written, self.dir.file_name()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(dir)) if dir == ".devcontainer" => {
                format!("{}_devcontainer", base(self.dir.parent().unwrap_or(Path::new(""))))
            }
            (None, _) => base(&self.dir),
        };
        let plain = |c: &char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
        let name: String = name.to_lowercase().chars().filter(plain).collect();
        self.variables.entry("COMPOSE_PROJECT_NAME".to_owned()).or_insert(name);
    }
}

/// One form for every key, and `extends` within the file.
fn prepare(document: &mut Map<String, Value>) -> Result<()> {
    if document.contains_key("include") {
        return Err(Error::new("`include` is not supported").hint("name all files in `dockerComposeFile`"));
    }
    let Some(Value::Object(services)) = document.get_mut("services") else { return Ok(()) };
    for service in services.values_mut().filter_map(Value::as_object_mut) {
        normal::service(service);
    }
    let plain = services.clone();
    for (name, service) in services.iter_mut() {
        let Some(service) = service.as_object_mut() else { continue };
        extend(name, service, &plain, 0)?;
    }
    Ok(())
}

fn extend(name: &str, service: &mut Map<String, Value>, all: &Map<String, Value>, depth: usize) -> Result<()> {
    let Some(extends) = service.remove("extends") else { return Ok(()) };
    let shown = sanitize::text(name);
    if extends.get("file").is_some() {
        return Err(Error::new(format!("service {shown}: `extends` from another file is not supported"))
            .hint("name that file in `dockerComposeFile` before this one"));
    }
    let other = extends.as_str().or_else(|| extends.get("service").and_then(Value::as_str)).unwrap_or_default();
    let base = all.get(other).and_then(Value::as_object).filter(|_| depth < 10);
    let Some(mut base) = base.cloned() else {
        return Err(Error::new(format!(
            "service {shown} extends `{}`, which is not there, or extends itself in turn",
            sanitize::text(other)
        )));
    };
    extend(other, &mut base, all, depth + 1)?;
    // Those are about the other service.
    base.remove("depends_on");
    let own = std::mem::replace(service, base);
    merge::merge(service, own);
    Ok(())
}

/// The files, relative to the repo. None written: as compose itself would look for them.
fn paths(named: &Named<'_>, variables: &BTreeMap<String, String>, files: &RepoFiles) -> Result<Vec<PathBuf>> {
    let base = named.config_file.parent().unwrap_or(Path::new(""));
    let written: Vec<PathBuf> = if !named.written.is_empty() {
        named.written.iter().map(|file| base.join(file)).collect()
    } else if let Some(list) = variables.get("COMPOSE_FILE").filter(|list| !list.is_empty()) {
        list.split(':').map(|file| named.workspace.join(file)).collect()
    } else {
        let standard = named.workspace.join("docker-compose.yml");
        let over = named.workspace.join("docker-compose.override.yml");
        let has_over = files.has(&over);
        std::iter::once(standard).chain(has_over.then_some(over)).collect()
    };
    if written.len() > MOST_FILES {
        return Err(Error::new(format!("more than {MOST_FILES} compose files")));
    }
    let inside = |file: &PathBuf| {
        let shown = show(file);
        normal_path(file).ok_or_else(|| Error::new(format!("the compose file {shown} is outside of the repo")))
    };
    written.iter().map(inside).collect()
}

/// Without `.` and `..`; none where it would leave the repo.
pub(super) fn normal_path(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => out.push(name),
            Component::ParentDir if out.pop() => {}
            _ => return None,
        }
    }
    Some(out)
}
