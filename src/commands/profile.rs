//! `run --profile`: which one, and what of it the environment and the sandbox get.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::context::Context;
use crate::cli::RunArgs;
use crate::engine::Kind;
use crate::error::{Error, Result, show};
use crate::plan::{Mount, Plan};
use crate::policy::Network;
use crate::policy::mounts::Access;
use crate::profile::{self, Profile, Shown, start};
use crate::session::Session;
use crate::settings::{RunSettings, SetupSetting};
use crate::setup::plan::{Hook, Runtime, SetupPlan, Step, StepCommand};

/// The profile of this run: the one that was named; without a command that of the session, or the default one.
pub fn choose(args: &RunArgs, settings: &RunSettings, resumed: Option<&Session>) -> Result<Option<Profile>> {
    let of_session = resumed.map(|session| session.record.policy.profile.as_deref());
    let named = args.setup.profile.as_deref();
    let name = match (named, of_session) {
        (Some(profile::NONE), _) => None,
        (Some(named), Some(own)) if own != Some(named) => {
            return Err(
                Error::new("a resumed session keeps its profile").hint("start a new session for another profile")
            );
        }
        (Some(named), _) => Some(named),
        (None, _) if !args.command.is_empty() => None,
        (None, Some(own)) => own,
        (None, None) => settings.default_profile.as_deref().filter(|name| *name != profile::NONE),
    };
    name.map(|name| profile::find(name, &settings.profiles)).transpose()
}

/// Has an image of ours bring what the agent is written in.
pub fn add_runtimes(profile: &Profile, setup: &mut SetupPlan) {
    for name in &profile.runtimes {
        if setup.runtimes.iter().all(|own| own.name != *name) {
            let from = PathBuf::from(format!("profile {}", profile.name));
            setup.runtimes.push(Runtime { name: name.clone(), version: None, floor: false, from });
        }
    }
}

/// Has the agent installed with everything else that is prepared, unless nothing is to be, or native has it already.
pub fn add_install(profile: &Profile, settings: &RunSettings, native: bool, setup: &mut SetupPlan) {
    let Some(script) = &profile.install else { return };
    if settings.setup == SetupSetting::None || (native && is_here(&profile.command[0])) {
        return;
    }
    setup.steps.push(Step {
        hook: Hook::Install,
        origin: format!("profile {}", profile.name),
        parallel_group: None,
        command: StepCommand::Shell(script.clone()),
        name: Some(profile.name.clone()),
        fallbacks: Vec::new(),
        env: std::collections::BTreeMap::new(),
        dir: None,
        needs: None,
    });
}

fn is_here(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program.contains('/') || std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Gives the sandbox its command and variables. Only after everything is prepared: they are not the setup's.
pub fn give(context: &Context<'_>, profile: &Profile, args: &RunArgs, plan: &mut Plan) {
    plan.profile = Some(profile.name.clone());
    plan.command = profile.command.iter().map(OsString::from).chain(args.command.iter().cloned()).collect();
    for name in &profile.env {
        // What `--env` gave stays.
        let value = std::env::var_os(name).filter(|_| plan.env.get(name).is_none());
        value.into_iter().for_each(|value| plan.env.set(name, value));
    }
    if plan.network == Network::None && !profile.hosts.is_empty() {
        context.ui.warn(&format!(
            "profile {} needs {}, and there is no network",
            profile.name,
            profile.hosts.join(", ")
        ));
    }
}

/// Shows it what it wants of the home. What is not there is left out.
pub fn show_home(context: &Context<'_>, profile: &Profile, kind: Kind, plan: &mut Plan) -> Result<()> {
    let Some(home) = context.places.home.as_deref() else { return Ok(()) };
    let native = kind == Kind::Native;
    let found = |shown: &Shown| {
        let path = shown.on_host(home);
        if path.is_none() {
            context.ui.detail(&format!("{} is not there, so profile {} does without", shown.text(), profile.name));
        }
        path
    };
    for shown in &profile.dirs {
        let Some(source) = found(shown) else { continue };
        if !source.is_dir() {
            return Err(wrong(profile, &source, "is not a directory", "`files` is the key for files"));
        }
        let target = if native { home.join(&shown.target) } else { Path::new(start::DIRS).join(&shown.target) };
        plan.mounts.push(Mount { source, target, access: Access::Cow });
    }
    for shown in &profile.files {
        let Some(source) = found(shown) else { continue };
        if !source.is_file() {
            return Err(wrong(profile, &source, "is not a file", "`dirs` is the key for directories"));
        }
        let in_home = home.join(&shown.target);
        if native && source == in_home {
            // The home is copy-on-write as a whole; it only must not be hidden.
            plan.masked.retain(|hidden| home.join(hidden) != in_home);
            continue;
        }
        let base = if native { start::NATIVE_FILES } else { start::FILES };
        plan.mounts.push(Mount { source, target: Path::new(base).join(&shown.target), access: Access::Ro });
    }
    Ok(())
}

fn wrong(profile: &Profile, path: &Path, what: &str, hint: &str) -> Error {
    Error::new(format!("profile {}: {} {what}", profile.name, show(path))).hint(hint)
}
