//! From a plan to an environment that is ready: found in the cache, or made.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use super::cache::{self, Cache, Making, Prepared};
use super::choose::Choice;
use super::devcontainer::substitute_container_env;
use super::files::RepoFiles;
use super::image::Found;
use super::keep::{self, KeepHalf, Unmade};
use super::key::Key;
use super::make::{Happened, Maker, Observer, millis_since};
use super::packages::Packages;
use super::plan::{EnvProbe, SetupPlan, Source, Step};
use super::redact::Redactor;
use super::room::Room;
use super::{furnish, path, probe};
use crate::engine::image::ImageFacts;
use crate::engine::oci::beside::data;
use crate::engine::{Engine, Kind as EngineKind};
use crate::error::{Kind, Result, show};
use crate::plan::{Plan, ServiceData};
use crate::policy::environment::Environment;
use crate::ui::{Ui, sanitize};

/// What a setup tells the command: variables, and directories of programs in the home.
type Variables = (BTreeMap<String, String>, Vec<String>);

/// Everything that preparing needs.
pub struct Preparer<'a> {
    /// The engine.
    pub engine: &'a dyn Engine,
    /// cowbox's cache.
    pub cache: &'a Path,
    /// The repo.
    pub files: &'a RepoFiles,
    /// What to do.
    pub choice: &'a Choice,
    /// The image to start from.
    pub image: Option<&'a Found>,
    /// The sandbox of the command that is to run later.
    pub plan: &'a Plan,
    /// Variables for the setup alone.
    pub env: &'a Environment,
    /// Their values, which nobody may see.
    pub secrets: &'a Redactor,
    /// Make it again, whatever is there.
    pub rebuild: bool,
    /// Takes what a setup left that failed; `None`: nothing is kept.
    pub failed: Option<KeepHalf<'a>>,
    /// Told of every step.
    pub observer: Option<Observer<'a>>,
    /// Where it talks.
    pub ui: &'a Ui,
}

