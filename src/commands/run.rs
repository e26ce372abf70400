//! `cowbox run`: settings → plan → prepare → run → keep or discard.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::discard;
use super::environment::{self, Setting};
use super::heal::Word;
use super::initialize;
use super::launch::{Finished, Launch};
use super::profile;
use super::report::Report;
use crate::cli::{OnExit, RunArgs};
use crate::engine::{self, Engine, Kind, detect};
use crate::error::{self, Error, Result, show as show_path};
use crate::paths::BytePath;
use crate::plan::{GitMount, Mount, Plan};
use crate::policy::environment::Environment;
use crate::policy::limits::Limits;
use crate::process;
use crate::repo::{Repo, gitdir};
use crate::session::clock::Clock;
use crate::session::record::SetupRecord;
use crate::session::state::Action;
use crate::session::{Session, id};
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::choose::Choice;
use crate::setup::image::Found;
use crate::setup::plan::ContainerOptions;
use crate::setup::ready::Preparer;
use crate::ui::Ui;

/// Runs the verb.
pub fn run(args: RunArgs, ui: &Ui) -> Result<u8> {
    let clock = Clock::start();
    let context = Context::new(ui)?;
    let settings = RunSettings::resolve(&args, &context.places, ui)?;
    let on_exit = decide_on_exit(&settings, &args)?;
    let resumed = resumed_session(&context, &args)?;
    let agent = profile::choose(&args, &settings, resumed.as_ref())?;
    let repo = match &resumed {
        Some(session) => Repo { root: session.record.repo.0.clone(), subdir: PathBuf::new() },
        None => context.repo()?,
    };
    let own =
        [("COWBOX_STATE_DIR", context.places.state.as_path()), ("COWBOX_CACHE_DIR", context.places.cache.as_path())];
    // Missing consent or not: nothing was started.
    context.heal(&repo.root, Word::Insist).map_err(|e| e.with_kind(error::Kind::NotStarted))?;
    repo.check(context.places.home.as_deref(), &own)?;
    let setting = Setting::new(&context, &repo, &settings)?;
    let mut choice = setting.choose(&settings, &RepoSettings::read(&repo.root, ui)?)?;
    let chosen = match &resumed {
        Some(session) => detect::Chosen { engine: context.engine(session)?, why: "as before", passed_over: Vec::new() },
        None => {
            let image = environment::configured_image(&settings, &choice);
            detect::choose(&settings.engine, image, &context.places, ui)?
        }
    };
    for reason in &chosen.passed_over {
        ui.detail(&format!("passed over {reason}"));
    }
    if let Some(name) = &args.name {
        check_name(&context, name)?;
    }
    let engine = chosen.engine.as_ref();
    let mut plan = match &resumed {
        Some(session) => plan_again(session, &args, &settings)?,
        None => {
            initialize::on_host(&choice, &repo.root)?;
            let kind = engine.record().kind;
            if let Some(agent) = &agent {
                profile::add_runtimes(agent, &mut choice.plan);
            }
            let found = setting.image(&context, engine, &settings, &mut choice, false)?;
            let mut plan = plan_with(&args, &settings, &repo, &context, engine, &choice, found.as_ref())?;
            environment::explain(&context, &choice.plan);
            if let Some(agent) = &agent {
                profile::add_install(agent, &settings, kind == Kind::Native, &mut choice.plan);
            }
            let env = environment::setup_env(&settings)?;
            let before = plan.clone();
            let preparer = Preparer {
                engine,
                cache: &context.places.cache,
                files: &setting.files,
                choice: &choice,
                image: found.as_ref(),
                plan: &before,
                env: &env,
                rebuild: false,
                ui,
            };
            environment::ready(&preparer, &mut plan)?;
            if let Some(agent) = &agent {
                profile::show_home(&context, agent, kind, &mut plan)?;
                check_mounts(&plan)?;
            }
            plan
        }
    };
    if let Some(agent) = &agent {
        profile::give(&context, agent, &args, &mut plan);
    }
    plan.private_dirs = vec![context.places.state.clone(), context.places.cache.clone()];
    if let Some(gitdir) = gitdir::not_shown(&repo.root) {
        ui.warn(&format!(
            "git will not work inside: {} is not shown, because it does not name this working tree; `git config core.worktree {}` there would",
            show_path(&gitdir),
            show_path(&repo.root)
        ));
    }
    plan.ephemeral = on_exit == OnExit::Discard;
    if resumed.is_some() {
        check_mounts(&plan)?;
        initialize::on_host(&choice, &repo.root)?;
        engine.prepare(&mut plan, ui)?;
        environment::again(&context, engine, &choice, &mut plan);
    }

    let report = args.report.as_deref().map(Report::open).transpose()?;
    let launch = Launch {
        context: &context,
        engine: chosen.engine.as_ref(),
        why: chosen.why,
        name: args.name.clone().unwrap_or_else(|| id::generate_name(&repo.dir_name())),
        timeout: args.timeout,
        clock,
        report: report.as_ref(),
    };
    if args.detach {
        return launch.detached(plan, resumed);
    }
    let finished = launch.attached(plan, resumed).inspect_err(|_| detect::forget(&context.places.cache))?;
    finish(&context, finished, on_exit, report.as_ref())
}

