//! Where one run is kept while it goes on: its directory, its record, its events, and the stage that it is in.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::Signal;
use rustix::fs::FallocateFlags;
use serde_json::json;

use super::attend::{ANSWER, Attending, Logs, Watch};
use super::child::{Child, End};
use super::events::Events;
use super::halt::Halt;
use super::herald::{Heard, Herald};
use super::here::Here;
use super::meter::Meter;
use super::outcome::Outcome;
use super::record::{CommandRecord, NetworkFacts, RunRecord, StageRecord};
use super::source::{Host, url};
use super::stage::{Reach, Stage};
use crate::error::{Error, Kind, Result, reason};
use crate::layer::remove;
use crate::policy::limits::show_size;
use crate::session::SessionId;
use crate::setup::redact::Redactor;
use crate::sys::signal::Signals;
use crate::ui::sanitize;

/// What is quoted of a program that failed.
const LAST_WORDS: u64 = 2 << 10;

/// What a repository, or a commit of it laid out, may take on disk.
const MOST_CODE: u64 = 32 << 30;

/// What a process ends with that was killed because it wrote too much.
pub const KILLED: u8 = 137;

/// Says which batch a run belongs to, while it has no record. Where a disk is full, what is reserved for it is the room
/// for that record: it goes with `work`, before.
pub const BATCH: &str = "work/batch";
const RESERVED: u64 = 128 << 10;

/// Tells of the session whose directory the run has taken over, until it has made that its own.
pub const ROOM: &str = "work/room.note";

/// How often somebody looks whether a lock is free.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The desk of one run.
pub struct Desk {
    /// The run's directory.
    pub dir: PathBuf,
    /// What is known by now.
    pub record: RunRecord,
    /// Tells whoever listens.
    pub events: Events,
    secrets: Redactor,
    signals: Signals,
    most: u64,
    most_code: u64,
    stream: bool,
    began: Instant,
    open: Option<Open>,
    herald: Option<Herald>,
    /// The session of the last command, by the process that made it.
    pub session: Option<SessionId>,
    /// A log that nothing was written to, if there is one.
    empty: Option<PathBuf>,
}

/// The stage that is going on.
struct Open {
    record: StageRecord,
    logs: Logs,
    began: Instant,
    time: Option<Duration>,
    deadline: Option<Instant>,
}

/// What is run, for the record.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The command.
    pub cmd: Vec<String>,
    /// Where.
    pub cwd: String,
    /// Names of its variables.
    pub env: Vec<String>,
}

impl Desk {
    /// For a run that begins now.
    pub fn new(dir: PathBuf, record: RunRecord, events: Events, signals: Signals, most: u64, stream: bool) -> Self {
        Self {
            dir,
            record,
            events,
            secrets: Redactor::default(),
            signals,
            most,
            most_code: MOST_CODE,
            stream,
            began: Instant::now(),
            open: None,
            herald: None,
            session: None,
            empty: None,
        }
    }

    /// What programs of the host may know, and nobody may read in their logs.
    pub fn hide(&mut self, secrets: &[Vec<u8>]) {
        self.secrets = Redactor::of(secrets.iter().map(Vec::as_slice));
    }

    /// Begins a stage; the one before it has done what it should.
    pub fn begin(&mut self, stage: Stage, reach: Option<Reach>, time: Option<Duration>) -> Result<(), Halt> {
        self.end(true)?;
        let logs = Logs::new(&self.dir, stage, self.most);
        let policy = reach.map(|reach| reach.to_string());
        let limit = time.map(|time| humantime::format_duration(time).to_string());
        self.events.write(Some(stage), "stage.started", json!({ "network": policy, "timeout": limit }))?;
        let record = StageRecord {
            stage,
            ok: false,
            started: now(),
            duration_ms: 0,
            session: None,
            container: None,
            network: policy.map(|policy| NetworkFacts { policy, interfaces: None }),
            commands: Vec::new(),
        };
        let began = Instant::now();
        self.open = Some(Open { record, logs, began, time, deadline: time.map(|time| began + time) });
        Ok(())
    }

