//! Taking an apply back: exactly, and path by path not where the host has changed since.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::crash;
use super::host::Host;
use super::journal::{LooksRecord, StepRecord};
use super::plan::{Looks, Node, Plan, Source, Step};
use super::recover::Done;
use crate::layer::Encoding;
use crate::layer::entry::{Identity, find, names};
use crate::layer::marks;
use crate::layer::remove;

/// The applies of a session that can be taken back, oldest first.
pub fn all(session_dir: &Path) -> io::Result<Vec<Done>> {
    let mut all = Vec::new();
    for dir in dirs(session_dir)? {
        match fs::read(dir.join(LIST)) {
            Ok(text) => all.push(read(&text)?),
            // Cut off before it was complete: its journal tells. Or while it was freed.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(all)
}

/// What an apply did; with it, what was put aside is whole.
const LIST: &str = "undo.json";

fn dirs(session_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(session_dir.join("undo")) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut dirs: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
    dirs.sort();
    Ok(dirs)
}

fn read(text: &[u8]) -> io::Result<Done> {
    #[derive(Deserialize)]
    struct Head {
        intent: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let newer = |format: u32| format > super::intent::FORMAT;
    match serde_json::from_slice::<Done>(text) {
        Ok(done) if !newer(done.intent.format) => Ok(done),
        // What is newer need not look like ours.
        Err(e) if !serde_json::from_slice::<Head>(text).is_ok_and(|head| newer(head.intent.format)) => Err(e.into()),
        _ => Err(io::Error::other("it was written by a newer cowbox")),
    }
}

/// Frees what an apply put aside: it cannot be taken back any more.
pub fn free(dir: &Path) -> io::Result<()> {
    // First: cut off in the middle, the rest must not be taken for whole.
    match fs::remove_file(dir.join(LIST)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => crash::point(),
    }
    remove::tree(dir)
}

/// What was not freed to the end. While a journal is left there is no telling.
pub fn half_freed(session_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for dir in dirs(session_dir)? {
        if !dir.join(LIST).try_exists()? {
            found.push(dir);
        }
    }
    Ok(found)
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
    let mut left = done.clone();
    left.intent.steps.clear();
    left.intent.looks.clear();
    let mut planner = Planner {
        host,
        made: done.made.iter().map(|(path, id)| (path.0.as_path(), id)).collect(),
        steps: HashMap::new(),
        looks: HashMap::new(),
        puts: Vec::new(),
        out: Undo::default(),
        left,
    };
    for (number, step) in done.intent.steps.iter().enumerate().filter(|(_, step)| !step.path.0.as_os_str().is_empty()) {
        planner.step(number, step)?;
    }
    for looks in &done.intent.looks {
        planner.look(looks)?;
    }
    planner.settle()?;
    let Planner { puts, mut out, left, .. } = planner;
    // Removals first, so that a name is free when it is needed.
    out.plan.steps.extend(puts);
    out.refused.sort();
    out.refused.dedup();
    out.left = (!out.refused.is_empty()).then_some(left);
    Ok(out)
}

struct Planner<'a> {
    host: &'a Host,
    /// Everything that the apply made.
    made: HashMap<&'a Path, &'a Identity>,
    /// What the steps touched, and whether it is taken back; of a directory that stays, also what goes from it.
    steps: HashMap<PathBuf, bool>,
    /// The same for new looks.
    looks: HashMap<&'a Path, bool>,
    puts: Vec<Step>,
    out: Undo,
    left: Done,
}

impl<'a> Planner<'a> {
    fn step(&mut self, number: usize, step: &StepRecord) -> io::Result<()> {
        let path = &step.path.0;
        let found = self.host.find(path)?.map(|found| found.id);
        let taken = match (step.put, found, &step.old) {
            (false, None, Some(old)) if has_parent(self.host, path)? => {
                self.bring_back(number, path, old, None, Vec::new());
                true
            }
            (true, Some(found), _) => self.take_away(number, step, found)?,
            // What was added is gone already: that is what an undo would have done.
            (true, None, None) => true,
            _ => {
                self.out.refused.push(path.clone());
                false
            }
        };
        if !taken {
            self.keep(number, step);
        }
        self.steps.insert(path.clone(), taken);
        Ok(())
    }

    /// Plans the way back from something that the apply made. False: it stays.
    fn take_away(&mut self, number: usize, step: &StepRecord, found: Identity) -> io::Result<bool> {
        let path = &step.path.0;
        let was = self.made.get(path.as_path()).copied();
        let is_same = was.is_some_and(|was| was.is_same_but_renamed(&found));
        let is_ours = is_same || was.is_some_and(|was| was.is_dir() && found.is_dir() && was.inode == found.inode);
        let (mut below, mut changed) = (Vec::new(), Vec::new());
        if !is_same {
            changed.push(path.clone());
        }
        if is_ours && found.is_dir() {
            compare_below(self.host, path, &self.made, &mut below, &mut changed)?;
        }
        match (&step.old, changed.is_empty()) {
            (Some(old), true) => self.bring_back(number, path, old, Some(found), below),
            (None, true) => self.out.plan.steps.push(Step::Remove { path: path.clone(), old: found, below }),
            (old, false) => {
                // Of a directory that was new, what is still as it was can go all the same.
                if old.is_none() {
                    self.remove_unchanged(below, &changed);
                }
                self.out.refused.append(&mut changed);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bring_back(
        &mut self,
        number: usize,
        path: &Path,
        kept: &Identity,
        old: Option<Identity>,
        below: Vec<(PathBuf, Identity)>,
    ) {
        let source = Source::Kept(number);
        let node = Node { path: path.to_path_buf(), source, mode: kept.permissions(), session: None };
        self.puts.push(Step::Put { node, old, below });
    }

    /// Leaves a step to be taken back later. The numbers under which things were put aside are their places in the list.
    fn keep(&mut self, number: usize, step: &StepRecord) {
        let nothing = StepRecord { path: Path::new("").into(), put: false, old: None, kept: None, moved: None };
        self.left.intent.steps.resize(number, nothing);
        self.left.intent.steps.push(step.clone());
    }

    /// Plans the removal of what is as it was made, without the directories that hold something else now.
    fn remove_unchanged(&mut self, below: Vec<(PathBuf, Identity)>, changed: &[PathBuf]) {
        let removals = removals(below, changed);
        self.steps.extend(removals.iter().map(|step| (step.path().to_path_buf(), true)));
        self.out.plan.steps.extend(removals);
    }

    fn look(&mut self, looks: &'a LooksRecord) -> io::Result<()> {
        let path = looks.path.0.as_path();
        let found = self.host.find(path)?;
        let as_left = match &found {
            Some(found) => {
                found.id.permissions() == looks.new.mode && same_xattrs(self.host, path, looks.new.xattrs.as_ref())?
            }
            None => false,
        };
        match found.filter(|_| as_left) {
            Some(found) => self.out.plan.looks.push(Looks {
                path: path.to_path_buf(),
                old: found.id,
                mode: looks.old.mode,
                xattrs: looks.new.xattrs.is_some(),
            }),
            None => {
                self.out.refused.push(path.to_path_buf());
                self.left.intent.looks.push(looks.clone());
            }
        }
        self.looks.insert(path, as_left);
        Ok(())
    }

    /// Sorts out which changes are undone; the others stay done with.
    fn settle(&mut self) -> io::Result<()> {
        for record in std::mem::take(&mut self.left.intent.settled) {
            if self.is_undone(&record.path.0)? {
                self.out.plan.settled.push((record.path.0, record.session));
            } else {
                self.left.intent.settled.push(record);
            }
        }
        Ok(())
    }

    fn is_undone(&self, path: &Path) -> io::Result<bool> {
        if let Some(taken) = self.looks.get(path) {
            return Ok(*taken);
        }
        let nearest = path.ancestors().find_map(|above| Some((above, *self.steps.get(above)?)));
        match nearest {
            // What is new in a directory that stays may be gone already.
            Some((above, false)) if above != path && self.made.contains_key(path) => {
                Ok(self.host.find(path)?.is_none())
            }
            Some((_, taken)) => Ok(taken),
            // Nothing was done for it, so there is nothing to take back.
            None => Ok(true),
        }
    }
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
fn removals(mut below: Vec<(PathBuf, Identity)>, changed: &[PathBuf]) -> Vec<Step> {
    let holds_changed: HashSet<&Path> = changed.iter().flat_map(|path| path.ancestors()).collect();
    // What is below a directory comes right after it.
    below.sort_by(|a, b| a.0.cmp(&b.0));
    let mut steps = Vec::new();
    let mut left = below.into_iter().peekable();
    while let Some((path, old)) = left.next() {
        if holds_changed.contains(path.as_path()) {
            continue;
        }
        let mut inside = Vec::new();
        while let Some(pair) = left.next_if(|(p, _)| p.starts_with(&path)) {
            inside.push(pair);
        }
        steps.push(Step::Remove { path, old, below: inside });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(mode: u32) -> Identity {
        Identity { inode: 1, size: 0, mode, mtime: 0, ctime: 0 }
    }

    /// With a search through all of them for each of them this would take an hour.
    #[test]
    fn one_edit_among_a_hundred_thousand_files_costs_no_square() {
        let mut below: Vec<_> = (0..100_000).map(|n| (PathBuf::from(format!("new/{n}")), id(0o100_644))).collect();
        below.push(("new/sub".into(), id(0o040_755)));
        below.push(("new/sub/whole".into(), id(0o040_755)));
        below.push(("new/sub/whole/file".into(), id(0o100_644)));
        let steps = removals(below, &["new/edited".into(), "new/sub/edited".into()]);
        assert_eq!(steps.len(), 100_001);
        let whole = steps.last().unwrap();
        assert_eq!((whole.path(), whole.below().len()), (Path::new("new/sub/whole"), 1));
    }
}
