//! One run of one task, from its first stage to its record. It has a process of its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;

use super::gather::{Asked, Before, Gathered};
use super::inside::Subject;
use super::job::Job;
use super::spare::{self, Spare};
use super::stages::{COLLECTING, Stages};
use super::stopping::Stopping;
use crate::cli::EngineChoice;
use crate::commands::context::Context;
use crate::error::{Error, Result};
use crate::process::supervise;
use crate::session::SessionId;
use crate::session::clock::Clock;
use crate::session::store::NewSession;
use crate::settings::Places;
use crate::task::desk::{self, Desk};
use crate::task::events::Events;
use crate::task::expect::Seen;
use crate::task::freeze::Frozen;
use crate::task::halt::Halt;
use crate::task::outcome::{self, Outcome};
use crate::task::record::{RepoFacts, RunRecord};
use crate::task::report::Entry;
use crate::task::source::mirror::Wanted;
use crate::task::source::{self, Mirror, Source, Wish};
use crate::task::spec::{Repo, Task};
use crate::task::stage::{Reach, Stage};
use crate::ui::Ui;

/// What to run, and where its record goes.
#[derive(Clone, Debug)]
pub struct Order {
    /// The task.
    pub task: Task,
    /// What its paths are relative to.
    pub from: PathBuf,
    /// Which of several runs of it, from 1.
    pub repeat: u32,
    /// The batch that it belongs to.
    pub batch: String,
    /// Where runs are kept.
    pub out: PathBuf,
}

/// How all of them are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--engine`
    pub engine: Option<EngineChoice>,
    /// `--max-log`
    pub max_log: u64,
    /// `--stream`
    pub stream: bool,
    /// What is older than this is the code of tasks that take it as it is.
    pub clock: Clock,
    /// Whether they are to stop.
    pub stopping: Rc<Stopping>,
}

/// How a run ended, for whoever started it.
#[derive(Debug)]
pub enum Ended {
    /// Its record is written; what it comes to.
    Recorded(Box<Entry>),
    /// It was asked to stop: it does not count.
    Stopped,
}

/// Does it. The directory of the run is told through `began` as soon as there is one. `spare` is what the run before has
/// left, and then what this one leaves.
pub fn run(
    order: &Order,
    options: &Options,
    watcher: Option<OwnedFd>,
    began: impl FnOnce(&Path),
    spare: &mut Option<Spare>,
    places: &Places,
    ui: &Ui,
) -> Result<Ended> {
    let context = Context::at(places.clone(), ui);
    let id = SessionId::new().to_string();
    let work = spare.as_ref().map(|spare| spare.work.as_path());
    let dir = desk::create_dir(&order.out, &id, &order.batch, work)
        .map_err(|e| Error::io("create a run in", &order.out, e))?;
    let room = spare.take().map(|spare| {
        // It may have been good for nothing any more.
        let _ = crate::layer::remove::tree(&spare.work);
        spare.session
    });
    began(&dir);
    let unwritable = |e| Error::io("write", &dir, e);
    let mut events = Events::create(&dir.join("events.jsonl"), &id, watcher).map_err(unwritable)?;
    let data = json!({ "task": order.task.id, "repeat": order.repeat, "dir": dir.to_string_lossy() });
    events.write(None, "run.started", data).map_err(unwritable)?;
    let record = RunRecord::begun(&id, &order.task, order.repeat, &order.batch, options.max_log);
    let desk = Desk::new(dir.clone(), record, events, supervise::watch()?, options.max_log, options.stream);
    let mut worker = Worker { context: &context, desk, options: options.clone() };
    let came = worker.all(order, room);
    let own = worker.desk.session.take().filter(|_| !matches!(came, Err(Halt::Stopped)));
    *spare = own.and_then(|own| Spare::of(&context, &dir, &own));
    let clear = if spare.is_some() { Ok(()) } else { clear_away(&context, &dir) };
    match came {
        Err(Halt::Stopped) => {
            let _ = worker.desk.notice("stopped; this run does not count");
            clear?;
            Ok(Ended::Stopped)
        }
        Err(Halt::Over(outcome, why)) => {
            let record = worker.desk.finish(outcome, Some(why), false)?;
            clear.map(|()| Ended::Recorded(Box::new(Entry::new(&record, &dir))))
        }
        Ok((outcome, why)) => {
            let record = worker.desk.finish(outcome, why, true)?;
            clear.map(|()| Ended::Recorded(Box::new(Entry::new(&record, &dir))))
        }
    }
}