    /// Ends the stage that is going on, if there is one.
    pub fn end(&mut self, ok: bool) -> io::Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.record.ok = ok;
        open.record.duration_ms = millis(open.began);
        let unfinished = open.logs.facts();
        let (finished, failed) = match open.logs.finish(&mut self.empty) {
            Ok(facts) => (facts, None),
            Err(e) => (unfinished, Some(e)),
        };
        let [stdout, stderr] = finished;
        for command in &mut open.record.commands {
            (command.stdout, command.stderr) = (stdout.clone(), stderr.clone());
        }
        let stage = open.record.stage;
        let data = json!({ "ok": ok, "duration_ms": open.record.duration_ms, "stdout": stdout, "stderr": stderr });
        self.record.stages.push(open.record);
        self.events.write(Some(stage), "stage.ended", data)?;
        failed.map_or(Ok(()), Err)
    }

    /// The stage that is going on.
    pub fn stage(&self) -> Option<Stage> {
        self.open.as_ref().map(|open| open.record.stage)
    }

    /// What is left of its time.
    pub fn left(&self) -> Option<Duration> {
        Some(self.open.as_ref()?.deadline?.saturating_duration_since(Instant::now()))
    }

    /// The halt of a stage whose time is up.
    pub fn too_long(&self) -> Halt {
        let stage = self.stage().map(|stage| stage.to_string()).unwrap_or_default();
        let time = self.open.as_ref().and_then(|open| open.time).unwrap_or_default();
        Halt::timeout(format!("{stage} took longer than {}", humantime::format_duration(time)))
    }

    /// Listens to the next child for the first word of its sandbox.
    pub fn listen_for(&mut self, word: &str) {
        self.herald = Some(Herald::new(word));
    }

    /// What the sandbox of the last child said of itself; `None` if it has not come to that.
    pub fn heard(&self) -> Option<&Heard> {
        self.herald.as_ref()?.heard()
    }

    /// Attends to a child of the stage. Asked to stop, all of it stops.
    pub fn attend<'a>(
        &'a mut self,
        child: Child,
        grace: Duration,
        answer: Option<&'a mut Vec<u8>>,
        watch: Option<&'a mut Watch<'a>>,
    ) -> Result<End, Halt> {
        let left = self.left().map(|left| left + grace);
        let Some(open) = &mut self.open else { return Err(Halt::infra("nothing is going on")) };
        let events = self.stream.then_some(&mut self.events);
        let mut attending = Attending::new(&mut open.logs, events, answer, watch, &self.secrets)
            .with_herald(self.herald.as_mut().filter(|herald| herald.listens()));
        let attended = child.attend(&mut attending, &self.signals, left);
        let end = attended.and_then(|end| attending.finish().map(|()| end));
        let end = end.map_err(|e| Error::io("write", &self.dir.join("logs"), e))?;
        match end {
            End::Stopped => Err(Halt::Stopped),
            end => Ok(end),
        }
    }

    /// Takes the signals that have come, without heeding them.
    pub fn forget_signals(&self) {
        while let Ok(Some(_)) = self.signals.next() {}
    }

    /// Whether output goes to events as well.
    pub fn streams(&self) -> bool {
        self.stream
    }

    /// Attends to what `body` waits for in this process. With what came of that comes why the watch had it ended.
    pub fn attend_here<'a, T>(
        &'a mut self,
        stdin: &File,
        watch: &'a mut Watch<'a>,
        body: impl FnOnce(&mut Here<'_>) -> T,
    ) -> Result<(T, Option<String>), Halt> {
        // Nobody listens: whatever it says is the command's.
        self.herald = None;
        let Some(open) = &mut self.open else { return Err(Halt::infra("nothing is going on")) };
        let events = self.stream.then_some(&mut self.events);
        let mut attending = Attending::new(&mut open.logs, events, None, Some(watch), &self.secrets);
        let mut here = Here::begin(stdin, &mut attending)?;
        let came = body(&mut here);
        let why = here.end().and_then(|why| attending.finish().map(|()| why));
        Ok((came, why.map_err(|e| Error::io("write", &self.dir.join("logs"), e))?))
    }

    /// Puts a command of the stage on record.
    pub fn note(&mut self, words: Words, exit: u8, started: String, duration_ms: u64) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let [stdout, stderr] = open.logs.facts();
        let data = json!({ "cmd": words.cmd, "cwd": words.cwd, "exit": exit, "duration_ms": duration_ms });
        let Words { cmd, cwd, env } = words;
        open.record.commands.push(CommandRecord { cmd, cwd, env, exit, started, duration_ms, stdout, stderr });
        let stage = open.record.stage;
        self.events.write(Some(stage), "command.ended", data)
    }

    /// The sandbox of the stage: its session, which a setup has none of, and its container.
    pub fn ran_in(&mut self, session: Option<&str>, container: Option<&str>) {
        if let Some(open) = &mut self.open {
            (open.record.session, open.record.container) = (session.map(str::to_owned), container.map(str::to_owned));
        }
    }

    /// The interfaces that it was seen to have.
    pub fn prove(&mut self, interfaces: Option<Vec<String>>) {
        if let Some(network) = self.open.as_mut().and_then(|open| open.record.network.as_mut()) {
            network.interfaces = interfaces.or(network.interfaces.take());
        }
    }

    /// Tells something that somebody should know.
    pub fn notice(&mut self, text: &str) -> io::Result<()> {
        let stage = self.stage();
        self.events.write(stage, "notice", json!({ "text": text }))
    }

    /// The end of what the stage wrote to stderr.
    fn last_lines(&self) -> Vec<String> {
        let Some(open) = &self.open else { return Vec::new() };
        sanitize::output(&super::log::last_words(&self.dir.join(&open.logs.facts()[1].path), LAST_WORDS))
    }

    /// The last of it, in one line.
    pub fn last_words(&self) -> String {
        let lines = self.last_lines();
        // An engine's last word may be where its help is.
        let says = |line: &&str| !line.is_empty() && !line.starts_with("Run '") && !line.starts_with("See '");
        lines.iter().map(|line| line.trim()).rfind(says).unwrap_or_default().to_owned()
    }

    /// What went wrong by the words of a program such as git: its advice comes after that.
    fn complaint(&self) -> String {
        let lines = self.last_lines();
        let named = ["fatal: ", "error: "].into_iter().find_map(|mark| lines.iter().find_map(|l| l.strip_prefix(mark)));
        named.map_or_else(|| self.last_words(), |line| line.trim().to_owned())
    }

    /// Ends the run: its record is written, and that is what makes it one that has ended.
    /// `ok`: the stage that it ended in did what it should, whatever came of the task.
    pub fn finish(mut self, outcome: Outcome, reason: Option<String>, ok: bool) -> Result<RunRecord> {
        let ended = self.end(ok);
        let stages = &self.record.stages;
        self.record.ended_in = stages.iter().find(|stage| !stage.ok).or(stages.last()).map(|stage| stage.stage);
        self.record.ended = now();
        self.record.duration_ms = millis(self.began);
        (self.record.outcome, self.record.reason) = (outcome, reason);
        let told = ended.and_then(|()| self.tell_end());
        if let Err(e) = told
            && outcome.is_good()
        {
            // It may be as good as it says; what there is to show for it is not all there.
            self.record.outcome = Outcome::InfraError;
            self.record.reason = Some(Error::io("write", &self.dir, e).message().to_owned());
        }
        self.record.exit = self.record.last_exit();
        if self.record.write(&self.dir).is_err() {
            // What was reserved for it is needed now.
            let _ = std::fs::remove_file(self.dir.join(BATCH));
            self.record.write(&self.dir)?;
        }
        Ok(self.record)
    }

    fn tell_end(&mut self) -> io::Result<()> {
        let RunRecord { outcome, reason, duration_ms, .. } = &self.record;
        let data = json!({ "outcome": outcome, "reason": reason, "duration_ms": duration_ms });
        self.events.write(None, "run.ended", data)
    }
}

