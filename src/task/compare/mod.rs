//! Two runs of one task beside each other: what must be the same, and is not.

mod lines;
mod names;
mod normal;
mod times;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::lines::NOTHING;
use self::names::Names;
use self::normal::normalised;
use super::outcome::Outcome;
use super::record::{LogFacts, RunRecord};
use super::stage::Stage;
use crate::apply::host::Host;
use crate::error::{Error, Result, show};

/// What is held of an output, to say which lines differ. The rest is compared by its digest.
const MOST: usize = 64 << 20;
/// A line that is longer is taken in pieces.
const LONGEST_LINE: u64 = 64 << 20;

/// Something that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What.
    pub what: String,
    /// In the first run.
    pub before: String,
    /// In the second.
    pub after: String,
}

/// What of a run must not vary, in the order in which it is told.
#[derive(Clone, Debug)]
pub struct Facts {
    names: Vec<String>,
    values: BTreeMap<String, Fact>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fact {
    Value(String),
    /// An output, normalised.
    Text(String),
}

/// Compares two runs by their directories.
pub fn compare(before: &Path, after: &Path) -> Result<Vec<Difference>> {
    Ok(Facts::read(before)?.compare(&Facts::read(after)?))
}

impl Facts {
    /// Reads the record of a run, and its logs.
    pub fn read(dir: &Path) -> Result<Self> {
        let run = RunRecord::read(dir)?;
        let mut facts = Self { names: Vec::new(), values: BTreeMap::new() };
        facts.add_record(dir, &run);
        facts.add_outputs(dir, &run)?;
        facts.add_changes(dir, &run);
        Ok(facts)
    }

    /// What is not the same in another.
    pub fn compare(&self, other: &Self) -> Vec<Difference> {
        let ours: HashSet<&String> = self.names.iter().collect();
        let new = other.names.iter().filter(|name| !ours.contains(name));
        let names = self.names.iter().chain(new);
        let differs = names.filter_map(|what| {
            let (before, after) = match (self.values.get(what), other.values.get(what)) {
                (before, after) if before == after => return None,
                (Some(Fact::Text(before)), Some(Fact::Text(after))) => lines::of_texts(before, after),
                (before, after) => {
                    let word = |fact: Option<&Fact>| match fact {
                        Some(Fact::Value(value)) => value.clone(),
                        Some(Fact::Text(text)) => format!("{} lines", text.lines().count()),
                        None => NOTHING.to_owned(),
                    };
                    lines::windows(&word(before), &word(after))
                }
            };
            Some(Difference { what: what.clone(), before, after })
        });
        differs.collect()
    }

    fn add(&mut self, what: &str, fact: Fact) {
        self.names.push(what.to_owned());
        self.values.insert(what.to_owned(), fact);
    }

    fn value(&mut self, what: &str, value: Option<String>) {
        match value {
            Some(value) => self.add(what, Fact::Value(value)),
            // Its place is where it would be.
            None => self.names.push(what.to_owned()),
        }
    }

    /// Not in here: ids, times, durations, paths of this host, and how fetching went.
    fn add_record(&mut self, dir: &Path, run: &RunRecord) {
        let names = Names { dir, task: &run.task };
        self.value("outcome", Some(run.outcome.to_string()));
        // Why the host could not try it is told in the host's words.
        let own = run.reason.as_deref().filter(|_| run.outcome != Outcome::InfraError);
        self.value("reason", own.map(|why| normalised(&names.out_of(why))));
        self.value("ended in", run.ended_in.map(|stage| stage.to_string()));
        self.value("engine", run.engine.as_ref().map(|engine| engine.kind.clone()));
        self.value("image", run.image.as_ref().map(|image| image.digest.clone()));
        self.value("commit", run.repo.as_ref().and_then(|repo| repo.commit.clone()));
        self.value("tree", run.repo.as_ref().and_then(|repo| repo.tree.clone()));
        self.value("tree with patches", run.repo.as_ref().and_then(|repo| repo.patched_tree.clone()));
        // What follows the key tells one that was made anew from the one before.
        let key = |key: &String| key.split('-').next().unwrap_or_default().to_owned();
        self.value("setup key", run.setup_key.as_ref().map(key));
        for (name, limit) in &run.limits {
            self.value(&format!("limit of {name}"), Some(limit.value.clone()));
        }
        for stage in run.stages.iter().filter(|stage| is_of_the_task(stage.stage)) {
            let exits: Vec<String> = stage.commands.iter().map(|command| command.exit.to_string()).collect();
            let network = stage.network.as_ref().map(|network| network.policy.clone());
            self.value(&format!("exit of {}", stage.stage), Some(exits.join(" ")));
            self.value(&format!("network of {}", stage.stage), network);
        }
    }

