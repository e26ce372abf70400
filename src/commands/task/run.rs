//! `cowbox task run`: many tasks, each to its record, and what came of all of them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::sink::Sink;
use super::stopping::Stopping;
use super::worker::{self, Options, Order};
use crate::cli::{EngineChoice, MOST_REPEATS, TaskRunArgs};
use crate::commands::context::Context;
use crate::error::{Error, Kind, Result, reason, show};
use crate::policy::mounts;
use crate::session::SessionId;
use crate::session::clock::Clock;
use crate::settings::Places;
use crate::task::compare::{Difference, compare};
use crate::task::desk;
use crate::task::known::Known;
use crate::task::out;
use crate::task::record::RunRecord;
use crate::task::report::{Check, Entry, Summary, table};
use crate::task::spec::{self, Task};
use crate::ui::Ui;

/// How long what was killed may take to end before it is taken for one that goes on.
const AFTER_A_KILL: Duration = Duration::from_secs(30);
/// More than any batch needs to be told apart by.
const LARGEST: u64 = 64 << 20;

/// `batch.json`: what a batch is, so that it can go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plan {
    schema: u32,
    id: String,
    started: String,
    files: Vec<PathBuf>,
    /// Of what is in the files, in the same order.
    digests: Vec<String>,
    repeat: u32,
    engine: Option<EngineChoice>,
    check: bool,
    max_log: u64,
}

/// Runs the verb.
pub fn run(args: TaskRunArgs, ui: &Ui) -> Result<u8> {
    let clock = Clock::start();
    if args.check && args.repeat < 2 {
        return Err(Error::of(Kind::Usage, "`--check` compares several runs of a task").hint("add `--repeat 2`"));
    }
    let events_on_stdout = args.events.as_deref() == Some(Path::new("-"));
    if args.json && events_on_stdout {
        return Err(Error::of(Kind::Usage, "`--json` and `--events -` both write to stdout")
            .hint("write the events to a file; the summary is in summary.json as well"));
    }
    let out = args.batch.as_ref().unwrap_or(&args.out).clone();
    // As it was typed: what is said of it can be copied.
    let place = format!("{}/", out.components().collect::<PathBuf>().display());
    let places = Places::find()?;
    let known = Known::new(&places.state);
    let resumed = args.batch.as_deref().map(|out| Plan::read(out, &known)).transpose()?;
    let mut plan = match &resumed {
        Some(plan) => plan.clone(),
        None => Plan::new(&args)?,
    };
    if resumed.is_some() {
        plan.is_the_same(args.engine)?;
    }
    let tasks = read_all(&plan.files, ui)?;
    plan.digests = plan.files.iter().map(|file| spec::digest(file)).collect::<Result<_>>()?;
    // Looked at before it is made: code is not written to.
    let out = out::find(&out)?;
    no_runs_in_code(&out, tasks.iter().map(|(from, task)| (from.as_path(), task)))?;
    let out = out::create(&out)?;
    let _lock = out::lock(&out, if resumed.is_some() { AFTER_A_KILL } else { Duration::ZERO })?;
    let mut ended = match &resumed {
        Some(plan) => finished(&out, plan, ui)?,
        None => {
            nothing_is_left_of_another(&out, &known)?;
            HashMap::new()
        }
    };
    plan.write(&out, &known, ui)?;
    let options = Options {
        engine: plan.engine,
        max_log: plan.max_log,
        stream: args.stream,
        clock,
        stopping: Stopping::new()?.into(),
    };
    let mut orders = Vec::new();
    let mut entries: BTreeMap<usize, Entry> = BTreeMap::new();
    let mut count = 0;
    for (from, task) in &tasks {
        for repeat in 1..=plan.repeat {
            let place = count;
            count += 1;
            match ended.remove(&(task.id.clone(), repeat)) {
                Some(entry) => drop(entries.insert(place, entry)),
                None => {
                    let (task, from, batch, out) = (task.clone(), from.clone(), plan.id.clone(), out.clone());
                    orders.push((place, Order { task, from, repeat, batch, out }));
                }
            }
        }
    }
    if !entries.is_empty() {
        ui.say(&format!("{} have ended already and are not run again", entries.len()));
    }
    let (places_left, orders): (Vec<usize>, Vec<Order>) = orders.into_iter().unzip();
    let events = args.events.as_deref().map(Sink::open).transpose()?;
    let began = Instant::now();
    let batch = Batch { orders, options, jobs: usize::from(args.jobs), fail_fast: args.fail_fast, events, places, ui };
    let done = batch.run()?;
    entries.extend(done.runs.into_iter().map(|(order, entry)| (places_left[order], entry)));
    let not_run = count - entries.len();
    // What a part of it took that was stopped counts as well.
    let before = resumed.and_then(|plan| Summary::read(&out, &plan.id)).map_or(0, |summary| summary.duration_ms);
    let time = before.saturating_add(desk::millis(began));
    let mut summary = Summary::new(&plan.id, entries.into_values().collect(), not_run, time);
    if plan.check && !done.stopped {
        summary.checks = check(&out, &summary.runs, ui);
    }
    // Whoever asked is told in any case.
    let written = summary.write(&out);
    if args.json {
        ui.json(&summary)?;
    } else if !events_on_stdout {
        ui.data(table(&summary, &place).as_bytes())?;
    }
    written?;
    let events_are_whole = done.lost.is_none();
    if let (Some(e), Some(path)) = (done.lost, &args.events) {
        ui.warn(&format!("not all events are in {}: {}", show(path), reason(&e)));
    }
    ui.say(&format!("records are in {}, a page for the browser is report.html there", show(&out)));
    if done.stopped {
        ui.say(&format!("stopped; `cowbox task run --resume {}` goes on", show(&out)));
        return Ok(Kind::Interrupted.exit_code());
    }
    Ok(if summary.is_good() && events_are_whole { 0 } else { Kind::Failed.exit_code() })
}

