//! Many runs, so many at a time, each in a process that does one after the other: this one only hands out the work,
//! listens, and writes what all of them tell.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal as Send, WaitOptions, kill_process, kill_process_group, setpgid, waitpid};
use rustix::thread::UnshareFlags;
use serde_json::Value;

use super::sink::Sink;
use super::spare::Spare;
use super::table::Table;
use super::worker::{self, Ended, Options, Order};
use crate::cli::{ColorChoice, GlobalArgs};
use crate::commands::context::Context;
use crate::error::{Error, Result, reason};
use crate::paths::BytePath;
use crate::process::supervise;
use crate::settings::Places;
use crate::sys::process::{Side, exit_now, fork_into, let_go_of_streams};
use crate::sys::signal::Signals;
use crate::task::child::die_with;
use crate::task::outcome::Outcome;
use crate::task::record::RunRecord;
use crate::task::report::{Entry, line};
use crate::ui::Ui;

/// A line of events is no longer than this, or it is nobody's of ours.
const LONGEST: usize = 1 << 20;
/// How long a stage may take to end after its run has died, and how often somebody looks.
const ENDING: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// What a worker says for us alone: where its run is, why it could not do its work, and that it waits for more.
const PLACE: &str = "worker.place";
const FAILED: &str = "worker.failed";
const DONE: &str = "worker.done";

/// The batch.
pub struct Batch<'a> {
    /// What to run, in order.
    pub orders: Vec<Order>,
    /// How.
    pub options: Options,
    /// So many at a time.
    pub jobs: usize,
    /// No further one after a failure.
    pub fail_fast: bool,
    /// Where every event goes.
    pub events: Option<Sink>,
    /// Where cowbox keeps things.
    pub places: Places,
    /// Where it talks.
    pub ui: &'a Ui,
}

/// What came of a batch.
pub struct Done {
    /// Runs that have ended, with where their orders stood.
    pub runs: Vec<(usize, Entry)>,
    /// Somebody wanted an end.
    pub stopped: bool,
    /// Why events were lost that somebody asked for.
    pub lost: Option<std::io::Error>,
}

/// A process that does runs. It ends when nobody can have any more for it.
struct Worker {
    pid: Pid,
    orders: File,
    pipe: Option<OwnedFd>,
    said: Vec<u8>,
}

/// A run that goes on.
struct Running {
    order: usize,
    worker: Worker,
    dir: Option<PathBuf>,
    stage: String,
    failure: Option<String>,
    is_done: bool,
    /// What it comes to, if it has told.
    entry: Option<Entry>,
    began: Instant,
}