    fn add_outputs(&mut self, dir: &Path, run: &RunRecord) -> Result<()> {
        for stage in run.stages.iter().filter(|stage| is_of_the_task(stage.stage)) {
            for command in &stage.commands {
                for (name, log) in [("stdout", &command.stdout), ("stderr", &command.stderr)] {
                    let (text, rest) = text_of(dir, &format!("logs/{}.{name}", stage.stage), log, MOST)?;
                    self.add(&format!("{name} of {}", stage.stage), Fact::Text(text));
                    if let Some(digest) = rest {
                        self.value(&format!("rest of {name} of {}", stage.stage), Some(digest));
                    }
                }
            }
        }
        Ok(())
    }

    fn add_changes(&mut self, dir: &Path, run: &RunRecord) {
        for layer in &run.changes {
            let more = if layer.more > 0 { format!(" and {} more", layer.more) } else { String::new() };
            let files: Vec<String> = layer.files.iter().map(|path| show(&path.0)).collect();
            self.value(&format!("files changed by {}", layer.by), Some(files.join(" ") + &more));
            self.value(&format!("changes by {}", layer.by), Some(layer.digest.clone()));
        }
        if run.artifacts_more > 0 {
            self.value("artifacts that are not listed", Some(run.artifacts_more.to_string()));
        }
        for name in &run.artifacts {
            // Names alone: what is in a log or a report may hold times.
            let is_there = dir.join("artifacts").join(&name.0).symlink_metadata().is_ok();
            let word = if is_there { "kept" } else { "gone" };
            self.value(&format!("artifact {}", show(&name.0)), Some(word.to_owned()));
        }
    }
}

/// Stages that do what the task says, not what the host's caches make necessary.
fn is_of_the_task(stage: Stage) -> bool {
    matches!(stage, Stage::Baseline | Stage::Agent | Stage::Run)
}

/// An output, normalised, up to `most` bytes of it; and the digest of what follows, if something does.
/// A record may come from anywhere: no other file is read because of it, and no link is followed.
fn text_of(dir: &Path, name: &str, log: &LogFacts, most: usize) -> Result<(String, Option<String>)> {
    let path = dir.join(name);
    if log.path != name {
        return Err(Error::new(format!(
            "{} is no record of a run: a log is called {}",
            show(dir),
            show(Path::new(&log.path))
        )));
    }
    let open = || Host::open(dir)?.place(Path::new(name))?.open();
    let read = open().and_then(|file| read_normalised(BufReader::new(file), most));
    read.map_err(|e| Error::io("read", &path, e))
}

/// Where the rest begins is counted after it is normalised: before, the two differ in length.
fn read_normalised(mut from: impl BufRead, most: usize) -> io::Result<(String, Option<String>)> {
    let (mut text, mut rest, mut line) = (String::new(), None::<Sha256>, Vec::new());
    while (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line)? > 0 {
        let normal = normalised(&String::from_utf8_lossy(&line));
        match &mut rest {
            None if text.len() < most => text.push_str(&normal),
            rest => rest.get_or_insert_default().update(normal.as_bytes()),
        }
        line.clear();
    }
    Ok((text, rest.map(|rest| format!("{:x}", rest.finalize()))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_record_names_no_file_but_its_logs() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("logs")).unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        fs::write(dir.path().join("logs/run.stdout"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", dir.path().join("logs/run.stderr")).unwrap();
        let log = |path: &str| LogFacts { path: path.to_owned(), cut: None };
        let text_of = |name: &str, log: &LogFacts| text_of(dir.path(), name, log, MOST);
        assert_eq!(text_of("logs/run.stdout", &log("logs/run.stdout")).unwrap(), ("x".to_owned(), None));
        text_of("logs/run.stdout", &log("secret")).unwrap_err();
        text_of("logs/run.stderr", &log("logs/run.stderr")).unwrap_err();
    }

    #[test]
    fn a_long_output_is_compared_to_its_end() {
        let read = |text: &str| read_normalised(text.as_bytes(), 20).unwrap();
        let (one, other) = (read("took 9.99s, all of it\nb\nc\n"), read("took 10.01s, all of it\nb\nc\n"));
        assert_eq!(one, other);
        assert!(one.0.ends_with("all of it\n") && one.1.is_some(), "{one:?}");
        assert_ne!(one.1, read("took 9.99s, all of it\nb\nd\n").1);
        assert_ne!(one.1, read("took 9.99s, all of it\nb\n").1);
        assert_eq!(read("short\n"), ("short\n".to_owned(), None));
    }

    /// A run in `dir` that printed this.
    fn run(dir: &Path, reason: Option<&str>, stdout: &str) -> Facts {
        fs::create_dir_all(dir.join("logs")).unwrap();
        fs::write(dir.join("logs/run.stdout"), stdout).unwrap();
        fs::write(dir.join("logs/run.stderr"), "").unwrap();
        let log = |name: &str| serde_json::json!({"path": format!("logs/run.{name}"), "cut": null});
        let text = serde_json::json!({
            "schema": 1, "id": "x", "batch": "x", "task": "t", "suite": null, "repeat": 1, "outcome": "failed",
            "reason": reason, "ended_in": "run", "started": "", "ended": "", "duration_ms": 1, "cowbox": "",
            "engine": null, "image": null, "repo": null, "setup_key": null, "limits": {}, "changes": [], "artifacts": [],
            "stages": [{"stage": "run", "ok": true, "started": "", "duration_ms": 1, "session": null, "network": null,
                "commands": [{"cmd": [], "cwd": "", "env": [], "exit": 1, "started": "", "duration_ms": 1,
                    "stdout": log("stdout"), "stderr": log("stderr")}]}],
        });
        fs::write(dir.join("run.json"), text.to_string()).unwrap();
        Facts::read(dir).unwrap()
    }

    #[test]
    fn what_differs_is_told_by_its_first_lines_and_the_rest_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("20261117T190000Z__01KA9YMZZ0ABCDEFGHJKMNPQRS"));
        let why = |dir: &Path| format!("session t-7k3q: cannot read {}/work/x: took 3s", dir.display());
        let first = run(&one, Some(&why(&one)), "a\nb\n2 passed in 0.1s\n");
        let same = run(&two, Some(&why(&two).replace("7k3q", "abcd")), "a\nb\n2 passed in 9.1s\n");
        assert_eq!(first.compare(&same), []);
        let other = run(&two, None, "a\nb\n1 passed in 0.1s\n");
        let said: Vec<String> =
            first.compare(&other).iter().map(|d| format!("{}: {} → {}", d.what, d.before, d.after)).collect();
        assert_eq!(
            said,
            [
                "reason: session <session>: cannot read <run>/work/x: took <duration> → nothing",
                "stdout of run: line 3: \"2 passed in <duration>\" → \"1 passed in <duration>\"",
            ]
        );
    }
}
