//! `cowbox task verify`: a recorded run once more, from its own record, and both compared.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::batch::Batch;
use super::run::no_runs_in_code;
use super::stopping::Stopping;
use super::worker::{Options, Order};
use crate::cli::{EngineChoice, TaskVerifyArgs};
use crate::error::{Error, Kind, Result, show};
use crate::session::SessionId;
use crate::session::clock::Clock;
use crate::settings::Places;
use crate::task::compare::{Difference, Facts};
use crate::task::freeze::{Frozen, is_input};
use crate::task::out;
use crate::task::record::{EngineFacts, RunRecord};
use crate::task::spec::{Compat, Task, is_commit, is_hex};
use crate::ui::{Ui, sanitize};

/// Images that cowbox builds.
const OURS: &str = "localhost/cowbox/";

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    task: &'a str,
    before: String,
    after: String,
    same: bool,
    differences: &'a [Difference],
}

/// Runs the verb.
pub fn verify(args: TaskVerifyArgs, ui: &Ui) -> Result<u8> {
    let (dir, record, task) = read(&args.dir)?;
    // Also its logs: whoever cannot compare need not run anything.
    let before = Facts::read(&dir).map_err(no_record)?;
    let task = pinned(task, &record);
    let engine = record.engine.as_ref().and_then(|engine| engine_called(&engine.kind));
    let out = match &args.out {
        Some(out) => out.clone(),
        None => dir.parent().map(PathBuf::from).unwrap_or_default(),
    };
    let (out, from) = (out::find(&out)?, dir.join("task"));
    no_runs_in_code(&out, [(from.as_path(), &task)])?;
    let out = out::create(&out)?;
    let order = Order { task, from, repeat: 1, batch: SessionId::new().to_string(), out: out.clone() };
    let options = Options {
        engine,
        max_log: record.max_log,
        stream: false,
        clock: Clock::start(),
        stopping: Stopping::new()?.into(),
    };
    let batch =
        Batch { orders: vec![order], options, jobs: 1, fail_fast: false, events: None, places: Places::find()?, ui };
    told_before(&record, &dir, ui);
    let done = batch.run()?;
    if done.stopped {
        ui.say("stopped; nothing was compared");
        return Ok(Kind::Interrupted.exit_code());
    }
    let Some((_, entry)) = done.runs.first() else {
        return Err(Error::new("the run left no record").hint("`cowbox doctor` tries the engines"));
    };
    let after = out.join(&entry.dir);
    ui.say(&format!("its record is in {}", show(&after)));
    let lost = |error: Error| error.context(entry.reason.as_deref().unwrap_or("the run left no record"));
    let differences = before.compare(&Facts::read(&after).map_err(lost)?);
    if args.json {
        let (before, after) = (show(&dir), show(&after));
        let same = differences.is_empty();
        ui.json(&Document { schema: 1, task: &record.task, before, after, same, differences: &differences })?;
    } else {
        let text = said(&record.task, &differences);
        ui.data(text.as_bytes())?;
    }
    Ok(if differences.is_empty() { 0 } else { Kind::Failed.exit_code() })
}

/// The record in a directory, and the task beside it.
fn read(dir: &Path) -> Result<(PathBuf, RunRecord, Task)> {
    let dir = dir.canonicalize().map_err(|e| no_record(Error::io("enter", dir, e)))?;
    if !dir.is_dir() {
        return Err(no_record(Error::of(Kind::Usage, format!("{} is no directory", show(&dir)))));
    }
    // Its record is the last that a run writes.
    if dir.join("events.jsonl").exists() && dir.join("run.json").symlink_metadata().is_err() {
        let batch = dir.parent().unwrap_or(&dir);
        return Err(Error::of(Kind::Usage, format!("the run in {} was cut off: it has no run.json", show(&dir)))
            .hint(format!("`cowbox task run --resume {}` runs it again, if its batch was yours", show(batch))));
    }
    let record = RunRecord::read(&dir).map_err(no_record)?;
    let task = Frozen::read(&dir).map_err(no_record)?;
    let foreign = |why| no_record(Error::of(Kind::Usage, format!("{} is no record of a run: {why}", show(&dir))));
    belongs(&dir, &record, &task).map_err(foreign)?;
    Ok((dir, record, task))
}

