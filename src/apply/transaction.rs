//! One transaction: stage everything, make it durable, swap it in, say so.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::crash;
use super::host::{Host, Place, is_missing, may_change_names};
use super::journal::{
    Intent, Journal, Looked, LooksRecord, MovedRecord, ParentRecord, SettledRecord, Staged, StepRecord,
};
use super::keeper::Keeper;
use super::moved::Moves;
use super::ours::{self, is_same_tree};
use super::plan::{Node, Plan, Source, Step};
use super::recover::{self, Done, Failed};
use super::space;
use super::stage::{Dropped, Stage};
use crate::changes::base::Base;
use crate::changes::contents::Content;
use crate::changes::sides::Sides;
use crate::layer::Encoding;
use crate::layer::entry::Identity;
use crate::layer::marks;

/// Why a transaction did not happen.
#[derive(Debug)]
pub enum Failure {
    /// The host changed a path after it had been compared.
    HostChanged(PathBuf),
    /// There is not enough space.
    Space {
        /// Where.
        at: PathBuf,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that there are.
        free: u64,
    },
    /// Something else. Everything is as it was.
    Io(PathBuf, io::Error),
    /// It could be neither completed nor rolled back: this is the one case in which something is left, and
    /// the next command finds its journal.
    Stuck(PathBuf, io::Error),
}

/// What every transaction of a session needs.
pub struct Desk<'a> {
    /// The repo.
    pub host: &'a Host,
    /// The session's directory.
    pub session_dir: &'a Path,
    /// What the session saw.
    pub base: &'a mut Base,
    /// Notes in the session's record that the transaction of this id is done.
    pub note: &'a mut dyn FnMut(&str) -> io::Result<()>,
}

