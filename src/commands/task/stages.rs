//! The stages of a run that need a sandbox, seen from outside: logs, time, limits.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::answer::Answer;
use super::gather::Gathered;
use super::inside::Subject;
use super::job::{Job, argv};
use super::spare;
use super::stopping::Stopping;
use super::told::{Note, Told};
use super::waiting::{Start, Waited};
use super::watch::{self, Watch};
use crate::commands::context::Context;
use crate::error::{Error, Kind, Result};
use crate::session::SessionId;
use crate::session::store::NewSession;
use crate::task::child::{Child, End};
use crate::task::desk::{self, Desk, KILLED, Words};
use crate::task::halt::Halt;
use crate::task::outcome::Outcome;
use crate::task::record::{EngineFacts, ImageFacts, Limit};
use crate::task::stage::{Reach, Stage};

/// How much longer than its time a stage may take to tell that it is up.
pub(super) const GRACE: Duration = Duration::from_secs(30);
/// How long looking at what a command left may take.
pub const COLLECTING: Duration = Duration::from_secs(600);

/// A run that has its code, and goes through its sandboxes.
pub struct Stages<'a> {
    /// Where sessions are.
    pub context: &'a Context<'a>,
    /// Where it is written down.
    pub desk: &'a mut Desk,
    /// What it is about.
    pub subject: Subject,
    /// The directory of a session, for the first that it makes.
    pub room: Option<NewSession>,
    /// How many sessions it has made.
    pub made: u32,
    /// Whether all is to stop.
    pub stopping: &'a Stopping,
}

/// A command that has run.
pub struct Ran {
    /// Its session, which has stopped.
    pub session: SessionId,
    /// Its exit code.
    pub code: u8,
    /// What was wanted of it, unless there was no time for that.
    pub gathered: Option<Gathered>,
}

