//! From settings and a choice to the sandbox that is to start.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::{environment, identity};
use crate::cli::RunArgs;
use crate::engine::{Engine, Kind};
use crate::error::{Error, Result, show as show_path};
use crate::plan::{GitMount, Mount, Plan};
use crate::policy::environment::Environment;
use crate::policy::limits::Limits;
use crate::policy::mounts::Access;
use crate::process;
use crate::repo::{Repo, gitdir};
use crate::settings::RunSettings;
use crate::setup::choose::Choice;
use crate::setup::image::Found;
use crate::setup::plan::ContainerOptions;

/// The sandbox for what was chosen, with everything in it that the engine has to decide.
pub fn plan_with(
    args: &RunArgs,
    settings: &RunSettings,
    repo: &Repo,
    context: &Context<'_>,
    engine: &dyn Engine,
    choice: &Choice,
    found: Option<&Found>,
) -> Result<Plan> {
    let mut plan = plan(args, settings, repo, engine, choice, found)?;
    plan.private_dirs = vec![context.places.state.clone(), context.places.cache.clone()];
    environment::shape(&mut plan, &choice.plan, &engine.record(), found);
    identity::settle(&mut plan, args.user.as_deref(), &choice.plan, &engine.record(), found, context.ui)?;
    check_mounts(&plan)?;
    engine.prepare(&mut plan, context.ui)?;
    Ok(plan)
}

fn plan(
    args: &RunArgs,
    settings: &RunSettings,
    repo: &Repo,
    engine: &dyn Engine,
    choice: &Choice,
    found: Option<&Found>,
) -> Result<Plan> {
    let native = engine.record().kind == Kind::Native;
    let given = choice.plan.workspace.as_ref().filter(|_| !native);
    let workspace = match given {
        Some(given) => given.mount.clone(),
        None if native => settings.workspace.clone().unwrap_or_else(|| repo.root.clone()),
        None => PathBuf::from("/workspace"),
    };
    let here = match given {
        // Where the user stands counts more than the folder that the file names.
        Some(given) if repo.subdir.as_os_str().is_empty() => given.folder.clone(),
        _ if repo.subdir.as_os_str().is_empty() => workspace.clone(),
        _ => workspace.join(&repo.subdir),
    };
    let image = match found {
        Some(found) => Some(found.name.clone()),
        None => settings.image.clone().filter(|_| !environment::without_image(settings, engine.record().kind)),
    };
    Ok(Plan {
        repo: repo.root.clone(),
        setup_layer: None,
        below: Vec::new(),
        setup_key: None,
        setup_image: None,
        given: given_names(&args.env),
        home_layer: None,
        workdir: args.workdir.as_ref().map_or(here, |dir| workspace.join(dir)),
        profile: None,
        command: args.command.clone(),
        before: Vec::new(),
        env: Environment::build(std::env::vars_os(), native, &args.env)?,
        network: settings.network.value,
        limits: Limits { memory: args.memory, cpus: args.cpus, pids: args.pids },
        user: args.user.clone(),
        setup_user: None,
        runtime: args.runtime.clone(),
        image,
        mounts: args.mount.iter().map(mount).collect::<Result<_>>()?,
        tmpfs: Vec::new(),
        container: ContainerOptions::default(),
        own_command: Vec::new(),
        service: None,
        services: Vec::new(),
        service_data: Default::default(),
        account: None,
        gitdir: git_mount(repo, &workspace)?,
        terminal: process::has_terminal() && !args.detach,
        ephemeral: false,
        masked: settings.masked.clone(),
        log: None,
        session_dir: PathBuf::new(),
        announce: None,
        private_dirs: Vec::new(),
        workspace,
    })
}

/// The names in `--env KEY[=VALUE]`.
pub fn given_names(given: &[OsString]) -> Vec<OsString> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let name = |entry: &OsString| {
        let bytes = entry.as_bytes();
        let end = bytes.iter().position(|b| *b == b'=').unwrap_or(bytes.len());
        OsString::from_vec(bytes[..end].to_vec())
    };
    given.iter().map(name).collect()
}

fn mount(arg: &crate::cli::MountArg) -> Result<Mount> {
    let source = arg.source.canonicalize().map_err(|e| Error::io("mount", &arg.source, e))?;
    if arg.access == Access::Cow && !source.is_dir() {
        return Err(Error::new(format!(
            "{} is not a directory, and only those can be mounted copy-on-write",
            show_path(&source)
        ))
        .hint("mount it with `:ro`, or the directory that holds it"));
    }
    Ok(Mount { source, target: arg.target.clone(), access: arg.access })
}

pub fn git_mount(repo: &Repo, workspace: &Path) -> Result<Option<GitMount>> {
    let Some(elsewhere) = gitdir::elsewhere(&repo.root) else { return Ok(None) };
    let moved = workspace != repo.root;
    let target = if moved { elsewhere.inside(workspace) } else { Some(elsewhere.common.clone()) };
    let Some(target) = target else { return Ok(None) };
    if !crate::repo::mountinfo::below(&elsewhere.common)?.is_empty() {
        return Err(Error::new(format!(
            "the git directory {} has a mount inside, and an overlay cannot show it",
            show_path(&elsewhere.common)
        ))
        .hint("unmount it, or work on a repository without it"));
    }
    let config = if moved { elsewhere.config_for(workspace) } else { None };
    Ok(Some(GitMount { source: elsewhere.common, target, config }))
}

/// A writable mount of cowbox's own state would hand the sandbox its keeper's books.
pub fn check_mounts(plan: &Plan) -> Result<()> {
    for mount in plan.mounts.iter().chain(&environment::binds_of_services(plan)) {
        let touches = |dir: &PathBuf| mount.source.starts_with(dir) || dir.starts_with(&mount.source);
        if mount.access != Access::Ro && plan.private_dirs.iter().any(touches) {
            return Err(Error::new(format!(
                "{} holds cowbox's own state and cannot be mounted writable",
                show_path(&mount.source)
            ))
            .hint("mount something smaller, or read-only"));
        }
        if mount.access == Access::Rw && (plan.repo.starts_with(&mount.source) || mount.source.starts_with(&plan.repo))
        {
            return Err(Error::new(format!(
                "{} is part of the repository, or holds it, and cannot be mounted writable",
                show_path(&mount.source)
            ))
            .hint("the repository is writable inside already; its changes are kept for review"));
        }
    }
    Ok(())
}
