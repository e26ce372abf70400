//! The two ways out of a transaction, the same after a crash as without one: all of it, or nothing of it.
//! Both can be cut off and begun again.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

use super::crash;
use super::host::{Host, Place, is_missing, modified_at};
use super::journal::{Intent, Journal, Looked, LooksRecord, ParentRecord, Staged};
use super::keeper::{Keeper, part_of};
use super::moved;
use super::ours::{Made, is_same_tree};
use super::settle::{self, Settle, refresh};
use crate::changes::base::{Base, Moved};
use crate::layer::Encoding;
use crate::layer::entry::{Found, Identity};
use crate::layer::marks;
use crate::paths::BytePath;

/// What could not be done, and why.
pub type Failed = (PathBuf, io::Error);

/// What an apply did, so that it can be taken back: `undo/<id>/undo.json`, and what the host had before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// What was done.
    pub intent: Intent,
    /// Everything that was made.
    pub made: Vec<(BytePath, Identity)>,
}

/// Paths whose new things the host has changed since they landed: rolling back would lose that.
pub fn changed_since(host: &Host, intent: &Intent, staged: Option<&Staged>) -> Result<Vec<PathBuf>, Failed> {
    host.forget();
    let made = Made::of(staged);
    let mut changed = Vec::new();
    for (number, step) in intent.steps.iter().enumerate() {
        let new = staged.and_then(|staged| staged.new_of(number));
        let look = || -> io::Result<bool> {
            let Some(sides) = Sides::of(host, intent, number)? else { return Ok(false) };
            let Some(there) = sides.target.find()? else { return Ok(false) };
            if Some(there.id.inode) == new {
                return Ok(!made.is_as_made(&step.path.0, &sides.target, &there)?);
            }
            // Something else of the host's is only in the way where something comes back.
            Ok(staged.is_some() && sides.held(new)?.is_some())
        };
        if look().map_err(|e| (step.path.0.clone(), e))? {
            changed.push(step.path.0.clone());
        }
    }
    Ok(changed)
}

/// Puts everything back as it was, unless [`changed_since`] has something against it.
pub fn roll_back(
    host: &Host,
    journal: &mut Journal,
    staged: Option<&Staged>,
    keeper: &Keeper,
    base: &mut Base,
) -> Result<(), Failed> {
    if staged.is_some() {
        // On a full disk it cannot be written, and rolling back is what makes room. Cut off then, it is asked
        // about once more, and what is gone already leaves no way but this one.
        let _ = journal.back();
    }
    let intent = &journal.intent;
    let made = Made::of(staged);
    host.forget();
    let mut noted = false;
    for (number, step) in intent.steps.iter().enumerate().rev() {
        crash::point();
        let failed = |e| (step.path.0.clone(), e);
        take_back(host, intent, number, staged, &made, keeper).map_err(failed)?;
        if let (Some(record), None) = (&step.moved, &intent.undoes) {
            let moved = moved::come_back(keeper.session_dir(), &step.path.0, None, record).map_err(failed)?;
            noted |= moved.is_some_and(|moved| base.set_moved(&step.path.0, moved));
        }
        host.forget();
    }
    close_parents(host, intent, true)?;
    keeper.forget();
    if refresh(host, intent, staged, base)? || noted {
        base.save().map_err(|e| (PathBuf::from("base.jsonl"), e))?;
    }
    keeper.sync(host).map_err(|e| (host.path().to_path_buf(), e))
}

/// The three names of a step.
struct Sides {
    target: Place,
    temp: Place,
    aside: Place,
}

impl Sides {
    /// `None`: its directory is gone.
    fn of(host: &Host, intent: &Intent, number: usize) -> io::Result<Option<Self>> {
        let target = match host.place(&intent.steps[number].path.0) {
            Err(e) if is_missing(&e) => return Ok(None),
            other => other?,
        };
        let (temp, aside) = (target.beside(intent.temp(number)), target.beside(intent.aside(number)));
        Ok(Some(Self { target, temp, aside }))
    }

