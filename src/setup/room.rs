//! A sandbox that is held open while steps run in it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, kill_process, waitpid};
use rustix::thread::UnshareFlags;

use super::redact::{self, Redactor};
use crate::engine::{Engine, ExecSpec, Kind as EngineKind, Sandbox, guest, plain_exit_code};
use crate::error::{Error, Kind, Result, reason};
use crate::plan::Plan;
use crate::policy::environment::Environment;
use crate::process::supervise;
use crate::session::record::{FORMAT, Incarnation, PolicyRecord, Record, now};
use crate::session::{SessionId, State};
use crate::sys::process::{Side, exit_now, fork_into};
use crate::sys::signal::Signals;

/// How often `tick` is called while steps run.
const TICK: Duration = Duration::from_millis(100);
/// How long an engine may take to start it: the ids of a big image on a slow disk take minutes.
const PATIENCE: Duration = Duration::from_secs(900);
/// What is kept of the end of a step's output, for the screen.
const TAIL: usize = 8 << 10;
/// The most that a pipe of ours holds.
const PIPE: u64 = 64 << 10;
/// The sandbox of steps, while it is there.
const NOTE: &str = "room.json";

/// The sandbox.
pub struct Room<'a> {
    engine: &'a dyn Engine,
    record: Record,
    sandbox: Box<dyn Sandbox>,
    signals: Signals,
    dir: PathBuf,
}

/// One command to run in it.
#[derive(Debug)]
pub struct Job<'a> {
    /// The command.
    pub command: &'a [OsString],
    /// Its variables.
    pub env: &'a Environment,
    /// User inside.
    pub user: Option<&'a str>,
    /// Directory inside.
    pub workdir: &'a Path,
    /// Where its output goes.
    pub log: PathBuf,
    /// What is not shown of its output.
    pub secrets: &'a Redactor,
    /// Ended after this long.
    pub limit: Option<Duration>,
}

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: u8,
    /// The end of its output.
    pub tail: Vec<u8>,
    /// How long it took.
    pub took: Duration,
    /// Whether its time was up.
    pub timed_out: bool,
}

/// Told what happens while jobs run.
pub trait Watcher {
    /// Some time has passed.
    fn tick(&mut self) {}
    /// A job printed something.
    fn output(&mut self, _job: usize, _bytes: &[u8]) {}
    /// A job has ended.
    fn ended(&mut self, _job: usize, _ended: &Ended) {}
}

/// Shows nothing.
pub struct Silent;

impl Watcher for Silent {}

struct Running {
    child: Pid,
    output: Option<OwnedFd>,
    seen: redact::Stream,
    log: File,
    tail: Vec<u8>,
    started: Instant,
    limit: Option<Duration>,
    timed_out: bool,
    code: Option<u8>,
}

impl<'a> Room<'a> {
    /// Opens it. The plan's command is replaced by one that waits.
    pub fn open(engine: &'a dyn Engine, mut plan: Plan, log: &Path) -> Result<Self> {
        let native = engine.record().kind == EngineKind::Native;
        let id = SessionId::new();
        let container = format!("cowbox-{}", id.as_str().to_lowercase());
        let hold: &[&str] = if native { &["sleep", "infinity"] } else { &[guest::INSIDE, "hold"] };
        plan.command = hold.iter().map(Into::into).collect();
        plan.terminal = false;
        plan.log = (!native).then(|| log.to_path_buf());
        let word = id.to_string();
        plan.announce = (!native).then(|| word.clone());
        let signals = supervise::watch()?;
        let mut record = Record {
            format: FORMAT,
            id,
            name: "setup".into(),
            state: State::Preparing,
            repo: plan.repo.as_path().into(),
            created: now(),
            engine: engine.record(),
            encoding: crate::layer::Encoding::Userxattr,
            command: Vec::new(),
            policy: PolicyRecord {
                network: Some(plan.network),
                workdir: plan.workdir.as_path().into(),
                ..PolicyRecord::default()
            },
            setup: None,
            below: Vec::new(),
            task: None,
            incarnation: Some(Incarnation::begun((!native).then(|| container.clone()), None)),
            history: Vec::new(),
        };
        // Killed from now on, somebody else has to clear it away.
        note(&plan.session_dir, &record)?;
        let sandbox = engine.start(&plan, &container, &mut |process| {
            if let Some(incarnation) = &mut record.incarnation {
                incarnation.init = process;
            }
            note(&plan.session_dir, &record)
        })?;
        let room = Self { engine, record, sandbox, signals, dir: plan.session_dir };
        // The built-in one is ready when it has been started.
        let ready = if native { Ok(()) } else { room.wait_until_ready(&word, log) };
        match ready {
            Ok(()) => Ok(room),
            Err(error) => {
                // Where the client has ended already, what it left is the engine's to remove.
                let record = room.record.clone();
                room.close();
                let _ = engine.sweep(&record);
                Err(error)
            }
        }
    }

