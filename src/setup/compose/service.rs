//! One service, read as far as it is used.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::build::{self, Image};
use super::environment;
use super::keys::Judge;
use super::project::Project;
use super::volumes::{self, Relation, Volume, What, relation, root_at};
use super::words;
use super::yaml::{text, texts};
use crate::error::{Error, Result};
use crate::setup::files::RepoFiles;
use crate::setup::plan::{Ignored, MountKind, MountRequest};

/// What the sandbox and a service beside it have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) image: Image,
    pub(super) environment: environment::Environment,
    pub(super) user: Option<String>,
    pub(super) working_dir: Option<String>,
    pub(super) entrypoint: Option<Vec<String>>,
    pub(super) command: Option<Vec<String>>,
    pub(super) ignored: Vec<Ignored>,
}

/// Reads it.
pub(super) fn common(
    service: &Map<String, Value>,
    prefix: &str,
    project: &Project,
    files: &RepoFiles,
) -> Result<Common> {
    let mut ignored = Vec::new();
    Ok(Common {
        image: build::read(service, prefix, project, &mut ignored)?,
        environment: environment::read(service, prefix, project, files)?,
        user: service.get("user").and_then(text).filter(|user| !user.is_empty()),
        working_dir: service.get("working_dir").and_then(text).filter(|dir| !dir.is_empty()),
        entrypoint: command_line(service, "entrypoint", prefix)?,
        command: command_line(service, "command", prefix)?,
        ignored,
    })
}

/// A list as it is, a text as words.
fn command_line(service: &Map<String, Value>, key: &str, prefix: &str) -> Result<Option<Vec<String>>> {
    match service.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(list @ Value::Array(_)) => Ok(Some(texts(list))),
        Some(line) => {
            let words = text(line).and_then(|line| words::split(&line));
            words.map(Some).ok_or_else(|| Error::new(format!("{prefix}.{key}: a quote is not closed")))
        }
    }
}

/// Gives the volumes of the sandbox's own service, and finds where the repo stands.
pub(super) fn mount(
    service: &Map<String, Value>,
    project: &Project,
    files: &RepoFiles,
    judge: &mut Judge<'_>,
) -> Option<PathBuf> {
    let mut paths: Vec<(Volume, Relation, String)> = Vec::new();
    for (key, volume) in volumes::listed(service, judge) {
        let target = volume.target.clone();
        match &volume.what {
            What::Path(written) => {
                let relation = relation(written, files.root(), &project.dir);
                paths.push((volume, relation, key));
            }
            What::Tmpfs => judge.mount_memory(target),
            What::Named(name) => {
                let settings = name.as_ref().and_then(|name| project.volumes.get(name)).and_then(Value::as_object);
                if settings.is_some_and(|map| map.keys().any(|key| key != "name" && key != "labels")) {
                    judge.leave(&key, "the session gets a new volume, whatever the settings of the old one");
                }
                judge.mounts.push(MountRequest { target, what: MountKind::Volume });
            }
        }
    }
    let root = place(&paths);
    for (volume, relation, key) in paths {
        give_path(&volume, &relation, &key, root.as_deref(), judge);
    }
    root
}

/// The whole repo counts more than a directory above it, and that more than a part of it.
fn place(paths: &[(Volume, Relation, String)]) -> Option<PathBuf> {
    let rank = |relation: &Relation| match relation {
        Relation::Repo => 0,
        Relation::Above(_) => 1,
        Relation::Below(_) => 2,
        Relation::Elsewhere(_) => 3,
    };
    let placed =
        paths.iter().filter_map(|(volume, relation, _)| Some((rank(relation), root_at(relation, &volume.target)?)));
    placed.min_by_key(|(rank, _)| *rank).map(|(_, root)| root)
}

fn give_path(volume: &Volume, relation: &Relation, key: &str, root: Option<&std::path::Path>, judge: &mut Judge<'_>) {
    let fits = root.is_some() && root_at(relation, &volume.target).as_deref() == root;
    match relation {
        Relation::Repo | Relation::Below(_) if fits => {}
        Relation::Above(_) if fits => judge.leave(key, "of that directory, only the repo is there"),
        Relation::Repo | Relation::Above(_) | Relation::Below(_) => {
            judge.leave(key, "the repo stands at one place only");
        }
        Relation::Elsewhere(path) => {
            let source = path.to_string_lossy().into_owned();
            let mode = if volume.readonly { ":ro" } else { "" };
            let what = format!("{source}:{}{mode}", volume.target);
            if judge.asks(key, "is a path of the host", &what) {
                let what = MountKind::Bind { source, readonly: volume.readonly };
                judge.mounts.push(MountRequest { target: volume.target.clone(), what });
            }
        }
    }
}