    /// What the host had, if it is beside its target: whatever that is, it is not the `new` thing.
    fn held(&self, new: Option<u64>) -> io::Result<Option<&Place>> {
        for place in [&self.aside, &self.temp] {
            if place.find()?.is_some_and(|found| Some(found.id.inode) != new) {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

fn take_back(
    host: &Host,
    intent: &Intent,
    number: usize,
    staged: Option<&Staged>,
    made: &Made<'_>,
    keeper: &Keeper,
) -> io::Result<()> {
    let step = &intent.steps[number];
    let Some(sides) = Sides::of(host, intent, number)? else { return Ok(()) };
    let Sides { target, temp, aside } = &sides;
    // Before everything is staged no target is touched, and what is beside it is half a new thing.
    if let Some(staged) = staged {
        let new = staged.new_of(number);
        let there = target.find()?;
        let ours = match &there {
            Some(found) if Some(found.id.inode) == new => made.is_as_made(&step.path.0, target, found)?,
            _ => false,
        };
        match (sides.held(new)?, there) {
            (Some(held), None) => held.rename(target)?,
            (Some(held), Some(_)) if ours => {
                if !held.exchange(target)? {
                    // Then it is `aside`, and this is free.
                    target.rename(temp)?;
                    held.rename(target)?;
                }
            }
            (Some(_), Some(_)) => return Err(io::Error::other("the host has put something else there meanwhile")),
            (None, Some(_)) if ours && step.old.is_none() && temp.find()?.is_none() => target.rename(temp)?,
            (None, _) => {}
        }
    }
    part_of(temp).remove()?;
    for leftover in [temp, aside] {
        match step.kept {
            _ if leftover.find()?.is_none() => {}
            Some(kept) => keeper.return_kept(kept, leftover)?,
            None => leftover.remove()?,
        }
    }
    Ok(())
}

/// Clears up after one step: what the host had goes where it is kept. Tells what became of a file that was moved.
fn clear(host: &Host, intent: &Intent, number: usize, staged: &Staged, keeper: &Keeper) -> io::Result<Option<Moved>> {
    let step = &intent.steps[number];
    let (path, dir, undoes) = (&step.path.0, keeper.session_dir(), intent.undoes.is_some());
    let sides = Sides::of(host, intent, number)?;
    let mut came = None;
    for place in sides.iter().flat_map(|sides| [&sides.temp, &sides.aside]) {
        match (place.find()?, &step.moved) {
            (None, _) => {}
            (Some(found), Some(record)) if undoes && found.id.inode == record.was.inode => came = Some(place),
            (Some(_), _) => keeper.put_aside(number, place)?,
        }
    }
    match &step.moved {
        Some(record) if undoes => moved::come_back(dir, path, came, record),
        Some(record) if staged.new_of(number) == Some(record.was.inode) => moved::leave(host, dir, path, record),
        _ => Ok(None),
    }
}

/// Does what is left after every target has been touched.
pub fn complete(host: &Host, intent: &Intent, staged: &Staged, keeper: &Keeper, base: &mut Base) -> Result<(), Failed> {
    host.forget();
    let mut moves = Vec::new();
    for (number, step) in intent.steps.iter().enumerate() {
        crash::point();
        let moved = clear(host, intent, number, staged, keeper).map_err(|e| (step.path.0.clone(), e))?;
        moves.extend(moved.map(|moved| (&step.path.0, moved)));
    }
    crash::point();
    // While directories that will be closed are open.
    refresh(host, intent, Some(staged), base)?;
    Settle::new(host, intent, staged).all(&intent.settled, base)?;
    for (path, moved) in moves {
        base.set_moved(path, moved);
    }
    crash::point();
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |e: io::Error| (path, e)
    };
    if let Some(dir) = &keeper.keeps {
        let made = staged.made.iter().map(|(path, id)| (path.as_path().into(), *id)).collect();
        let intent = Intent { below: BTreeMap::new(), ..intent.clone() };
        write_done(dir, &Done { intent, made }).map_err(failed(dir))?;
    }
    if let Some(dir) = &keeper.kept {
        // Here, not by the caller: cut off in between, what was taken back would look as if it were not.
        match &intent.left {
            Some(left) => write_done(dir, left),
            None => crate::layer::remove::tree(dir),
        }
        .map_err(failed(dir))?;
    }
    crash::point();
    close_parents(host, intent, intent.undoes.is_some())?;
    let settled: HashSet<&Path> = intent.settled.iter().map(|record| record.path.0.as_path()).collect();
    for looks in &intent.looks {
        crash::point();
        let path = looks.path.0.as_path();
        let now = set_looks(host, looks).map_err(failed(path))?;
        if let Some(now) = now.filter(|_| settled.contains(path)) {
            settle::looked(path, now.id, base);
        }
    }
    crash::point();
    base.save().map_err(|e| (PathBuf::from("base.jsonl"), e))?;
    crash::point();
    keeper.sync(host).map_err(failed(host.path()))
}

/// Writes down what was done.
pub fn write_done(dir: &Path, done: &Done) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let temp = dir.join(".new-undo.json");
    let mut file = File::create(&temp)?;
    serde_json::to_writer(io::BufWriter::new(&mut file), done)?;
    file.sync_data()?;
    fs::rename(temp, dir.join("undo.json"))
}

/// Gives directories their permission bits back, and their times where those count.
fn close_parents(host: &Host, intent: &Intent, times: bool) -> Result<(), Failed> {
    for parent in &intent.parents {
        crash::point();
        close(host, parent, times).map_err(|e| (parent.path.0.clone(), e))?;
    }
    Ok(())
}

fn close(host: &Host, parent: &ParentRecord, times: bool) -> io::Result<()> {
    let dir = match host.dir(&parent.path.0) {
        // It went with the transaction.
        Err(e) if is_missing(&e) => return Ok(()),
        other => other?,
    };
    // Only what was opened is closed: other bits are the host's.
    let opened = parent.mode | 0o700;
    if opened != parent.mode && rustix::fs::fstat(&*dir)?.st_mode & 0o7777 == opened {
        rustix::fs::fchmod(&*dir, Mode::from_raw_mode(parent.mode))?;
    }
    if times {
        rustix::fs::futimens(&*dir, &modified_at(parent.mtime))?;
    }
    Ok(())
}

/// Gives something its new looks, and tells what it is then; not to what the host has changed or put there since.
fn set_looks(host: &Host, looks: &LooksRecord) -> io::Result<Option<Found>> {
    let path = looks.path.0.as_path();
    if !host.find(path)?.is_some_and(|found| looks.is_for(&found)) {
        return Ok(None);
    }
    match write_looks(host, path, &looks.new) {
        Err(e) if is_missing(&e) => Ok(None),
        other => other.and_then(|()| host.find(path)),
    }
}

fn write_looks(host: &Host, path: &Path, looks: &Looked) -> io::Result<()> {
    if let Some(xattrs) = &looks.xattrs {
        let dir = host.dir(if path == Path::new(".") { Path::new("") } else { path })?;
        for name in marks::read(dir.as_fd(), Encoding::Plain)?.xattrs.into_keys() {
            if !xattrs.iter().any(|(wanted, _)| *wanted == name) {
                let name = std::ffi::CString::new(name).map_err(|_| io::ErrorKind::InvalidData)?;
                rustix::fs::fremovexattr(&*dir, &name)?;
            }
        }
        for (name, value) in xattrs {
            marks::set(&*dir, name, value)?;
        }
    }
    if path == Path::new(".") {
        return Ok(rustix::fs::fchmod(host.root(), Mode::from_raw_mode(looks.mode))?);
    }
    host.place(path)?.chmod(looks.mode)
}

/// Touches the targets that have not been touched yet.
pub fn roll_forward(host: &Host, intent: &Intent, staged: &Staged) -> Result<(), Failed> {
    host.forget();
    for (number, step) in intent.steps.iter().enumerate() {
        crash::point();
        go_on(host, intent, number, staged.new_of(number)).map_err(|e| (step.path.0.clone(), e))?;
        host.forget();
    }
    Ok(())
}

fn go_on(host: &Host, intent: &Intent, number: usize, new: Option<u64>) -> io::Result<()> {
    let changed =
        || io::Error::other("the host has changed it meanwhile; only rolling back is left (`cowbox undo -y`)");
    let step = &intent.steps[number];
    let sides = Sides::of(host, intent, number)?.ok_or_else(changed)?;
    let Sides { target, temp, aside } = &sides;
    let there = target.find()?.map(|found| found.id);
    let is_waiting = step.put && temp.find()?.map(|found| found.id.inode) == new;
    let held = sides.held(new)?;
    let is_old = |place: &Place, id: &Identity| -> io::Result<bool> {
        let Some(old) = step.old.filter(|old| old.is_same_but_renamed(id)) else { return Ok(false) };
        Ok(!old.is_dir() || is_same_tree(place, &step.path.0, intent.below(number))?)
    };
    match (there, held) {
        // Done before, and whatever the host has there now is its own.
        (_, Some(_)) if !is_waiting => return Ok(()),
        (Some(_), None) if !is_waiting && step.put && step.old.is_none() => return Ok(()),
        // Cut off between two names that could not be exchanged.
        (None, Some(_)) => return temp.rename(target),
        (None, None) if is_waiting && step.old.is_none() => return temp.rename(target),
        (Some(there), None) if is_waiting && is_old(target, &there)? => {
            if !temp.exchange(target)? {
                target.rename(aside)?;
                temp.rename(target)?;
            }
        }
        (Some(there), None) if !step.put && is_old(target, &there)? => target.rename(temp)?,
        _ => return Err(changed()),
    }
    // What went aside is still what was looked at; else the way back returns it.
    let out = sides.held(new)?;
    match out.map(|place| place.find()).transpose()?.flatten() {
        Some(found) if step.old.is_some_and(|old| old.is_same_but_renamed(&found.id)) => Ok(()),
        _ => Err(changed()),
    }
}
