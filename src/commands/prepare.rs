//! `cowbox prepare`: get the environment ready, or say how that would be done and why.

use serde::Serialize;

use super::context::Context;
use super::environment::{self, Setting};
use super::failed;
use super::initialize;
use super::planning;
use super::profile;
use crate::cli::{PrepareArgs, RunArgs};
use crate::engine::{Engine, Kind, detect};
use crate::error::{Error, Result, show};
use crate::profile::Profile;
use crate::session::id;
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::choose::Choice;
use crate::setup::image::Found;
use crate::setup::keep::Half;
use crate::setup::plan::{BuildRequest, Ignored, ImageRequest, MountRequest, Refused, Source, Step};
use crate::setup::ready::Preparer;
use crate::setup::redact::Redactor;
use crate::ui::{Ui, sanitize};

/// Runs the verb.
pub fn prepare(args: PrepareArgs, ui: &Ui) -> Result<u8> {
    let context = Context::new(ui)?;
    let wanted = RunArgs::to_prepare(&args);
    let settings = RunSettings::resolve(&wanted, &context.places, ui)?;
    let repo = context.repo()?;
    let of_repo = RepoSettings::read(&repo.root, ui)?;
    let setting = Setting::new(&context, &repo, &settings)?;
    let mut choice = setting.choose(&settings, &of_repo)?;
    let agent = profile::choose(&wanted, &settings, None)?;
    if let Some(agent) = &agent {
        profile::add_runtimes(agent, &mut choice.plan);
    }
    if args.dry_run {
        let dry = Dry { context: &context, wanted: &wanted, settings: &settings, setting: &setting, agent };
        return dry.explain(&mut choice, args.json);
    }
    let image = environment::configured_image(&settings, &choice).map(str::to_owned);
    let chosen = detect::choose(&settings.engine, image.as_deref(), &context.places, ui)?;
    let engine = chosen.engine.as_ref();
    initialize::on_host(&choice, &repo.root)?;
    let found = setting.image(&context, engine, &settings, &mut choice, args.rebuild)?;
    if let Some(agent) = &agent {
        profile::add_install(agent, &settings, engine.record().kind == Kind::Native, &mut choice.plan);
    }
    let plan = planning::plan_with(&wanted, &settings, &repo, &context, engine, &choice, found.as_ref())?;
    let env = environment::setup_env(&settings)?;
    let name = id::generate_name(&repo.dir_name());
    let keep = |half: &Half| failed::keep(&context, engine, &plan, &name, half);
    let secrets = Redactor::new(&env);
    let preparer = Preparer {
        engine,
        cache: &context.places.cache,
        files: &setting.files,
        choice: &choice,
        image: found.as_ref(),
        plan: &plan,
        env: &env,
        secrets: &secrets,
        rebuild: args.rebuild,
        failed: Some(&keep),
        observer: None,
        ui,
    };
    environment::explain(&context, &choice.plan);
    let known = preparer.is_needed() && !args.rebuild && preparer.find(&preparer.key()?).is_ok();
    let prepared = preparer.ready()?;
    match (&prepared, known) {
        (None, _) => ui.say("there is nothing to prepare"),
        (Some(_), true) => ui.say("it is prepared already"),
        (Some(_), false) => {}
    }
    if args.json {
        let key = prepared.map(|p| p.record.key.id());
        ui.json(&Document::new(&choice, found.map(|found| found.name), key, known, None).shown(&secrets))?;
    }
    Ok(0)
}

/// `--dry-run`: what is known without pulling, building or running anything.
struct Dry<'a> {
    context: &'a Context<'a>,
    wanted: &'a RunArgs,
    settings: &'a RunSettings,
    setting: &'a Setting,
    agent: Option<Profile>,
}

