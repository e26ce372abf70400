//! What of a stage happens in a sandbox, done in a process of its own: the same steps as `cowbox run`, with a task
//! where that has settings, and nobody who could be asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::gather::{self, Asked, Gathered};
use super::job::{Job, argv};
use super::told::{self, Note, Told};
use super::watch;
use crate::cli::{EngineChoice, GlobalArgs, NetworkArg, RunArgs, SetupArgs};
use crate::commands::context::Context;
use crate::commands::environment::{self, Setting};
use crate::commands::heal::Word;
use crate::commands::launch::Launch;
use crate::commands::planning::{check_mounts, plan_with};
use crate::commands::profile;
use crate::commands::remember::plan_again;
use crate::engine::{Engine, Kind, detect, native};
use crate::error::{self, Error, Result};
use crate::layer::{access, remove};
use crate::plan::Plan;
use crate::policy::{self, mounts};
use crate::profile::{self as profiles, Profile};
use crate::repo::Repo;
use crate::session::clock::Clock;
use crate::session::{Session, SessionId, id};
use crate::settings::{Places, RepoSettings, RunSettings};
use crate::setup::choose::Choice;
use crate::setup::image::Found;
use crate::setup::make::{Happened, Observer};
use crate::setup::plan::{Hook, Refused, Step, StepCommand};
use crate::setup::ready::Preparer;
use crate::setup::redact::Redactor;
use crate::task::desk;
use crate::task::freeze::Frozen;
use crate::task::herald;
use crate::task::known::Known;
use crate::task::spec::{Command, Convention, Network, Task};
use crate::ui::Ui;

/// Where native shows the code of a task: it must be the same for everybody, and need not exist on the host.
const NATIVE_WORKSPACE: &str = "/tmp/workspace";

/// What every stage of a run is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The task.
    pub frozen: Frozen,
    /// The code.
    pub root: PathBuf,
    /// Layers of fixes over it, the topmost first.
    pub below: Vec<PathBuf>,
    /// Variables that fixes ask for.
    pub env: BTreeMap<String, String>,
    /// `--engine`
    pub engine: Option<EngineChoice>,
    /// The run, by its id.
    pub run: String,
    /// What is older than this is the code.
    pub clock: Clock,
    /// Where cowbox keeps things.
    pub places: Places,
    /// Where the records of this run and of others are.
    pub out: PathBuf,
}

/// Talks to the log, and says nothing there that the command did not.
fn ui(talkative: bool) -> Ui {
    let global = GlobalArgs { quiet: !talkative, verbose: 0, color: crate::cli::ColorChoice::Never, no_input: true };
    Ui::new(&global)
}

impl Subject {
    /// Where records of runs are.
    fn records(&self) -> Vec<PathBuf> {
        let mut all = Known::new(&self.places.state).places();
        // The home is looked after already.
        let home = self.places.home.as_deref();
        all.retain(|place| *place != self.out && !home.is_some_and(|home| home.starts_with(place)));
        all.push(self.out.clone());
        all
    }

    /// Whether there is surely nothing to get ready: then whoever runs the command looks at the rest.
    pub fn stands_on_nothing(&self) -> bool {
        let Task { environment, setup, agent, .. } = &self.frozen.task;
        let named = environment.image.is_some() || environment.containerfile.is_some();
        let profile = agent.as_ref().is_some_and(|agent| agent.profile.is_some());
        self.engine == Some(EngineChoice::Native)
            && setup.convention == Convention::None
            && setup.commands.is_empty()
            && !(named || environment.devcontainer.is_some() || profile)
    }

    /// Gets the environment ready.
    pub fn prepare(&self, answer: &Path) -> Result<Told> {
        let ui = ui(true);
        let context = Context::at(self.places.clone(), &ui);
        let args = self.args(None)?;
        let (stand, choice) = Stand::new(self, &context, &args, None, None)?;
        // Nobody can be asked, so what needs consent and has none is left out.
        let left_out = |refused: &Refused| format!("left out: {} ({})", refused.key, refused.reason);
        let mut notices: Vec<String> = choice.plan.refused.iter().take(100).map(left_out).collect();
        if choice.devcontainer.as_ref().is_some_and(|devcontainer| !devcontainer.initialize.is_empty()) {
            notices.push("initializeCommand is left out: a task runs nothing on the host".to_owned());
        }
        // Told while it goes on as well: it may be cut off.
        let happened = RefCell::new(Told { engine: Some(stand.engine()), ..Told::unfinished() });
        let _ = happened.borrow().write(answer);
        let observer = |news: Happened| {
            let mut told = happened.borrow_mut();
            match news {
                Happened::Began(dir) => told.making = Some(dir.as_path().into()),
                Happened::Opened(sandbox) => {
                    told.container = sandbox.as_ref().and_then(|sandbox| sandbox.container.clone());
                    let init = sandbox.and_then(|sandbox| sandbox.init).map(|init| init.pid);
                    let container = told.container.as_deref();
                    let pid = init.or_else(|| watch::first_process(stand.engine.as_ref(), container?));
                    told.interfaces = pid.and_then(told::interfaces);
                }
                // As it came: what we say ourselves goes to the other log.
                Happened::Printed(bytes) => {
                    let mut out = std::io::stdout().lock();
                    let _ = out.write_all(&bytes).and_then(|()| out.flush());
                    return;
                }
                Happened::Ended(step) => told.steps.push((&step).into()),
            }
            let _ = told.write(answer);
        };
        let made = stand.plan(&context, choice, Some(&observer));
        let Told { steps, container, interfaces, .. } = happened.into_inner();
        let told = match made {
            Ok((plan, found)) => stand.told(&plan, found.as_ref()),
            Err(error) => stand.failed(&error),
        };
        Ok(Told { steps, notices, container, interfaces, ..told })
    }