impl Plan {
    fn new(args: &TaskRunArgs) -> Result<Self> {
        let mut files = Vec::new();
        for path in &args.files {
            files.extend(task_files(path)?);
        }
        Ok(Self {
            schema: 1,
            id: SessionId::new().to_string(),
            started: desk::now(),
            files,
            digests: Vec::new(),
            repeat: args.repeat,
            engine: args.engine,
            check: args.check,
            max_log: args.max_log,
        })
    }

    /// Of a batch that was begun here: it says what is run.
    fn read(out: &Path, known: &Known) -> Result<Self> {
        let path = out.join("batch.json");
        let text = out::read(&path, LARGEST).map_err(|e| {
            Error::io("read", &path, e).with_kind(Kind::Usage).hint("`--resume` takes the directory that `--out` named")
        })?;
        let plan: Self = serde_json::from_slice(&text)
            .map_err(|e| Error::new(format!("{}: {e}", show(&path))).hint("start anew"))?;
        // Whoever can write there could say anything.
        if SessionId::parse(&plan.id).is_none() || !(1..=MOST_REPEATS).contains(&plan.repeat) {
            return Err(Error::new(format!("{} was not written by cowbox", show(&path))).hint("start anew"));
        }
        if !known.has(&plan.id, &out::find(out)?, &text) {
            return Err(Error::of(
                Kind::Usage,
                format!("the batch in {} was not begun by you, or not as it is", show(out)),
            )
            .hint("read its tasks, and start anew with another `--out`"));
        }
        Ok(plan)
    }

    /// That what goes on is what was begun: all runs of a batch are of the same tasks, on the same engine.
    fn is_the_same(&self, engine: Option<EngineChoice>) -> Result<()> {
        if engine.is_some() && engine != self.engine {
            return Err(Error::of(Kind::Usage, "the batch was begun with another engine")
                .hint("leave out `--engine` and COWBOX_ENGINE, or start anew with another `--out`"));
        }
        for (number, file) in self.files.iter().enumerate() {
            if self.digests.get(number) != Some(&spec::digest(file)?) {
                return Err(Error::of(Kind::Usage, format!("{} has changed since the batch was begun", show(file)))
                    .hint("put it back as it was, or start anew with another `--out`"));
            }
        }
        Ok(())
    }

    fn write(&self, out: &Path, known: &Known, ui: &Ui) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        out::replace(out, "batch.json", &text)?;
        // That it cannot go on later is no reason not to begin.
        if let Err(error) = known.remember(&self.id, out, &text) {
            ui.warn(&format!("this batch cannot be resumed: {}", error.message()));
        }
        Ok(())
    }
}

