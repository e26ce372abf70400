//! Taking an apply back: exactly, and path by path not where the host has changed since.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::host::Host;
use super::journal::StepRecord;
use super::plan::{Looks, Node, Plan, Source, Step};
use super::recover::Done;
use crate::layer::Encoding;
use crate::layer::entry::{Identity, find, names};
use crate::layer::marks;

/// The applies of a session that can be taken back, oldest first.
pub fn all(session_dir: &Path) -> io::Result<Vec<Done>> {
    let listing = match fs::read_dir(session_dir.join("undo")) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut dirs: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
    dirs.sort();
    let mut all = Vec::new();
    for dir in dirs {
        match fs::read(dir.join("undo.json")) {
            Ok(text) => all.push(serde_json::from_slice(&text)?),
            // Cut off before it was complete: its journal tells.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(all)
}

/// What taking one back would do.
#[derive(Debug, Default)]
pub struct Undo {
    /// What is to be done.
    pub plan: Plan,
    /// Paths that the host has changed since: they stay as they are.
    pub refused: Vec<PathBuf>,
    /// What is left to be taken back later.
    pub left: Option<Done>,
}

/// Plans it.
pub fn plan(done: &Done, host: &Host) -> io::Result<Undo> {
    let made: HashMap<&Path, &Identity> = done.made.iter().map(|(path, id)| (path.0.as_path(), id)).collect();
    let mut undo = Undo::default();
    let mut left = done.clone();
    let mut puts = Vec::new();
    left.intent.steps.clear();
    // The numbers under which things were put aside are their places in the list.
    let mut keep_step = |number: usize, step: &StepRecord| {
        while left.intent.steps.len() < number {
            left.intent.steps.push(StepRecord {
                path: PathBuf::new().as_path().into(),
                put: false,
                old: None,
                kept: None,
            });
        }
        left.intent.steps.push(step.clone());
    };
    for (number, step) in done.intent.steps.iter().enumerate().filter(|(_, step)| !step.path.0.as_os_str().is_empty()) {
        let path = &step.path.0;
        let found = host.find(path)?;
        let kept = |old: &Identity| Node {
            path: path.clone(),
            source: Source::Kept(number),
            mode: old.permissions(),
            session: None,
        };
        if !step.put {
            match (&step.old, found, has_parent(host, path)?) {
                (Some(old), None, true) => puts.push(Step::Put { node: kept(old), old: None, below: Vec::new() }),
                _ => {
                    undo.refused.push(path.clone());
                    keep_step(number, step);
                }
            }
            continue;
        }
        let mut changed = Vec::new();
        let mut below = Vec::new();
        match (found, made.get(path.as_path())) {
            (Some(found), Some(was)) if was.is_same_but_renamed(&found.id) => {
                if found.id.is_dir() {
                    compare_below(host, path, &made, &mut below, &mut changed)?;
                }
                match (&step.old, changed.is_empty()) {
                    (Some(old), true) => puts.push(Step::Put { node: kept(old), old: Some(found.id), below }),
                    (None, true) => undo.plan.steps.push(Step::Remove { path: path.clone(), old: found.id, below }),
                    (old, false) => {
                        // Of a directory that was new, what is still as it was can go all the same.
                        if old.is_none() {
                            remove_unchanged(&below, &changed, &mut undo.plan.steps);
                        }
                        undo.refused.append(&mut changed);
                        keep_step(number, step);
                    }
                }
            }
            // What was added is gone already: that is what an undo would have done.
            (None, _) if step.old.is_none() => {}
            _ => {
                undo.refused.push(path.clone());
                keep_step(number, step);
            }
        }
    }
    undo.plan.steps.extend(puts);
    left.intent.looks.clear();
    for looks in &done.intent.looks {
        let path = &looks.path.0;
        let found = host.find(path)?;
        let as_left = match &found {
            Some(found) => {
                found.id.permissions() == looks.new.mode && same_xattrs(host, path, looks.new.xattrs.as_ref())?
            }
            None => false,
        };
        match found.filter(|_| as_left) {
            Some(found) => undo.plan.looks.push(Looks {
                path: path.clone(),
                old: found.id,
                mode: looks.old.mode,
                xattrs: looks.new.xattrs.is_some(),
            }),
            None => {
                undo.refused.push(path.clone());
                left.intent.looks.push(looks.clone());
            }
        }
    }
    // A directory stays with what is refused in it.
    let refused = |path: &Path| undo.refused.iter().any(|r| r.starts_with(path));
    let undone = |path: &Path| !refused(path);
    undo.plan.settled = done
        .intent
        .settled
        .iter()
        .filter(|record| undone(&record.path.0))
        .map(|record| (record.path.0.clone(), record.session))
        .collect();
    left.intent.settled.retain(|record| !undone(&record.path.0));
    undo.refused.sort();
    undo.refused.dedup();
    undo.left = (!undo.refused.is_empty()).then_some(left);
    Ok(undo)
}

fn has_parent(host: &Host, path: &Path) -> io::Result<bool> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    Ok(parent.is_none_or(|parent| host.find(parent).is_ok_and(|found| found.is_some_and(|f| f.id.is_dir()))))
}

fn same_xattrs(host: &Host, path: &Path, wanted: Option<&Vec<(Vec<u8>, Vec<u8>)>>) -> io::Result<bool> {
    let Some(wanted) = wanted else { return Ok(true) };
    let dir = host.dir(if path == Path::new(".") { Path::new("") } else { path })?;
    let now = marks::read(dir.as_fd(), Encoding::Plain)?.xattrs;
    Ok(now.into_iter().collect::<Vec<_>>() == *wanted)
}

/// Lists what is below a directory of ours, and which of it is not as it was made.
fn compare_below(
    host: &Host,
    path: &Path,
    made: &HashMap<&Path, &Identity>,
    below: &mut Vec<(PathBuf, Identity)>,
    changed: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let dir = host.dir(path)?;
    let mut dirs = Vec::new();
    for name in names(dir.as_fd())? {
        let child = path.join(&name);
        let Some(found) = find(dir.as_fd(), &name)? else { continue };
        match made.get(child.as_path()) {
            Some(was) if was.is_same_but_renamed(&found.id) => below.push((child.clone(), found.id)),
            _ => changed.push(child.clone()),
        }
        if found.id.is_dir() {
            dirs.push(child);
        }
    }
    dirs.iter().try_for_each(|dir| compare_below(host, dir, made, below, changed))
}

/// Steps for what is as it was made, without the directories that hold something else now.
fn remove_unchanged(below: &[(PathBuf, Identity)], changed: &[PathBuf], steps: &mut Vec<Step>) {
    let holds_changed = |path: &Path| changed.iter().any(|c| c.starts_with(path));
    let mut gone: Option<&Path> = None;
    let mut sorted: Vec<&(PathBuf, Identity)> = below.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, id) in sorted.iter().map(|pair| (&pair.0, &pair.1)) {
        if gone.is_some_and(|gone| path.starts_with(gone)) || holds_changed(path) {
            continue;
        }
        let inside = below.iter().filter(|(p, _)| p.starts_with(path) && p != path).cloned().collect();
        steps.push(Step::Remove { path: path.clone(), old: *id, below: inside });
        gone = id.is_dir().then_some(path.as_path());
    }
}