struct Worker<'a> {
    context: &'a Context<'a>,
    desk: Desk,
    options: Options,
}

impl Worker<'_> {
    /// The stages, in their order. What fails first is what the run ends with.
    fn all(&mut self, order: &Order, room: Option<NewSession>) -> Result<(Outcome, Option<String>), Halt> {
        self.options.stopping.heed(&self.desk)?;
        let frozen = Frozen::new(&order.task, &order.from, &self.desk.dir)?;
        // Also of code that cannot be had it is known where it should have come from.
        let from = frozen.task.repo.from();
        self.desk.record.repo = Some(RepoFacts { source: source::url::shown(&from), ..RepoFacts::default() });
        let source = self.source(&frozen)?;
        self.desk.record.repo = Some(RepoFacts {
            source: source::url::shown(&source.from),
            commit: source.commit.clone(),
            tree: source.tree.clone(),
            patched_tree: source.patched_tree.clone(),
        });
        let Repo { commit, reference, .. } = &frozen.task.repo;
        // A tick of the clock of files is longer than a small task: only code that was written just now waits for one.
        let clock = if commit.is_none() && reference.is_none() { self.options.clock } else { Clock::start() };
        let (engine, run) = (self.options.engine, self.desk.record.id.clone());
        let places = self.context.places.clone();
        let (below, env) = (Vec::new(), Default::default());
        let out = order.out.clone();
        let subject = Subject { frozen, root: source.root.clone(), below, env, engine, run, clock, places, out };
        let (desk, stopping) = (&mut self.desk, &*self.options.stopping);
        let mut stages = Stages { context: self.context, desk, subject, room, made: 0, stopping };
        stages.compat()?;
        stages.setup()?;
        stages.run_all()
    }

    /// Gets the code: from its mirror, or as it is.
    fn source(&mut self, frozen: &Frozen) -> Result<Source, Halt> {
        let Repo { path, commit, reference, submodules, .. } = &frozen.task.repo;
        let wanted = match (commit, reference) {
            (Some(commit), _) => Wanted::Commit(commit),
            (None, Some(name)) => Wanted::Reference(name),
            (None, None) => {
                self.desk.begin(Stage::Checkout, None, Some(frozen.task.environment.timeout.clone.0))?;
                return source::as_it_is(path.as_deref().unwrap_or(Path::new("")));
            }
        };
        let time = frozen.task.environment.timeout.clone.0;
        self.desk.begin(Stage::Fetch, Some(Reach::Host), Some(time))?;
        let cache = &self.context.places.cache;
        let from = frozen.task.repo.from();
        self.desk.hide(&source::url::secrets(&from));
        let mirror = Mirror::open(cache, &from, path.is_some(), &mut self.desk)?;
        mirror.fetch(wanted, &mut self.desk)?;
        let (commit, tree) = mirror.resolve(wanted, &mut self.desk)?;
        source::Host::begin(&mut self.desk, Stage::Checkout, *submodules)?;
        let patches = frozen.patches()?;
        let wish = Wish { commit: &commit, tree: &tree, submodules: *submodules, patches: &patches };
        source::checkout(cache, &mirror, &wish, &mut self.desk)
    }
}

/// What a run has told of its sandboxes, as long as they may be there.
pub fn notes(run: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(run.join("work")).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "note")).collect()
}

