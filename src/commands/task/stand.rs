//! What a sandbox of a task stands on: the same choices as those of `cowbox run`, with a task where that has settings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use super::inside::Subject;
use super::job::{Call, Job};
use super::told::{Note, Told};
use crate::cli::RunArgs;
use crate::commands::context::Context;
use crate::commands::environment::{self, Setting};
use crate::commands::heal::Word;
use crate::commands::launch::{Begin, Launch};
use crate::commands::planning::{check_mounts, plan_with};
use crate::commands::profile;
use crate::commands::remember::plan_again;
use crate::engine::{Engine, Kind, detect, native};
use crate::error::{self, Error, Result};
use crate::layer::{access, remove};
use crate::plan::Plan;
use crate::policy;
use crate::process::supervise::Beside;
use crate::profile::{self as profiles, Profile};
use crate::repo::Repo;
use crate::session::{Session, id};
use crate::settings::{RepoSettings, RunSettings};
use crate::setup::choose::Choice;
use crate::setup::image::Found;
use crate::setup::make::Observer;
use crate::setup::plan::{Hook, Step, StepCommand};
use crate::setup::ready::Preparer;
use crate::setup::redact::Redactor;
use crate::task::desk;
use crate::task::herald;
use crate::task::spec::{Command, Network};

/// Where native shows the code of a task: it must be the same for everybody, and need not exist on the host.
const NATIVE_WORKSPACE: &str = "/tmp/workspace";

/// What is decided before there is a plan.
pub(super) struct Stand<'a> {
    subject: &'a Subject,
    args: &'a RunArgs,
    settings: RunSettings,
    repo: Repo,
    setting: Setting,
    agent: Option<Profile>,
    pub(super) engine: Box<dyn Engine>,
    prepared: bool,
    /// Where records are: no task sees its own, nor those of others.
    hidden: Vec<PathBuf>,
}

impl<'a> Stand<'a> {
    pub(super) fn new(
        subject: &'a Subject,
        context: &Context<'_>,
        args: &'a RunArgs,
        job: Option<&Job>,
        resumed: Option<&Session>,
    ) -> Result<(Self, Choice)> {
        let mut settings = RunSettings::resolve(args, &context.places, context.ui)?;
        settings.workspace = Some(NATIVE_WORKSPACE.into());
        if args.setup.config.is_some() {
            // The user's usual image is for repos that do not say which.
            settings.image = args.image.clone();
        }
        let repo = Repo { root: subject.root.clone(), subdir: PathBuf::new() };
        context.heal(&repo.root, Word::Insist)?;
        // What stands on the setup was looked at by that.
        if !job.is_some_and(|job| job.prepared) || subject.stands_on_nothing() {
            let (state, cache) = (context.places.state.as_path(), context.places.cache.as_path());
            let own = [("COWBOX_STATE_DIR", state), ("COWBOX_CACHE_DIR", cache)];
            repo.check(context.places.home.as_deref(), &own)?;
        }
        let prepared = job.is_none_or(|job| job.prepared);
        let name = subject.frozen.task.agent.as_ref().and_then(|agent| agent.profile.as_deref());
        let agent = name.filter(|_| prepared).map(|name| profiles::find(name, &settings.profiles)).transpose()?;
        let setting = Setting::new(context, &repo, &settings)?;
        let of_repo = RepoSettings::read(&repo.root, context.ui)?;
        let choice = setting.choose(&settings, &of_repo)?;
        let engine = match resumed {
            Some(session) => context.engine(session)?,
            None => {
                let image = environment::configured_image(&settings, &choice);
                detect::choose(&settings.engine, image, &context.places, context.ui)?.engine
            }
        };
        let hidden = subject.records();
        Ok((Self { subject, args, settings, repo, setting, agent, engine, prepared, hidden }, choice))
    }