    /// By what it is known on the host.
    pub fn incarnation(&self) -> Option<&Incarnation> {
        self.record.incarnation.as_ref()
    }

    /// Waits for the first word of its helper. Engines are not asked meanwhile: podman 4.3 may be mapping the ids of a new
    /// image, however long that takes, and another podman that comes and goes can spoil that.
    fn wait_until_ready(&self, word: &str, log: &Path) -> Result<()> {
        let said = || String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
        let (mark, started) = (guest::mark(word), Instant::now());
        while started.elapsed() < PATIENCE {
            if said().contains(&mark) {
                return Ok(());
            }
            if let Ok(Some(_)) = waitpid(Some(self.sandbox.pid()), WaitOptions::NOHANG) {
                let said = said();
                let line = said.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or("it said nothing");
                let why = crate::ui::sanitize::text(line);
                return Err(Error::of(Kind::NotStarted, format!("the engine could not start the setup: {why}"))
                    .hint("`cowbox doctor` tries the engine; `--setup none` runs without it"));
            }
            self.is_interrupted()?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(Error::of(Kind::NotStarted, "the sandbox for the setup did not become ready")
            .hint("`cowbox doctor` tries the engine; `--setup none` runs without it"))
    }

    /// Whether somebody wants us to end.
    fn is_interrupted(&self) -> Result<()> {
        while let Ok(Some(arrived)) = self.signals.next() {
            if matches!(arrived.signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT) {
                return Err(Error::of(Kind::Interrupted, "interrupted; the environment is not prepared")
                    .hint("the next run prepares it anew; `--setup none` runs without it"));
            }
        }
        Ok(())
    }

    /// Name of the container, where there is one.
    pub fn container(&self) -> Option<&str> {
        self.record.incarnation.as_ref().and_then(|i| i.container.as_deref())
    }

    /// Runs jobs at the same time, to the end of each.
    pub fn run(&mut self, jobs: &[Job<'_>], watcher: &mut dyn Watcher) -> Result<Vec<Ended>> {
        let mut running: Vec<Running> = jobs.iter().map(|job| self.begin(job)).collect::<Result<_>>()?;
        let waited = self.wait(&mut running, watcher);
        if waited.is_err() {
            for job in running.iter().filter(|job| job.code.is_none()) {
                let _ = kill_process(job.child, rustix::process::Signal::KILL);
                let _ = waitpid(Some(job.child), WaitOptions::empty());
            }
        }
        waited?;
        Ok(running.iter().map(|job| job.ended(job.code.unwrap_or(125))).collect())
    }

    /// A process of ours that serves the command: engines inherit its streams.
    fn begin(&self, job: &Job<'_>) -> Result<Running> {
        let failed = |e: std::io::Error| Error::new(format!("cannot run a setup step: {}", reason(&e)));
        let log =
            File::options().create(true).append(true).open(&job.log).map_err(|e| Error::io("write", &job.log, e))?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let null = File::open("/dev/null").map_err(failed)?;
        match fork_into(UnshareFlags::empty()).map_err(failed)? {
            Side::Child => {
                drop(reader);
                let streams = rustix::stdio::dup2_stdin(null.as_fd())
                    .and_then(|()| rustix::stdio::dup2_stdout(writer.as_fd()))
                    .and_then(|()| rustix::stdio::dup2_stderr(writer.as_fd()));
                drop(writer);
                exit_now(match streams {
                    Ok(()) => i32::from(self.serve(job)),
                    Err(_) => 125,
                })
            }
            Side::Parent(child) => {
                drop(writer);
                let started = Instant::now();
                Ok(Running {
                    child,
                    output: Some(reader),
                    seen: job.secrets.stream(),
                    log,
                    tail: Vec::new(),
                    started,
                    limit: job.limit,
                    timed_out: false,
                    code: None,
                })
            }
        }
    }

    fn serve(&self, job: &Job<'_>) -> u8 {
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
        let spec = ExecSpec {
            command: job.command,
            env: job.env,
            user: job.user,
            workdir: Some(job.workdir),
            terminal: false,
        };
        let go = || -> Result<u8> {
            let mut sandbox = self.engine.exec(&self.record, &spec)?;
            Ok(supervise::wait(sandbox.as_mut(), &self.signals, None)?.code)
        };
        go().unwrap_or_else(|error| {
            let _ = writeln!(std::io::stderr(), "cowbox: error: {}", error.message());
            error.exit_code()
        })
    }

    fn wait(&mut self, running: &mut [Running], watcher: &mut dyn Watcher) -> Result<()> {
        while running.iter().any(|job| job.code.is_none()) {
            let readable = self.pause(running)?;
            for (number, job) in running.iter_mut().enumerate() {
                if readable.contains(&number) {
                    job.pump(number, watcher)?;
                }
                job.check(number, watcher)?;
            }
            self.is_interrupted()?;
            watcher.tick();
        }
        Ok(())
    }

    /// Waits for output, a signal, or a moment; which jobs have output.
    fn pause(&self, running: &[Running]) -> Result<Vec<usize>> {
        let open: Vec<(usize, &OwnedFd)> =
            running.iter().enumerate().filter_map(|(n, job)| Some((n, job.output.as_ref()?))).collect();
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        fds.extend(open.iter().map(|(_, fd)| PollFd::new(*fd, PollFlags::IN)));
        let time = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Error::new(format!("cannot wait for the setup: {}", reason(&e.into())))),
        }
        let ready = open.iter().zip(&fds[1..]).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|((number, _), _)| *number).collect())
    }

    /// Ends the sandbox and everything in it.
    pub fn close(mut self) {
        self.sandbox.kill();
        self.await_end();
        let _ = std::fs::remove_file(self.dir.join(NOTE));
    }

    fn await_end(&mut self) {
        for _ in 0..100 {
            match waitpid(Some(self.sandbox.pid()), WaitOptions::NOHANG) {
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Ok(Some((_, status))) => {
                    let _ = self.sandbox.exit_code(status);
                    return;
                }
                Err(_) => return,
            }
        }
    }
}

