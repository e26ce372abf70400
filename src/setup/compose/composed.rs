//! From compose files to what the plan needs of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::build::Image;
use super::keys::Judge;
use super::project::{Named, Project};
use super::{beside, closure, service, volumes};
use crate::error::{Error, Result};
use crate::setup::files::RepoFiles;
use crate::setup::plan::{ContainerOptions, Ignored, ImageRequest, MountRequest, Refused};
use crate::setup::service::Service;
use crate::ui::sanitize;

/// More than a machine for one person would bear.
const MOST_SERVICES: usize = 32;

/// What a `devcontainer.json` says about compose.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The `devcontainer.json`, relative to the repo.
    pub config_file: &'a Path,
    /// The workspace that it belongs to, relative to the repo; empty: the repo itself.
    pub workspace: &'a Path,
    /// `dockerComposeFile`; empty: the standard ones of the workspace.
    pub files: &'a [String],
    /// `service`
    pub service: &'a str,
    /// `runServices`; empty: only what the service depends on.
    pub run_services: &'a [String],
    /// The variables of the host that compose files may use. Those of the repo's `.env` come on top.
    pub variables: &'a BTreeMap<String, String>,
}

/// The named service as a sandbox, and what runs beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composed {
    /// Its image.
    pub image: ImageRequest,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Its user.
    pub user: Option<String>,
    /// Where it starts.
    pub working_dir: Option<String>,
    /// Where the root of the repo stands inside, if one of its volumes says so.
    pub mount: Option<PathBuf>,
    /// Volumes and tmpfs of the session, and binds that have the user's consent.
    pub mounts: Vec<MountRequest>,
    /// Settings of the container that are allowed, or that the user allowed.
    pub container: ContainerOptions,
    /// What replaces the image's entrypoint, for `overrideCommand: false`.
    pub entrypoint: Option<Vec<String>>,
    /// Its command, for `overrideCommand: false`.
    pub command: Option<Vec<String>>,
    /// Services to start beside it, each after those that it depends on.
    pub services: Vec<Service>,
    /// What was not done, and the user could allow it.
    pub refused: Vec<Refused>,
    /// What was not done, because it means nothing here.
    pub ignored: Vec<Ignored>,
    /// What the user should know, one line each.
    pub notices: Vec<String>,
    /// Files of the repo that were read.
    pub inputs: Vec<PathBuf>,
}

/// Reads the files. `allowed` tells whether the user agreed to something, by its [`Refused::consent`].
pub fn compose(request: &Request<'_>, files: &RepoFiles, allowed: &dyn Fn(&str) -> bool) -> Result<Composed> {
    let named = Named {
        config_file: request.config_file,
        workspace: request.workspace,
        written: request.files,
        variables: request.variables,
    };
    let project = Project::load(&named, files)?;
    let main = closure::find(&project, request.service)?;
    let prefix = format!("services.{}", sanitize::text(request.service));
    let common = service::common(main, &prefix, &project, files)?;
    let mut judge = Judge::new(prefix, allowed);
    judge.service(main);
    let mount = service::mount(main, &project, files, &mut judge);
    let image = common.image.judged(&mut judge);
    judge.ignored.extend(common.ignored);
    judge.ignored.extend(common.environment.ignored);
    let mut composed = Composed {
        image: match image {
            Image::Named(name) => ImageRequest::Named(name),
            Image::Build(build) => ImageRequest::Build(build),
        },
        env: common.environment.variables,
        user: common.user,
        working_dir: common.working_dir,
        mount,
        mounts: judge.mounts,
        container: judge.options,
        entrypoint: common.entrypoint,
        command: common.command,
        refused: judge.refused,
        ignored: judge.ignored,
        inputs: common.environment.inputs,
        ..Composed::default()
    };
    let names = closure::beside(&project, request.service, request.run_services)?;
    if names.len() > MOST_SERVICES {
        return Err(Error::new(format!("more than {MOST_SERVICES} services would run beside the sandbox")));
    }
    let own: Vec<String> = volumes::names(main);
    let dependents: Vec<&str> = names.iter().map(String::as_str).chain([request.service]).collect();
    for name in &names {
        let found = beside::read(name, &own, &project, files, allowed)?;
        let condition = closure::condition(&project, name, &dependents);
        composed.services.push(Service { condition, ..found.service });
        composed.refused.extend(found.refused);
        composed.ignored.extend(found.ignored);
        composed.inputs.extend(found.inputs);
    }
    composed.notices = notices(&project, request.service, &composed.services);
    composed.inputs.extend(project.inputs);
    composed.inputs.sort();
    composed.inputs.dedup();
    Ok(composed)
}

fn notices(project: &Project, main: &str, started: &[Service]) -> Vec<String> {
    let mut notices = Vec::new();
    let list = |names: Vec<&String>| names.into_iter().map(|name| sanitize::text(name)).collect::<Vec<_>>().join(", ");
    if !project.unset.is_empty() {
        let names = list(project.unset.iter().collect());
        notices.push(format!("variables of the compose files without a value are empty: {names}"));
    }
    let runs = |name: &&String| *name == main || started.iter().any(|service| service.name == **name);
    let idle: Vec<&String> = project.services.keys().filter(|name| !runs(name)).collect();
    if !idle.is_empty() {
        let names = list(idle);
        notices.push(format!("services that are not started: {names} (name them in `runServices` or `depends_on`)"));
    }
    notices
}