    /// A new sandbox, with everything prepared that it stands on.
    pub(super) fn plan(
        &self,
        context: &Context<'_>,
        mut choice: Choice,
        observer: Option<Observer<'_>>,
    ) -> Result<(Plan, Option<Found>)> {
        let engine = self.engine.as_ref();
        if self.args.setup.containerfile.is_some() && engine.record().kind == Kind::Native {
            return Err(Error::new("the task has a Containerfile, and the native engine has no images")
                .hint("use `--engine podman` or `--engine docker`"));
        }
        if let Some(agent) = &self.agent {
            profile::add_runtimes(agent, &mut choice.plan);
        }
        let setup_network = policy_of(self.subject.frozen.task.environment.network.setup);
        let mut for_image = self.settings.clone();
        for_image.network.value = setup_network;
        let found = self.setting.image(context, engine, &for_image, &mut choice, false)?;
        self.add(engine.record().kind, &mut choice);
        let args = self.args;
        let mut plan = plan_with(args, &self.settings, &self.repo, context, engine, &choice, found.as_ref())?;
        plan.below = self.subject.below.clone();
        // Not for the setup either: what it sees there is kept, and shown to others.
        plan.private_dirs.extend(self.hidden.clone());
        environment::explain(context, &choice.plan);
        let env = environment::setup_env(&self.settings)?;
        let before = Plan { network: setup_network, ..plan.clone() };
        let preparer = Preparer {
            engine,
            cache: &context.places.cache,
            files: &self.setting.files,
            choice: &choice,
            image: found.as_ref(),
            plan: &before,
            env: &env,
            secrets: &Redactor::new(&env),
            rebuild: false,
            failed: None,
            observer,
            ui: context.ui,
        };
        environment::ready(&preparer, &mut plan)?;
        Ok((plan, found))
    }

    /// The sandbox of a session that goes on.
    fn plan_again(&self, context: &Context<'_>, session: &Session, mut choice: Choice) -> Result<Plan> {
        let engine = self.engine.as_ref();
        let mut plan = plan_again(session, self.args, &self.settings)?;
        let image = self.setting.image_again(context, engine, &self.settings, &mut choice, &plan)?;
        self.add(engine.record().kind, &mut choice);
        engine.prepare(&mut plan, context.ui)?;
        environment::again(context, &choice, image.as_ref(), &mut plan);
        check_mounts(&plan)?;
        Ok(plan)
    }

    /// Runs a command in a sandbox that stands on all of it.
    pub(super) fn run(
        &self,
        context: &Context<'_>,
        call: Call<'_>,
        begin: Begin,
        choice: Choice,
        beside: Option<&mut dyn Beside>,
    ) -> Result<Told> {
        let Call { job, word, note } = call;
        let engine = self.engine.as_ref();
        if let Begin::Again(session) = &begin
            && let Some(layer) = native::home_layer(session.dir())
        {
            // What an agent put there would be in no record. In a container it is gone as well.
            access::in_child(|| remove::tree(&layer)).map_err(|e| e.context("cannot clear the home"))?;
        }
        let (mut plan, found) = match &begin {
            Begin::Again(session) => (self.plan_again(context, session, choice)?, None),
            Begin::New | Begin::In(_) => self.plan(context, choice, None)?,
        };
        if job.agent
            && let Some(agent) = &self.agent
        {
            profile::show_home(context, agent, engine.record().kind, &mut plan)?;
            check_mounts(&plan)?;
            profile::give(context, agent, self.args, &mut plan);
            if job.command.is_some() {
                plan.command = self.args.command.clone();
            }
        }
        plan.private_dirs = vec![context.places.state.clone(), context.places.cache.clone()];
        plan.private_dirs.extend(self.hidden.clone());
        plan.announce = word.map(str::to_owned);
        if let Some(word) = word.filter(|_| engine.record().kind == Kind::Native) {
            // It has no helper; its network is seen from outside.
            context.ui.show(&format!("{}\n", herald::line(word)));
        }
        // Thrown away at the end, whatever comes of it: it need not survive a power failure.
        plan.ephemeral = true;
        let mut told = self.told(&plan, found.as_ref());
        // Whoever clears up after us finds it by that alone.
        let has_limits = !plan.limits.is_empty();
        let tell =
            |session: &Session| Note::of(session, has_limits).write(note).map_err(|e| Error::io("write", note, e));
        let launch = Launch {
            context,
            engine,
            why: "as before",
            name: id::generate_name(&self.subject.frozen.task.id),
            timeout: self.args.timeout,
            task: Some(&self.subject.run),
            clock: self.subject.clock,
            report: None,
            compared: job.compared,
            created: Some(&tell),
        };
        (told.started, told.duration_ms) = (desk::now(), 0);
        let began = Instant::now();
        let finished = launch.attached(plan, begin, beside).inspect_err(|_| detect::forget(&context.places.cache))?;
        told.duration_ms = desk::millis(began);
        told.session = Some(finished.session.record.id.to_string());
        told.code = Some(finished.code);
        told.timed_out = finished.timed_out;
        told.interrupted = finished.interrupted;
        told.opened = true;
        match finished.failure {
            // That is the task's own: it names what is not there.
            Some(error) if matches!(error.kind(), error::Kind::NotFound | error::Kind::NotExecutable) => {
                context.ui.error(&error);
                Ok(told)
            }
            Some(error) => Err(error),
            None => Ok(told),
        }
    }

