//! From a plan to an environment that is ready: found in the cache, or made.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::cache::{self, Cache, Making, Prepared};
use super::choose::Choice;
use super::devcontainer::substitute_container_env;
use super::files::RepoFiles;
use super::image::Found;
use super::key::Key;
use super::make::{Maker, millis_since};
use super::packages::Packages;
use super::plan::{EnvProbe, SetupPlan, Source, Step};
use super::redact::Redactor;
use super::room::{self, Room};
use super::{furnish, keep, layer, path, probe};
use crate::engine::image::ImageFacts;
use crate::engine::{Engine, Kind as EngineKind, native};
use crate::error::{Error, Kind, Result, show};
use crate::layer::access;
use crate::plan::Plan;
use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::ui::{Ui, sanitize};

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
    /// Where it talks.
    pub ui: &'a Ui,
}

impl Preparer<'_> {
    fn setup(&self) -> &SetupPlan {
        &self.choice.plan
    }

    fn once(&self) -> Vec<&Step> {
        self.setup().steps.iter().filter(|step| !step.hook.is_per_start()).collect()
    }

    /// Whether there is anything to do before the command.
    pub fn is_needed(&self) -> bool {
        let of_image = self.setup().user_env_probe != EnvProbe::None || self.plan.account.is_some();
        !self.once().is_empty() || (of_image && self.image.is_some())
    }

    /// What the result depends on.
    pub fn key(&self) -> Result<Key> {
        self.key_with(self.plan.network)
    }

    fn key_with(&self, network: Network) -> Result<Key> {
        let setup = self.setup();
        let mut key = Key::new();
        let json = |value: serde_json::Value| value.to_string().into_bytes();
        let record = self.engine.record();
        key.add("the engine", format!("{} {}", record.kind, record.rootless).as_bytes());
        match self.image {
            Some(image) => key.add("the image", image.facts.id.as_bytes()),
            None => key.add("the system", &fs::read("/etc/os-release").unwrap_or_default()),
        }
        key.add("the user", self.plan.user.as_deref().unwrap_or_default().as_bytes());
        key.add("the account", self.plan.account.as_deref().unwrap_or_default().as_bytes());
        key.add("the container's options", format!("{:?} {:?}", setup.container, setup.mounts).as_bytes());
        key.add("the place of the repository", self.plan.workspace.as_os_str().as_encoded_bytes());
        key.add("the network", format!("{network:?}").as_bytes());
        key.add("the steps", &json(serde_json::to_value(self.once()).unwrap_or_default()));
        let names = [self.env.names(), setup.secret_env.names()];
        let variables = serde_json::json!([setup.env, setup.remote_env, setup.user_env_probe, names]);
        key.add("the variables", &json(variables));
        for input in &setup.inputs {
            key.add_file(self.files, input).map_err(|e| Error::io("read", input, e))?;
        }
        Ok(key)
    }

    /// The one that is there, if it is still good; else why it is not.
    pub fn find(&self, key: &Key) -> Result<Prepared, Option<String>> {
        let cache = Cache::new(self.cache);
        // Who runs without a network may use what was prepared with one.
        let online = || self.key_with(Network::Full).ok().filter(|_| self.plan.network == Network::None);
        let Some(found) = cache.newest(&key.id()).or_else(|| cache.newest(&online()?.id())) else {
            let before = cache.latest_of(self.files.root(), self.engine.record().kind);
            return Err(before.map(|before| key.changed_since(&before.record.key).join(", ")));
        };
        if let Some(covered) = layer::outdated(&found.record.covers, self.files) {
            return Err(Some(format!("{} changed, which the setup changes too", show(&covered.path.0))));
        }
        let image = found.record.image.as_deref().map(|name| self.engine.image_facts(name));
        if matches!(image, Some(Ok(None) | Err(_))) {
            return Err(Some("its image is gone".to_owned()));
        }
        if found.record.home.as_ref().is_some_and(|home| !home.0.is_dir()) {
            return Err(Some("its layer over the home is gone".to_owned()));
        }
        Ok(found)
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
        let making = cache.reserve(&key.id(), waiting, |dir| self.clear(dir))?;
        match self.find(&key) {
            // Somebody else has just made it.
            Ok(found) if !self.rebuild => Ok(Some(found)),
            _ => self.make(making, key).map(Some),
        }
    }

    /// Removes one that was not finished.
    fn clear(&self, dir: &Path) -> Result<()> {
        if let Some(record) = room::left_in(dir) {
            self.engine.sweep(&record)?;
        }
        native::remove_home_layer(dir).map_err(|e| Error::io("remove the home layer of", dir, e))?;
        self.clear_part(dir, dir)
    }

    /// Removes what steps have left, whoever owns it.
    fn clear_part(&self, dir: &Path, part: &Path) -> Result<()> {
        match crate::layer::remove::tree(part) {
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                self.engine.reclaim(dir)?;
                access::in_child(|| crate::layer::remove::tree(part))
            }
            other => other.map_err(|e| Error::io("remove", part, e)),
        }
    }

    /// Makes it. What has failed leaves its logs and nothing else.
    fn make(&self, making: Making, key: Key) -> Result<Prepared> {
        let dir = making.dir.clone();
        let made = self.try_to_make(making, key);
        if made.is_err() {
            let parts = ["upper", "work", "links", "hooks", "layer", "home"].map(|part| dir.join(part));
            for part in parts.iter().filter(|part| part.symlink_metadata().is_ok()) {
                if let Err(error) = self.clear_part(&dir, part) {
                    self.ui.detail(error.message());
                }
            }
            // Of the next one, or of `gc`: the failure itself is what counts.
            let _ = native::remove_home_layer(&dir);
        }
        made
    }

    fn try_to_make(&self, making: Making, key: Key) -> Result<Prepared> {
        let started = Instant::now();
        let native = self.engine.record().kind == EngineKind::Native;
        let logs = making.dir.join("logs");
        let packages = Packages::new(self.cache, self.files.root(), &self.choice.caches, native)?;
        let plan = self.sandbox(&making.dir, &packages);
        crate::layer::create::of_plan(&plan)?;
        let mut env = self.step_env(&plan);
        packages.add_to(&mut env);
        let mut room = Room::open(self.engine, plan.clone(), &logs.join("engine.log"))
            .map_err(|e| e.with_kind(Kind::NotStarted))?;
        let tag = (!native).then(|| format!("localhost/cowbox/prepared:{}", making.id));
        let made = self.furnish(&plan, &mut env, &mut room, &logs).and_then(|home| {
            let (mut variables, path) =
                self.carry_out(&self.maker(&plan, &env, &logs), &mut room, &packages, tag.as_deref())?;
            variables.extend(home.map(|home| ("HOME".to_owned(), home)));
            Ok((variables, path))
        });
        room.close();
        let (variables, path) = made?;
        let mut record = cache::record(key, self.files.root(), self.engine.record().kind, tag);
        record.env = variables;
        keep::what_was_made(self.engine, &making.dir, self.files.root(), &mut record)?;
        record.path = path::of_venv(&making.dir.join("layer"), &self.once(), &plan.workspace).into_iter().collect();
        record.path.extend(path);
        record.took = millis_since(started);
        let prepared = making.finish(record)?;
        self.tell(&prepared);
        Ok(prepared)
    }

    fn maker<'m>(&'m self, plan: &'m Plan, env: &'m Environment, logs: &'m Path) -> Maker<'m> {
        let native = self.engine.record().kind == EngineKind::Native;
        Maker {
            ui: self.ui,
            user: self.plan.user.as_deref().filter(|_| !native),
            env,
            mount: &plan.workspace,
            folder: &plan.workdir,
            secrets: self.secrets,
            logs,
        }
    }

    /// What must be there before the first step; the home that the caller gets, where that is another user's.
    fn furnish(&self, plan: &Plan, env: &mut Environment, room: &mut Room<'_>, logs: &Path) -> Result<Option<String>> {
        if self.image.is_none() {
            return Ok(None);
        }
        let maker = self.maker(plan, env, logs);
        furnish::places(&maker, room, self.setup())?;
        let Some(name) = &plan.account else { return Ok(None) };
        let home = furnish::adopt(&maker, room, name)?.to_string_lossy().into_owned();
        env.set("HOME", &home);
        Ok(Some(home))
    }

    /// The sandbox that the steps run in.
    fn sandbox(&self, dir: &Path, packages: &Packages) -> Plan {
        let mut plan = self.plan.clone();
        plan.session_dir = dir.to_path_buf();
        // Complete before it counts, and synced then.
        plan.ephemeral = true;
        plan.image = self.image.map(|image| image.name.clone());
        if self.engine.record().kind == EngineKind::Docker && self.setup().source == Some(Source::Devcontainer) {
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
        env
    }

    /// `remoteEnv`, with what the container's own variables say put in.
    pub fn remote_env(&self, plan: &Plan) -> Vec<(String, Option<String>)> {
        remote_env(self.setup(), self.image.map(|image| &image.facts), plan)
    }

    /// Steps, then what the user's shell says, then the image.
    fn carry_out(
        &self,
        maker: &Maker<'_>,
        room: &mut Room<'_>,
        packages: &Packages,
        tag: Option<&str>,
    ) -> Result<(BTreeMap<String, String>, Vec<String>)> {
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
        if let (Some(tag), Some(client), Some(container)) = (tag, self.engine.client(), room.container()) {
            client.commit(container, tag).map_err(|e| e.context("cannot keep what was prepared as an image"))?;
        }
        Ok((variables, programs.of_home))
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