/// Writes down which sandbox belongs to the directory of what is being made.
fn note(dir: &Path, record: &Record) -> Result<()> {
    let path = dir.join(NOTE);
    let text = serde_json::to_vec(record).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
    std::fs::write(&path, text).map_err(|e| Error::io("write", &path, e))
}

/// The sandbox that somebody who was killed left there.
pub fn left_in(dir: &Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(dir.join(NOTE)).ok()?).ok()
}

impl Running {
    fn ended(&self, code: u8) -> Ended {
        Ended { code, tail: self.tail.clone(), took: self.started.elapsed(), timed_out: self.timed_out }
    }

    fn pump(&mut self, number: usize, watcher: &mut dyn Watcher) -> Result<()> {
        let Some(fd) = &self.output else { return Ok(()) };
        let mut buffer = [0u8; 64 << 10];
        match rustix::io::read(fd, &mut buffer) {
            Ok(0) | Err(_) => self.output = None,
            Ok(count) => {
                let bytes = self.seen.push(&buffer[..count]);
                self.pass_on(&bytes, number, watcher)?;
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, bytes: &[u8], number: usize, watcher: &mut dyn Watcher) -> Result<()> {
        self.log.write_all(bytes).map_err(|e| Error::new(format!("cannot write a log: {}", reason(&e))))?;
        self.tail.extend_from_slice(bytes);
        let extra = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..extra);
        watcher.output(number, bytes);
        Ok(())
    }

    /// Ends it when its time is up, and notices its end.
    fn check(&mut self, number: usize, watcher: &mut dyn Watcher) -> Result<()> {
        if self.code.is_some() {
            return Ok(());
        }
        if self.limit.is_some_and(|limit| self.started.elapsed() > limit) {
            let _ = kill_process(self.child, rustix::process::Signal::KILL);
            self.timed_out = true;
        }
        if let Ok(Some((_, status))) = waitpid(Some(self.child), WaitOptions::NOHANG) {
            // What it wrote last; a process that it left behind may hold the pipe open for ever.
            let mut rest = Vec::new();
            if let Some(fd) = &self.output {
                let _ = rustix::io::ioctl_fionbio(fd, true);
                let pipe = File::from(fd.try_clone().map_err(|e| Error::new(reason(&e)))?);
                // No more than a pipe holds: that process may write for ever, too.
                let _ = pipe.take(PIPE).read_to_end(&mut rest);
                self.output = None;
            }
            let mut rest = self.seen.push(&rest);
            rest.extend(self.seen.finish());
            self.pass_on(&rest, number, watcher)?;
            self.code = Some(plain_exit_code(status));
            watcher.ended(number, &self.ended(plain_exit_code(status)));
        }
        Ok(())
    }
}