impl Desk<'_> {
    /// Carries a plan out; gives what could not be carried over. `undoes`: the apply that it takes back, with the
    /// times of directories from before; `left`: what of that stays to be taken back later.
    pub fn carry_out(
        &mut self,
        plan: &Plan,
        sides: Option<&Sides<'_>>,
        undoes: Option<&Done>,
        left: Option<Done>,
    ) -> Result<Vec<Dropped>, Failure> {
        let moves = sides.map(|sides| Moves::decide(plan, self.host, sides, self.base, self.session_dir));
        let moves = moves.unwrap_or_default();
        space::check(self.host, self.session_dir, plan, moves.bytes, undoes.map(|done| &done.intent))?;
        let mut intent = self.intent(plan, sides, &moves, undoes.map(|done| &done.intent))?;
        intent.left = left.map(Box::new);
        let at_journal = |e| Failure::Io(self.session_dir.join("journal"), e);
        crash::point();
        let mut journal = Journal::begin(self.session_dir, intent).map_err(at_journal)?;
        crash::point();
        let keeper = Keeper::new(self.session_dir, &journal.intent);
        let done = self.swap_in(plan, sides, &mut journal, &keeper);
        let (staged, dropped) = match done {
            Ok(done) => done,
            Err((failure, staged)) => {
                self.take_back(journal, staged.as_ref(), &keeper).map_err(|(path, e)| Failure::Stuck(path, e))?;
                return Err(failure);
            }
        };
        recover::complete(self.host, &journal.intent, &staged, &keeper, self.base)
            .map_err(|(path, e)| Failure::Stuck(path, e))?;
        crash::point();
        // Before the journal goes: cut off here, whoever completes it notes it.
        (self.note)(&journal.intent.id).map_err(|e| Failure::Stuck(self.session_dir.join("session.json"), e))?;
        journal.end().map_err(|e| Failure::Stuck(self.session_dir.join("journal"), e))?;
        Ok(dropped)
    }

    fn take_back(&mut self, mut journal: Journal, staged: Option<&Staged>, keeper: &Keeper) -> Result<(), Failed> {
        if let Some(path) = recover::changed_since(self.host, &journal.intent, staged)?.into_iter().next() {
            return Err((path, io::Error::other("the host has changed it at this very moment")));
        }
        recover::roll_back(self.host, &mut journal, staged, keeper, self.base)?;
        journal.end().map_err(|e| (self.session_dir.join("journal"), e))
    }

    fn intent(
        &self,
        plan: &Plan,
        sides: Option<&Sides<'_>>,
        moves: &Moves,
        undoes: Option<&Intent>,
    ) -> Result<Intent, Failure> {
        let mut intent = Intent::new(self.host.path());
        let earlier: HashMap<&Path, &ParentRecord> =
            undoes.iter().flat_map(|intent| &intent.parents).map(|parent| (parent.path.0.as_path(), parent)).collect();
        let known: HashMap<&Path, &SettledRecord> =
            undoes.iter().flat_map(|intent| &intent.settled).map(|record| (record.path.0.as_path(), record)).collect();
        intent.undoes = undoes.map(|intent| intent.id.clone());
        let taken: HashMap<&Path, &MovedRecord> = undoes
            .iter()
            .flat_map(|intent| &intent.steps)
            .filter_map(|step| Some((step.path.0.as_path(), step.moved.as_ref()?)))
            .collect();
        let mut parents: BTreeMap<PathBuf, ()> = BTreeMap::new();
        for (number, step) in plan.steps.iter().enumerate() {
            let kept = match step {
                Step::Put { node, .. } => match node.source {
                    Source::Kept(number) => Some(number),
                    _ => None,
                },
                Step::Remove { .. } => None,
            };
            let put = matches!(step, Step::Put { .. });
            if !step.below().is_empty() {
                let below = step.below().iter().map(|(path, id)| (path.as_path().into(), *id)).collect();
                intent.below.insert(intent.steps.len(), below);
            }
            let moved = moves.steps.get(&number).or_else(|| taken.get(step.path()).copied()).cloned();
            intent.steps.push(StepRecord { path: step.path().into(), put, old: step.old().copied(), kept, moved });
            parents.insert(step.path().parent().unwrap_or(Path::new("")).to_path_buf(), ());
        }
        for parent in parents.into_keys() {
            let failed = |e: io::Error| Failure::Io(parent.clone(), e);
            let dir = self.host.dir(&parent).map_err(failed)?;
            let id = Identity::from(&rustix::fs::fstat(&*dir).map_err(|e| failed(e.into()))?);
            let mtime = earlier.get(parent.as_path()).map_or(id.mtime, |before| before.mtime);
            intent.parents.push(ParentRecord { path: parent.as_path().into(), mode: id.permissions(), mtime });
        }
        let taken: HashMap<&Path, &LooksRecord> =
            undoes.iter().flat_map(|intent| &intent.looks).map(|looks| (looks.path.0.as_path(), looks)).collect();
        for looks in &plan.looks {
            let taken = taken.get(looks.path.as_path()).copied();
            let record = self.looks(looks, sides, taken).map_err(|e| Failure::Io(looks.path.clone(), e))?;
            intent.looks.push(record);
        }
        for (path, session) in &plan.settled {
            let before = match known.get(path.as_path()) {
                Some(record) => record.before.clone(),
                None => self.base.get(path).cloned(),
            };
            let part = plan.parts.get(path);
            let content = match (part, sides.filter(|_| plan.merged.contains(path))) {
                (Some(bytes), _) => self.keep(bytes),
                (None, Some(sides)) => self.keep_session(sides, path),
                (None, None) => Ok(None),
            }
            .map_err(|e| Failure::Io(path.clone(), e))?;
            let (path, part) = (path.as_path().into(), part.is_some());
            intent.settled.push(SettledRecord { path, session: *session, before, content, part });
        }
        Ok(intent)
    }

    /// Keeps the session's content of a file that lands merged: what it does next is to be compared with that.
    fn keep_session(&self, sides: &Sides<'_>, path: &Path) -> io::Result<Option<(u64, u64)>> {
        let Some(Content::Bytes(bytes)) = sides.session.content(path)? else { return Ok(None) };
        self.keep(&bytes)
    }

    fn keep(&self, bytes: &[u8]) -> io::Result<Option<(u64, u64)>> {
        let mut pack = self.base.pack()?;
        let place = pack.keep(bytes)?;
        pack.finish()?;
        Ok(Some(place))
    }

    fn looks(
        &self,
        looks: &super::plan::Looks,
        sides: Option<&Sides<'_>>,
        taken: Option<&LooksRecord>,
    ) -> io::Result<LooksRecord> {
        let list = |xattrs: &BTreeMap<Vec<u8>, Vec<u8>>| xattrs.clone().into_iter().collect();
        let old_xattrs = match looks.xattrs {
            true => Some(list(&marks::read(self.host.dir(&looks.path)?.as_fd(), Encoding::Plain)?.xattrs)),
            false => None,
        };
        let new_xattrs = match (taken, sides) {
            (Some(taken), _) => taken.old.xattrs.clone(),
            (None, Some(sides)) if looks.xattrs => sides.xattrs_of_dir(&looks.path)?.as_ref().map(list),
            _ => None,
        };
        Ok(LooksRecord {
            path: looks.path.as_path().into(),
            id: Some(looks.old),
            old: Looked { mode: looks.old.permissions(), xattrs: old_xattrs },
            new: Looked { mode: looks.mode, xattrs: new_xattrs },
        })
    }

    /// Up to the point of no return. A failure tells how far it came.
    fn swap_in(
        &self,
        plan: &Plan,
        sides: Option<&Sides<'_>>,
        journal: &mut Journal,
        keeper: &Keeper,
    ) -> Result<(Staged, Vec<Dropped>), (Failure, Option<Staged>)> {
        let early = |path: &Path, e: io::Error| (Failure::Io(path.to_path_buf(), e), None);
        keeper.prepare().map_err(|e| early(self.session_dir, e))?;
        open_parents(self.host, &journal.intent).map_err(|(path, e)| early(&path, e))?;
        let (staged, dropped) = self.stage(plan, sides, &journal.intent, keeper)?;
        crash::point();
        self.host.sync().map_err(|e| early(self.host.path(), e))?;
        crash::point();
        journal.staged(&staged).map_err(|e| early(self.session_dir, e))?;
        crash::point();
        let mut ours = linked_on_host(self.host, plan);
        for (number, step) in plan.steps.iter().enumerate() {
            self.swap(step, number, &journal.intent, &ours).map_err(|failure| (failure, Some(staged.clone())))?;
            ours.extend(step.old().map(|old| old.inode));
            ours.extend(step.below().iter().map(|(_, id)| id.inode));
            crash::point();
        }
        let late = |path: &Path, e: io::Error| (Failure::Io(path.to_path_buf(), e), Some(staged.clone()));
        self.host.sync().map_err(|e| late(self.host.path(), e))?;
        crash::point();
        journal.committed().map_err(|e| late(self.session_dir, e))?;
        crash::point();
        Ok((staged, dropped))
    }

    fn stage(
        &self,
        plan: &Plan,
        sides: Option<&Sides<'_>>,
        intent: &Intent,
        keeper: &Keeper,
    ) -> Result<(Staged, Vec<Dropped>), (Failure, Option<Staged>)> {
        let failed = |path: &Path, e: io::Error| (Failure::Io(path.to_path_buf(), e), None);
        let mut stage = Stage::new(self.host, sides);
        let mut temps = vec![None; plan.steps.len()];
        let mut order: Vec<usize> = (0..plan.steps.len()).collect();
        // What is moved comes last: whatever goes wrong before leaves the session's layer untouched.
        order.sort_by_key(|number| intent.steps[*number].moved.is_some());
        for number in order {
            let Step::Put { node, old, .. } = &plan.steps[number] else { continue };
            let here = |e| failed(&node.path, e);
            let target = self.host.place(&node.path).map_err(here)?;
            let temp = target.beside(intent.temp(number));
            match node.source {
                Source::Kept(kept) => {
                    crash::point();
                    keeper.bring_back(kept, &temp).map_err(here)?;
                    // It may have been opened on its way, and a crash may have left it so.
                    if temp.find().map_err(here)?.is_some_and(|found| found.id.is_dir()) {
                        temp.chmod(node.mode).map_err(here)?;
                    }
                    ours::list(&node.path, &temp, &mut stage.made).map_err(here)?;
                }
                _ => stage.step(node, &temp, intent.steps[number].moved.as_ref()).map_err(here)?,
            }
            if old.is_some() && !matches!(node.source, Source::Kept(_) | Source::LinkToHost(_)) {
                let like = target.stat().map_err(here)?;
                keep_owner(&temp, &like).map_err(here)?;
            }
            temps[number] = Some((temp, node.path.clone()));
        }
        stage.finish().map_err(|e| failed(self.host.path(), e))?;
        let mut inodes = Vec::with_capacity(temps.len());
        for temp in temps {
            inodes.push(match temp {
                Some((temp, path)) => temp.find().map_err(|e| failed(&path, e))?.map(|found| found.id.inode),
                None => None,
            });
        }
        Ok((Staged { inodes, made: stage.made }, stage.dropped))
    }

    /// One target. What the host has there must still be what was compared, before and after. Files of which
    /// this transaction has moved or linked another name (`ours`) have a new ctime by that.
    fn swap(&self, step: &Step, number: usize, intent: &Intent, ours: &HashSet<u64>) -> Result<(), Failure> {
        let path = step.path();
        let failed = |e: io::Error| Failure::Io(path.to_path_buf(), e);
        let moved = || Failure::HostChanged(path.to_path_buf());
        let target = self.host.place(path).map_err(|e| if is_missing(&e) { moved() } else { failed(e) })?;
        let temp = target.beside(intent.temp(number));
        let found = target.find().map_err(failed)?.map(|found| found.id);
        let as_compared = match (step.old(), &found) {
            (None, None) => true,
            (Some(old), Some(found)) if old.is_dir() => old.inode == found.inode,
            (Some(old), Some(found)) if ours.contains(&old.inode) => old.is_same_but_renamed(found),
            (Some(old), Some(found)) => old == found,
            _ => false,
        };
        if !as_compared {
            return Err(moved());
        }
        let aside = match (step, step.old()) {
            (Step::Put { .. }, None) => {
                let put = temp.rename(&target);
                return put.map_err(|e| if e.kind() == io::ErrorKind::AlreadyExists { moved() } else { failed(e) });
            }
            (Step::Put { .. }, Some(_)) => {
                if temp.exchange(&target).map_err(failed)? {
                    temp
                } else {
                    let aside = target.beside(intent.aside(number));
                    target.rename(&aside).map_err(failed)?;
                    temp.rename(&target).map_err(failed)?;
                    aside
                }
            }
            (Step::Remove { .. }, _) => {
                target.rename(&temp).map_err(failed)?;
                temp
            }
        };
        self.host.forget();
        let after = aside.find().map_err(failed)?.map(|found| found.id);
        let same = match (step.old(), &after) {
            (Some(old), Some(after)) => old.is_same_but_renamed(after),
            _ => false,
        };
        let same =
            same && (step.old().is_none_or(|old| !old.is_dir()) || is_same_below(&aside, step).map_err(failed)?);
        if same { Ok(()) } else { Err(moved()) }
    }
}