/// Throws away what is left of the sessions of a run, whatever came of them, and then what tells of them.
pub fn clear_away(context: &Context<'_>, run: &Path) -> Result<()> {
    clear(context, run)?;
    let _ = crate::layer::remove::tree(&run.join("work"));
    Ok(())
}

/// Throws away the sessions of a run: those that it did not get to. Only its own: the directory of a run may be
/// somebody else's work, and sessions are the user's.
pub fn clear(context: &Context<'_>, run: &Path) -> Result<()> {
    let name = run.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((_, of)) = name.split_once("__") else { return Ok(()) };
    let told = notes(run).into_iter().filter_map(|note| SessionId::parse(&super::told::Note::read(&note)?.session));
    // Killed before it could tell, it has made its session all the same.
    let own: BTreeSet<_> = spare::all_of_run(of).filter(|id| context.store.dir(id).exists()).collect();
    for id in told.chain(own.iter().cloned()).collect::<BTreeSet<_>>() {
        let session = match context.store.read(&id) {
            Ok(None) => {
                spare::remove_leftover(&context.store.dir(&id), own.contains(&id))?;
                None
            }
            session => session.ok().flatten(),
        };
        if let Some(mut session) = session.filter(|session| session.record.task.as_deref() == Some(of)) {
            context.reconcile(&mut session)?;
            let lock = context.lock(&session)?;
            context.remove_session(&session)?;
            drop(lock);
        }
    }
    Ok(())
}

