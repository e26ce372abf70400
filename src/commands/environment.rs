//! The environment of a run: which source prepares it, from which image, and what of it the sandbox gets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::context::Context;
use super::identity;
use crate::engine::client::Client;
use crate::engine::image::ImageFacts;
use crate::engine::{Engine, EngineRecord, Kind};
use crate::error::{Error, Result};
use crate::plan::{Mount, Plan, ServiceData};
use crate::policy::certificates;
use crate::policy::environment::Environment;
use crate::policy::mounts::Access;
use crate::policy::trust::Trust;
use crate::repo::Repo;
use crate::session::Session;
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::cache;
use crate::setup::choose::{Choice, choose};
use crate::setup::devcontainer::Host;
use crate::setup::files::RepoFiles;
use crate::setup::image::{Finder, Found};
use crate::setup::path;
use crate::setup::plan::{Ignored, ImageRequest, MountKind, MountRequest, Refused, SetupPlan, Source};
use crate::setup::ready::{Preparer, remote_env};
use crate::setup::service::Bind;

/// What can be done about things that are left out.
pub const TRUST: &str = "`cowbox trust` shows what is asked for, and allows it";

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
            cpus: || std::thread::available_parallelism().ok().map(|n| n.get() as u64),
            memory: total_memory,
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
            let left = leave_out_containers(&mut choice.plan);
            if !left.is_empty() {
                context.ui.say(&format!("not applied without a container: {}", left.join(", ")));
            }
            if let Some(features) = choice.devcontainer.as_ref().map(|d| &d.features).filter(|f| !f.is_empty()) {
                let names: Vec<String> = features.iter().map(|(id, _)| crate::ui::sanitize::text(id)).collect();
                context.ui.warn(&format!("features need an image, and are left out: {}", names.join(", ")));
            }
            return Ok(None);
        };
        let finder = self.finder(context, engine, client, settings, rebuild);
        self.host(|host| finder.find(choice, host)).map(Some)
    }

    /// The same for a session that goes on: the image is the one that it began with. What that says.
    pub fn image_again(
        &self,
        context: &Context<'_>,
        engine: &dyn Engine,
        settings: &RunSettings,
        choice: &mut Choice,
        plan: &Plan,
    ) -> Result<Option<ImageFacts>> {
        let Some(client) = engine.client() else {
            leave_out_containers(&mut choice.plan);
            return Ok(None);
        };
        let finder = self.finder(context, engine, client, settings, false);
        let name = plan.setup_image.as_ref().or(plan.image.as_ref()).cloned().unwrap_or_default();
        self.host(|host| finder.again(choice, host, &name))
    }

    /// Has image and features say what they ask for, as far as that is known without pulling or building.
    pub fn look(
        &self,
        context: &Context<'_>,
        engine: &dyn Engine,
        settings: &RunSettings,
        choice: &mut Choice,
    ) -> Result<()> {
        let Some(client) = engine.client().filter(|_| choice.devcontainer.is_some()) else { return Ok(()) };
        let finder = self.finder(context, engine, client, settings, false);
        self.host(|host| finder.look(choice, host))
    }

    fn finder<'f>(
        &'f self,
        context: &'f Context<'_>,
        engine: &'f dyn Engine,
        client: &'f Client,
        settings: &'f RunSettings,
        rebuild: bool,
    ) -> Finder<'f> {
        Finder {
            engine,
            client,
            settings,
            files: &self.files,
            cache: &context.places.cache,
            network: settings.network.value,
            rebuild,
            ui: context.ui,
        }
    }
}

