//! Starting a session and waiting for its end, in the foreground or left alone in the background.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::thread::UnshareFlags;

use super::context::Context;
use super::heal::check_idle;
use super::remember::{new_record, policy_record, words};
use super::report::Report;
use crate::changes::at_start::AtStart;
use crate::changes::blobs;
use crate::engine::{Engine, Sandbox};
use crate::error::{Error, Kind, Result, reason};
use crate::layer::create;
use crate::plan::Plan;
use crate::process::supervise::{self, Beside};
use crate::session::clock::Clock;
use crate::session::lock::Lock;
use crate::session::record::{Incarnation, Record, now};
use crate::session::state::Action;
use crate::session::store::NewSession;
use crate::session::{Session, SessionId, State};
use crate::sys::process::{Side, exit_now, fork_into};

/// How long an engine may take to have a detached command running: the ids of a big image on a slow disk take minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Somebody who must know of a session before anything runs in it.
pub type Created<'a> = &'a dyn Fn(&Session) -> Result<()>;

/// Which session it is.
pub enum Begin {
    /// A new one.
    New,
    /// A new one, in a directory that is there already.
    In(NewSession),
    /// One that stopped goes on.
    Again(Box<Session>),
}

impl From<Option<Session>> for Begin {
    fn from(resumed: Option<Session>) -> Self {
        resumed.map_or(Begin::New, |session| Begin::Again(Box::new(session)))
    }
}

/// Everything that is decided before a session exists.
pub struct Launch<'a> {
    pub context: &'a Context<'a>,
    pub engine: &'a dyn Engine,
    /// The run of a task that the session belongs to.
    pub task: Option<&'a str>,
    /// Why this engine.
    pub why: &'a str,
    pub name: String,
    pub timeout: Option<Duration>,
    pub clock: Clock,
    pub report: Option<&'a Report>,
    /// Its changes are looked at when it has ended, even if they are thrown away then.
    pub compared: bool,
    /// Told when there is a session, before anything runs in it: who must know of it and cannot has it not started.
    pub created: Option<Created<'a>>,
}

/// A session whose command has ended; still locked.
pub struct Finished {
    pub session: Session,
    pub lock: Lock,
    pub code: u8,
    /// It did not end by itself: somebody or the clock ended it.
    pub interrupted: bool,
    /// The clock did.
    pub timed_out: bool,
    /// The command was never started, though the session was.
    pub failure: Option<Error>,
    /// What was held of the host from the start.
    pub start: AtStart,
}