/// A file as it is; of a directory those that have the name of a task file.
fn task_files(path: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| Error::io("read", path, e).with_kind(Kind::Usage);
    let path = path.canonicalize().map_err(failed)?;
    if !path.is_dir() {
        return Ok(vec![path]);
    }
    let is_task = |path: &PathBuf| {
        let end = path.extension().and_then(|end| end.to_str());
        path.is_file() && matches!(end, Some("yaml" | "yml" | "json" | "toml"))
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(&path).map_err(failed)?.flatten().map(|entry| entry.path()).filter(is_task).collect();
    files.sort();
    if files.is_empty() {
        return Err(Error::of(Kind::Usage, format!("there is no task file in {}", show(&path)))
            .hint("they end in .yaml, .yml, .json or .toml"));
    }
    Ok(files)
}

/// Every task with the directory that its paths are relative to. All that is wrong is told before anything starts.
fn read_all(files: &[PathBuf], ui: &Ui) -> Result<Vec<(PathBuf, Task)>> {
    let mut tasks: Vec<(PathBuf, Task)> = Vec::new();
    let mut wrong = Vec::new();
    let mut names: HashMap<String, &Path> = HashMap::new();
    for file in files {
        match spec::read(file) {
            Ok(task) => {
                if let Some(other) = names.insert(task.id.clone(), file) {
                    let said = format!("{} and {} have the same id `{}`", show(other), show(file), task.id);
                    wrong.push(Error::of(Kind::Usage, said).hint("ids tell the runs of a batch apart"));
                }
                let dir = file.parent().unwrap_or(Path::new("/")).to_path_buf();
                tasks.push((dir, task));
            }
            Err(error) => wrong.push(error),
        }
    }
    let last = wrong.pop();
    wrong.iter().for_each(|error| ui.error(error));
    last.map_or(Ok(tasks), Err)
}

/// What lies in a directory that is taken as it is or mounted, its task can see: also what other runs are expected to
/// find, and what they found.
pub fn no_runs_in_code<'t>(out: &Path, tasks: impl IntoIterator<Item = (&'t Path, &'t Task)>) -> Result<()> {
    for (from, task) in tasks {
        let as_it_is = task.repo.commit.is_none() && task.repo.reference.is_none();
        let code = task.repo.path.iter().filter(|_| as_it_is).cloned();
        let mounted = task.environment.mounts.iter().filter_map(|text| mounts::parse(text.as_ref()).ok());
        let seen = code.chain(mounted.map(|mount| mount.source)).filter_map(|path| from.join(path).canonicalize().ok());
        if let Some(seen) = seen.into_iter().find(|seen| out.starts_with(seen)) {
            let said = format!("task {} could see its own records: {} is in {}", task.id, show(out), show(&seen));
            return Err(Error::of(Kind::Usage, said).hint("name a place outside of it with `--out DIR`"));
        }
    }
    Ok(())
}

/// A batch that was stopped is not replaced by a new one: what says how it goes on would be lost.
fn nothing_is_left_of_another(out: &Path, known: &Known) -> Result<()> {
    // One that cannot be gone on with is none.
    let Ok(plan) = Plan::read(out, known) else { return Ok(()) };
    let all = plan.files.len().saturating_mul(plan.repeat as usize);
    // One that has no record has not ended, whatever is said of it.
    let has_all = |summary: Summary| summary.runs.iter().filter(|run| !run.started.is_empty()).count() >= all;
    if Summary::read(out, &plan.id).is_some_and(has_all) {
        return Ok(());
    }
    // Names of runs begin with when they began: those of batches before need no look.
    let since: String =
        plan.started.chars().filter(char::is_ascii_alphanumeric).take("20260101T000000".len()).collect();
    let listing = fs::read_dir(out).map_err(|e| Error::io("read", out, e))?.flatten();
    let later = listing.filter(|entry| entry.file_name().as_encoded_bytes() >= since.as_bytes());
    let ended =
        later.filter(|entry| RunRecord::read(&entry.path()).is_ok_and(|record| record.batch == plan.id)).count();
    if ended >= all {
        return Ok(());
    }
    Err(Error::of(Kind::Usage, format!("the batch in {} has not ended: {ended} of {all} runs have", show(out)))
        .hint(format!("`cowbox task run --resume {}` goes on with it", show(out)))
        .hint("name another place with `--out`, or remove batch.json there to forget it"))
}

