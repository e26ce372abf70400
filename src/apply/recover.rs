//! The two ways out of a transaction, the same after a crash as without one: all of it, or nothing of it.
//! Both can be cut off and begun again.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

use super::crash;
use super::host::{Host, Place, is_missing, modified_at};
use super::journal::{Intent, Looked, ParentRecord, Staged};
use super::keeper::{Keeper, part_of};
use crate::changes::base::{At, Base, Entry, LARGEST};
use crate::changes::merge::is_text;
use crate::layer::Encoding;
use crate::layer::entry::{Identity, Kind};
use crate::layer::marks;
use crate::paths::BytePath;

type Failed = (PathBuf, io::Error);

/// What an apply did, so that it can be taken back: `undo/<id>/undo.json`, and what the host had before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// What was done.
    pub intent: Intent,
    /// Everything that was made.
    pub made: Vec<(BytePath, Identity)>,
}

/// Puts everything back as it was.
pub fn roll_back(
    host: &Host,
    intent: &Intent,
    staged: Option<&Staged>,
    keeper: &Keeper,
    base: &mut Base,
) -> Result<(), Failed> {
    host.forget();
    for (number, step) in intent.steps.iter().enumerate().rev() {
        let new = staged.and_then(|staged| staged.inodes.get(number).copied().flatten());
        crash::point();
        take_back(host, intent, number, new, keeper).map_err(|e| (step.path.0.clone(), e))?;
        host.forget();
    }
    close_parents(host, intent, true)?;
    keeper.forget();
    refresh(host, intent, staged, base)?;
    base.save().map_err(|e| (PathBuf::from("base.jsonl"), e))
}

/// A name that came or went is no edit of the file, though it leaves another ctime: under its other names, too.
fn refresh(host: &Host, intent: &Intent, staged: Option<&Staged>, base: &mut Base) -> Result<(), Failed> {
    let mut ours: HashSet<u64> = intent.steps.iter().filter_map(|step| Some(step.old?.inode)).collect();
    ours.extend(staged.iter().flat_map(|staged| staged.inodes.iter().flatten()));
    for (path, then) in base.with_inodes(&ours) {
        if let Some(found) = host.find(&path).map_err(|e| (path.clone(), e))?
            && then.is_same_but_renamed(&found.id)
            && let Some(entry) = base.get(&path)
        {
            let entry = Entry { host: At::Here(found.id), ..entry.clone() };
            base.set(path, entry);
        }
    }
    Ok(())
}

fn take_back(host: &Host, intent: &Intent, number: usize, new: Option<u64>, keeper: &Keeper) -> io::Result<()> {
    let step = &intent.steps[number];
    let target = match host.place(&step.path.0) {
        Err(e) if is_missing(&e) => return Ok(()),
        other => other?,
    };
    let (temp, aside) = (target.beside(intent.temp(number)), target.beside(intent.aside(number)));
    let inode = |place: &Place| Ok::<_, io::Error>(place.find()?.map(|found| found.id.inode));
    if let Some(old) = &step.old
        && inode(&target)? != Some(old.inode)
    {
        let held = if inode(&aside)? == Some(old.inode) { &aside } else { &temp };
        if inode(held)? == Some(old.inode) {
            match inode(&target)? {
                None => held.rename(&target)?,
                // Ours: what the host has put there in the meantime is not touched.
                Some(there) if Some(there) == new => {
                    if !held.exchange(&target)? {
                        target.remove()?;
                        held.rename(&target)?;
                    }
                }
                Some(_) => return Err(io::Error::other("the host has put something else there meanwhile")),
            }
        }
    } else if step.old.is_none() && new.is_some() && inode(&target)? == new && inode(&temp)?.is_none() {
        target.rename(&temp)?;
    }
    part_of(&temp).remove()?;
    for leftover in [&temp, &aside] {
        let found = inode(leftover)?;
        if found.is_none() || (step.old.is_some() && found == step.old.map(|old| old.inode)) {
            continue;
        }
        match step.kept {
            Some(kept) => keeper.return_kept(kept, leftover)?,
            None => leftover.remove()?,
        }
    }
    Ok(())
}