    /// Runs a command, whose sandbox says `word` first if it can. `note` is told of the sandbox as soon as there is one.
    pub fn run(&self, job: &Job, word: &str, note: &Path) -> Result<Told> {
        let ui = ui(false);
        let context = Context::at(self.places.clone(), &ui);
        let mut args = self.args(Some(job))?;
        let resumed = job.session.as_ref().map(|id| session(&context, id)).transpose()?;
        if resumed.is_some() {
            // Those are in its record.
            (args.mount, args.image) = (Vec::new(), None);
        }
        let (stand, choice) = Stand::new(self, &context, &args, Some(job), resumed.as_ref())?;
        let launched = stand.run(&context, job, word, note, resumed, choice);
        Ok(launched.unwrap_or_else(|error| Told { opened: true, ..stand.failed(&error) }))
    }

    /// What is wanted of a session that has ended. It may take rights that whoever goes on must not have.
    pub fn gather(&self, id: &SessionId, asked: &Asked, run: &Path) -> Gathered {
        let ui = ui(false);
        let context = Context::at(self.places.clone(), &ui);
        gather::all(&context, id, asked, &self.frozen.task, run)
    }

    /// The same as a person would have typed it.
    fn args(&self, job: Option<&Job>) -> Result<RunArgs> {
        let task = &self.frozen.task;
        let environment = &task.environment;
        let network = |network: Network| match network {
            Network::None => NetworkArg::None,
            Network::Full => NetworkArg::Full,
        };
        let pair = |(name, value): (&String, &String)| OsString::from(format!("{name}={value}"));
        let mut env: Vec<OsString> = environment.env_from_host.iter().map(OsString::from).collect();
        env.extend(job.into_iter().flat_map(|job| &job.env).map(pair));
        let mount = |text: &String| {
            mounts::parse(text.as_ref())
                .map_err(|why| Error::new(format!("mount `{text}`: {why}")).hint("see docs/tasks.md"))
        };
        let convention = if task.setup.convention == Convention::None { "none" } else { "auto" };
        let setup = SetupArgs {
            setup: Some(if job.is_some_and(|job| !job.prepared) { "none" } else { convention }.to_owned()),
            containerfile: environment.containerfile.clone(),
            profile: None,
            config: environment.devcontainer.as_ref().map(|path| path.to_string_lossy().into_owned()),
            setup_env: environment.env_from_host.iter().map(OsString::from).collect(),
        };
        Ok(RunArgs {
            engine: self.engine,
            image: environment.image.clone(),
            setup,
            network: Some(network(job.map_or(environment.network.setup, |job| job.network))),
            env,
            mount: environment.mounts.iter().map(mount).collect::<Result<_>>()?,
            memory: environment.resources.memory.map(|size| size.0),
            cpus: environment.resources.cpus,
            pids: environment.resources.pids,
            timeout: job.map(|job| job.timeout),
            user: environment.user.clone(),
            workdir: environment.workdir.clone(),
            runtime: environment.runtime.clone(),
            command: job.and_then(|job| job.command.as_ref()).map(argv).unwrap_or_default(),
            ..RunArgs::default()
        })
    }
}

/// A session of this run.
pub fn session(context: &Context<'_>, id: &SessionId) -> Result<Session> {
    let lost = || Error::new(format!("session {id} is gone")).hint("something else has removed it: run the task again");
    context.store.read(id)?.ok_or_else(lost)
}

/// What is decided before there is a plan.
struct Stand<'a> {
    subject: &'a Subject,
    args: &'a RunArgs,
    settings: RunSettings,
    repo: Repo,
    setting: Setting,
    agent: Option<Profile>,
    engine: Box<dyn Engine>,
    prepared: bool,
    /// Where records are: no task sees its own, nor those of others.
    hidden: Vec<PathBuf>,
}

impl<'a> Stand<'a> {
    fn new(
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
    fn plan(
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
    fn run(
        &self,
        context: &Context<'_>,
        job: &Job,
        word: &str,
        note: &Path,
        resumed: Option<Session>,
        choice: Choice,
    ) -> Result<Told> {
        let engine = self.engine.as_ref();
        if let Some(layer) = resumed.as_ref().and_then(|session| native::home_layer(session.dir())) {
            // What an agent put there would be in no record. In a container it is gone as well.
            access::in_child(|| remove::tree(&layer)).map_err(|e| e.context("cannot clear the home"))?;
        }
        let (mut plan, found) = match &resumed {
            Some(session) => (self.plan_again(context, session, choice)?, None),
            None => self.plan(context, choice, None)?,
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
        plan.announce = Some(word.to_owned());
        if engine.record().kind == Kind::Native {
            // It has no helper; its network is seen from outside.
            context.ui.show(&format!("{}\n", herald::line(word)));
        }
        // Thrown away at the end, whatever comes of it: it need not survive a power failure.
        plan.ephemeral = true;
        let mut told = self.told(&plan, found.as_ref());
        // Whoever clears up after us finds it by that alone.
        let tell = |session: &Session| Note::of(session).write(note).map_err(|e| Error::io("write", note, e));
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
        let finished = launch.attached(plan, resumed).inspect_err(|_| detect::forget(&context.places.cache))?;
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
    fn engine(&self) -> (String, String, bool) {
        let record = self.engine.record();
        (record.kind.to_string(), record.version, record.rootless)
    }

    /// What there is to tell of a failure.
    fn failed(&self, error: &Error) -> Told {
        Told { engine: Some(self.engine()), ..Told::failure(error) }
    }

    /// What there is to tell of a plan.
    fn told(&self, plan: &Plan, found: Option<&Found>) -> Told {
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
