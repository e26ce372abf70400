//! `run.json`: everything that a reader of the artifacts, or a run that repeats this one, has to know.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::log::Cut;
use super::outcome::Outcome;
use super::spec::Task;
use super::stage::Stage;
use crate::error::{Error, Kind, Result, show};
use crate::paths::BytePath;

/// Number of the format.
pub const SCHEMA: u32 = 1;
/// A list in a record is no longer: a task decides how many files it makes.
pub const MOST_NAMES: usize = 10_000;
/// Nor does it take more than this: a task decides as well what they are called.
const MOST_BYTES: usize = 4 << 20;
/// What a name takes in JSON beside itself.
const AROUND: usize = 64;
/// Larger than any record that was written here.
const LARGEST: u64 = 64 << 20;

/// What every record has, also one of later.
#[derive(Deserialize)]
struct Format {
    schema: u32,
}

/// One run of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// Number of the format.
    pub schema: u32,
    /// The run's own id.
    pub id: String,
    /// The batch that it belongs to.
    pub batch: String,
    /// The task's id.
    pub task: String,
    /// The task's suite.
    pub suite: Option<String>,
    /// Which of several runs of the same task, from 1.
    pub repeat: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where it did not end well.
    pub reason: Option<String>,
    /// The stage that it ended in: the first that did not do what it should, or the last.
    pub ended_in: Option<Stage>,
    /// The exit code of the last command before `collect`: 124 where its time was up; none if none has run.
    #[serde(default)]
    pub exit: Option<u8>,
    /// When it began, as RFC 3339 in UTC.
    pub started: String,
    /// When it ended.
    pub ended: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The version of cowbox.
    pub cowbox: String,
    /// What ran it.
    pub engine: Option<EngineFacts>,
    /// The image, before anything was prepared on it.
    pub image: Option<ImageFacts>,
    /// The code.
    pub repo: Option<RepoFacts>,
    /// The prepared environment that it started from.
    pub setup_key: Option<String>,
    /// How much is kept of an output: `--max-log`.
    #[serde(default = "max_log")]
    pub max_log: u64,
    /// Limits, and how each was enforced.
    pub limits: BTreeMap<String, Limit>,
    /// What happened, in order.
    pub stages: Vec<StageRecord>,
    /// What fixes and the session changed.
    pub changes: Vec<LayerFacts>,
    /// What was kept, relative to `artifacts/`; the first of them, if there are very many.
    pub artifacts: Vec<BytePath>,
    /// How many more there are.
    #[serde(default)]
    pub artifacts_more: usize,
}

/// Where nobody said anything else.
fn max_log() -> u64 {
    16 << 20
}

/// What ran it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EngineFacts {
    /// `podman`, `docker` or `native`.
    pub kind: String,
    /// Its version; the kernel's for native.
    pub version: String,
    /// Whether it runs without root.
    pub rootless: bool,
}

/// The image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImageFacts {
    /// As it was asked for.
    pub name: String,
    /// Its content's id.
    pub digest: String,
}

/// The code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepoFacts {
    /// Where it came from.
    pub source: String,
    /// The commit; none for a directory that is no git repository, and for code that could not be had.
    pub commit: Option<String>,
    /// The commit's tree; none where a directory was taken as it is.
    pub tree: Option<String>,
    /// The tree with the task's patches upon it, where it has some.
    #[serde(default)]
    pub patched_tree: Option<String>,
}

/// A limit as it was enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limit {
    /// The value, as it was asked for.
    pub value: String,
    /// What the control group said, as the kernel writes it: seen from the host while the command ran or, where a
    /// container was gone before, by cowbox's own first process in it. None if nobody could look.
    #[serde(default)]
    pub seen: Option<String>,
    /// By whom.
    pub by: String,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageRecord {
    /// Which.
    pub stage: Stage,
    /// Whether it did what it should.
    pub ok: bool,
    /// When it began.
    pub started: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The session whose sandbox it ran in. It is gone.
    pub session: Option<String>,
    /// The name of its container, where the engine has them. It is gone as well; logs of the engine know it.
    #[serde(default)]
    pub container: Option<String>,
    /// The network that it had, where it could have one.
    pub network: Option<NetworkFacts>,
    /// What ran.
    pub commands: Vec<CommandRecord>,
}

/// The network of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkFacts {
    /// What was asked for: `none` or `full`; `host` where programs of the host fetch.
    pub policy: String,
    /// The interfaces that the sandbox had: seen from the host while it ran or, where a container was gone before anybody
    /// could look, named by cowbox's own first process in it, before the command. None if nothing ran: what was prepared
    /// before needs no network again.
    pub interfaces: Option<Vec<String>>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandRecord {
    /// What was run.
    pub cmd: Vec<String>,
    /// Where.
    pub cwd: String,
    /// Names of its variables; values may be secrets.
    pub env: Vec<String>,
    /// Its exit code: 124 where its time was up.
    pub exit: u8,
    /// When it began.
    pub started: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Where its output is, relative to the run.
    pub stdout: LogFacts,
    /// The same of its errors.
    pub stderr: LogFacts,
}

/// A log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LogFacts {
    /// Relative to the run.
    pub path: String,
    /// What is missing in its middle.
    pub cut: Option<Cut>,
}

