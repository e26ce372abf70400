//! What a record keeps of a sandbox, and the same sandbox again from its record.

use std::path::PathBuf;

use super::planning::{git_mount, given_names};
use crate::cli::RunArgs;
use crate::engine::{Engine, Kind};
use crate::error::{Error, Result};
use crate::layer::Encoding;
use crate::paths::BytePath;
use crate::plan::{Mount, Plan};
use crate::policy::environment::Environment;
use crate::policy::limits::Limits;
use crate::process;
use crate::repo::Repo;
use crate::session::record::{FORMAT, MountRecord, PolicyRecord, Record, SetupRecord, now};
use crate::session::{Session, SessionId, State};
use crate::settings::RunSettings;
use crate::setup::plan::ContainerOptions;

/// The same policy as before; only what was said again is new.
pub fn plan_again(session: &Session, args: &RunArgs, settings: &RunSettings) -> Result<Plan> {
    let record = &session.record;
    let policy = &record.policy;
    let native = record.engine.kind == Kind::Native;
    let repo = Repo { root: record.repo.0.clone(), subdir: PathBuf::new() };
    let workspace = record.workspace();
    let setup = record.setup.as_ref();
    let limits = Limits {
        memory: args.memory.or(policy.limits.memory),
        cpus: args.cpus.or(policy.limits.cpus),
        pids: args.pids.or(policy.limits.pids),
    };
    if !args.mount.is_empty() {
        return Err(Error::new("a resumed session keeps its mounts; `--mount` cannot change them")
            .hint("start a new session for other mounts"));
    }
    // What it was prepared from is the same image to the user.
    let own = [policy.image.as_ref(), setup.and_then(|setup| setup.image.as_ref())];
    if args.image.is_some() && !own.contains(&args.image.as_ref()) {
        return Err(Error::new("a resumed session keeps its image").hint("start a new session for another image"));
    }
    let again = |m: &MountRecord| Mount { source: m.source.0.clone(), target: m.target.0.clone(), access: m.access };
    Ok(Plan {
        gitdir: git_mount(&repo, &workspace)?,
        repo: repo.root,
        setup_layer: setup.and_then(|setup| setup.layer.as_ref()).map(|layer| layer.0.clone()),
        below: record.below.iter().map(|layer| layer.0.clone()).collect(),
        setup_key: setup.map(|setup| setup.key.clone()),
        setup_image: setup.and_then(|setup| setup.image.clone()),
        given: given_names(&args.env),
        home_layer: setup.and_then(|setup| setup.home.as_ref()).map(|home| home.0.clone()),
        workdir: args.workdir.as_ref().map_or_else(|| policy.workdir.0.clone(), |dir| workspace.join(dir)),
        profile: policy.profile.clone(),
        command: args.command.clone(),
        before: Vec::new(),
        env: Environment::build(std::env::vars_os(), native, &args.env)?,
        network: args.network.map_or(policy.network.unwrap_or(settings.network.value), |_| settings.network.value),
        limits,
        user: args.user.clone().or_else(|| policy.user.clone()),
        setup_user: None,
        runtime: args.runtime.clone().or_else(|| policy.runtime.clone()),
        image: policy.image.clone(),
        mounts: policy.mounts.iter().map(again).collect(),
        tmpfs: Vec::new(),
        container: ContainerOptions::default(),
        own_command: Vec::new(),
        service: None,
        services: Vec::new(),
        service_data: Default::default(),
        account: None,
        terminal: process::has_terminal() && !args.detach,
        ephemeral: false,
        masked: settings.masked.clone(),
        log: None,
        session_dir: session.dir().to_path_buf(),
        announce: None,
        private_dirs: Vec::new(),
        workspace,
    })
}

/// The prepared environment as a record keeps it.
fn setup_record(plan: &Plan) -> Option<SetupRecord> {
    let path = |path: &PathBuf| BytePath(path.clone());
    Some(SetupRecord {
        key: plan.setup_key.clone()?,
        layer: plan.setup_layer.as_ref().map(path),
        home: plan.home_layer.as_ref().map(path),
        image: plan.setup_image.clone(),
        failed: false,
    })
}

/// A record for a new session of a sandbox.
pub fn new_record(id: &SessionId, name: &str, engine: &dyn Engine, plan: &Plan) -> Record {
    Record {
        format: FORMAT,
        id: id.clone(),
        name: name.to_owned(),
        state: State::Created,
        repo: BytePath(plan.repo.clone()),
        created: now(),
        engine: engine.record(),
        encoding: Encoding::Userxattr,
        command: words(plan),
        policy: policy_record(plan),
        setup: setup_record(plan),
        below: plan.below.iter().map(|layer| layer.as_path().into()).collect(),
        task: None,
        incarnation: None,
        history: Vec::new(),
    }
}

/// The command, for people.
pub fn words(plan: &Plan) -> Vec<String> {
    plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The policy as a record keeps it.
pub fn policy_record(plan: &Plan) -> PolicyRecord {
    let mount = |m: &Mount| MountRecord {
        source: m.source.as_path().into(),
        target: m.target.as_path().into(),
        access: m.access,
    };
    PolicyRecord {
        image: plan.image.clone(),
        network: Some(plan.network),
        limits: plan.limits.clone(),
        user: plan.user.clone(),
        runtime: plan.runtime.clone(),
        profile: plan.profile.clone(),
        workspace: Some(BytePath(plan.workspace.clone())),
        workdir: BytePath(plan.workdir.clone()),
        mounts: plan.mounts.iter().map(mount).collect(),
        env: plan.env.names(),
    }
}