impl Host for Desk {
    fn begin(&mut self, stage: Stage, asks_servers: bool) -> Result<(), Halt> {
        // One time for getting the code, in however many stages.
        let before = self.open.as_ref().map(|open| (open.time, open.deadline));
        Desk::begin(self, stage, asks_servers.then_some(Reach::Host), before.and_then(|(time, _)| time))?;
        if let (Some(open), Some((_, deadline))) = (&mut self.open, before) {
            open.deadline = deadline;
        }
        Ok(())
    }

    fn lock(&mut self, file: &File) -> Result<(), Halt> {
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(e)) => return Err(e.into()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_AGAIN),
            }
            while let Ok(Some(arrived)) = self.signals.next() {
                if matches!(arrived.signal, Signal::SIGTERM | Signal::SIGINT | Signal::SIGHUP) {
                    return Err(Halt::Stopped);
                }
            }
            if self.left().is_some_and(|left| left.is_zero()) {
                return Err(self.too_long());
            }
        }
    }

    fn run(&mut self, command: Command, doing: &str) -> Result<Vec<u8>, Halt> {
        self.program(command, doing, None)
    }

    fn fill(&mut self, dir: &Path, command: Command, doing: &str) -> Result<(), Halt> {
        let meter = Meter::new(dir, self.most_code);
        self.program(command, doing, Some(meter)).map(drop)
    }
}