    /// What the task adds to what the repo says.
    fn add(&self, kind: Kind, choice: &mut Choice) {
        let task = &self.subject.frozen.task;
        let workspace = match &choice.plan.workspace {
            Some(workspace) if kind != Kind::Native => workspace.mount.to_string_lossy().into_owned(),
            _ if kind == Kind::Native => NATIVE_WORKSPACE.to_owned(),
            _ => "/workspace".to_owned(),
        };
        let placed = |value: &String| value.replace("{workspace}", &workspace);
        choice.plan.env.extend(self.subject.env.iter().map(|(name, value)| (name.clone(), placed(value))));
        choice.plan.env.extend(task.environment.env.clone());
        if !self.prepared {
            return;
        }
        for (number, command) in task.setup.commands.iter().enumerate() {
            choice.plan.steps.push(Step {
                hook: Hook::Setup,
                origin: "the task".to_owned(),
                parallel_group: None,
                command: match command {
                    Command::Shell(line) => StepCommand::Shell(line.clone()),
                    Command::Argv(words) => StepCommand::Argv(words.clone()),
                },
                name: Some(format!("task-{}", number + 1)),
                fallbacks: Vec::new(),
                env: BTreeMap::new(),
                dir: task.environment.workdir.clone(),
                needs: None,
            });
        }
        if let Some(agent) = &self.agent {
            profile::add_install(agent, &self.settings, kind == Kind::Native, &mut choice.plan);
        }
    }

    /// What runs it: kind, version, and whether it runs without root.
    pub(super) fn engine(&self) -> (String, String, bool) {
        let record = self.engine.record();
        (record.kind.to_string(), record.version, record.rootless)
    }

    /// What there is to tell of a failure.
    pub(super) fn failed(&self, error: &Error) -> Told {
        Told { engine: Some(self.engine()), ..Told::failure(error) }
    }

    /// What there is to tell of a plan.
    pub(super) fn told(&self, plan: &Plan, found: Option<&Found>) -> Told {
        Told {
            engine: Some(self.engine()),
            image: found.map(|found| (found.name.clone(), found.facts.id.clone())),
            setup_key: plan.setup_key.clone(),
            cmd: plan.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cwd: plan.workdir.to_string_lossy().into_owned(),
            env: plan.env.names(),
            ..Told::default()
        }
    }
}

fn policy_of(network: Network) -> policy::Network {
    match network {
        Network::None => policy::Network::None,
        Network::Full => policy::Network::Full,
    }
}