impl Dry<'_> {
    fn explain(&self, choice: &mut Choice, json: bool) -> Result<u8> {
        let ui = self.context.ui;
        let secrets = Redactor::new(&environment::setup_env(self.settings)?);
        let image = environment::configured_image(self.settings, choice).map(str::to_owned);
        let chosen = detect::choose(&self.settings.engine, image.as_deref(), &self.context.places, ui);
        let engine = chosen.as_ref().ok().map(|chosen| chosen.engine.as_ref());
        let native = engine.is_some_and(|engine| engine.record().kind == Kind::Native);
        if let Some(Err(error)) = engine.map(|e| self.setting.look(self.context, e, self.settings, choice)) {
            ui.warn(&format!("what features ask for is not known: {}", error.message()));
        }
        if let Some(agent) = &self.agent {
            profile::add_install(agent, self.settings, native, &mut choice.plan);
        }
        let (key, cached) = match engine {
            Some(engine) => self.known(choice, engine)?,
            None => (None, false),
        };
        // Everything is explained, and that it would fail is said too.
        let native_fails = native.then(|| environment::check_native(self.settings, &choice.plan).err()).flatten();
        let problem = native_fails.or_else(|| chosen.as_ref().err().map(|e| Error::new(e.message())));
        if json {
            let problem = problem.map(|e| e.message().to_owned());
            ui.json(&Document::new(choice, self.settings.image.clone(), key, cached, problem).shown(&secrets))?;
            return Ok(0);
        }
        let text = Text { choice, settings: self.settings, native, cached }.lines();
        ui.data((secrets.text(&text.join("\n")) + "\n").as_bytes())?;
        if !choice.plan.refused.is_empty() {
            ui.say(environment::TRUST);
        }
        if let Some(problem) = problem {
            ui.warn(problem.message());
        }
        Ok(0)
    }

    /// The key, where everything that it needs is here already.
    fn known(&self, choice: &Choice, engine: &dyn Engine) -> Result<(Option<String>, bool)> {
        let Dry { context, settings, .. } = self;
        let native = engine.record().kind == Kind::Native;
        let name = match (&settings.image, &choice.plan.image) {
            (Some(name), _) | (None, ImageRequest::Named(name)) => Some(name.clone()),
            (None, ImageRequest::Default) if settings.containerfile.is_none() => {
                let ca = crate::policy::certificates::additions();
                let base = settings.base_image.as_deref();
                let recipe = crate::setup::images::recipe(&choice.plan.runtimes, base, Some(&ca));
                recipe.ok().map(|recipe| recipe.image().to_owned())
            }
            _ => None,
        };
        let facts = name.as_deref().filter(|_| !native).map(|name| engine.image_facts(name)).transpose()?.flatten();
        if !native && facts.is_none() {
            return Ok((None, false));
        }
        let found = facts.zip(name).map(|(facts, name)| Found { name, facts });
        let repo = context.repo()?;
        let plan = planning::plan_with(self.wanted, settings, &repo, context, engine, choice, found.as_ref())?;
        let env = environment::setup_env(settings)?;
        let preparer = Preparer {
            engine,
            cache: &context.places.cache,
            files: &self.setting.files,
            choice,
            image: found.as_ref(),
            plan: &plan,
            env: &env,
            secrets: &Redactor::new(&env),
            rebuild: false,
            failed: None,
            observer: None,
            ui: context.ui,
        };
        if !preparer.is_needed() {
            return Ok((None, false));
        }
        let key = preparer.key()?;
        Ok((Some(key.id()), preparer.find(&key).is_ok()))
    }
}

