//! Sessions whose setup failed: nothing ran in them, but what the setup left can be looked at.

use std::ffi::OsString;

use super::context::Context;
use super::discard;
use super::remember::{new_record, plan_again};
use crate::cli::RunArgs;
use crate::engine::{Engine, Kind};
use crate::error::{Error, Result};
use crate::layer::create;
use crate::plan::Plan;
use crate::process::supervise;
use crate::session::record::{Incarnation, Record};
use crate::session::state::Action;
use crate::session::store::Entry;
use crate::session::{Session, State};
use crate::settings::RunSettings;
use crate::setup::keep::{self, Half};

/// Makes a session of what a setup left. One a repository is enough: those of earlier failures go.
pub fn keep(context: &Context<'_>, engine: &dyn Engine, plan: &Plan, name: &str, half: &Half) -> Result<String> {
    forget(context, |record| record.repo.0 == plan.repo)?;
    let mut plan = plan.clone();
    plan.setup_key = Some(half.name.clone());
    plan.setup_layer = Some(half.layer.clone());
    plan.home_layer = half.home.clone();
    plan.setup_image = std::mem::replace(&mut plan.image, half.image.clone());
    plan.user = half.user.clone().or(plan.user);
    let new = context.store.create()?;
    let mut record = new_record(new.id(), name, engine, &plan);
    if let Some(setup) = &mut record.setup {
        setup.failed = true;
    }
    for next in [State::Preparing, State::Failed] {
        record.advance(next)?;
    }
    new.commit(record, true)?;
    Ok(name.to_owned())
}

/// The session that a failed setup left under this name.
pub fn find(context: &Context<'_>, name: &str) -> Option<Session> {
    context.store.newest_first().ok()?.find_map(|entry| match entry {
        Entry::Good(session) if session.record.state == State::Failed && session.record.name == name => Some(*session),
        _ => None,
    })
}

/// Discards failed sessions that nobody is looking at.
pub fn forget(context: &Context<'_>, which: impl Fn(&Record) -> bool) -> Result<()> {
    for entry in context.store.newest_first()? {
        let Entry::Good(mut session) = entry else { continue };
        if session.record.state == State::Failed
            && which(&session.record)
            && let Some(_lock) = session.try_lock()?
        {
            session.reload()?;
            discard::throw_away(context, &mut session, true)?;
        }
    }
    Ok(())
}

/// Runs a command in what the setup left. What it changes is thrown away: the next look sees the same.
pub fn enter(context: &Context<'_>, mut session: Session, command: &[OsString]) -> Result<u8> {
    let _lock = context.lock(&session)?;
    session.reload()?;
    session.record.state.allow(Action::Enter, session.name())?;
    let engine = context.engine(&session)?;
    sweep(context, &session, engine.as_ref())?;
    let plan = plan(context, &session, engine.as_ref(), command)?;
    let signals = supervise::watch()?;
    context.ui.say(&format!("this is what the setup of session {} left; changes are thrown away", session.name()));
    create::of_plan(&plan)?;
    let container = format!("cowbox-{}", session.record.id.as_str().to_lowercase());
    let has_container = session.record.engine.kind != Kind::Native;
    let started = engine.start(&plan, &container, &mut |init| {
        let container = has_container.then(|| container.clone());
        session.record.incarnation = Some(Incarnation::begun(container, init));
        session.save()
    });
    let ended = started.and_then(|mut sandbox| supervise::wait(sandbox.as_mut(), &signals, None));
    session.record.incarnation = None;
    session.save()?;
    context.remove_own_layers(&session)?;
    Ok(ended?.code)
}

fn plan(context: &Context<'_>, session: &Session, engine: &dyn Engine, command: &[OsString]) -> Result<Plan> {
    let args = RunArgs { command: command.to_vec(), ..RunArgs::default() };
    let settings = RunSettings::resolve(&args, &context.places, context.ui)?;
    let mut plan = plan_again(session, &args, &settings)?;
    let image_is_here = |name: &str| engine.image_facts(name).is_ok_and(|facts| facts.is_some());
    let layers = plan.setup_layer.iter().chain(&plan.home_layer);
    if plan.image.as_deref().is_some_and(|name| !image_is_here(name)) || layers.into_iter().any(|dir| !dir.is_dir()) {
        return Err(Error::new(format!("what the setup of session {} left is gone", session.name()))
            .hint("`cowbox run` starts the setup anew"));
    }
    plan.private_dirs = vec![context.places.state.clone(), context.places.cache.clone()];
    plan.ephemeral = true;
    engine.prepare(&mut plan, context.ui)?;
    Ok(plan)
}

/// Ends what is left of somebody who was killed while looking.
fn sweep(context: &Context<'_>, session: &Session, engine: &dyn Engine) -> Result<()> {
    if session.record.incarnation.is_some() {
        engine.sweep(&session.record)?;
        context.remove_own_layers(session)?;
    }
    Ok(())
}

/// Removes what a failed setup left to its session.
pub fn clear(context: &Context<'_>, session: &Session) -> Result<()> {
    let Some(setup) = session.record.setup.as_ref().filter(|setup| setup.failed) else { return Ok(()) };
    let engine = context.engine(session)?;
    if session.record.incarnation.is_some() {
        engine.sweep(&session.record)?;
    }
    let home = setup.home.as_ref().map(|home| home.0.as_path());
    keep::remove_beside(engine.client(), session.record.policy.image.as_deref(), home);
    session.failed_setup().map_or(Ok(()), |dir| keep::remove_tree(engine.as_ref(), &dir, &dir))
}