impl Launch<'_> {
    /// Runs to the end in the foreground.
    pub fn attached(&self, plan: Plan, begin: Begin, beside: Option<&mut dyn Beside>) -> Result<Finished> {
        self.go(plan, begin, None, beside)
    }

    /// Runs in the background; prints the id when the command has been started.
    pub fn detached(&self, plan: Plan, begin: Begin) -> Result<u8> {
        let os = |e: std::io::Error| Error::new(format!("cannot go to the background: {}", reason(&e)));
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| os(e.into()))?;
        match fork_into(UnshareFlags::empty()).map_err(os)? {
            Side::Parent(_) => {
                drop(writer);
                let mut said = String::new();
                BufReader::new(File::from(reader)).read_line(&mut said).map_err(os)?;
                self.started(said.trim_end())
            }
            Side::Child => {
                drop(reader);
                let code = self.background(plan, begin, File::from(writer));
                exit_now(i32::from(code))
            }
        }
    }

    /// The supervisor in the background.
    fn background(&self, plan: Plan, begin: Begin, mut parent: File) -> u8 {
        let _ = rustix::process::setsid();
        match self.go(plan, begin, Some(&mut parent), None) {
            Ok(finished) => {
                if let Err(error) = self.context.look_at_end(&finished.session, &finished.start) {
                    self.context.ui.warn(error.message());
                }
                if let Some(report) = self.report.filter(|report| !report.is_stdout()) {
                    let _ = report.write(&finished.session, finished.failure.as_ref(), self.context.ui);
                }
                finished.code
            }
            Err(error) => {
                let hint = error.hints().first().cloned().unwrap_or_default();
                let message = error.message().replace(['\n', '\t'], " ");
                let _ = writeln!(parent, "failed {}\t{message}\t{hint}", error.exit_code());
                error.exit_code()
            }
        }
    }

    /// The foreground's last words, from what the background told it.
    fn started(&self, said: &str) -> Result<u8> {
        match said.split_once(' ') {
            Some(("started", id)) => {
                let id = SessionId::parse(id).ok_or_else(|| {
                    Error::new("the background process answered with something else than a session")
                        .hint("`cowbox ls` tells whether it was started")
                })?;
                let session = self.context.store.read(&id)?.ok_or_else(|| {
                    Error::new("the session has just been removed").hint("`cowbox ls` lists those that are left")
                })?;
                let name = session.name();
                self.context
                    .ui
                    .say(&format!("running in the background · `cowbox shell {name}`, `cowbox stop {name}`"));
                match self.report {
                    Some(report) => report.write(&session, None, self.context.ui)?,
                    None => self.context.ui.data(format!("{id}\n").as_bytes())?,
                }
                Ok(0)
            }
            Some(("failed", rest)) => {
                let mut fields = rest.splitn(3, '\t');
                let code: u8 = fields.next().and_then(|c| c.parse().ok()).unwrap_or(125);
                let kind = [Kind::NotFound, Kind::NotExecutable].into_iter().find(|k| k.exit_code() == code);
                let error = Error::of(kind.unwrap_or(Kind::NotStarted), fields.next().unwrap_or_default());
                Err(match fields.next().filter(|h| !h.is_empty()) {
                    Some(hint) => error.hint(hint),
                    None => error,
                })
            }
            _ => Err(Error::new("the background process died before the command was started")
                .hint("run it without `--detach` to see why, or `cowbox doctor`")),
        }
    }

    /// Makes or reopens the session, starts the sandbox, records it, waits for its end, records that.
    /// With a `parent` we are in the background, and it is told when the command has been started.
    fn go(
        &self,
        mut plan: Plan,
        begin: Begin,
        mut parent: Option<&mut File>,
        beside: Option<&mut dyn Beside>,
    ) -> Result<Finished> {
        let ui = self.context.ui;
        // First of all: from here on a signal must not leave anything half made.
        let signals = supervise::watch()?;
        let mut place = match begin {
            Begin::New => Place::New(self.context.store.create()?),
            Begin::In(session) => Place::New(session),
            Begin::Again(session) => self.reopen(*session)?,
        };
        let before = place.record().cloned();
        plan.session_dir = place.dir().to_path_buf();
        create::of_plan(&plan)?;
        let name = before.as_ref().map_or(&self.name, |record| &record.name).clone();
        let id = plan.session_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let container = format!("cowbox-{}", id.to_lowercase());
        ui.say(&headline(self.engine, self.why, &name));
        if parent.is_some() {
            into_logs(&plan.session_dir)?;
        }

        // A session that is to be discarded is mostly compared with nothing.
        let compared = self.compared || !plan.ephemeral;
        let mut open: Option<(Session, Lock)> = None;
        let mut start = AtStart::default();
        let has_container = self.engine.record().kind != crate::engine::Kind::Native;
        let started = self.engine.start(&plan, &container, &mut |init| {
            if !plan.ephemeral {
                start = AtStart::of(&plan.repo);
            }
            let mut incarnation = Incarnation::begun(has_container.then(|| container.clone()), init);
            if compared {
                incarnation.stamp = Some(self.clock.stamp());
                incarnation.head = blobs::head(&plan.repo);
                incarnation.root = rustix::fs::stat(&plan.repo).ok().map(|stat| stat.st_ino);
            }
            let taken = std::mem::replace(&mut place, Place::Taken);
            let (session, lock) = self.record(taken, &plan, &name, incarnation)?;
            let told = self.created.map_or(Ok(()), |tell| tell(&session));
            open = Some((session, lock));
            told
        });
        let mut sandbox = match started {
            Ok(sandbox) => sandbox,
            Err(error) => {
                if let Some((session, _lock)) = open {
                    forget(session, before);
                }
                return Err(error);
            }
        };
        let Some((mut session, lock)) = open else {
            return Err(Error::new("the engine started a sandbox without recording it"));
        };
        let ready = parent.is_some() && self.wait_until_ready(sandbox.as_ref(), &container);
        if let Some(parent) = parent.as_deref_mut().filter(|_| ready) {
            let _ = writeln!(parent, "started {id}");
        }
        let ended = supervise::wait_beside(sandbox.as_mut(), &signals, self.timeout, beside);
        drop(sandbox);
        let (mut interrupted, mut timed_out) = (false, false);
        let (code, failure) = match ended {
            Ok(outcome) => {
                if outcome.timed_out {
                    ui.say("the time ran out; everything in the sandbox was ended");
                }
                timed_out = outcome.timed_out;
                interrupted = outcome.timed_out || outcome.ended_by.is_some();
                (outcome.code, None)
            }
            Err(error) => {
                let error = error.before_start();
                (error.exit_code(), Some(error))
            }
        };
        if let Some(incarnation) = &mut session.record.incarnation {
            incarnation.ended = Some(now());
            incarnation.exit = Some(i32::from(code));
        }
        session.record.advance(State::Stopped)?;
        // A session that is about to be discarded is not written twice; until then "running" with
        // nobody holding the lock says the same.
        if compared {
            // The command has run: its exit code counts, not ours. Unwritten, the record still says
            // "running", and the next command finds out that it is not.
            if let Err(error) = session.write(!plan.ephemeral) {
                let kept = if self.task.is_none() { "; the changes are kept" } else { "" };
                ui.warn(&format!("{}{kept}", error.message()));
            }
        }
        if let Some(parent) = parent.filter(|_| !ready) {
            if code == Kind::NotStarted.exit_code() && failure.is_none() {
                let error = Error::of(Kind::NotStarted, last_words(&plan.session_dir));
                forget(session, before);
                return Err(error);
            }
            let _ = writeln!(parent, "started {id}");
        }
        Ok(Finished { session, lock, code, interrupted, timed_out, failure, start })
    }

    /// Locks a session that stopped, and makes sure that it still is as it was when it was looked at.
    fn reopen(&self, mut session: Session) -> Result<Place> {
        let lock = self.context.lock(&session)?;
        let started = |session: &Session| session.record.incarnation.as_ref().map(|run| run.started);
        let last = started(&session);
        session.reload()?;
        let name = session.name();
        session.record.state.allow(Action::Resume, name)?;
        if started(&session) != last {
            return Err(Error::new(format!("another cowbox has gone on in session {name} meanwhile"))
                .hint("run it again to go on from there"));
        }
        check_idle(&session).map_err(|e| e.with_kind(Kind::NotStarted))?;
        self.context.note_before_resume(&session)?;
        Ok(Place::Old(Box::new(session), lock))
    }

    /// Writes the record that says "running".
    fn record(&self, place: Place, plan: &Plan, name: &str, incarnation: Incarnation) -> Result<(Session, Lock)> {
        match place {
            Place::New(new) => {
                let mut record = new_record(new.id(), name, self.engine, plan);
                record.incarnation = Some(incarnation);
                record.task = self.task.map(str::to_owned);
                for next in [State::Preparing, State::Ready, State::Running] {
                    record.advance(next)?;
                }
                new.commit(record, !plan.ephemeral)
            }
            Place::Old(mut session, lock) => {
                session.record.advance(State::Running)?;
                session.record.command = words(plan);
                session.record.policy = policy_record(plan);
                session.record.incarnation = Some(incarnation);
                session.write(!plan.ephemeral)?;
                Ok((*session, lock))
            }
            Place::Taken => Err(Error::new("the session was recorded twice")),
        }
    }

    /// Waits until another command could enter; false if this one has ended before.
    fn wait_until_ready(&self, sandbox: &dyn Sandbox, container: &str) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let (started, mut pause) = (Instant::now(), Duration::from_millis(30));
        while started.elapsed() < PATIENCE {
            if self.engine.is_ready(container) {
                return true;
            }
            if waitid(WaitId::Pid(sandbox.pid()), options).is_ok_and(|found| found.is_some()) {
                return false;
            }
            std::thread::sleep(pause);
            // One that is busy with a new image is busy for seconds, and better left alone.
            pause = (pause * 5 / 4).min(Duration::from_secs(1));
        }
        true
    }
}