impl Batch<'_> {
    /// Runs all of it.
    pub fn run(mut self) -> Result<Done> {
        let signals = supervise::watch()?;
        let mut table = Table::new(self.ui, self.orders.len());
        let mut done = Done { runs: Vec::new(), stopped: false, lost: None };
        let mut running: Vec<Running> = Vec::new();
        let mut idle: Vec<Worker> = Vec::new();
        let mut next = 0;
        let mut failed = false;
        loop {
            let is_over = done.stopped || (failed && self.fail_fast);
            while !is_over && running.len() < self.jobs && next < self.orders.len() {
                if let Some(run) = idle.pop().and_then(|worker| worker.give(next)) {
                    running.push(run);
                } else {
                    let worker = self.hire(&mut running, &mut idle)?;
                    let died = || Error::new("cannot start a run: its process died").hint("is there enough memory?");
                    running.push(worker.give(next).ok_or_else(died)?);
                }
                next += 1;
            }
            if running.is_empty() {
                break;
            }
            self.listen(&mut running, &signals)?;
            self.heed(&running, &signals, &mut done, &mut table);
            let ended: Vec<Running> = running.extract_if(.., Running::has_ended).collect();
            for mut run in ended {
                if !run.is_done {
                    self.take(&mut run);
                }
                if !run.is_done {
                    run.failure = Some("the process of the run died".to_owned());
                }
                // It may have something to warn of.
                table.clear();
                if let Some(entry) = self.entry(&run, done.stopped) {
                    failed |= !entry.outcome.is_good();
                    table.ended(&entry, &line(&entry));
                    done.runs.push((run.order, entry));
                }
                if run.is_done {
                    idle.push(run.worker);
                }
            }
            let rows = running.iter().map(|run| (self.orders[run.order].task.id.as_str(), &*run.stage, run.began));
            table.draw(rows);
        }
        table.clear();
        let pids: Vec<Pid> = idle.iter().map(|worker| worker.pid).collect();
        drop(idle);
        let ended = |pid: Pid| waitpid(Some(pid), WaitOptions::empty()).ok().flatten();
        let cleared = |pid: Pid| ended(pid).is_none_or(|(_, status)| status.exit_status() == Some(0));
        // All of them are waited for.
        let left = pids.into_iter().filter(|pid| !cleared(*pid)).count();
        done.lost = self.events.take().and_then(|events| events.lost);
        if left > 0 {
            self.ui.warn("not everything could be cleared away; `--resume` tries again");
        }
        Ok(done)
    }

    /// Starts a process for runs. It must hold nothing of the others: they end when nobody holds what they wait for.
    fn hire(&self, running: &mut Vec<Running>, idle: &mut Vec<Worker>) -> Result<Worker> {
        let failed = |e: std::io::Error| Error::new(format!("cannot start a run: {}", reason(&e)));
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()));
        let ((heard, says), (asks, orders)) = (pipe()?, pipe()?);
        let parent = rustix::process::getpid();
        match fork_into(UnshareFlags::empty()).map_err(failed)? {
            Side::Parent(pid) => Ok(Worker { pid, orders: File::from(orders), pipe: Some(heard), said: Vec::new() }),
            Side::Child => {
                drop((heard, orders));
                running.clear();
                idle.clear();
                exit_now(self.work(File::from(asks), &says, parent))
            }
        }
    }

    /// The process of runs: one after the other, for as long as somebody asks.
    fn work(&self, mut asks: File, says: &OwnedFd, parent: Pid) -> i32 {
        die_with(parent);
        self.options.stopping.let_go();
        let _ = setpgid(None, None);
        // Before the screen is taken away.
        let is_watched = self.is_watched();
        // The screen is the batch's.
        let_go_of_streams();
        let ui = Ui::new(&GlobalArgs { quiet: true, verbose: 0, color: ColorChoice::Never, no_input: true });
        let mut spare = None;
        let mut number = [0; size_of::<usize>()];
        while asks.read_exact(&mut number).is_ok() {
            let order = self.orders.get(usize::from_ne_bytes(number));
            if order.is_none_or(|order| self.one(order, says, is_watched, &mut spare, &ui).is_err()) {
                // Nobody listens any more.
                let _ = spare.map(Spare::clear);
                return 125;
            }
        }
        i32::from(spare.is_some_and(|spare| spare.clear().is_err()))
    }

    /// One run, from its first word to its last.
    fn one(
        &self,
        order: &Order,
        says: &OwnedFd,
        is_watched: bool,
        spare: &mut Option<Spare>,
        ui: &Ui,
    ) -> std::io::Result<()> {
        // In one piece: every word of JSON would be a write of its own.
        let tell = |event: &str, data: Value| {
            let said = serde_json::json!({ "event": event, "data": data });
            says.try_clone().and_then(|says| File::from(says).write_all(format!("{said}\n").as_bytes()))
        };
        let began = |dir: &Path| drop(tell(PLACE, serde_json::json!(BytePath::from(dir))));
        let watcher = is_watched.then(|| says.try_clone()).transpose()?;
        match worker::run(order, &self.options, watcher, began, spare, &self.places, ui) {
            // What is too long for a line is in the record.
            Ok(Ended::Recorded(entry)) if entry.reason.as_ref().is_none_or(|why| why.len() < LONGEST / 16) => {
                return tell(DONE, serde_json::to_value(entry)?);
            }
            Ok(Ended::Recorded(_) | Ended::Stopped) => {}
            Err(error) => tell(FAILED, error.message().into())?,
        }
        tell(DONE, Value::Null)
    }

    /// Whether anybody wants to know what happens in a run while it goes on. Each word wakes us, and small tasks say
    /// more than a dozen.
    fn is_watched(&self) -> bool {
        self.events.is_some() || self.ui.is_live() || self.ui.is_verbose()
    }

    /// Waits for something to happen, and takes what was said.
    fn listen(&mut self, running: &mut [Running], signals: &Signals) -> Result<()> {
        let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
        fds.extend(
            running.iter().filter_map(|run| run.worker.pipe.as_ref()).map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        let time = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Error::new(format!("cannot wait for the runs: {}", reason(&e.into())))),
        }
        let ready: Vec<bool> = fds[1..].iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ready = ready.into_iter();
        for run in running.iter_mut().filter(|run| run.worker.pipe.is_some()) {
            if ready.next() == Some(true) {
                self.read(run);
            }
        }
        Ok(())
    }

    /// All that a run has said. It has ended; others of its processes may still hold the pipe.
    fn take(&mut self, run: &mut Running) {
        if let Some(pipe) = &run.worker.pipe {
            let _ = rustix::io::ioctl_fionbio(pipe, true);
        }
        while run.worker.pipe.is_some() {
            self.read(run);
        }
    }

    fn read(&mut self, run: &mut Running) {
        let worker = &mut run.worker;
        let Some(pipe) = &worker.pipe else { return };
        let mut buffer = [0; 64 << 10];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => worker.pipe = None,
            Ok(count) => worker.said.extend_from_slice(&buffer[..count]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => worker.pipe = None,
        }
        while let Some(end) = run.worker.said.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = run.worker.said.drain(..=end).collect();
            let stage = run.stage.clone();
            let is_ours = run.heard(&line);
            if run.stage != stage {
                self.ui.detail(&format!("{}: {}", self.orders[run.order].task.id, run.stage));
            }
            if !is_ours && let Some(events) = &mut self.events {
                events.write(&line);
            }
        }
        if run.worker.said.len() > LONGEST {
            run.worker.said.clear();
        }
    }

    /// Answers to signals: the first ends the runs, the second at once.
    fn heed(&self, running: &[Running], signals: &Signals, done: &mut Done, table: &mut Table<'_>) {
        while let Ok(Some(arrived)) = signals.next() {
            if !matches!(arrived.signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT) {
                continue;
            }
            // Before they hear of it, for others may signal them too.
            self.options.stopping.let_go();
            for run in running {
                let _ = if done.stopped {
                    kill_process_group(run.worker.pid, Send::KILL)
                } else {
                    kill_process(run.worker.pid, Send::TERM)
                };
            }
            if !done.stopped {
                table.clear();
                self.ui.say("stopping; once more to stop at once");
            }
            done.stopped = true;
        }
    }

    /// Throws away what a run left that was cut off. Its stage has been told to end, and may take a moment.
    fn clear(&self, dir: &Path) -> Result<()> {
        let context = Context::at(self.places.clone(), self.ui);
        let began = Instant::now();
        loop {
            match worker::clear(&context, dir) {
                Err(_) if began.elapsed() < ENDING => std::thread::sleep(LOOK_AGAIN),
                cleared => return cleared,
            }
        }
    }

    /// What came of a run; `None` if it does not count.
    fn entry(&self, run: &Running, stopped: bool) -> Option<Entry> {
        if run.entry.is_some() {
            return run.entry.clone();
        }
        let order = &self.orders[run.order];
        let unread = match run.dir.as_deref().map(|dir| (dir, RunRecord::read(dir))) {
            Some((dir, Ok(record))) => {
                run.failure.iter().for_each(|why| self.ui.warn(&format!("{}: {why}", order.task.id)));
                return Some(Entry::new(&record, dir));
            }
            Some((_, Err(error))) => error.message().to_owned(),
            None => "it has no directory".to_owned(),
        };
        let name = run.dir.as_deref().and_then(|dir| dir.file_name()).unwrap_or_default().to_string_lossy();
        if let Some(dir) = &run.dir
            && let Err(error) = self.clear(dir)
        {
            self.ui.warn(&format!("{}: {}; `--resume` tries again", order.task.id, error.message()));
        }
        // Somebody wanted an end: that says nothing about the task.
        if stopped {
            return None;
        }
        let why = run.failure.clone().unwrap_or_else(|| format!("the run left no record: {unread}"));
        Some(Entry {
            task: order.task.id.clone(),
            suite: order.task.suite.clone(),
            repeat: order.repeat,
            outcome: Outcome::InfraError,
            reason: Some(why),
            duration_ms: crate::task::desk::millis(run.began),
            started: String::new(),
            dir: name.into_owned(),
            ended_in: None,
            logs: Vec::new(),
        })
    }
}