/// What happens with the changes. Refused early: after the command it would be too late.
fn decide_on_exit(settings: &RunSettings, args: &RunArgs) -> Result<OnExit> {
    match settings.on_exit {
        None => Ok(OnExit::Keep),
        Some(OnExit::Ask) => Err(Error::new("`--on-exit ask` is not there yet")
            .hint("leave it out: the changes are kept, and `cowbox diff`, `apply` and `discard` decide over them")),
        Some(OnExit::Discard) if args.detach => {
            Err(Error::new("`--on-exit discard` and `--detach` do not go together: there would be nothing to look at"))
        }
        Some(OnExit::Apply) if args.detach => {
            Err(Error::new("`--on-exit apply` and `--detach` do not go together: nobody would see what lands")
                .hint("`cowbox apply` does it when the session has stopped"))
        }
        Some(other) => Ok(other),
    }
}

fn resumed_session(context: &Context<'_>, args: &RunArgs) -> Result<Option<Session>> {
    let Some(wanted) = &args.resume else { return Ok(None) };
    let session = context.session(Some(wanted))?;
    session.record.state.allow(Action::Resume, session.name())?;
    let engine = session.record.engine.kind;
    let asked =
        args.engine.map(|e| format!("{e:?}").to_lowercase()).filter(|e| e != "auto" && *e != engine.to_string());
    if let Some(asked) = asked {
        return Err(Error::new(format!(
            "session {} belongs to {engine}, it cannot go on with {asked}",
            session.name()
        ))
        .hint("leave `--engine` (and COWBOX_ENGINE) out"));
    }
    Ok(Some(session))
}

fn check_name(context: &Context<'_>, name: &str) -> Result<()> {
    if !id::is_valid_name(name) {
        return Err(Error::new(format!("`{}` cannot be a name", crate::ui::sanitize::text(name)))
            .hint("letters, digits, `-`, `_` and `.`, at most 64, beginning with a letter or digit"));
    }
    use crate::session::store::Entry;
    let taken = context.store.newest_first()?.any(|entry| {
        matches!(entry, Entry::Good(s) if s.record.name == name && s.record.state != crate::session::State::Discarded)
    });
    if taken {
        return Err(Error::new(format!("there is a session {name} already"))
            .hint(format!("choose another name, or discard it with `cowbox discard {name}`")));
    }
    Ok(())
}

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
        None if native => repo.root.clone(),
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
        runtime: args.runtime.clone(),
        image,
        mounts: args.mount.iter().map(mount).collect::<Result<_>>()?,
        tmpfs: Vec::new(),
        container: ContainerOptions::default(),
        account: None,
        gitdir: git_mount(repo, &workspace)?,
        terminal: process::has_terminal() && !args.detach,
        ephemeral: false,
        masked: settings.masked.clone(),
        log: None,
        session_dir: PathBuf::new(),
        private_dirs: Vec::new(),
        workspace,
    })
}

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
    let again = |m: &crate::session::record::MountRecord| Mount {
        source: m.source.0.clone(),
        target: m.target.0.clone(),
        access: m.access,
    };
    Ok(Plan {
        gitdir: git_mount(&repo, &workspace)?,
        repo: repo.root,
        setup_layer: setup.and_then(|setup| setup.layer.as_ref()).map(|layer| layer.0.clone()),
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
        runtime: args.runtime.clone().or_else(|| policy.runtime.clone()),
        image: policy.image.clone(),
        mounts: policy.mounts.iter().map(again).collect(),
        tmpfs: Vec::new(),
        container: ContainerOptions::default(),
        account: None,
        terminal: process::has_terminal() && !args.detach,
        ephemeral: false,
        masked: settings.masked.clone(),
        log: None,
        session_dir: session.dir().to_path_buf(),
        private_dirs: Vec::new(),
        workspace,
    })
}

/// The names in `--env KEY[=VALUE]`.
fn given_names(given: &[std::ffi::OsString]) -> Vec<std::ffi::OsString> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let name = |entry: &std::ffi::OsString| {
        let bytes = entry.as_bytes();
        let end = bytes.iter().position(|b| *b == b'=').unwrap_or(bytes.len());
        std::ffi::OsString::from_vec(bytes[..end].to_vec())
    };
    given.iter().map(name).collect()
}

fn mount(arg: &crate::cli::MountArg) -> Result<Mount> {
    let source = arg.source.canonicalize().map_err(|e| Error::io("mount", &arg.source, e))?;
    if arg.access == crate::policy::mounts::Access::Cow && !source.is_dir() {
        return Err(Error::new(format!(
            "{} is not a directory, and only those can be mounted copy-on-write",
            show_path(&source)
        )));
    }
    Ok(Mount { source, target: arg.target.clone(), access: arg.access })
}

