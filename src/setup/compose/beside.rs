//! A service that runs beside the sandbox. It is as much the repo's as the sandbox is: what reaches the host needs
//! consent, and the repo itself can only ever be read.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::build::Image;
use super::keys::Judge;
use super::project::Project;
use super::volumes::{self, Relation, Volume, What, relation};
use super::{closure, health, service};
use crate::error::{Error, Result};
use crate::setup::files::{LEADS_OUT, RepoFiles};
use crate::setup::plan::{Ignored, Refused};
use crate::setup::service::{Bind, Service, Volume as Own};
use crate::ui::sanitize;

/// One service, with what of it is not used.
pub(super) struct Beside {
    pub(super) service: Service,
    pub(super) refused: Vec<Refused>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) inputs: Vec<PathBuf>,
}

/// Reads it. `of_sandbox` are the volumes that the sandbox's own service names.
pub(super) fn read(
    name: &str,
    of_sandbox: &[String],
    project: &Project,
    files: &RepoFiles,
    allowed: &dyn Fn(&str) -> bool,
) -> Result<Beside> {
    if !is_name(name) {
        return Err(Error::new(format!("the service `{}` cannot be a host's name", sanitize::text(name)))
            .hint("letters, digits, `-`, `_` and `.`, beginning with a letter or digit"));
    }
    let prefix = format!("services.{name}");
    let written = closure::find(project, name)?;
    let common = service::common(written, &prefix, project, files)?;
    let mut judge = Judge::new(prefix, allowed);
    judge.beside = true;
    judge.service(written);
    let image = common.image.judged(&mut judge);
    let (volumes, binds) = places(written, of_sandbox, project, files, &mut judge);
    judge.ignored.extend(common.ignored);
    judge.ignored.extend(common.environment.ignored);
    let (image, build) = match image {
        Image::Named(name) => (Some(name), None),
        Image::Build(request) => (None, Some(request)),
    };
    let service = Service {
        name: name.to_owned(),
        image,
        build,
        entrypoint: common.entrypoint,
        command: common.command,
        working_dir: common.working_dir,
        env: common.environment.variables,
        user: common.user,
        volumes,
        // `tmpfs` is all that a judge mounts.
        tmpfs: judge.mounts.into_iter().map(|mount| mount.target).collect(),
        binds,
        container: judge.options,
        health: health::read(written),
        ..Service::default()
    };
    Ok(Beside { service, refused: judge.refused, ignored: judge.ignored, inputs: common.environment.inputs })
}

/// What engines take for a name, of hosts and of volumes.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() < 64 && name.chars().all(plain)
}

fn places(
    written: &Map<String, Value>,
    of_sandbox: &[String],
    project: &Project,
    files: &RepoFiles,
    judge: &mut Judge<'_>,
) -> (Vec<Own>, Vec<Bind>) {
    let (mut own, mut binds) = (Vec::new(), Vec::new());
    for (key, volume) in volumes::listed(written, judge) {
        let target = volume.target.clone();
        match &volume.what {
            What::Tmpfs => judge.mount_memory(target),
            What::Path(path) => {
                let relation = relation(path, files.root(), &project.dir);
                if let Relation::Below(rest) = &relation
                    && files.leads_out(&files.root().join(rest))
                {
                    judge.leave(&key, LEADS_OUT);
                    continue;
                }
                binds.extend(bind(&volume, relation, files.root(), &key, judge));
            }
            What::Named(Some(name)) if !is_name(name) => judge.leave(&key, "its name cannot be one of a volume"),
            What::Named(name) => {
                if name.as_ref().is_some_and(|name| of_sandbox.contains(name)) {
                    judge.leave(&key, "the sandbox has a volume of its own: it does not see this one");
                }
                own.push(Own { target, name: name.clone() });
            }
        }
    }
    (own, binds)
}

/// A path of the host, if the user agrees.
fn bind(volume: &Volume, relation: Relation, root: &Path, key: &str, judge: &mut Judge<'_>) -> Option<Bind> {
    let (source, readonly, why) = match relation {
        Relation::Repo => (root.to_path_buf(), true, "shows the repo to another container, to read"),
        Relation::Below(rest) => (root.join(rest), true, "shows files of the repo to another container, to read"),
        Relation::Above(rest) => {
            let above = root.ancestors().nth(rest.components().count())?;
            (above.to_path_buf(), true, "is a path of the host, and holds the repo")
        }
        Relation::Elsewhere(path) => (path, volume.readonly, "is a path of the host"),
    };
    let source = source.to_str()?.to_owned();
    let mode = if readonly { ":ro" } else { "" };
    let asked = format!("{source}:{}{mode}", volume.target);
    judge.asks(key, why, &asked).then(|| Bind { source, target: volume.target.clone(), readonly })
}
