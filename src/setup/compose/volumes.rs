//! The volumes of a service. One of them says where the repo stands; the others are the session's own.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::keys::Judge;
use super::yaml::{is_true, text};

/// One entry of `volumes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) what: What,
    pub(super) target: String,
    pub(super) readonly: bool,
}

/// What is to be mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A path of the host, as written.
    Path(String),
    /// A volume by name; none: it has no name.
    Named(Option<String>),
    Tmpfs,
}

/// The entries of a service, each with its key. What cannot be read is left out, and said.
pub(super) fn listed(service: &Map<String, Value>, judge: &mut Judge<'_>) -> Vec<(String, Volume)> {
    let items = service.get("volumes").and_then(Value::as_array);
    let mut found = Vec::new();
    for (number, item) in items.into_iter().flatten().enumerate() {
        let key = format!("volumes[{number}]");
        match Volume::parse(item) {
            Some(volume) => found.push((key, volume)),
            None => judge.leave(&key, "it has a form that is not known here"),
        }
    }
    found
}

/// How a path of the host lies to the repo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is the repo.
    Repo,
    /// It holds the repo, which is this far below.
    Above(PathBuf),
    /// It is this part of the repo.
    Below(PathBuf),
    /// It has nothing to do with the repo.
    Elsewhere(PathBuf),
}

impl Volume {
    /// Reads either form; none where it is neither.
    pub(super) fn parse(item: &Value) -> Option<Self> {
        let volume = match item {
            Value::Object(map) => {
                let source = ["source", "src"].iter().find_map(|key| map.get(*key).and_then(text));
                let target = ["target", "dst", "destination"].iter().find_map(|key| map.get(*key).and_then(text))?;
                let what = match map.get("type").and_then(Value::as_str)? {
                    "bind" => What::Path(source?),
                    "volume" => What::Named(source),
                    "tmpfs" => What::Tmpfs,
                    _ => return None,
                };
                Self { what, target, readonly: map.get("read_only").is_some_and(is_true) }
            }
            other => Self::short(&text(other)?)?,
        };
        is_place(&volume.target).then_some(volume)
    }

    fn short(line: &str) -> Option<Self> {
        let parts: Vec<&str> = line.split(':').collect();
        let (source, target, mode) = match parts.as_slice() {
            [target] => (None, *target, ""),
            [source, target] => (Some(*source), *target, ""),
            [source, target, mode] => (Some(*source), *target, *mode),
            _ => return None,
        };
        let what = match source {
            Some(path) if path.starts_with(['.', '/', '~']) => What::Path(path.to_owned()),
            name => What::Named(name.map(str::to_owned)),
        };
        Some(Self { what, target: target.to_owned(), readonly: mode.split(',').any(|word| word == "ro") })
    }
}

/// The volumes that a service names.
pub(super) fn names(service: &Map<String, Value>) -> Vec<String> {
    let items = service.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let named = |item: &Value| match Volume::parse(item)?.what {
        What::Named(name) => name,
        _ => None,
    };
    items.filter_map(named).collect()
}

/// The place inside that an entry is about.
pub(super) fn target(item: &Value) -> Option<String> {
    Volume::parse(item).map(|volume| volume.target.trim_end_matches('/').to_owned())
}

/// Absolute, plain, and not the root.
pub(super) fn is_place(target: &str) -> bool {
    let path = Path::new(target);
    path.is_absolute()
        && path.components().count() > 1
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        && !target.chars().any(|c| c.is_control() || matches!(c, ',' | ':'))
}

/// How `written`, relative to `dir` of the repo at `root`, lies to the repo. By names alone: nothing is looked up.
pub(super) fn relation(written: &str, root: &Path, dir: &Path) -> Relation {
    if written.starts_with('~') {
        return Relation::Elsewhere(PathBuf::from(written));
    }
    let mut path = PathBuf::new();
    for component in root.join(dir).join(written).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    if path == root {
        return Relation::Repo;
    }
    if let Ok(rest) = path.strip_prefix(root) {
        return Relation::Below(rest.to_path_buf());
    }
    match root.strip_prefix(&path) {
        Ok(rest) => Relation::Above(rest.to_path_buf()),
        Err(_) => Relation::Elsewhere(path),
    }
}

/// Where the root of the repo stands if this part of it stands at `target`.
pub(super) fn root_at(relation: &Relation, target: &str) -> Option<PathBuf> {
    let target: PathBuf = Path::new(target).components().collect();
    let root = match relation {
        Relation::Repo => target,
        Relation::Above(rest) => target.join(rest),
        Relation::Below(rest) => {
            // Only where the names inside are the same: `./src` at `/app/src`.
            let mut root = target.as_path();
            for name in rest.components().rev() {
                if root.components().next_back() != Some(name) {
                    return None;
                }
                root = root.parent()?;
            }
            root.to_path_buf()
        }
        Relation::Elsewhere(_) => return None,
    };
    (root.components().count() > 1).then_some(root)
}