/// Native has no images; one that somebody configured is not passed over in silence.
pub fn check_native(settings: &RunSettings, plan: &SetupPlan) -> Result<()> {
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
pub fn shape(plan: &mut Plan, setup: &SetupPlan, engine: &EngineRecord, image: Option<&Found>) {
    if engine.kind == Kind::Native {
        return;
    }
    match setup.source {
        _ if plan.user.is_some() => {}
        Some(Source::Devcontainer) => identity::of_devcontainer(plan, setup, engine, image),
        _ => identity::of_setup(plan, engine, image),
    }
    for mount in &setup.mounts {
        let target = PathBuf::from(&mount.target);
        match &mount.what {
            // A place of the session's own, which the container's disk and the workspace are anyway: see `places`.
            MountKind::Volume => {}
            MountKind::Tmpfs => plan.tmpfs.push(target),
            MountKind::Bind { source, readonly } => {
                let access = if *readonly { Access::Ro } else { Access::Rw };
                plan.mounts.push(Mount { source: source.into(), target, access });
            }
        }
    }
    plan.container = setup.container.clone();
    accompany(plan, setup, image.map(|image| &image.facts));
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

/// What runs beside the command: services, and what the image starts by itself.
fn accompany(plan: &mut Plan, setup: &SetupPlan, image: Option<&ImageFacts>) {
    plan.service = setup.service.clone();
    plan.services = setup.services.clone();
    if setup.container.image_command {
        let of_image = |get: fn(&ImageFacts) -> &Vec<String>| image.map(get).cloned().unwrap_or_default();
        let options = &setup.container;
        plan.own_command = options.entrypoint.clone().unwrap_or_else(|| of_image(|facts| &facts.entrypoint));
        // Another entrypoint makes nothing of the image's arguments.
        let words =
            options.command.clone().or_else(|| options.entrypoint.is_none().then(|| of_image(|facts| &facts.command)));
        plan.own_command.extend(words.unwrap_or_default());
    }
}

/// What services see of the host, where that really is.
pub fn binds_of_services(plan: &Plan) -> Vec<Mount> {
    let mount = |bind: &Bind| {
        let source = PathBuf::from(&bind.source);
        Mount {
            source: source.canonicalize().unwrap_or(source),
            target: bind.target.clone().into(),
            access: if bind.readonly { Access::Ro } else { Access::Rw },
        }
    };
    plan.services.iter().flat_map(|service| &service.binds).map(mount).collect()
}

/// What of a plan means nothing without a container, for native.
fn leave_out_containers(plan: &mut SetupPlan) -> Vec<&'static str> {
    let is_set = |yes: bool, key: &'static str| yes.then_some(key);
    let container = &plan.container;
    let keys = [
        is_set(plan.remote_user.is_some(), "remoteUser"),
        is_set(plan.container_user.is_some(), "containerUser"),
        is_set(!plan.mounts.is_empty(), "mounts"),
        is_set(container.privileged, "privileged"),
        is_set(!container.cap_add.is_empty(), "capAdd"),
        is_set(!container.security_opt.is_empty(), "securityOpt"),
        is_set(container.run_args.iter().any(|word| word != "--init"), "runArgs"),
        is_set(container.image_command, "overrideCommand"),
        is_set(!plan.services.is_empty(), "services"),
    ];
    let reason = "the native engine has no container that it could be given to";
    let keys: Vec<&str> = keys.into_iter().flatten().collect();
    plan.ignored.extend(keys.iter().map(|key| Ignored { key: (*key).to_owned(), reason: reason.to_owned() }));
    keys
}

/// Prepares, and gives the sandbox what came of it.
pub fn ready(preparer: &Preparer<'_>, plan: &mut Plan) -> Result<()> {
    let prepared = preparer.ready()?;
    if let Some(prepared) = &prepared {
        plan.setup_key = Some(prepared.id());
        plan.setup_layer = prepared.layer();
        plan.home_layer = prepared.record.home.as_ref().map(|home| home.0.clone());
        if prepared.record.image.is_some() {
            plan.setup_image = plan.image.take();
            plan.image = prepared.record.image.clone();
        }
    }
    let remote = preparer.remote_env(plan);
    dress(plan, &preparer.choice.plan, prepared.as_ref(), remote);
    Ok(())
}

/// The same for a session that goes on: its layers and its image stay what they are.
pub fn again(context: &Context<'_>, choice: &Choice, image: Option<&ImageFacts>, plan: &mut Plan) {
    let prepared = plan.setup_key.as_deref().and_then(|key| cache::Cache::new(&context.places.cache).find(key));
    let remote = remote_env(&choice.plan, image, plan);
    if plan.image.is_some() {
        let memory = |mount: &&MountRequest| mount.what == MountKind::Tmpfs;
        plan.tmpfs = choice.plan.mounts.iter().filter(memory).map(|mount| PathBuf::from(&mount.target)).collect();
        plan.container = choice.plan.container.clone();
        accompany(plan, &choice.plan, image);
    }
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
        // That of the user in whose place the caller is, better than none.
        let is_home = name == "HOME" && !is_given(name);
        if plan.env.get(name).is_none() || is_home {
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
    if let Some(prepared) = prepared.filter(|_| !is_given("PATH")) {
        add_to_path(&mut plan.env, &prepared.record.path);
    }
    if let Some(prepared) = prepared.filter(|prepared| !prepared.record.volumes.is_empty()) {
        let names = prepared.record.volumes.clone();
        plan.service_data = ServiceData::CopyOf { id: prepared.id(), names };
    }
    plan.before = cache::per_start(&setup.steps).cloned().collect();
}

/// Programs that the setup installed, before all others.
fn add_to_path(env: &mut Environment, dirs: &[String]) {
    // One that nobody knows cannot be kept.
    if let Some(path) = env.get("PATH").map(|path| path.to_string_lossy().into_owned()).filter(|_| !dirs.is_empty()) {
        env.set("PATH", path::with(dirs, &path));
    }
}

/// What another command in a session gets: a container has it already, native has to be told.
pub fn of_exec(context: &Context<'_>, session: &Session) -> Result<Environment> {
    let native = session.record.engine.kind == Kind::Native;
    let mut env = Environment::build(std::env::vars_os(), native, &[])?;
    let key = session.record.setup.as_ref().map(|setup| setup.key.as_str()).filter(|_| native);
    if let Some(prepared) = key.and_then(|key| cache::Cache::new(&context.places.cache).find(key)) {
        add_to_path(&mut env, &prepared.record.path);
    }
    Ok(env)
}

/// What is not done, said once: what the user could allow, by name.
pub fn explain(context: &Context<'_>, plan: &SetupPlan) {
    let ui = context.ui;
    for refused in &plan.refused {
        ui.say(&format!("left out: {} ({})", crate::ui::sanitize::text(&refused.key), refused.reason));
    }
    if !plan.refused.is_empty() {
        ui.say(TRUST);
    }
    if !plan.services.is_empty() {
        let names: Vec<&str> = plan.services.iter().map(|service| service.name.as_str()).collect();
        ui.say(&format!("services beside the sandbox: {}", names.join(", ")));
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
