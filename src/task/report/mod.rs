//! What came of a batch: for people, for programs, for CI, and as a page.

mod cases;
mod html;
mod junit;
mod text;
mod xml;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use cases::{Case, NoReport, Verdict, read as read_junit};
pub use text::{line, seconds, table};

use super::compare::Difference;
use super::outcome::Outcome;
use super::record::RunRecord;
use super::stage::Stage;
use crate::error::{Error, Result};

/// Larger than any summary that was written here.
const LARGEST: u64 = 64 << 20;

/// Of a run that is not the same as the first so many differences are told.
const MOST_DIFFERENCES: usize = 10;

/// One run in a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The task.
    pub task: String,
    /// Its suite.
    pub suite: Option<String>,
    /// Which of several, from 1.
    pub repeat: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where it did not end well.
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// When it began.
    pub started: String,
    /// Where its artifacts are, relative to the batch.
    pub dir: String,
    /// The stage that it ended in.
    #[serde(default)]
    pub ended_in: Option<Stage>,
    /// Where it is likely told why: what that stage printed, relative to the batch.
    #[serde(default)]
    pub logs: Vec<String>,
}

impl Entry {
    /// Of a run that has ended, in `dir`.
    pub fn new(record: &RunRecord, dir: &Path) -> Self {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        Self {
            task: record.task.clone(),
            suite: record.suite.clone(),
            repeat: record.repeat,
            outcome: record.outcome,
            reason: record.reason.clone(),
            duration_ms: record.duration_ms,
            started: record.started.clone(),
            ended_in: record.ended_in,
            logs: logs(record, dir).iter().map(|log| format!("{name}/{log}")).collect(),
            dir: name.into_owned(),
        }
    }

    /// `task #2`
    fn called(&self) -> String {
        if self.repeat > 1 { format!("{} #{}", self.task, self.repeat) } else { self.task.clone() }
    }
}

/// The logs of the stage that a run ended in, as far as anything is in them. What is collected, the command left.
fn logs(record: &RunRecord, dir: &Path) -> Vec<String> {
    let stage = record.ended_in.map(|stage| if stage == Stage::Collect { Stage::Run } else { stage });
    let names = stage.into_iter().flat_map(|stage| ["stdout", "stderr"].map(|end| format!("logs/{stage}.{end}")));
    names.filter(|name| dir.join(name).symlink_metadata().is_ok_and(|meta| meta.len() > 0)).collect()
}

/// A run of a task beside its first: `--check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The task.
    pub task: String,
    /// Which of its runs.
    pub repeat: u32,
    /// What is not the same and must be.
    pub differences: Vec<Difference>,
}

impl Check {
    /// Whether it is the same.
    pub fn is_good(&self) -> bool {
        self.differences.is_empty()
    }