/// Runs of this batch that have ended, by task and number. What others left is cleared away.
fn finished(out: &Path, plan: &Plan, ui: &Ui) -> Result<HashMap<(String, u32), Entry>> {
    let context = Context::new(ui)?;
    let mut ended = HashMap::new();
    let listing = fs::read_dir(out).map_err(|e| Error::io("read", out, e))?;
    // A link is no run of ours, wherever it leads.
    for entry in listing.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let dir = entry.path();
        let is_ours = out::read(&dir.join(desk::BATCH), LARGEST).is_ok_and(|id| id == plan.id.as_bytes());
        let record = RunRecord::read(&dir);
        // Of one that has ended nothing is needed but what it has on record.
        let cleared = match &record {
            Ok(_) if is_ours => worker::clear_away(&context, &dir),
            Err(_) if is_ours => worker::clear(&context, &dir),
            _ => Ok(()),
        };
        if let Err(error) = cleared {
            ui.warn(&format!("{}: {}", show(&dir), error.message()));
        }
        match record {
            Ok(record) if record.batch == plan.id => {
                let entry = Entry::new(&record, &dir);
                ended.insert((record.task, record.repeat), entry);
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(ended)
}

/// `--check`: every run of a task beside its first.
fn check(out: &Path, runs: &[Entry], ui: &Ui) -> Vec<Check> {
    let mut first: HashMap<&str, &Entry> = HashMap::new();
    let mut checks = Vec::new();
    for entry in runs {
        let Some(before) = first.get(entry.task.as_str()) else {
            first.insert(&entry.task, entry);
            continue;
        };
        let differences = compare(&out.join(&before.dir), &out.join(&entry.dir)).unwrap_or_else(|error| {
            // One that died has no record to compare.
            let (before, after) = (before.outcome.to_string(), error.message().to_owned());
            vec![Difference { what: "record".to_owned(), before, after }]
        });
        super::verify::tell(&entry.task, entry.repeat, &differences, ui);
        checks.push(Check { task: entry.task.clone(), repeat: entry.repeat, differences });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_where_no_task_sees_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (code, inside, outside) = (root.join("code"), root.join("code/runs"), root.join("runs"));
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        let task = |rest: &str| {
            fs::write(root.join("t.yaml"), format!("id: t\nrun: {{command: x}}\n{rest}\n")).unwrap();
            spec::read(&root.join("t.yaml")).unwrap()
        };
        let as_it_is = task("repo: {path: code}");
        let mounted = task("repo: {path: code, ref: main}\nenvironment: {mounts: ['code:/data']}");
        let laid_out = task("repo: {path: code, ref: main}");
        let check = |out: &Path, task: &Task| no_runs_in_code(out, [(root.as_path(), task)]);
        for seen in [&as_it_is, &mounted] {
            let said = check(&inside, seen).unwrap_err();
            assert!(said.message().contains("could see its own records"), "{said:?}");
            check(&outside, seen).unwrap();
            assert!(check(&code, seen).is_err());
        }
        check(&inside, &laid_out).unwrap();
    }

    #[test]
    fn a_batch_that_nobody_of_ours_began_is_not_gone_on_with() {
        let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (out, known) = (dir.path().canonicalize().unwrap(), Known::new(state.path()));
        let read = |id: &str, repeat: u32, begun_in: Option<&Path>| {
            let text = serde_json::json!({
                "schema": 1, "id": id, "started": "", "files": [], "digests": [], "repeat": repeat, "check": false,
                "max_log": 1,
            });
            fs::write(dir.path().join("batch.json"), text.to_string()).unwrap();
            if let Some(out) = begun_in {
                known.remember(id, out, text.to_string().as_bytes()).unwrap();
            }
            Plan::read(&out, &known).map(|plan| plan.repeat)
        };
        let id = SessionId::new().to_string();
        assert_eq!(read(&id, 2, Some(&out)).unwrap(), 2);
        assert!(read(&id, 3, None).unwrap_err().message().contains("was not begun by you"));
        assert!(read(&id, 2, Some(state.path())).unwrap_err().message().contains("was not begun by you"));
        for (id, repeat) in [("", 1), ("../x", 1), (&*id, 0), (&*id, u32::MAX)] {
            assert!(read(id, repeat, None).unwrap_err().message().contains("not written by cowbox"), "{id} {repeat}");
        }
    }
}