/// `--json`
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    source: Option<Source>,
    config_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<&'a BuildRequest>,
    user: Option<&'a str>,
    workspace_folder: Option<String>,
    env: &'a std::collections::BTreeMap<String, String>,
    remote_env: &'a std::collections::BTreeMap<String, Option<String>>,
    mounts: &'a [MountRequest],
    features: Vec<&'a str>,
    services: Vec<&'a str>,
    steps: &'a [Step],
    refused: &'a [Refused],
    ignored: &'a [Ignored],
    notices: &'a [String],
    cache_key: Option<String>,
    cached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl<'a> Document<'a> {
    fn new(
        choice: &'a Choice,
        found: Option<String>,
        key: Option<String>,
        cached: bool,
        problem: Option<String>,
    ) -> Self {
        let plan = &choice.plan;
        let (image, build) = match &plan.image {
            ImageRequest::Build(build) => (None, Some(build)),
            ImageRequest::Named(name) => (Some(found.unwrap_or_else(|| name.clone())), None),
            ImageRequest::Default => (found, None),
        };
        Self {
            schema: 1,
            source: plan.source,
            config_file: plan.config_file.as_deref().map(crate::paths::text),
            image,
            build,
            user: plan.remote_user.as_deref().or(plan.container_user.as_deref()),
            workspace_folder: plan.workspace.as_ref().map(|w| crate::paths::text(&w.folder)),
            env: &plan.env,
            remote_env: &plan.remote_env,
            mounts: &plan.mounts,
            features: plan.features.iter().map(|f| f.id.as_str()).collect(),
            services: plan.services.iter().map(|service| service.name.as_str()).collect(),
            steps: &plan.steps,
            refused: &plan.refused,
            ignored: &plan.ignored,
            notices: &plan.notices,
            cache_key: key,
            cached,
            problem,
        }
    }

    /// Without what was given to the setup alone.
    fn shown(&self, secrets: &Redactor) -> serde_json::Value {
        secrets.json(serde_json::to_value(self).unwrap_or_default())
    }
}

/// The same for people.
struct Text<'a> {
    choice: &'a Choice,
    settings: &'a RunSettings,
    native: bool,
    cached: bool,
}

impl Text<'_> {
    fn lines(&self) -> Vec<String> {
        let plan = &self.choice.plan;
        let safe = sanitize::text;
        let mut lines = vec![self.choice.headline().unwrap_or_else(|| "nothing to prepare".to_owned())];
        lines.push(format!("image      {}", self.image()));
        if let Some(user) = plan.remote_user.as_ref().or(plan.container_user.as_ref()) {
            lines.push(format!("user       {}", safe(user)));
        }
        if let Some(workspace) = &plan.workspace {
            lines.push(format!("folder     {}", show(&workspace.folder)));
        }
        for step in &plan.steps {
            let hook = serde_json::to_value(step.hook).ok().and_then(|v| v.as_str().map(str::to_owned));
            let command = match &step.command {
                crate::setup::plan::StepCommand::Shell(text) => safe(text),
                crate::setup::plan::StepCommand::Argv(words) => safe(&words.join(" ")),
            };
            let origin = safe(&step.origin);
            lines.push(format!("step       {command}  ({}, {origin})", hook.unwrap_or_default()));
        }
        for feature in &plan.features {
            lines.push(format!("feature    {}", safe(&feature.id)));
        }
        for service in &plan.services {
            lines.push(format!("beside     {}", safe(&service.name)));
        }
        for refused in &plan.refused {
            lines.push(format!("refused    {}: {}", safe(&refused.key), refused.reason));
        }
        for ignored in &plan.ignored {
            lines.push(format!("ignored    {}: {}", safe(&ignored.key), ignored.reason));
        }
        lines.extend(plan.notices.iter().map(|notice| format!("note       {}", safe(notice))));
        if !plan.steps.is_empty() {
            lines.push(format!("prepared   {}", if self.cached { "yes, nothing would be done" } else { "no" }));
        }
        lines
    }

    fn image(&self) -> String {
        let runtimes = || {
            let name = |r: &crate::setup::plan::Runtime| match &r.version {
                Some(version) => format!("{} {}{}", r.name, if r.floor { ">= " } else { "" }, sanitize::text(version)),
                None => r.name.clone(),
            };
            let names: Vec<String> = self.choice.plan.runtimes.iter().map(name).collect();
            if names.is_empty() {
                "cowbox's own base".to_owned()
            } else {
                format!("cowbox's own: {}", names.join(", "))
            }
        };
        match (&self.settings.image, &self.settings.containerfile, &self.choice.plan.image) {
            (Some(name), ..) => sanitize::text(name),
            (None, Some(file), _) => format!("built from {}", show(file)),
            (None, None, ImageRequest::Named(name)) => sanitize::text(name),
            (None, None, ImageRequest::Build(build)) => format!("built from {}", show(&build.dockerfile)),
            (None, None, ImageRequest::Default) if self.native => "none: native has this system's own files".to_owned(),
            (None, None, ImageRequest::Default) => runtimes(),
        }
    }
}
