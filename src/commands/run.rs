//! `cowbox run`: settings → plan → prepare → run → keep or discard.

use std::path::PathBuf;

use super::context::Context;
use super::environment::{self, Setting};
use super::failed;
use super::finish::finish;
use super::heal::Word;
use super::initialize;
use super::launch::Launch;
use super::planning::{check_mounts, plan_with};
use super::profile;
use super::remember::plan_again;
use super::report::{Attempt, Report};
use crate::cli::{OnExit, RunArgs};
use crate::engine::{Kind, detect};
use crate::error::{self, Error, Result, show as show_path};
use crate::repo::{Repo, gitdir};
use crate::session::clock::Clock;
use crate::session::state::Action;
use crate::session::{Session, id};
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::keep::Half;
use crate::setup::ready::Preparer;
use crate::setup::redact::Redactor;
use crate::ui::Ui;

/// Runs the verb.
pub fn run(args: RunArgs, ui: &Ui) -> Result<u8> {
    let clock = Clock::start();
    let context = Context::new(ui)?;
    // Opened first: what goes wrong from here on is reported too.
    let report = args.report.as_deref().map(Report::open).transpose()?;
    let mut attempt = Attempt::default();
    let ended = go(&args, &context, clock, report.as_ref(), &mut attempt).map_err(Error::before_start);
    if let (Err(error), Some(report)) = (&ended, &report) {
        let resumed = args.resume.as_deref().and_then(|wanted| context.session(Some(wanted)).ok());
        let session = resumed.or_else(|| failed::find(&context, attempt.name.as_deref()?));
        if let Err(unwritten) = report.fail(&attempt, session.as_ref(), error, ui) {
            ui.warn(unwritten.message());
        }
    }
    ended
}

/// The same, telling `attempt` how far it came.
fn go(
    args: &RunArgs,
    context: &Context<'_>,
    clock: Clock,
    report: Option<&Report>,
    attempt: &mut Attempt,
) -> Result<u8> {
    let ui = context.ui;
    let settings = RunSettings::resolve(args, &context.places, ui)?;
    let on_exit = decide_on_exit(&settings, args, ui)?;
    let resumed = resumed_session(context, args)?;
    let agent = profile::choose(args, &settings, resumed.as_ref())?;
    let repo = match &resumed {
        Some(session) => Repo { root: session.record.repo.0.clone(), subdir: PathBuf::new() },
        None => context.repo()?,
    };
    attempt.repo = Some(repo.root.clone());
    let own =
        [("COWBOX_STATE_DIR", context.places.state.as_path()), ("COWBOX_CACHE_DIR", context.places.cache.as_path())];
    // Missing consent or not: nothing was started.
    context.heal(&repo.root, Word::Insist).map_err(|e| e.with_kind(error::Kind::NotStarted))?;
    repo.check(context.places.home.as_deref(), &own)?;
    let setting = Setting::new(context, &repo, &settings)?;
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
        check_name(context, name)?;
    }
    let name = args.name.clone().unwrap_or_else(|| id::generate_name(&repo.dir_name()));
    let engine = chosen.engine.as_ref();
    attempt.name = Some(name.clone());
    attempt.engine = Some(engine.record());
    let mut plan = match &resumed {
        Some(session) => plan_again(session, args, &settings)?,
        None => {
            initialize::on_host(&choice, &repo.root)?;
            let kind = engine.record().kind;
            if let Some(agent) = &agent {
                profile::add_runtimes(agent, &mut choice.plan);
            }
            let found = setting.image(context, engine, &settings, &mut choice, false)?;
            if let Some(agent) = &agent {
                profile::add_install(agent, &settings, kind == Kind::Native, &mut choice.plan);
            }
            let mut plan = plan_with(args, &settings, &repo, context, engine, &choice, found.as_ref())?;
            environment::explain(context, &choice.plan);
            let env = environment::setup_env(&settings)?;
            let before = plan.clone();
            let keep = |half: &Half| failed::keep(context, engine, &before, &name, half);
            let preparer = Preparer {
                engine,
                cache: &context.places.cache,
                files: &setting.files,
                choice: &choice,
                image: found.as_ref(),
                plan: &before,
                env: &env,
                secrets: &Redactor::new(&env),
                rebuild: false,
                failed: if on_exit == OnExit::Discard { None } else { Some(&keep) },
                observer: None,
                ui,
            };
            environment::ready(&preparer, &mut plan)?;
            if let Some(agent) = &agent {
                profile::show_home(context, agent, kind, &mut plan)?;
                check_mounts(&plan)?;
            }
            plan
        }
    };
    if let Some(agent) = &agent {
        profile::give(context, agent, args, &mut plan);
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
        initialize::on_host(&choice, &repo.root)?;
        let image = setting.image_again(context, engine, &settings, &mut choice, &plan)?;
        engine.prepare(&mut plan, ui)?;
        environment::again(context, &choice, image.as_ref(), &mut plan);
        check_mounts(&plan)?;
        environment::explain(context, &choice.plan);
    }

    let launch = Launch {
        context,
        engine: chosen.engine.as_ref(),
        why: chosen.why,
        name,
        timeout: args.timeout,
        task: None,
        clock,
        report,
        compared: false,
        created: None,
    };
    if args.detach {
        return launch.detached(plan, resumed.into());
    }
    let finished =
        launch.attached(plan, resumed.into(), None).inspect_err(|_| detect::forget(&context.places.cache))?;
    finish(context, finished, on_exit, report)
}

/// What happens with the changes. Refused early: after the command it would be too late.
fn decide_on_exit(settings: &RunSettings, args: &RunArgs, ui: &Ui) -> Result<OnExit> {
    match settings.on_exit {
        None | Some(OnExit::Ask) if ui.can_ask() && !args.detach => Ok(OnExit::Ask),
        // Nobody is there to answer: nothing is lost, and the next commands are said.
        None | Some(OnExit::Ask) => Ok(OnExit::Keep),
        Some(OnExit::Discard) if args.detach => {
            Err(Error::new("`--on-exit discard` and `--detach` do not go together: there would be nothing to look at")
                .hint("leave one of them out"))
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
    failed::forget(context, |record| record.name == name)?;
    let taken = context.store.newest_first()?.any(|entry| {
        matches!(entry, Entry::Good(s) if s.record.name == name && s.record.state != crate::session::State::Discarded)
    });
    if taken {
        return Err(Error::new(format!("there is a session {name} already"))
            .hint(format!("choose another name, or discard it with `cowbox discard {name}`")));
    }
    Ok(())
}