impl Worker {
    /// Gives it a run to do; none if it is not there any more.
    fn give(mut self, number: usize) -> Option<Running> {
        if self.orders.write_all(&number.to_ne_bytes()).is_err() {
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
            return None;
        }
        Some(Running {
            order: number,
            worker: self,
            dir: None,
            stage: String::new(),
            failure: None,
            is_done: false,
            entry: None,
            began: Instant::now(),
        })
    }
}

impl Running {
    /// Looks whether it has ended, or its process has.
    fn has_ended(&mut self) -> bool {
        self.is_done || !matches!(waitpid(Some(self.worker.pid), WaitOptions::NOHANG), Ok(None))
    }

    /// What a line says about this run. True: it is for nobody else.
    fn heard(&mut self, line: &[u8]) -> bool {
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return true };
        match event["event"].as_str().unwrap_or_default() {
            PLACE => {
                self.dir = serde_json::from_value::<BytePath>(event["data"].clone()).ok().map(|dir| dir.0);
                return true;
            }
            "stage.started" => self.stage = event["stage"].as_str().unwrap_or_default().to_owned(),
            FAILED => {
                self.failure = event["data"].as_str().map(str::to_owned);
                return true;
            }
            DONE => {
                self.is_done = true;
                self.entry = serde_json::from_value(event["data"].take()).ok();
                return true;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
