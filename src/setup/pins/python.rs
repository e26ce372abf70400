//! Python.

use super::range::Unit;
use super::{Pin, first_line, version};
use crate::setup::project::{Project, toml_text};

pub(super) fn read(project: &Project<'_>) -> Option<Pin> {
    named(project, ".python-version")
        .or_else(|| named(project, ".python-versions"))
        .or_else(|| lock(project))
        .or_else(|| manifest(project, &["project", "requires-python"]))
        .or_else(|| pipfile(project))
        .or_else(|| named(project, "runtime.txt"))
        .or_else(|| manifest(project, &["tool", "poetry", "dependencies", "python"]))
}

/// `3.12`, `python-3.12.1`, `cpython@3.12`
fn named(project: &Project<'_>, file: &str) -> Option<Pin> {
    let raw = first_line(project, file)?;
    let number = ["cpython-", "cpython@", "python-"].iter().find_map(|name| raw.strip_prefix(name)).unwrap_or(&raw);
    Some(Pin::request(project, file, &raw, version::exact(number)))
}

/// Stands in the first lines of the lock.
fn lock(project: &Project<'_>) -> Option<Pin> {
    let text = project.text("uv.lock")?;
    let line = text.lines().take(10).find_map(|line| line.strip_prefix("requires-python"))?;
    let raw = line.trim_start_matches([' ', '=']).trim().trim_matches('"');
    Some(Pin::range(project, "uv.lock", raw, Unit::Minor))
}

fn manifest(project: &Project<'_>, keys: &[&str]) -> Option<Pin> {
    let table = project.toml("pyproject.toml")?;
    Some(Pin::range(project, "pyproject.toml", toml_text(&table, keys)?, Unit::Minor))
}

fn pipfile(project: &Project<'_>) -> Option<Pin> {
    let table = project.toml("Pipfile")?;
    let raw = ["python_full_version", "python_version"].iter().find_map(|key| toml_text(&table, &["requires", key]))?;
    Some(Pin::request(project, "Pipfile", raw, version::exact(raw)))
}
