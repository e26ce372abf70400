//! The environment of a run: which source prepares it, from which image, and what of it the sandbox gets.

use std::collections::BTreeMap;

use super::context::Context;
use crate::engine::{Engine, Kind};
use crate::error::{Error, Result};
use crate::plan::{Mount, Plan};
use crate::policy::certificates;
use crate::policy::environment::Environment;
use crate::policy::mounts::Access;
use crate::policy::trust::Trust;
use crate::repo::Repo;
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::cache;
use crate::setup::choose::{Choice, choose};
use crate::setup::devcontainer::Host;
use crate::setup::files::RepoFiles;
use crate::setup::image::{Finder, Found};
use crate::setup::plan::{ImageRequest, MountKind, Refused, SetupPlan};
use crate::setup::ready::Preparer;

/// The repo as something to prepare.
pub struct Setting {
    /// Its files.
    pub files: RepoFiles,
    trust: Trust,
    env: BTreeMap<String, String>,
    passed: BTreeMap<String, String>,
}

impl Setting {
    /// Of a repo.
    pub fn new(context: &Context<'_>, repo: &Repo, settings: &RunSettings) -> Result<Self> {
        let files = RepoFiles::open(&repo.root).map_err(|e| Error::io("read", &repo.root, e))?;
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let env: BTreeMap<String, String> = std::env::vars_os().filter_map(text).collect();
        let given = setup_env(settings)?;
        let lossy = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
        let passed = given.iter().map(|(name, value)| (lossy(name), lossy(value))).collect();
        Ok(Self { files, trust: Trust::load(&context.places.state, &repo.root)?, env, passed })
    }