impl Preparer<'_> {
    pub(super) fn setup(&self) -> &SetupPlan {
        &self.choice.plan
    }

    /// What is done once, not at every start.
    pub(super) fn once(&self) -> Vec<&Step> {
        self.setup().steps.iter().filter(|step| !step.hook.is_per_start()).collect()
    }

    /// Whether there is anything to do before the command.
    pub fn is_needed(&self) -> bool {
        let of_image = self.setup().user_env_probe != EnvProbe::None || self.plan.account.is_some();
        !self.once().is_empty() || (of_image && self.image.is_some())
    }

    /// Has it ready; `None` if there is nothing to prepare.
    pub fn ready(&self) -> Result<Option<Prepared>> {
        if !self.is_needed() {
            return Ok(None);
        }
        let key = self.key()?;
        let why = match self.find(&key) {
            Ok(found) if !self.rebuild => {
                found.touch();
                return Ok(Some(found));
            }
            Ok(_) => Some("you asked for it".to_owned()),
            Err(why) => why,
        };
        if let Some(headline) = self.choice.headline() {
            self.ui.say(&headline);
        }
        if let Some(why) = why.filter(|why| !why.is_empty()) {
            self.ui.say(&format!("preparing again: {why}"));
        }
        let cache = Cache::new(self.cache);
        let waiting = || self.ui.say("another cowbox is preparing the same; waiting for it");
        let making = cache.reserve(&key.id(), waiting, |dir| keep::clear_unfinished(self.engine, dir))?;
        match self.find(&key) {
            // Somebody else has just made it.
            Ok(found) if !self.rebuild => Ok(Some(found)),
            _ => self.make(making, key).map(Some),
        }
    }

    /// Makes it. What has failed is never kept as if it were prepared.
    fn make(&self, making: Making, key: Key) -> Result<Prepared> {
        self.try_to_make(&making, key).map_err(|unmade| self.give_up(&making, unmade))
    }

    fn try_to_make(&self, making: &Making, key: Key) -> Result<Prepared, Unmade> {
        let started = Instant::now();
        let native = self.engine.record().kind == EngineKind::Native;
        let logs = making.dir.join("logs");
        let packages = Packages::new(self.cache, self.files.root(), &self.choice.caches, native)?;
        let plan = self.sandbox(making, &packages);
        crate::layer::create::of_plan(&plan)?;
        if let Some(observer) = self.observer {
            observer(Happened::Began(making.dir.clone()));
        }
        let mut env = self.step_env(&plan);
        packages.add_to(&mut env);
        let mut room = Room::open(self.engine, plan.clone(), &logs.join("engine.log"))
            .map_err(|e| if e.kind() == Kind::Interrupted { e } else { e.with_kind(Kind::NotStarted) })?;
        if let Some(observer) = self.observer {
            observer(Happened::Opened(room.incarnation().cloned()));
        }
        let tag = (!native).then(|| keep::prepared_image(&making.id));
        let kept_logs = making.after_failure().join("logs");
        let mut volumes = Vec::new();
        let furnished = self.furnish(&self.maker(&plan, &env, [&logs, &kept_logs]), &mut room);
        let made = match furnished {
            Ok(home) => {
                home.iter().for_each(|home| env.set("HOME", home));
                let maker = self.maker(&plan, &env, [&logs, &kept_logs]);
                let made = self.carry_out(&maker, &mut room, &packages).and_then(|made| {
                    self.commit(&room, tag.as_deref())?;
                    volumes = self.settle(&room, &making.id)?;
                    Ok(made)
                });
                let kept = made.as_ref().err().is_some_and(|error| self.keep_half(making, &room, error));
                let made = made.map_err(|error| Unmade { error, kept });
                made.map(|(mut variables, path)| {
                    variables.extend(home.map(|home| ("HOME".to_owned(), home)));
                    (variables, path)
                })
            }
            Err(error) => Err(error.into()),
        };
        room.close();
        let mut record = cache::record(key, self.files.root(), self.engine.record().kind, tag);
        let (variables, path) = made?;
        record.env = variables;
        record.volumes = volumes;
        self.keep(&making.dir, &mut record)?;
        record.path = path::of_venv(&making.dir.join("layer"), &self.once(), &plan.workspace).into_iter().collect();
        record.path.extend(path);
        record.took = millis_since(started);
        let prepared = making.finish(record)?;
        self.tell(&prepared);
        Ok(prepared)
    }

    /// Who steps are; native has nobody else.
    pub(super) fn step_user(&self) -> Option<&str> {
        let native = self.engine.record().kind == EngineKind::Native;
        self.plan.setup_user.as_deref().or(self.plan.user.as_deref()).filter(|_| !native)
    }

    fn maker<'m>(&'m self, plan: &'m Plan, env: &'m Environment, [logs, kept_logs]: [&'m Path; 2]) -> Maker<'m> {
        Maker {
            ui: self.ui,
            user: self.step_user(),
            env,
            mount: &plan.workspace,
            folder: &plan.workdir,
            secrets: self.secrets,
            logs,
            kept_logs,
            observer: self.observer,
        }
    }

    /// What must be there before the first step; the home that the caller gets, where that is another user's.
    fn furnish(&self, maker: &Maker<'_>, room: &mut Room<'_>) -> Result<Option<String>> {
        if self.image.is_none() {
            return Ok(None);
        }
        furnish::places(maker, room, self.setup())?;
        let Some(name) = &self.plan.account else { return Ok(None) };
        Ok(Some(furnish::adopt(maker, room, name)?.to_string_lossy().into_owned()))
    }

    /// The sandbox that the steps run in.
    fn sandbox(&self, making: &Making, packages: &Packages) -> Plan {
        let mut plan = self.plan.clone();
        plan.session_dir = making.dir.clone();
        plan.service_data = ServiceData::Making(making.id.clone());
        // Complete before it counts, and synced then.
        plan.ephemeral = true;
        plan.image = self.image.map(|image| image.name.clone());
        let devcontainer = self.setup().source == Some(Source::Devcontainer);
        if self.plan.setup_user.is_some() || (devcontainer && self.engine.record().kind == EngineKind::Docker) {
            // Root can do nothing in a container that was not started as root. Steps have a user of their own.
            plan.user = Some("0:0".to_owned());
        }
        // What goes in here ends up in the image.
        plan.env = Environment::default();
        // What is there cannot be taken from a step again.
        let unset = |name: &String| self.setup().remote_env.get(name) == Some(&None);
        for (name, value) in self.setup().env.iter().filter(|(name, _)| !unset(name)) {
            plan.env.set(name, value);
        }
        if let Some(home) = self.plan.env.get("HOME") {
            plan.env.set("HOME", home);
        }
        plan.mounts.extend(packages.mount());
        if self.once().is_empty() {
            // Nobody would talk to them.
            plan.services.clear();
        }
        plan
    }

    /// Variables of every step.
    fn step_env(&self, plan: &Plan) -> Environment {
        let mut env = self.plan.env.without(self.plan.given.iter());
        self.setup().env.iter().for_each(|(name, value)| env.set(name, value));
        for (name, value) in self.remote_env(plan) {
            match value {
                Some(value) => env.set(name, value),
                None => env.remove(&name),
            }
        }
        self.setup().secret_env.iter().chain(self.env.iter()).for_each(|(name, value)| env.set(name, value));
        env.set("CI", "1");
        if self.plan.setup_user.is_some() {
            env.trust_git(&plan.workspace);
        }
        env
    }

    /// `remoteEnv`, with what the container's own variables say put in.
    pub fn remote_env(&self, plan: &Plan) -> Vec<(String, Option<String>)> {
        remote_env(self.setup(), self.image.map(|image| &image.facts), plan)
    }

    /// Steps, and what they made for the caller.
    fn carry_out(&self, maker: &Maker<'_>, room: &mut Room<'_>, packages: &Packages) -> Result<Variables> {
        let made = self.run_steps(maker, room, packages);
        if self.plan.setup_user.is_none() || made.as_ref().is_err_and(|e| e.kind() == Kind::Interrupted) {
            return made;
        }
        let handed_over = furnish::hand_over(maker, room, self.plan.user.as_deref(), packages.mount().as_ref());
        made.and_then(|variables| handed_over.map(|()| variables))
    }

    /// Steps, then what the user's shell says.
    fn run_steps(&self, maker: &Maker<'_>, room: &mut Room<'_>, packages: &Packages) -> Result<Variables> {
        packages.restore(maker, room)?;
        let steps = self.once();
        let mut answers = true;
        if !steps.is_empty() {
            let found = self.of_shell(maker, room)?;
            answers = found.is_some();
            let mut env = maker.env.clone();
            for (name, value) in found.into_iter().flatten().filter(|(name, _)| maker.env.get(name).is_none()) {
                env.set(name, value);
            }
            Maker { env: &env, ..*maker }.run(room, &steps)?;
        }
        let mut variables = BTreeMap::new();
        if self.image.is_some() {
            // The steps may have changed what it says. One that hangs is not asked again.
            let found = if answers { self.of_shell(maker, room)? } else { None };
            match found {
                Some(found) => {
                    // What was only for the setup must not come back with the command.
                    let own: Vec<String> = self.env.names();
                    let taken =
                        |name: &String, value: &str| !own.contains(name) && !self.secrets.is_in(value.as_bytes());
                    variables = found.into_iter().filter(|(name, value)| taken(name, value)).collect();
                    variables.retain(|name, _| maker.env.get(name).is_none() || name == "PATH");
                }
                None => self.ui.warn("the user's shell did not tell its variables in time; they are left out"),
            }
        }
        let programs = path::ask(maker, room)?;
        if let Some(own) = programs.path.filter(|_| self.image.is_some()) {
            variables.entry("PATH".to_owned()).or_insert(own);
        }
        packages.save(maker, room)?;
        Ok((variables, programs.of_home))
    }

    fn commit(&self, room: &Room<'_>, tag: Option<&str>) -> Result<()> {
        match (tag, self.engine.client(), room.container()) {
            (Some(tag), Some(client), Some(container)) => {
                client.commit(container, tag).map_err(|e| e.context("cannot keep what was prepared as an image"))
            }
            _ => Ok(()),
        }
    }

    /// The volumes with what services have by now.
    fn settle(&self, room: &Room<'_>, id: &str) -> Result<Vec<String>> {
        match (self.engine.client(), room.container()) {
            (Some(client), Some(container)) if !self.plan.services.is_empty() => data::settle(client, container, id),
            _ => Ok(Vec::new()),
        }
    }

    /// What a shell of the user's sets; `None` if it does not answer.
    fn of_shell(&self, maker: &Maker<'_>, room: &mut Room<'_>) -> Result<Option<BTreeMap<String, String>>> {
        let kind = if self.image.is_some() { self.setup().user_env_probe } else { EnvProbe::None };
        probe::ask(room, kind, maker.user, maker.env, maker.folder, maker.logs)
    }

    fn tell(&self, prepared: &Prepared) {
        let tracked: Vec<String> =
            prepared.record.covers.iter().filter(|c| c.tracked).map(|c| show(&c.path.0)).collect();
        if let Some(first) = tracked.first() {
            let more = if tracked.len() > 1 { format!(" and {} more", tracked.len() - 1) } else { String::new() };
            self.ui.say(&format!(
                "the setup changed files that git knows: {first}{more} · `cowbox diff --setup` shows them"
            ));
        }
        for notice in &self.setup().notices {
            self.ui.say(&sanitize::text(notice));
        }
        let took = super::progress::short(std::time::Duration::from_millis(prepared.record.took));
        self.ui.say(&format!("prepared in {took}; the next start is as fast as without"));
    }
}

/// `remoteEnv` of a plan in a container of this image.
pub fn remote_env(setup: &SetupPlan, image: Option<&ImageFacts>, plan: &Plan) -> Vec<(String, Option<String>)> {
    let of_image = image.iter().flat_map(|image| &image.env).filter_map(|pair| pair.split_once('='));
    let mut known: BTreeMap<String, String> =
        of_image.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
    known.extend(plan.env.iter().map(|(name, value)| (text(name), text(value))));
    known.extend(setup.env.clone());
    let done = |value: &String| substitute_container_env(value, &known);
    setup.remote_env.iter().map(|(name, value)| (name.clone(), value.as_ref().map(done))).collect()
}