/// Inodes of the host's files that get another name.
fn linked_on_host(host: &Host, plan: &Plan) -> HashSet<u64> {
    let mut left: Vec<&Node> = plan.steps.iter().filter_map(Step::node).collect();
    let mut found = HashSet::new();
    while let Some(node) = left.pop() {
        match &node.source {
            Source::Dir(children) => left.extend(children.values()),
            Source::LinkToHost(path) => found.extend(host.find(path).ok().flatten().map(|found| found.id.inode)),
            _ => {}
        }
    }
    found
}

/// Makes directories writable in which names change. `recover` closes them again.
fn open_parents(host: &Host, intent: &Intent) -> Result<(), (PathBuf, io::Error)> {
    for parent in intent.parents.iter().filter(|parent| parent.mode & 0o300 != 0o300) {
        let open = || {
            let dir = host.dir(&parent.path.0)?;
            // Root may as it is; of a namespace, not where it does not know the group.
            if may_change_names(&*dir) {
                return Ok(());
            }
            Ok(rustix::fs::fchmod(&*dir, rustix::fs::Mode::from_raw_mode(parent.mode | 0o700))?)
        };
        open().map_err(|e| (parent.path.0.clone(), e))?;
        crash::point();
    }
    Ok(())
}

/// A file that is replaced keeps its owner and group, as far as we may.
fn keep_owner(temp: &Place, like: &rustix::fs::Stat) -> io::Result<()> {
    let new = temp.stat()?;
    if (new.st_uid, new.st_gid) != (like.st_uid, like.st_gid) {
        let mode = new.st_mode & 0o7777;
        temp.chown_like(like);
        if rustix::fs::FileType::from_raw_mode(new.st_mode) != rustix::fs::FileType::Symlink {
            temp.chmod(mode)?;
        }
    }
    Ok(())
}

fn is_same_below(aside: &Place, step: &Step) -> io::Result<bool> {
    is_same_tree(aside, step.path(), step.below().iter().map(|(path, id)| (path.as_path(), id)))
}
