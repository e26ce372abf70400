//! Two runs of one task beside each other: what must be the same, and is not.

mod normal;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use normal::normalised;

use super::record::{LogFacts, RunRecord};
use super::stage::Stage;
use crate::apply::host::Host;
use crate::error::{Error, Result, show};

/// What is compared of an output.
const MOST: u64 = 64 << 20;

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

/// Compares two runs by their directories.
pub fn compare(before: &Path, after: &Path) -> Result<Vec<Difference>> {
    let (a, b) = (RunRecord::read(before)?, RunRecord::read(after)?);
    let (mut first, mut second) = (facts(&a), facts(&b));
    outputs(before, &a, &mut first)?;
    outputs(after, &b, &mut second)?;
    kept(before, &a, &mut first)?;
    kept(after, &b, &mut second)?;
    let none = "nothing".to_owned();
    let names: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let differs = names.into_iter().filter_map(|what| {
        let (before, after) = (first.get(what).unwrap_or(&none), second.get(what).unwrap_or(&none));
        (before != after).then(|| Difference { what: what.clone(), before: before.clone(), after: after.clone() })
    });
    Ok(differs.collect())
}

/// What of a record must not vary. Not in here: ids, times, durations, paths of this host, and how fetching went.
fn facts(run: &RunRecord) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut fact = |what: &str, value: Option<String>| drop(value.map(|value| facts.insert(what.to_owned(), value)));
    fact("outcome", Some(run.outcome.to_string()));
    fact("reason", run.reason.as_deref().map(normalised));
    fact("ended in", run.ended_in.map(|stage| stage.to_string()));
    fact("engine", run.engine.as_ref().map(|engine| engine.kind.clone()));
    fact("image", run.image.as_ref().map(|image| image.digest.clone()));
    fact("commit", run.repo.as_ref().and_then(|repo| repo.commit.clone()));
    fact("tree", run.repo.as_ref().and_then(|repo| repo.tree.clone()));
    fact("tree with patches", run.repo.as_ref().and_then(|repo| repo.patched_tree.clone()));
    // What follows the key tells one that was made anew from the one before.
    let key = |key: &String| key.split('-').next().unwrap_or_default().to_owned();
    fact("setup key", run.setup_key.as_ref().map(key));
    for (name, limit) in &run.limits {
        fact(&format!("limit of {name}"), Some(limit.value.clone()));
    }
    for stage in run.stages.iter().filter(|stage| is_of_the_task(stage.stage)) {
        let exits: Vec<String> = stage.commands.iter().map(|command| command.exit.to_string()).collect();
        fact(&format!("exit of {}", stage.stage), Some(exits.join(" ")));
        fact(&format!("network of {}", stage.stage), stage.network.as_ref().map(|network| network.policy.clone()));
    }
    for layer in &run.changes {
        let more = if layer.more > 0 { format!(" and {} more", layer.more) } else { String::new() };
        let files: Vec<String> = layer.files.iter().map(|path| show(&path.0)).collect();
        fact(&format!("files changed by {}", layer.by), Some(files.join(" ") + &more));
        fact(&format!("changes by {}", layer.by), Some(layer.digest.clone()));
    }
    facts
}

/// Stages that do what the task says, not what the host's caches make necessary.
fn is_of_the_task(stage: Stage) -> bool {
    matches!(stage, Stage::Baseline | Stage::Agent | Stage::Run)
}

fn outputs(dir: &Path, run: &RunRecord, facts: &mut BTreeMap<String, String>) -> Result<()> {
    for stage in run.stages.iter().filter(|stage| is_of_the_task(stage.stage)) {
        for command in &stage.commands {
            for (name, log) in [("stdout", &command.stdout), ("stderr", &command.stderr)] {
                let hash = hash_of(dir, &format!("logs/{}.{name}", stage.stage), log)?;
                facts.insert(format!("{name} of {} (normalised)", stage.stage), hash);
            }
        }
    }
    Ok(())
}

/// A record may come from anywhere: no other file is read because of it, and no link is followed.
fn hash_of(dir: &Path, name: &str, log: &LogFacts) -> Result<String> {
    let path = dir.join(name);
    let mut bytes = Vec::new();
    if log.path != name {
        return Err(Error::new(format!(
            "{} is no record of a run: a log is called {}",
            show(dir),
            show(Path::new(&log.path))
        )));
    }
    let open = || Host::open(dir)?.place(Path::new(name))?.open();
    let read = open().and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    read.map_err(|e| Error::io("read", &path, e))?;
    Ok(hex(normalised(&String::from_utf8_lossy(&bytes)).as_bytes()))
}

fn kept(dir: &Path, run: &RunRecord, facts: &mut BTreeMap<String, String>) -> Result<()> {
    for name in &run.artifacts {
        // Names alone: what is in a log or a report may hold times.
        let is_there = dir.join("artifacts").join(&name.0).symlink_metadata().is_ok();
        facts.insert(format!("artifact {}", show(&name.0)), if is_there { "kept" } else { "gone" }.to_owned());
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|b| format!("{b:02x}")).collect()
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
        hash_of(dir.path(), "logs/run.stdout", &log("logs/run.stdout")).unwrap();
        hash_of(dir.path(), "logs/run.stdout", &log("secret")).unwrap_err();
        hash_of(dir.path(), "logs/run.stderr", &log("logs/run.stderr")).unwrap_err();
    }
}