/// What is run again, and what for.
fn told_before(record: &RunRecord, dir: &Path, ui: &Ui) {
    let engine = record.engine.as_ref().map(|engine| format!(" on {}", engine.kind));
    let outcome = record.outcome;
    let name = dir.file_name().map(Path::new).map(show).unwrap_or_default();
    ui.say(&format!("running {} again{}: it was {outcome} in {name}", record.task, engine.unwrap_or_default()));
    let facts = [
        ("commit", record.repo.as_ref().and_then(|repo| repo.commit.clone())),
        ("image", record.image.as_ref().map(|image| image.digest.clone())),
        ("setup", record.setup_key.clone()),
        ("record", Some(show(dir))),
    ];
    for (what, value) in facts.into_iter().filter_map(|(what, value)| Some((what, value?))) {
        ui.detail(&format!("{what} {}", sanitize::text(&value)));
    }
}

fn engine_called(name: &str) -> Option<EngineChoice> {
    match name {
        "podman" => Some(EngineChoice::Podman),
        "docker" => Some(EngineChoice::Docker),
        "native" => Some(EngineChoice::Native),
        _ => None,
    }
}

/// What is wrong with a record that says anything that cowbox would not have written. It may come from anywhere.
fn belongs(dir: &Path, record: &RunRecord, task: &Task) -> Result<(), &'static str> {
    // The name of a task that was read is a good one.
    if record.task != task.id {
        return Err("it tells of another task");
    }
    if record.repo.as_ref().and_then(|repo| repo.commit.as_deref()).is_some_and(|id| !is_commit(id)) {
        return Err("its commit is none");
    }
    let is_known = |engine: &EngineFacts| engine_called(&engine.kind).is_some();
    if !record.engine.as_ref().is_none_or(is_known) {
        return Err("its engine is none");
    }
    // By anything else an image could be asked for somewhere.
    let is_id = |id: &str| is_hex(id.strip_prefix("sha256:").unwrap_or(id), 64);
    if record.image.as_ref().is_some_and(|image| !is_id(&image.digest)) {
        return Err("the digest of its image is none");
    }
    let own = task.setup.compat.iter().filter_map(|fix| match fix {
        Compat::Own(own) => own.patch.as_ref(),
        _ => None,
    });
    match task.repo.patches.iter().chain(own).all(|path| is_input(dir, path)) {
        true => Ok(()),
        false => Err("it names a patch that is not beside it"),
    }
}

/// Whatever is wrong with it: it is not what the verb takes.
fn no_record(error: Error) -> Error {
    let error = error.with_kind(Kind::Usage);
    if !error.hints().is_empty() {
        return error;
    }
    error.hint("name the directory of a run that has ended; `task run` keeps them in runs/")
}

/// The task as it was, with what could mean something else today held fast.
fn pinned(mut task: Task, record: &RunRecord) -> Task {
    let pinned = task.repo.commit.is_some() || task.repo.reference.is_some();
    if let Some(commit) = record.repo.as_ref().and_then(|repo| repo.commit.clone()).filter(|_| pinned) {
        task.repo.commit = Some(commit);
        task.repo.reference = None;
    }
    let environment = &mut task.environment;
    let named = environment.image.is_some() || environment.containerfile.is_some();
    // What cowbox built has a name that only its content has, and is built from what the code says.
    if let Some(image) = record.image.as_ref().filter(|image| named || !image.name.starts_with(OURS)) {
        environment.image = Some(image.digest.clone());
        environment.containerfile = None;
    }
    task
}

/// What `--check` says of two runs.
pub fn tell(task: &str, repeat: u32, differences: &[Difference], ui: &Ui) {
    let repeat = format!("{task} #{repeat}");
    let said = said(&repeat, differences);
    if differences.is_empty() {
        return ui.say(said.trim_end());
    }
    // Whoever asked for a check wants to know, with `-q` too.
    let mut lines = said.lines();
    lines.next().iter().for_each(|line| ui.warn(line));
    lines.for_each(|line| ui.quote(line.trim_start()));
}