impl Stages<'_> {
    /// Baseline, agent, command, and what they left.
    fn run_all(&mut self) -> Result<(Outcome, Option<String>), Halt> {
        let task = self.subject.frozen.task.clone();
        if task.expect.failing_baseline {
            self.baseline(&task)?;
        }
        let (session, before) = match &task.agent {
            Some(agent) => {
                let (session, report) = self.agent(agent)?;
                (Some(session), Before::Left(report))
            }
            None => (None, Before::Below),
        };
        let has_agent = session.is_some();
        let time = task.environment.timeout.run.0;
        let changes = (!has_agent).then_some("run");
        let asked = Asked { changes, files: true, before, kept: true, ..Asked::default() };
        let job = Job { session, asked: Some(asked), ..self.job(&task, time) };
        let ran = match self.command(Stage::Run, &job) {
            Ok(ran) => ran,
            Err((halt, session)) => {
                self.collect_what_there_is(session.as_ref(), asked);
                return Err(halt);
            }
        };
        let (mut outcome, why) = outcome::of_exit(ran.code, &task.expect);
        if has_agent && outcome == Outcome::InfraError {
            // The agent may have taken the command away: that must not look like the fault of somebody else.
            outcome = Outcome::Failed;
        }
        self.desk.end(outcome.is_good())?;
        self.desk.begin(Stage::Collect, None, Some(COLLECTING))?;
        let gathered = match ran.gathered {
            Some(gathered) => gathered,
            None => self.gather(&ran.session, asked)?,
        };
        self.take(&gathered)?;
        match gathered.halt() {
            Some(halt) if outcome.is_good() => return Err(halt),
            Some(_) => {
                self.incomplete(gathered.error.as_deref());
                // Whatever it left: that it failed is known.
                return Err(Halt::Over(outcome, why.unwrap_or_default()));
            }
            None => {}
        }
        match gathered.wrong.as_slice() {
            wrong if outcome.is_good() && !wrong.is_empty() => Err(Halt::Over(Outcome::Failed, wrong.join("; "))),
            _ => Ok((outcome, why)),
        }
    }

    fn baseline(&mut self, task: &Task) -> Result<(), Halt> {
        let time = task.environment.timeout.run.0;
        let job = Job { compared: false, ..self.job(task, time) };
        let told = self.command(Stage::Baseline, &job).map_err(|(halt, _)| halt)?;
        self.discard(&told.session)?;
        judge_baseline(told.code)
    }

    /// Lets the agent work; the session that it worked in, and the report of tests that it left there.
    fn agent(&mut self, agent: &crate::task::spec::Agent) -> Result<(SessionId, Option<Seen>), Halt> {
        let all = Asked { changes: Some("agent"), files: true, kept: true, ..Asked::default() };
        let then = Asked { goes_on: true, files: false, ..all };
        let job = Job {
            command: agent.command.clone(),
            env: Default::default(),
            network: agent.network,
            timeout: agent.timeout.0,
            session: None,
            prepared: true,
            agent: true,
            compared: true,
            asked: Some(then),
        };
        match self.command(Stage::Agent, &job) {
            Ok(ran) if ran.code == 0 => {
                let gathered = match ran.gathered {
                    Some(gathered) => gathered,
                    None => self.gather(&ran.session, then)?,
                };
                self.take(&gathered)?;
                gathered.halt().map_or(Ok((ran.session, gathered.report)), Err)
            }
            Ok(ran) => {
                self.collect_what_there_is(Some(&ran.session), all);
                Err(Halt::Over(Outcome::Failed, format!("the agent ended with {}", ran.code)))
            }
            Err((halt, session)) => {
                self.collect_what_there_is(session.as_ref(), all);
                Err(halt)
            }
        }
    }

    fn job(&self, task: &Task, timeout: std::time::Duration) -> Job {
        Job {
            command: Some(task.run.command.clone()),
            env: task.run.env.clone(),
            network: task.environment.network.run,
            timeout,
            session: None,
            prepared: true,
            agent: false,
            compared: true,
            asked: None,
        }
    }

    /// After a failure: what there is, as far as it can be had. The failure is what counts.
    fn collect_what_there_is(&mut self, session: Option<&SessionId>, asked: Asked) {
        let Some(session) = session else { return };
        let why = match self.gather(session, asked) {
            Ok(gathered) => {
                let _ = self.take(&gathered);
                gathered.error
            }
            Err(Halt::Over(_, why)) => Some(why),
            Err(Halt::Stopped) => None,
        };
        self.incomplete(why.as_deref());
    }

    fn incomplete(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            let _ = self.desk.notice(&format!("not everything could be collected: {why}"));
        }
    }

    /// Looks at a session in a process of its own.
    pub(super) fn gather(&mut self, session: &SessionId, asked: Asked) -> Result<Gathered, Halt> {
        let (place, subject) = (asked.place(&self.desk.dir), self.subject.clone());
        self.apart(|| subject.gather(session, &asked, &place))
    }

    /// Puts on record what was found.
    fn take(&mut self, gathered: &Gathered) -> Result<(), Halt> {
        for notice in &gathered.notices {
            self.desk.notice(notice)?;
        }
        self.desk.record.changes.extend(gathered.changes.clone());
        self.desk.record.artifacts.extend(gathered.artifacts.clone());
        self.desk.record.artifacts_more += gathered.artifacts_more;
        Ok(())
    }
}

/// A command that succeeds before the agent proves nothing; neither does one that is not there.
fn judge_baseline(code: u8) -> Result<(), Halt> {
    match code {
        0 => {
            let why = "the command succeeds before the agent has done anything".to_owned();
            Err(Halt::Over(Outcome::UnexpectedPass, why))
        }
        126 | 127 => Err(Halt::infra(format!("the command of the baseline could not be run: it ended with {code}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_fails_and_not_by_being_absent() {
        let word = |code: u8| match judge_baseline(code) {
            Ok(()) => None,
            Err(Halt::Over(outcome, _)) => Some(outcome),
            Err(Halt::Stopped) => panic!("nobody stopped it"),
        };
        assert_eq!((word(1), word(3)), (None, None));
        assert_eq!(word(0), Some(Outcome::UnexpectedPass));
        for code in [126, 127] {
            assert_eq!(word(code), Some(Outcome::InfraError));
        }
    }
}