/// What one layer changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LayerFacts {
    /// Who made it: `compat`, `agent` or `run`. Patches are part of the code.
    pub by: String,
    /// Over the whole of it.
    pub digest: String,
    /// The paths; the first of them, if there are very many.
    pub files: Vec<BytePath>,
    /// How many more there are.
    #[serde(default)]
    pub more: usize,
    /// The patch, relative to the run.
    pub patch: String,
}

/// The beginning of a list, and how many were left out.
pub fn first<T>(mut all: Vec<T>, most: usize) -> (Vec<T>, usize) {
    let more = all.len().saturating_sub(most);
    all.truncate(most);
    (all, more)
}

/// The same of paths, which may be long.
pub fn names<'a>(all: impl ExactSizeIterator<Item = &'a Path>) -> (Vec<BytePath>, usize) {
    let count = all.len();
    let mut room = MOST_BYTES;
    let fits = |path: &BytePath| {
        let size = serde_json::to_vec(path).map_or(MOST_BYTES, |text| text.len()) + AROUND;
        let left = room.checked_sub(size);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let listed: Vec<BytePath> = all.take(MOST_NAMES).map(BytePath::from).take_while(fits).collect();
    let more = count - listed.len();
    (listed, more)
}

impl RunRecord {
    /// Of a run that begins now; it counts as lost until it says something else.
    pub fn begun(id: &str, task: &Task, repeat: u32, batch: &str, max_log: u64) -> Self {
        Self {
            schema: SCHEMA,
            id: id.to_owned(),
            batch: batch.to_owned(),
            task: task.id.clone(),
            suite: task.suite.clone(),
            repeat,
            outcome: Outcome::InfraError,
            reason: None,
            ended_in: None,
            exit: None,
            started: super::desk::now(),
            ended: String::new(),
            duration_ms: 0,
            cowbox: env!("CARGO_PKG_VERSION").to_owned(),
            engine: None,
            image: None,
            repo: None,
            setup_key: None,
            max_log,
            limits: Default::default(),
            stages: Vec::new(),
            changes: Vec::new(),
            artifacts: Vec::new(),
            artifacts_more: 0,
        }
    }

    /// The exit code that counts, by what is on record.
    pub fn last_exit(&self) -> Option<u8> {
        if self.outcome == Outcome::Timeout {
            return Some(Kind::Timeout.exit_code());
        }
        let of_the_task = self.stages.iter().rev().find(|stage| stage.stage != Stage::Collect)?;
        of_the_task.commands.last().map(|command| command.exit)
    }

    /// Reads the record of a run.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("run.json");
        let text = super::out::read(&path, LARGEST).map_err(|e| Error::io("read", &path, e))?;
        let broken = |e: serde_json::Error| Error::new(format!("{} is broken: {e}", show(&path)));
        // First of all: what a newer one means nobody here can know.
        let Format { schema } = serde_json::from_slice(&text).map_err(broken)?;
        if schema > SCHEMA {
            return Err(Error::new(format!("{} was written by a newer cowbox: its schema is {schema}", show(&path)))
                .hint(format!("this one reads up to {SCHEMA}; update cowbox")));
        }
        serde_json::from_slice(&text).map_err(broken)
    }

    /// Writes it, whole or not at all: it is there when the run has ended.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let (path, beside) = (dir.join("run.json"), dir.join("run.json.new"));
        let failed = |e: std::io::Error| Error::io("write", &path, e);
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| Error::new(format!("cannot write JSON: {e}")))?;
        text.push(b'\n');
        if text.len() as u64 > LARGEST {
            // Nobody could read it.
            return Err(Error::new(format!("the record would be larger than {} MiB", LARGEST >> 20))
                .hint("the task file may be too large"));
        }
        std::fs::write(&beside, text).map_err(failed)?;
        std::fs::rename(&beside, &path).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_its_beginning_and_a_count() {
        assert_eq!(first(vec![1, 2, 3], 2), (vec![1, 2], 1));
        assert_eq!(first(vec![1, 2], 2), (vec![1, 2], 0));
    }

    #[test]
    fn names_take_no_more_room_than_there_is_however_they_are_written() {
        for byte in ["\u{1}", "a"] {
            let path = std::path::PathBuf::from(byte.repeat(4000));
            let all = vec![path; MOST_NAMES];
            let (listed, more) = names(all.iter().map(|path| path.as_path()));
            assert_eq!(listed.len() + more, MOST_NAMES);
            assert!(listed.len() > 100 && serde_json::to_vec_pretty(&listed).unwrap().len() <= MOST_BYTES);
        }
        let few = [Path::new("a"), Path::new("b")];
        assert_eq!(names(few.into_iter()), (few.map(BytePath::from).to_vec(), 0));
        let many = vec![Path::new("a"); MOST_NAMES + 3];
        assert_eq!(names(many.into_iter()).1, 3);
    }

    #[test]
    fn a_record_that_nobody_could_read_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.yaml");
        std::fs::write(&file, "id: t\nrepo: {path: .}\nrun: {command: x}\n").unwrap();
        let mut record = RunRecord::begun("r", &crate::task::spec::read(&file).unwrap(), 1, "b", 1);
        record.write(dir.path()).unwrap();
        assert_eq!(RunRecord::read(dir.path()).unwrap(), record);
        record.reason = Some("x".repeat(LARGEST as usize));
        assert!(record.write(dir.path()).is_err());
        assert_eq!(RunRecord::read(dir.path()).unwrap().reason, None);
    }
}