    /// What is not the same, without how.
    pub fn names(&self) -> String {
        self.differences.iter().map(|difference| difference.what.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The first of it, with how.
    fn lines(&self) -> Vec<String> {
        let line = |Difference { what, before, after }: &Difference| format!("{what}: {before} → {after}");
        let mut lines: Vec<String> = self.differences.iter().take(MOST_DIFFERENCES).map(line).collect();
        let more = self.differences.len() - lines.len();
        lines.extend((more > 0).then(|| format!("and {more} more")));
        lines
    }
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of the format.
    pub schema: u32,
    /// The batch.
    pub batch: String,
    /// How many there are of each outcome.
    pub counts: BTreeMap<Outcome, usize>,
    /// Runs that were asked for and did not take place.
    pub not_run: usize,
    /// How long all took, in milliseconds.
    pub duration_ms: u64,
    /// The runs, in the order of the tasks.
    pub runs: Vec<Entry>,
    /// With `--check`: every run of a task but its first, compared with that.
    pub checks: Vec<Check>,
}

impl Summary {
    /// Counts.
    pub fn new(batch: &str, runs: Vec<Entry>, not_run: usize, duration_ms: u64) -> Self {
        let mut counts = BTreeMap::new();
        for run in &runs {
            *counts.entry(run.outcome).or_default() += 1;
        }
        Self { schema: 1, batch: batch.to_owned(), counts, not_run, duration_ms, runs, checks: Vec::new() }
    }

    /// What was written of a batch before, if it is the last that was written of.
    pub fn read(dir: &Path, batch: &str) -> Option<Self> {
        let text = super::out::read(&dir.join("summary.json"), LARGEST).ok()?;
        serde_json::from_slice(&text).ok().filter(|summary: &Self| summary.batch == batch)
    }

    /// Whether all is as it should be.
    pub fn is_good(&self) -> bool {
        let good = self.runs.iter().all(|run| run.outcome.is_good()) && self.checks.iter().all(Check::is_good);
        self.not_run == 0 && good
    }

    /// Those that need nobody's attention, and those that do; each in the order of the tasks.
    fn apart(&self) -> (Vec<&Entry>, Vec<&Entry>) {
        self.runs.iter().partition(|run| run.outcome.is_good())
    }

    /// The check of a run that is not the same as the first.
    fn differs(&self, run: &Entry) -> Option<&Check> {
        self.checks.iter().find(|check| !check.is_good() && (&check.task, check.repeat) == (&run.task, run.repeat))
    }

    /// Writes `summary.json`, `summary.txt`, `junit.xml` and `report.html`.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        let files = [
            ("summary.json", json + "\n"),
            ("summary.txt", text::table(self, "")),
            ("junit.xml", junit::write(self)),
            ("report.html", html::write(self)),
        ];
        for (name, text) in files {
            super::out::replace(dir, name, text.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) fn sample() -> Summary {
    let entry = |task: &str, outcome: Outcome, reason: Option<&str>, duration_ms: u64| Entry {
        task: task.to_owned(),
        suite: Some("toy".to_owned()),
        repeat: 1,
        outcome,
        reason: reason.map(str::to_owned),
        duration_ms,
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        dir: format!("20260101T000000Z__{task}"),
        ended_in: Some(Stage::Run),
        logs: vec![format!("20260101T000000Z__{task}/logs/run.stderr")],
    };
    let runs = vec![
        entry("good", Outcome::Passed, None, 1200),
        entry("bad", Outcome::Failed, Some("the command ended with 1 instead of 0 <script>alert(1)</script>"), 300),
        entry("slow", Outcome::Timeout, Some("run took longer than 2s"), 2100),
        entry("gone", Outcome::InfraError, Some("there is no commit \u{1b}[31m x"), 20),
    ];
    let difference = Difference { what: "exit of run".into(), before: "<1>\u{1b}".into(), after: "2".into() };
    let check = |task: &str, differences| Check { task: task.to_owned(), repeat: 1, differences };
    let checks = vec![check("good", vec![difference]), check("slow", Vec::new())];
    Summary { checks, ..Summary::new("b", runs, 1, 3700) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_by_its_batch_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Summary::read(dir.path(), "b"), None);
        sample().write(dir.path()).unwrap();
        assert_eq!(Summary::read(dir.path(), "b"), Some(sample()));
        assert_eq!(Summary::read(dir.path(), "c"), None);
    }

    #[test]
    fn all_is_good_if_the_checks_are() {
        let good = Summary { not_run: 0, runs: sample().runs[..1].to_vec(), ..sample() };
        assert!(!good.is_good());
        assert!(Summary { checks: good.checks[1..].to_vec(), ..good }.is_good());
    }

    #[test]
    fn a_run_says_where_it_is_told_why() {
        let dir = tempfile::tempdir().unwrap();
        let (task, run) = (dir.path().join("t.yaml"), dir.path().join("run"));
        std::fs::write(&task, "id: t\nrepo: {path: .}\nrun: {command: x}\n").unwrap();
        std::fs::create_dir_all(run.join("logs")).unwrap();
        for (name, text) in [("run.stdout", "x"), ("run.stderr", ""), ("setup.stderr", "x")] {
            std::fs::write(run.join("logs").join(name), text).unwrap();
        }
        let mut record = RunRecord::begun("r", &crate::task::spec::read(&task).unwrap(), 1, "b", 1);
        for (stage, log) in [(Stage::Run, "run.stdout"), (Stage::Collect, "run.stdout"), (Stage::Setup, "setup.stderr")]
        {
            record.ended_in = Some(stage);
            let entry = Entry::new(&record, &run);
            assert_eq!((entry.dir.as_str(), entry.logs), ("run", vec![format!("run/logs/{log}")]));
        }
        record.ended_in = None;
        assert_eq!(Entry::new(&record, &run).logs, Vec::<String>::new());
    }
}