/// `podman 4.3.1 (rootless, overlay) · session api-7k3q`. The reason is told where it is news.
fn headline(engine: &dyn Engine, why: &str, name: &str) -> String {
    let why =
        if matches!(why, "first choice" | "as asked for" | "as before") { String::new() } else { format!(", {why}") };
    format!("{}{why} · session {name}", engine.describe())
}

/// Where the session will be: fresh, or one that stopped before.
enum Place {
    New(NewSession),
    Old(Box<Session>, Lock),
    Taken,
}

impl Place {
    fn dir(&self) -> &Path {
        match self {
            Place::New(new) => new.dir(),
            Place::Old(session, _) => session.dir(),
            Place::Taken => Path::new(""),
        }
    }

    /// The record of a session that stopped before.
    fn record(&self) -> Option<&Record> {
        match self {
            Place::Old(session, _) => Some(&session.record),
            _ => None,
        }
    }
}

/// Recorded, but the engine failed: nothing ran. A new session leaves nothing, an old one its work and the record of
/// the run that it comes from: by the start of that it is told what the host changed since.
fn forget(mut session: Session, before: Option<Record>) {
    if let Some(before) = before {
        session.record = before;
        let _ = session.save();
    } else {
        let _ = crate::layer::remove::tree(session.dir());
        let _ = crate::engine::native::remove_home_layer(session.dir());
    }
}

/// What the engine said before it gave up.
fn last_words(session_dir: &Path) -> String {
    let text = fs::read(session_dir.join("logs/stderr")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().map(str::trim).rfind(|l| !l.is_empty() && !l.starts_with("Run '"));
    let line = line.unwrap_or("the engine could not start the command");
    crate::ui::sanitize::text(
        line.trim_start_matches("cowbox: error: ").trim_start_matches("docker: ").trim_start_matches("Error: "),
    )
}

/// Streams of a command that nobody watches.
fn into_logs(session_dir: &Path) -> Result<()> {
    let dir = session_dir.join("logs");
    let failed = |e: std::io::Error| Error::io("write", &dir, e);
    fs::create_dir_all(&dir).map_err(failed)?;
    let append = |name: &str| File::options().create(true).append(true).open(dir.join(name)).map_err(failed);
    let (out, err) = (append("stdout")?, append("stderr")?);
    let null = File::open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdin(null.as_fd()).map_err(|e| failed(e.into()))?;
    rustix::stdio::dup2_stdout(out.as_fd()).map_err(|e| failed(e.into()))?;
    rustix::stdio::dup2_stderr(err.as_fd()).map_err(|e| failed(e.into()))
}