    /// Calls `with` with what a devcontainer may know of the host.
    pub fn host<T>(&self, with: impl FnOnce(&Host<'_>) -> T) -> T {
        let consent = |asked: &Refused| self.trust.has(&asked.consent);
        with(&Host {
            files: &self.files,
            env: &self.env,
            passed: &self.passed,
            cpus: std::thread::available_parallelism().ok().map(|n| n.get() as u64),
            memory: total_memory(),
            consent: &consent,
        })
    }

    /// Chooses the source.
    pub fn choose(&self, settings: &RunSettings, repo: &RepoSettings) -> Result<Choice> {
        self.host(|host| choose(&settings.setup, repo.setup.as_deref(), settings.devcontainer.as_deref(), host))
    }

    /// Finds the image; `None` for native, which has none.
    pub fn image(
        &self,
        context: &Context<'_>,
        engine: &dyn Engine,
        settings: &RunSettings,
        choice: &mut Choice,
        rebuild: bool,
    ) -> Result<Option<Found>> {
        let Some(client) = engine.client() else {
            check_native(settings, &choice.plan)?;
            return Ok(None);
        };
        let finder = Finder {
            engine,
            client,
            settings,
            files: &self.files,
            cache: &context.places.cache,
            network: settings.network.value,
            rebuild,
            ui: context.ui,
        };
        self.host(|host| finder.find(choice, host)).map(Some)
    }
}

/// Native has no images; one that somebody configured is not passed over in silence.
fn check_native(settings: &RunSettings, plan: &SetupPlan) -> Result<()> {
    let without = settings.image.as_deref() == Some("none");
    let configured = match &plan.image {
        ImageRequest::Default => None,
        ImageRequest::Named(name) => Some(format!("the image {}", crate::ui::sanitize::text(name))),
        ImageRequest::Build(build) => Some(format!("an image from {}", crate::error::show(&build.dockerfile))),
    };
    match configured.filter(|_| !without) {
        Some(image) => {
            let file = plan.config_file.as_deref().map(crate::error::show).unwrap_or_default();
            Err(Error::new(format!("{file} asks for {image}, and the native engine has no images"))
                .hint("use `--engine podman` or `--engine docker`")
                .hint("`--image none` runs its hooks on this system's own files; `--setup none` runs none of it"))
        }
        None => Ok(()),
    }
}

/// What `--setup-env` and the configuration give to the setup alone.
pub fn setup_env(settings: &RunSettings) -> Result<Environment> {
    let mut env = Environment::given(std::env::vars_os(), &settings.setup_env)?;
    for name in certificates::PROXIES {
        if let Some(value) = std::env::var_os(name) {
            env.set(name, value);
        }
    }
    Ok(env)
}

/// What a plan for the sandbox takes from the setup before it is made.
pub fn shape(plan: &mut Plan, setup: &SetupPlan, native: bool) {
    if native {
        return;
    }
    let user = setup.remote_user.as_ref().or(setup.container_user.as_ref());
    if plan.user.is_none() {
        plan.user = user.cloned();
    }
    for mount in &setup.mounts {
        // A volume is a place of the session's own; in the workspace, or on the container's disk, it is one anyway.
        if let MountKind::Bind { source, readonly } = &mount.what {
            let access = if *readonly { Access::Ro } else { Access::Rw };
            plan.mounts.push(Mount { source: source.into(), target: mount.target.as_str().into(), access });
        }
    }
    // Only where somebody has added certificates is there a proxy that needs them.
    if let Some(bundle) = certificates::bundle().filter(|_| !certificates::additions().is_empty()) {
        plan.mounts.push(Mount { source: bundle, target: certificates::INSIDE.into(), access: Access::Ro });
        for name in certificates::VARIABLES {
            if plan.env.get(name).is_none() {
                plan.env.set(name, certificates::INSIDE);
            }
        }
    }
}

/// Prepares, and gives the sandbox what came of it.
pub fn ready(preparer: &Preparer<'_>, plan: &mut Plan) -> Result<()> {
    let prepared = preparer.ready()?;
    if let Some(prepared) = &prepared {
        plan.setup_key = Some(prepared.record.key.id());
        plan.setup_layer = prepared.layer();
        plan.home_layer = prepared.record.home.as_ref().map(|home| home.0.clone());
        if prepared.record.image.is_some() {
            plan.image = prepared.record.image.clone();
        }
    }
    let remote = preparer.remote_env(plan);
    dress(plan, &preparer.choice.plan, prepared.as_ref(), remote);
    Ok(())
}

/// The same for a session that goes on: its layers and its image stay what they are.
pub fn again(context: &Context<'_>, choice: &Choice, plan: &mut Plan) {
    let prepared = plan.setup_key.as_deref().and_then(|key| cache::Cache::new(&context.places.cache).find(key));
    let remote = choice.plan.remote_env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    dress(plan, &choice.plan, prepared.as_ref(), remote);
}

/// Variables, and what runs before the command. What `--env` gave wins over everything.
fn dress(
    plan: &mut Plan,
    setup: &SetupPlan,
    prepared: Option<&cache::Prepared>,
    remote: Vec<(String, Option<String>)>,
) {
    let given = plan.given.clone();
    let is_given = |name: &str| given.iter().any(|own| own == name);
    for (name, value) in prepared.iter().flat_map(|prepared| &prepared.record.env) {
        if plan.env.get(name).is_none() {
            plan.env.set(name, value);
        }
    }
    for (name, value) in setup.env.iter().filter(|(name, _)| !is_given(name)) {
        plan.env.set(name, value);
    }
    for (name, value) in remote.into_iter().filter(|(name, _)| !is_given(name)) {
        match value {
            Some(value) => plan.env.set(name, value),
            None => plan.env.remove(&name),
        }
    }
    plan.before = cache::per_start(&setup.steps).cloned().collect();
}

/// What is not done, said once: what the user could allow, by name.
pub fn explain(context: &Context<'_>, plan: &SetupPlan) {
    let ui = context.ui;
    for refused in &plan.refused {
        ui.say(&format!("left out: {} ({})", crate::ui::sanitize::text(&refused.key), refused.reason));
    }
    if !plan.refused.is_empty() {
        ui.say("`cowbox trust` shows what is asked for, and allows it");
    }
    for ignored in &plan.ignored {
        ui.detail(&format!("not applied: {} ({})", crate::ui::sanitize::text(&ignored.key), ignored.reason));
    }
}

/// Whether the repo or the user named an image: then native is not a silent choice.
pub fn configured_image<'a>(settings: &'a RunSettings, choice: &'a Choice) -> Option<&'a str> {
    let named = match &choice.plan.image {
        ImageRequest::Named(name) => Some(name.as_str()),
        ImageRequest::Build(_) => Some("of the devcontainer"),
        ImageRequest::Default => None,
    };
    let file = settings.containerfile.as_ref().map(|_| "of your Containerfile");
    settings.image.as_deref().filter(|name| *name != "none").or(file).or(named.filter(|_| settings.image.is_none()))
}

/// Whether `--image none` asks for no image at all.
pub fn without_image(settings: &RunSettings, kind: Kind) -> bool {
    kind == Kind::Native && settings.image.as_deref() == Some("none")
}

fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