fn git_mount(repo: &Repo, workspace: &Path) -> Result<Option<GitMount>> {
    let Some(elsewhere) = gitdir::elsewhere(&repo.root) else { return Ok(None) };
    let moved = workspace != repo.root;
    let target = if moved { elsewhere.inside(workspace) } else { Some(elsewhere.common.clone()) };
    let Some(target) = target else { return Ok(None) };
    if !crate::repo::mountinfo::below(&elsewhere.common)?.is_empty() {
        return Err(Error::new(format!(
            "the git directory {} has a mount inside, and an overlay cannot show it",
            show_path(&elsewhere.common)
        )));
    }
    let config = if moved { elsewhere.config_for(workspace) } else { None };
    Ok(Some(GitMount { source: elsewhere.common, target, config }))
}

/// A writable mount of cowbox's own state would hand the sandbox its keeper's books.
fn check_mounts(plan: &Plan) -> Result<()> {
    for mount in &plan.mounts {
        let touches = |dir: &PathBuf| mount.source.starts_with(dir) || dir.starts_with(&mount.source);
        if mount.access != crate::policy::mounts::Access::Ro && plan.private_dirs.iter().any(touches) {
            return Err(Error::new(format!(
                "{} holds cowbox's own state and cannot be mounted writable",
                show_path(&mount.source)
            ))
            .hint("mount something smaller, or read-only"));
        }
        if mount.access == crate::policy::mounts::Access::Rw
            && (plan.repo.starts_with(&mount.source) || mount.source.starts_with(&plan.repo))
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

/// Says what there is, does what `--on-exit` says, and writes the report.
fn finish(context: &Context<'_>, finished: Finished, on_exit: OnExit, report: Option<&Report>) -> Result<u8> {
    let Finished { mut session, lock, code, interrupted, failure } = finished;
    let name = session.name().to_owned();
    let mut applied = 0;
    if on_exit == OnExit::Discard {
        discard::throw_away(context, &mut session, false)?;
    } else if nothing_happened(context, &session, code) {
        // The engine could not start anything: there is nothing to keep.
        discard::throw_away(context, &mut session, true)?;
        crate::layer::remove::tree(session.dir()).map_err(|e| Error::io("remove", session.dir(), e))?;
    } else if failure.is_none() {
        match context.look_at_end(&session) {
            Ok(look) if on_exit == OnExit::Apply && !interrupted && !look.set().changes.is_empty() => {
                applied = apply_all(context, &mut session);
            }
            Ok(look) => context.ui.say(&kept(look.set(), &name)),
            Err(error) => context.ui.warn(&format!("{}; the changes are kept", error.message())),
        }
    }
    drop(lock);
    if let Some(report) = report {
        report.write(&session, context.ui)?;
    }
    match failure {
        Some(error) => Err(error),
        // The command's own code counts; where that says "well done", what was refused is said instead.
        None => Ok(if code == 0 { applied } else { code }),
    }
}

/// `--on-exit apply`. What cannot be applied is kept.
fn apply_all(context: &Context<'_>, session: &mut Session) -> u8 {
    let outcome = super::apply::land(context, session, &crate::cli::ApplyArgs::everything());
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            context.ui.error(&error);
            context.ui.say(&format!("the changes are kept · review with `cowbox diff {}`", session.name()));
            error.exit_code()
        }
    }
}

/// Whether an engine gave up before the command, and left nothing behind.
fn nothing_happened(context: &Context<'_>, session: &Session, code: u8) -> bool {
    let first_time = session.record.history.iter().filter(|h| h.event == "running").count() == 1;
    code == crate::error::Kind::NotStarted.exit_code()
        && first_time
        && context.look(session).is_ok_and(|look| look.set().changes.is_empty())
}

/// `2 changes kept · review with …`
fn kept(set: &crate::changes::ChangeSet, name: &str) -> String {
    let count = set.visible().count();
    let inside = match set.vcs() {
        0 => String::new(),
        n => format!(" ({n} more inside .git)"),
    };
    match count {
        0 => format!("no changes{inside} · session {name} kept"),
        1 => format!("1 change{inside} kept · review with `cowbox diff {name}`"),
        n => format!("{n} changes{inside} kept · review with `cowbox diff {name}`"),
    }
}

/// The prepared environment as a record keeps it.
pub fn setup_record(plan: &Plan) -> Option<SetupRecord> {
    let path = |path: &PathBuf| BytePath(path.clone());
    Some(SetupRecord {
        key: plan.setup_key.clone()?,
        layer: plan.setup_layer.as_ref().map(path),
        home: plan.home_layer.as_ref().map(path),
        image: plan.setup_image.clone(),
    })
}

/// The policy as a record keeps it.
pub fn policy_record(plan: &Plan) -> crate::session::record::PolicyRecord {
    use crate::session::record::{MountRecord, PolicyRecord};
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

/// `podman 4.3.1 (rootless, overlay) · session api-7k3q`. The reason is told where it is news.
pub fn headline(engine: &dyn engine::Engine, why: &str, name: &str) -> String {
    let why =
        if matches!(why, "first choice" | "as asked for" | "as before") { String::new() } else { format!(", {why}") };
    format!("{}{why} · session {name}", engine.describe())
}