impl Desk {
    /// Runs a program of the host; with a meter, until that says that there is too much.
    fn program(&mut self, command: Command, doing: &str, mut meter: Option<Meter>) -> Result<Vec<u8>, Halt> {
        let most = self.most_code;
        let text = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let cmd = words.map(|word| url::shown(&text(word))).collect();
        let names = command.get_envs().filter(|(_, value)| value.is_some()).map(|(name, _)| text(name)).collect();
        let cwd = match command.get_current_dir() {
            Some(dir) => dir.to_path_buf(),
            None => std::env::current_dir().unwrap_or_default(),
        };
        let words = Words { cmd, cwd: cwd.to_string_lossy().into_owned(), env: names };
        let (started, began) = (now(), Instant::now());
        let child = Child::program(command).map_err(|e| Halt::infra(format!("cannot {doing}: {e}")))?;
        let mut answer = Vec::new();
        let mut look = || match meter.as_mut()?.is_over() {
            Ok(false) => None,
            Ok(true) => Some(format!("it is more than {}", show_size(most))),
            Err(e) => Some(format!("it cannot be measured: {}", reason(&e))),
        };
        let end = self.attend(child, Duration::ZERO, Some(&mut answer), Some(&mut look))?;
        let exit = match &end {
            End::Exit(code) => *code,
            End::Refused(_) => KILLED,
            _ => Kind::Timeout.exit_code(),
        };
        self.note(words, exit, started, millis(began))?;
        match end {
            End::Exit(0) if answer.len() >= ANSWER => {
                Err(Halt::infra(format!("cannot {doing}: it is too much to read")))
            }
            End::Exit(0) => Ok(answer),
            End::Exit(_) => Err(Halt::infra(format!("cannot {doing}: {}", self.complaint()))),
            End::Refused(why) => Err(Halt::infra(format!("cannot {doing}: {why}"))),
            _ => Err(self.too_long()),
        }
    }
}

/// RFC 3339 of this moment.
pub fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Milliseconds since then.
pub fn millis(began: Instant) -> u64 {
    began.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
}