impl Stages<'_> {
    /// Gets the environment ready.
    pub fn setup(&mut self) -> Result<(), Halt> {
        let environment = &self.subject.frozen.task.environment;
        let (network, time) = (environment.network.setup, environment.timeout.setup.0);
        self.desk.begin(Stage::Setup, Some(Reach::Sandbox(network)), Some(time))?;
        if self.subject.stands_on_nothing() {
            return Ok(());
        }
        let answer = self.desk.dir.join("work/setup.json");
        let subject = self.subject.clone();
        let began = desk::now();
        let child = fork(None, || tell(subject.prepare(&answer), &answer))?;
        let most = self.subject.frozen.task.environment.resources.disk.map(|size| size.0);
        let mut meter = None;
        let end =
            self.desk.attend(child, Duration::ZERO, None, Some(&mut || watch::setup(&mut meter, most?, &answer)))?;
        let told = Told::read(&answer);
        if let Ok(told) = &told {
            self.remember(told);
            self.desk.prove(told.interfaces.clone());
            self.desk.ran_in(None, told.container.as_deref());
        }
        // None: it was prepared already, or there was nothing to do.
        for step in told.iter().flat_map(|told| &told.steps).cloned() {
            let words = Words { cmd: step.cmd, cwd: step.cwd, env: step.env };
            self.desk.note(words, step.code, step.started, step.duration_ms)?;
        }
        let cut_off = || Words { cmd: vec!["setup".to_owned()], ..Words::default() };
        match end {
            End::Timeout => {
                self.desk.note(cut_off(), Kind::Timeout.exit_code(), began, millis(time))?;
                return Err(self.desk.too_long());
            }
            End::Refused(why) => {
                self.desk.note(cut_off(), KILLED, began, 0)?;
                return Err(Halt::infra(why));
            }
            End::Exit(_) | End::Stopped => {}
        }
        let told = told?;
        for notice in &told.notices {
            self.desk.notice(notice)?;
        }
        let told = told.good()?;
        match told.setup_key.as_deref().zip(most).and_then(|(key, most)| watch::prepared(self.context, key, most)) {
            Some(why) => Err(Halt::infra(why)),
            None => Ok(()),
        }
    }

    /// Runs a command in a sandbox. With a failure comes the session that it left, if there is one.
    pub fn command(&mut self, stage: Stage, job: &Job) -> Result<Ran, (Halt, Option<SessionId>)> {
        let reach = Reach::Sandbox(job.network);
        self.desk.begin(stage, Some(reach), Some(job.timeout)).map_err(|halt| (halt, None))?;
        self.within(&stage.to_string(), job)
    }

    /// The same in the stage that is going on; `name` tells it from others there.
    pub fn within(&mut self, name: &str, job: &Job) -> Result<Ran, (Halt, Option<SessionId>)> {
        let note = self.desk.dir.join(format!("work/{name}.note"));
        let ran = self.attended(job, &note);
        let left = Note::read(&note);
        if let Some(note) = &left {
            self.desk.ran_in(Some(&note.session), note.container.as_deref());
            let said = self.desk.heard().cloned().unwrap_or_default();
            self.desk.prove(Some(said.interfaces).filter(|names| !names.is_empty()));
            self.desk.prove(note.interfaces.clone());
            self.saw(&said.limits);
            self.saw(&note.limits);
        }
        let session = left.and_then(|note| SessionId::parse(&note.session));
        ran.map_err(|halt| (halt, session))
    }

    /// What a control group said.
    fn saw(&mut self, limits: &BTreeMap<String, String>) {
        for (name, value) in limits {
            if let Some(limit) = self.desk.record.limits.get_mut(name) {
                limit.seen = Some(value.clone());
            }
        }
    }

    fn attended(&mut self, job: &Job, note: &Path) -> Result<Ran, Halt> {
        let stdin = self.stdin()?;
        let room = if job.session.is_none() { self.make_room() } else { None };
        let disk = self.subject.frozen.task.environment.resources.disk.map(|size| size.0);
        let mut watch = Watch::new(self.context, note, disk);
        let (started, began) = (desk::now(), Instant::now());
        let Waited { end, told, gathered } = self.wait(Start { job, note, stdin, room }, &mut watch)?;
        told.iter().for_each(|told| self.remember(told));
        // What keeps it from starting may be the doing of an agent, and must not look like the fault of somebody else.
        let is_agents = job.session.is_some() && told.as_ref().is_ok_and(|told| told.opened && !told.of_host);
        let told = told.and_then(Told::good);
        let (code, halt) = match (&end, &told) {
            // It may have ended by itself before.
            (End::Refused(why), told) => {
                let own = told.as_ref().ok().filter(|told| !told.interrupted);
                let code = own.and_then(|told| told.code).unwrap_or(KILLED);
                (code, Some(Halt::Over(Outcome::Failed, why.clone())))
            }
            (End::Timeout, Err(_)) => (Kind::Timeout.exit_code(), Some(self.desk.too_long())),
            (_, Ok(told)) if told.timed_out => (Kind::Timeout.exit_code(), Some(self.desk.too_long())),
            (_, Ok(told)) => {
                let code = told.code.unwrap_or(Kind::NotStarted.exit_code());
                let over = watch.look_at_last().map(|why| Halt::Over(Outcome::Failed, why));
                (code, self.not_started(code, told).or(over))
            }
            (_, Err(halt)) => (Kind::NotStarted.exit_code(), Some(halt.clone())),
        };
        match &told {
            Ok(told) => {
                let words = Words { cmd: told.cmd.clone(), cwd: told.cwd.clone(), env: told.env.clone() };
                self.desk.note(words, code, told.started.clone(), told.duration_ms)?;
            }
            // Cut off, it has nothing to tell; that it ran is known.
            Err(_) if matches!(end, End::Refused(_) | End::Timeout) => {
                let cmd = job.command.iter().flat_map(argv).map(|word| word.to_string_lossy().into_owned()).collect();
                self.desk.note(Words { cmd, ..Words::default() }, code, started, desk::millis(began))?;
            }
            Err(_) => {}
        }
        let session = told.as_ref().ok().and_then(|told| SessionId::parse(told.session.as_deref()?));
        self.desk.session = session.clone();
        let halt = match halt {
            Some(Halt::Over(Outcome::InfraError, why)) if is_agents => Some(Halt::Over(Outcome::Failed, why)),
            halt => halt,
        };
        match (halt, session) {
            (Some(halt), _) => Err(halt),
            (None, Some(session)) => Ok(Ran { session, code, gathered }),
            (None, None) => Err(Halt::infra("the stage did not say what came of it")),
        }
    }

    /// The directory of a new session, under an id by which whoever clears up after us finds it without being told. If
    /// none can be made, whoever needs it says why.
    fn make_room(&mut self) -> Option<NewSession> {
        let id = spare::of_run(&self.desk.record.id, self.made)?;
        self.made += 1;
        let Some(spare) = self.room.take() else { return self.context.store.create_as(id).ok() };
        let renewed = spare::renew(spare, id.clone());
        // It has another name by now, or is gone.
        let _ = std::fs::remove_file(self.desk.dir.join(desk::ROOM));
        renewed.ok().or_else(|| self.context.store.create_as(id).ok())
    }

    /// Engines end with a code of their own where they could not start a command, and say why. A command may do the same,
    /// and be expected to: then its sandbox was heard before.
    fn not_started(&self, code: u8, told: &Told) -> Option<Halt> {
        let native = told.engine.as_ref().is_none_or(|(kind, ..)| kind == "native");
        let not_started = [Kind::NotStarted, Kind::NotExecutable, Kind::NotFound].map(Kind::exit_code);
        if !not_started.contains(&code) || native || self.desk.heard().is_some() {
            return None;
        }
        Some(Halt::infra(format!("the engine could not start the command: {}", self.desk.last_words())))
    }

    /// What the command reads.
    fn stdin(&self) -> Result<File, Halt> {
        let text = self.subject.frozen.task.run.stdin.as_ref();
        let Some(text) = text.filter(|_| matches!(self.desk.stage(), Some(Stage::Run | Stage::Baseline))) else {
            return Ok(File::open("/dev/null")?);
        };
        let path = self.desk.dir.join("work/stdin");
        std::fs::write(&path, text).map_err(|e| Error::io("write", &path, e))?;
        Ok(File::open(&path)?)
    }

    /// What is known by now.
    fn remember(&mut self, told: &Told) {
        let record = &mut self.desk.record;
        if let Some((kind, version, rootless)) = told.engine.clone() {
            record.engine = Some(EngineFacts { kind, version, rootless });
        }
        if let Some((name, digest)) = told.image.clone() {
            record.image = Some(ImageFacts { name, digest });
        }
        record.setup_key = told.setup_key.clone().or(record.setup_key.take());
        let resources = &self.subject.frozen.task.environment.resources;
        let engine = record.engine.as_ref().map(|engine| engine.kind.clone()).unwrap_or_default();
        let by_engine = format!("a control group of {engine}");
        let limits = [
            ("cpus", resources.cpus.map(|n| n.to_string()), by_engine.clone()),
            ("memory", resources.memory.map(|size| size.0.to_string()), by_engine.clone()),
            ("pids", resources.pids.map(|n| n.to_string()), by_engine),
            ("disk", resources.disk.map(|size| size.0.to_string()), "cowbox, twice a second".to_owned()),
        ];
        for (name, value, by) in limits {
            let Some(value) = value else { continue };
            let seen = record.limits.remove(name).and_then(|limit| limit.seen);
            record.limits.insert(name.to_owned(), Limit { value, seen, by });
        }
    }

    /// Does something in a process of its own, for it may take rights that this one must not have.
    pub fn apart(&mut self, work: impl FnOnce() -> Gathered) -> Result<Gathered, Halt> {
        let answer = Answer::new()?;
        // With time of its own: that of the stage may be what is up.
        let child = fork(None, || u8::from(answer.give(&work()).is_err()))?;
        let grace = COLLECTING.saturating_sub(self.desk.left().unwrap_or_default());
        match self.desk.attend(child, grace, None, None)? {
            End::Timeout => Ok(Gathered::unread(format!("collecting took longer than {} s", COLLECTING.as_secs()))),
            _ => Ok(answer.take().unwrap_or_else(Gathered::lost)),
        }
    }

    /// Throws a session away that nobody will look at.
    pub fn discard(&mut self, session: &SessionId) -> Result<(), Halt> {
        let session = super::inside::session(self.context, session)?;
        let _lock = self.context.lock(&session)?;
        Ok(self.context.remove_session(&session)?)
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

pub(super) fn fork(stdin: Option<File>, work: impl FnOnce() -> u8) -> Result<Child, Halt> {
    let stdin = match stdin {
        Some(file) => file,
        None => File::open("/dev/null")?,
    };
    Ok(Child::fork(&stdin, work)?)
}

/// The end of a stage's process: what came of it, written down.
fn tell(came: Result<Told>, answer: &Path) -> u8 {
    let told = came.unwrap_or_else(|error| Told::failure(&error));
    u8::from(told.write(answer).is_err())
}
