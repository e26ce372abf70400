//! What `pyproject.toml`, `setup.py` and `setup.cfg` say about a project.

use toml::{Table, Value};

use crate::setup::project::{Project, toml_at, toml_text};
use crate::setup::quote::quote;

/// Extras and groups that developers need. No others are installed: they may exclude each other.
const DEVELOPMENT: [&str; 6] = ["dev", "develop", "development", "test", "tests", "testing"];
/// More dependencies than this are not written by hand.
const MOST_DEPENDENCIES: usize = 300;

/// What matters here.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// The module that the project is, if there is one of its name.
    pub(super) module: Option<String>,
    /// Extras for development that exist.
    pub(super) extras: Vec<String>,
    /// Dependency groups (PEP 735) for development that exist.
    pub(super) groups: Vec<String>,
    /// Dependencies as written, for a project that cannot be installed itself.
    pub(super) dependencies: Vec<String>,
    /// pip can install the project.
    pub(super) is_package: bool,
    /// Only poetry can make something of it.
    pub(super) only_poetry: bool,
    /// Several projects under one lock file.
    pub(super) is_uv_workspace: bool,
}

impl Manifest {
    pub(super) fn read(project: &Project<'_>) -> Self {
        let file = project.toml("pyproject.toml");
        let has_file = file.is_some();
        let pyproject = file.unwrap_or_default();
        let config = project.text("setup.cfg").unwrap_or_default();
        let has_setup = project.has("setup.py");
        let described = pyproject.contains_key("project") || pyproject.contains_key("build-system");
        let by_config = config.lines().any(|line| matches!(line.trim(), "[metadata]" | "[options]"));
        if by_config && !has_setup && !has_file {
            project.notice("pip installs no project that has a `setup.cfg` alone: it lacks a `pyproject.toml`");
        }
        let name = toml_text(&pyproject, &["project", "name"])
            .or_else(|| toml_text(&pyproject, &["tool", "poetry", "name"]))
            .or_else(|| config_name(&config));
        let poetry = toml_at(&pyproject, &["tool", "poetry"]);
        let no_package = poetry.and_then(|p| p.get("package-mode")).and_then(Value::as_bool) == Some(false);
        let only_poetry = poetry.is_some() && (no_package || !described);
        Self {
            module: name.and_then(|name| module(project, name)),
            extras: names_in(&pyproject, &["project", "optional-dependencies"])
                .or_else(|| names_in(&pyproject, &["tool", "poetry", "extras"]))
                .unwrap_or_default(),
            groups: names_in(&pyproject, &["dependency-groups"]).unwrap_or_default(),
            dependencies: dependencies(&pyproject),
            is_package: has_setup || described && !only_poetry || has_file && by_config,
            only_poetry,
            is_uv_workspace: toml_at(&pyproject, &["tool", "uv", "workspace"]).is_some(),
        }
    }

    /// `python -c 'import NAME'`
    pub(super) fn import(&self) -> Option<String> {
        let module = self.module.as_ref()?;
        Some(format!(".venv/bin/python -c {}", quote(&format!("import {module}"))))
    }
}

/// Keys of a table that developers need, as they are written.
fn names_in(pyproject: &Table, keys: &[&str]) -> Option<Vec<String>> {
    let table = toml_at(pyproject, keys)?.as_table()?;
    Some(table.keys().filter(|name| DEVELOPMENT.contains(&name.as_str())).cloned().collect())
}

fn dependencies(pyproject: &Table) -> Vec<String> {
    let Some(list) = toml_at(pyproject, &["project", "dependencies"]).and_then(Value::as_array) else {
        return Vec::new();
    };
    let list: Vec<String> = list.iter().filter_map(Value::as_str).map(|text| text.trim().to_owned()).collect();
    // What does not begin with a name could be an option of pip's.
    let is_plain =
        |text: &String| text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.contains(['\n', '\0']);
    if list.len() <= MOST_DEPENDENCIES && list.iter().all(is_plain) { list } else { Vec::new() }
}

/// `name = x` below `[metadata]`
fn config_name(config: &str) -> Option<&str> {
    let metadata = config.lines().map(str::trim).skip_while(|line| *line != "[metadata]").skip(1);
    let mut settings = metadata.take_while(|line| !line.starts_with('['));
    settings.find_map(|line| line.split_once('=').filter(|(key, _)| key.trim() == "name")).map(|(_, name)| name.trim())
}

/// The module of a distribution, if the repo has one where it is usually found: `My-Pkg` is `my_pkg`.
fn module(project: &Project<'_>, name: &str) -> Option<String> {
    let same = name.replace('-', "_");
    let lower = same.to_lowercase();
    let spellings = [lower.clone(), same, lower.replace('.', "_")];
    let exists = |module: &String| {
        let path = module.replace('.', "/");
        ["", "src/"].iter().any(|base| {
            project.holds(&format!("{base}{path}/__init__.py")) || project.holds(&format!("{base}{path}.py"))
        })
    };
    spellings.into_iter().filter(|module| is_module_name(module)).find(exists)
}

fn is_module_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    name.len() <= 100 && name.split('.').all(is_part) && name != "setup"
}