/// A directory for a run of a batch that begins now: `<timestamp>__<id>` in `out`. `spare` is the `work` of another run of
/// that batch which is over.
pub fn create_dir(out: &Path, id: &str, batch: &str, spare: Option<&Path>) -> io::Result<PathBuf> {
    let stamp: String = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let stamp: String = stamp.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let dir = out.join(format!("{stamp}__{id}"));
    std::fs::create_dir_all(&dir)?;
    for part in ["logs", "artifacts", "task"] {
        std::fs::create_dir(dir.join(part))?;
    }
    let work = dir.join("work");
    if spare.is_some_and(|spare| take_over(spare, &work).is_ok()) {
        return Ok(dir);
    }
    // It may have come half of the way.
    remove::tree(&work)?;
    std::fs::create_dir(&work)?;
    let mut mark = File::create(dir.join(BATCH))?;
    mark.write_all(batch.as_bytes())?;
    // Not every file system can; then nothing is reserved.
    let _ = rustix::fs::fallocate(&mark, FallocateFlags::KEEP_SIZE, 0, RESERVED);
    Ok(dir)
}

/// Moves it, with its mark and the note of its session; all else in it was about the other run.
fn take_over(spare: &Path, work: &Path) -> io::Result<()> {
    let [mark, room] = [BATCH, ROOM].map(|path| Path::new(path).file_name().unwrap_or_default());
    std::fs::metadata(spare.join(mark))?;
    std::fs::rename(spare, work)?;
    for entry in std::fs::read_dir(work)?.flatten().filter(|entry| entry.file_name() != mark) {
        if entry.path().extension().is_some_and(|end| end == "note") {
            std::fs::rename(entry.path(), work.join(room))?;
        } else {
            remove::tree(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::supervise;
    use crate::task::spec;

    #[test]
    fn a_run_takes_over_the_mark_of_another_and_nothing_else() {
        let out = tempfile::tempdir().unwrap();
        let first = create_dir(out.path(), "a", "batch", None).unwrap().join("work");
        std::fs::write(first.join("run.note"), "x").unwrap();
        std::fs::create_dir(first.join("dir")).unwrap();
        for (id, spare) in [("b", first.as_path()), ("c", Path::new("/nowhere"))] {
            let work = create_dir(out.path(), id, "batch", Some(spare)).unwrap().join("work");
            let mut names: Vec<_> = std::fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["batch", "room.note"][..if id == "b" { 2 } else { 1 }]);
            assert_eq!(std::fs::read(work.join("batch")).unwrap(), b"batch");
        }
        assert!(!first.exists());
    }

    #[test]
    fn code_that_never_ends_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("t.yaml");
        std::fs::write(&task, "id: t\nrepo: {path: .}\nrun: {command: x}\n").unwrap();
        let record = RunRecord::begun("r", &spec::read(&task).unwrap(), 1, "b", 1 << 20);
        let run = create_dir(dir.path(), "r", "b", None).unwrap();
        let events = Events::create(&run.join("events.jsonl"), "r", None).unwrap();
        let mut desk = Desk::new(run, record, events, supervise::watch().unwrap(), 1 << 20, false);
        desk.most_code = 1 << 20;
        desk.begin(Stage::Fetch, Some(Reach::Host), None).unwrap();
        let code = dir.path().join("code");
        std::fs::create_dir(&code).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 3000000 /dev/zero > large; exec sleep 60"]).current_dir(&code);
        let said = desk.fill(&code, command, "fetch it").unwrap_err();
        assert_eq!(said, Halt::infra("cannot fetch it: it is more than 1.0 MB"));
        desk.end(false).unwrap();
        let command = &desk.record.stages[0].commands[0];
        assert_eq!((command.exit, desk.record.stages[0].network.as_ref().unwrap().policy.as_str()), (KILLED, "host"));
    }
}
