//! What of a stage happens in a sandbox: the same steps as `cowbox run`, with a task where that has settings, and nobody
//! who could be asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::gather::{self, Asked, Gathered};
use super::job::{Call, Job, argv};
use super::stand::Stand;
use super::told::{self, Told};
use super::watch;
use crate::cli::{EngineChoice, GlobalArgs, NetworkArg, RunArgs, SetupArgs};
use crate::commands::context::Context;
use crate::commands::launch::Begin;
use crate::error::{Error, Result, reason};
use crate::policy::mounts;
use crate::process::supervise::Beside;
use crate::session::clock::Clock;
use crate::session::store::NewSession;
use crate::session::{Session, SessionId};
use crate::settings::Places;
use crate::setup::make::Happened;
use crate::setup::plan::Refused;
use crate::task::freeze::Frozen;
use crate::task::here::Here;
use crate::task::known::Known;
use crate::task::spec::{Convention, Network, Task};
use crate::ui::Ui;

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
    pub(super) fn records(&self) -> Vec<PathBuf> {
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

    /// Runs a command. With a `room` a new session is there; `here`: this process waits for it.
    pub fn run(&self, call: Call<'_>, room: Option<NewSession>, here: Option<&mut Here<'_>>) -> Result<Told> {
        let job = call.job;
        let ui = match &here {
            Some(here) => {
                let unsaid = |e: std::io::Error| Error::new(format!("cannot keep what is said: {}", reason(&e)));
                ui(false).talking_to(here.talk().map_err(unsaid)?)
            }
            None => ui(false),
        };
        let context = Context::at(self.places.clone(), &ui);
        let context = if here.is_some() { context.staying() } else { context };
        let mut args = self.args(Some(job))?;
        let resumed = job.session.as_ref().map(|id| session(&context, id)).transpose()?;
        if resumed.is_some() {
            // Those are in its record.
            (args.mount, args.image) = (Vec::new(), None);
        }
        let (stand, choice) = Stand::new(self, &context, &args, Some(job), resumed.as_ref())?;
        let begin = match (resumed, room) {
            (Some(session), _) => Begin::Again(Box::new(session)),
            (None, Some(room)) => Begin::In(room),
            (None, None) => Begin::New,
        };
        let launched = stand.run(&context, call, begin, choice, here.map(|here| here as &mut dyn Beside));
        Ok(launched.unwrap_or_else(|error| Told { opened: true, ..stand.failed(&error) }))
    }

    /// What is wanted of a session that has ended. It may take rights that whoever goes on must not have.
    pub fn gather(&self, id: &SessionId, asked: &Asked, run: &Path) -> Gathered {
        let ui = ui(false);
        let context = Context::at(self.places.clone(), &ui);
        gather::all(&context, id, asked, &self.frozen.task, run)
    }

    /// The same in a process that goes on; `None` if it takes such rights.
    pub fn gather_here(&self, id: &SessionId, asked: &Asked, run: &Path) -> Option<Gathered> {
        let ui = ui(false);
        let context = Context::at(self.places.clone(), &ui).staying();
        let gathered = gather::all(&context, id, asked, &self.frozen.task, run);
        (!context.has_stayed()).then_some(gathered)
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