fn said(task: &str, differences: &[Difference]) -> String {
    if differences.is_empty() {
        return format!("{}: the same in everything that must not vary\n", sanitize::text(task));
    }
    let word = if differences.len() == 1 { "difference" } else { "differences" };
    let mut out = format!("{}: {} {word}\n", sanitize::text(task), differences.len());
    for Difference { what, before, after } in differences {
        let (what, before, after) = (sanitize::text(what), sanitize::text(before), sanitize::text(after));
        out.push_str(&format!("  {what}: {before} → {after}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::record::ImageFacts;
    use crate::task::spec;

    #[test]
    fn a_record_tells_of_the_task_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.yaml");
        std::fs::write(&path, "id: t\nrepo: {path: .}\nrun: {command: x}\n").unwrap();
        let task = spec::read(&path).unwrap();
        let record = RunRecord::begun("r", &task, 1, "b", 1);
        belongs(dir.path(), &record, &task).unwrap();
        let engine = |kind: &str| EngineFacts { kind: kind.to_owned(), version: String::new(), rootless: false };
        belongs(dir.path(), &RunRecord { engine: Some(engine("native")), ..record.clone() }, &task).unwrap();
        belongs(dir.path(), &RunRecord { engine: Some(engine("x\u{1b}")), ..record.clone() }, &task).unwrap_err();
        let other = RunRecord { task: "t\u{1b}[2J".to_owned(), ..record };
        belongs(dir.path(), &other, &task).unwrap_err();
        for differences in [Vec::new(), vec![Difference { what: "x".into(), before: "1".into(), after: "2".into() }]] {
            assert!(!said(&other.task, &differences).contains('\u{1b}'));
        }
    }

    fn held() -> String {
        format!("sha256:{}", "1a".repeat(32))
    }

    #[test]
    fn a_record_names_nothing_that_could_be_anything() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.yaml");
        let text =
            |patch: &str| format!("id: t\nrepo: {{path: ., ref: a, patches: ['{patch}']}}\nrun: {{command: x}}\n");
        let belongs = |patch: &str, commit: &str, digest: &str| {
            std::fs::write(&path, text(patch)).unwrap();
            let task = spec::read(&path).unwrap();
            let facts = serde_json::json!({"source": "x", "commit": commit, "tree": null});
            let image = ImageFacts { name: "x".to_owned(), digest: digest.to_owned() };
            let repo = Some(serde_json::from_value(facts).unwrap());
            let record = RunRecord { image: Some(image), repo, ..RunRecord::begun("r", &task, 1, "b", 1) };
            belongs(dir.path(), &record, &task)
        };
        let (input, commit, digest) = ("inputs/01-a.patch", "0f".repeat(20), held());
        belongs(input, &commit, &digest).unwrap();
        belongs(input, &commit, &"1a".repeat(32)).unwrap();
        for name in ["host.example/x", "sha256:1", "", "-x"] {
            assert_eq!(belongs(input, &commit, name), Err("the digest of its image is none"), "{name}");
        }
        for name in ["main", "--upload-pack=x", ""] {
            assert_eq!(belongs(input, name, &digest), Err("its commit is none"), "{name}");
        }
        std::fs::create_dir_all(dir.path().join("task/inputs")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("task/inputs/02-link")).unwrap();
        for name in ["inputs/02-link", "/etc/passwd", "../x", "inputs/../../x", "inputs/a/b", "inputs"] {
            assert_eq!(belongs(name, &commit, &digest), Err("it names a patch that is not beside it"), "{name}");
        }
    }

    #[test]
    fn the_image_of_a_run_is_held_wherever_its_name_came_from() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.yaml");
        let image = |environment: &str, name: &str| {
            let text = format!("id: t\nrepo: {{path: .}}\nrun: {{command: x}}\nenvironment: {{{environment}}}\n");
            std::fs::write(&path, text).unwrap();
            let task = spec::read(&path).unwrap();
            let image = ImageFacts { name: name.to_owned(), digest: held() };
            let record = RunRecord { image: Some(image), ..RunRecord::begun("r", &task, 1, "b", 1) };
            let environment = pinned(task, &record).environment;
            (environment.image, environment.containerfile)
        };
        let held = (Some(held()), None);
        assert_eq!(image("image: debian", "debian"), held);
        assert_eq!(image("containerfile: C", "localhost/cowbox/build:1"), held);
        assert_eq!(image("", "debian"), held, "from the user's configuration");
        assert_eq!(image("", "localhost/cowbox/features:1"), (None, None));
    }
}