/// Does what is left after every target has been touched.
pub fn complete(host: &Host, intent: &Intent, staged: &Staged, keeper: &Keeper, base: &mut Base) -> Result<(), Failed> {
    host.forget();
    for (number, step) in intent.steps.iter().enumerate() {
        crash::point();
        let aside = || -> io::Result<()> {
            let target = match host.place(&step.path.0) {
                Err(e) if is_missing(&e) => return Ok(()),
                other => other?,
            };
            for place in [target.beside(intent.temp(number)), target.beside(intent.aside(number))] {
                if place.find()?.is_some() {
                    keeper.put_aside(number, &place)?;
                }
            }
            Ok(())
        };
        aside().map_err(|e| (step.path.0.clone(), e))?;
    }
    crash::point();
    close_parents(host, intent, intent.undoes.is_some())?;
    for looks in &intent.looks {
        crash::point();
        set_looks(host, &looks.path.0, &looks.new).map_err(|e| (looks.path.0.clone(), e))?;
    }
    crash::point();
    refresh(host, intent, Some(staged), base)?;
    settle(host, intent, base)?;
    crash::point();
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |e: io::Error| (path, e)
    };
    if let Some(dir) = &keeper.keeps {
        let made = staged.made.iter().map(|(path, id)| (path.as_path().into(), *id)).collect();
        write_done(dir, &Done { intent: intent.clone(), made }).map_err(failed(dir))?;
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
    Ok(())
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
    if rustix::fs::fstat(&*dir)?.st_mode & 0o7777 != parent.mode {
        rustix::fs::fchmod(&*dir, Mode::from_raw_mode(parent.mode))?;
    }
    if times {
        rustix::fs::futimens(&*dir, &modified_at(parent.mtime))?;
    }
    Ok(())
}

fn set_looks(host: &Host, path: &Path, looks: &Looked) -> io::Result<()> {
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

/// Notes that the session and the host agree on these paths from now on; after an undo, that they differ
/// again the way they did.
fn settle(host: &Host, intent: &Intent, base: &mut Base) -> Result<(), Failed> {
    let mut pack = None;
    for record in &intent.settled {
        let path = &record.path.0;
        let failed = |e| (path.clone(), e);
        let found = host.find(path).map_err(failed)?;
        let at = found.map_or(At::Absent, |found| At::Here(found.id));
        let entry = if intent.undoes.is_some() {
            let before = record.before.as_ref();
            Entry {
                host: At::after_undo(before.map(|b| b.host), at),
                session: before.and_then(|b| b.session),
                content: before.and_then(|b| b.content),
                done: before.is_some_and(|b| b.done),
            }
        } else {
            let text = found.filter(|found| found.meta.kind == Kind::File && found.meta.size <= LARGEST);
            let text = text.filter(|_| record.content.is_none());
            let mut content = record.content;
            if let Some(bytes) = text.map(|_| small(host, path)).transpose().map_err(failed)?.flatten() {
                let pack = match &mut pack {
                    Some(pack) => pack,
                    None => pack.insert(base.pack().map_err(failed)?),
                };
                content = Some(pack.keep(&bytes).map_err(failed)?);
            }
            Entry { host: at, session: record.session, content, done: true }
        };
        base.set(path.clone(), entry);
    }
    let failed = |e| (PathBuf::from("base.jsonl"), e);
    if let Some(pack) = pack {
        pack.finish().map_err(failed)?;
    }
    base.save().map_err(failed)
}

fn small(host: &Host, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match host.place(path)?.open() {
        Ok(file) => file.take(LARGEST + 1).read_to_end(&mut bytes)?,
        // A file that its owner may not read is none to merge with.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(e) => return Err(e),
    };
    Ok((bytes.len() as u64 <= LARGEST && is_text(&bytes)).then_some(bytes))
}

/// Touches the targets that have not been touched yet.
pub fn roll_forward(host: &Host, intent: &Intent, staged: &Staged) -> Result<(), Failed> {
    host.forget();
    for (number, step) in intent.steps.iter().enumerate() {
        crash::point();
        let new = staged.inodes.get(number).copied().flatten();
        go_on(host, intent, number, new).map_err(|e| (step.path.0.clone(), e))?;
        host.forget();
    }
    Ok(())
}

fn go_on(host: &Host, intent: &Intent, number: usize, new: Option<u64>) -> io::Result<()> {
    let step = &intent.steps[number];
    let changed =
        || io::Error::other("the host has changed it meanwhile; only rolling back is left (`cowbox undo -y`)");
    let target = host.place(&step.path.0)?;
    let (temp, aside) = (target.beside(intent.temp(number)), target.beside(intent.aside(number)));
    let there = target.find()?.map(|found| found.id);
    let at_temp = temp.find()?.map(|found| found.id.inode);
    let is_old = |id: &Identity| step.old.is_some_and(|old| old.is_same_but_renamed(id));
    match (step.put, there) {
        // Done before.
        (true, Some(there)) if Some(there.inode) == new && at_temp != new => Ok(()),
        (false, None) if at_temp.is_some() => Ok(()),
        (false, Some(there)) if is_old(&there) => target.rename(&temp),
        (true, None) if at_temp == new && (step.old.is_none() || aside.find()?.is_some()) => temp.rename(&target),
        (true, Some(there)) if is_old(&there) && at_temp == new => {
            if !temp.exchange(&target)? {
                target.rename(&aside)?;
                temp.rename(&target)?;
            }
            Ok(())
        }
        _ => Err(changed()),
    }
}
