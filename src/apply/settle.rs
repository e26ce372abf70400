//! After a transaction: what the session and the host agree on from now on.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::host::{Host, is_missing};
use super::journal::{Intent, LooksRecord, SettledRecord, Staged, StepRecord};
use super::ours::Made;
use super::recover::Failed;
use crate::changes::base::{At, Base, Entry, LARGEST, Pack};
use crate::changes::merge::is_text;
use crate::layer::entry::{Found, Identity, Kind};

/// What a path is on the host when all is done.
enum Due<'a> {
    /// What was made there.
    Made(&'a Identity),
    /// What was there, with other looks.
    Looks(&'a LooksRecord),
    /// Nothing.
    Gone,
    /// What is there.
    Anything,
}

/// Settles the paths of one transaction. What the host has done to them since, be it after a crash, is an edit
/// of the host's: it must not be taken for what was applied.
pub(super) struct Settle<'a> {
    host: &'a Host,
    undoes: bool,
    made: Made<'a>,
    steps: HashMap<&'a Path, &'a StepRecord>,
    looks: HashMap<&'a Path, &'a LooksRecord>,
    pack: Option<Pack>,
}

impl<'a> Settle<'a> {
    pub(super) fn new(host: &'a Host, intent: &'a Intent, staged: &'a Staged) -> Self {
        Self {
            host,
            undoes: intent.undoes.is_some(),
            made: Made::of(Some(staged)),
            steps: intent.steps.iter().map(|step| (step.path.0.as_path(), step)).collect(),
            looks: intent.looks.iter().map(|looks| (looks.path.0.as_path(), looks)).collect(),
            pack: None,
        }
    }

    /// Notes that the session and the host agree on these paths from now on; after an undo, that they differ
    /// again the way they did.
    pub(super) fn all(mut self, records: &[SettledRecord], base: &mut Base) -> Result<(), Failed> {
        for record in records {
            let path = &record.path.0;
            let entry = self.entry(record, base).map_err(|e| (path.clone(), e))?;
            base.set(path.clone(), entry);
        }
        match self.pack {
            Some(pack) => pack.finish().map_err(|e| (PathBuf::from("base.pack"), e)),
            None => Ok(()),
        }
    }

    fn entry(&mut self, record: &SettledRecord, base: &Base) -> io::Result<Entry> {
        let path = &record.path.0;
        let found = self.host.find(path)?;
        let (at, as_left) = match self.due(path) {
            Due::Made(id) => match found {
                Some(found) if id.is_same_but_renamed(&found.id) => (At::Here(found.id), true),
                _ => (At::Here(*id), false),
            },
            Due::Looks(looks) => match (found, looks.id) {
                (Some(found), _) if looks.is_for(&found) => (At::Here(found.id), true),
                (_, Some(id)) => (At::Here(Identity { mode: (id.mode & !0o7777) | looks.new.mode, ..id }), false),
                (_, None) => (At::Unknown, false),
            },
            Due::Gone => (At::Absent, false),
            Due::Anything => (found.map_or(At::Absent, |found| At::Here(found.id)), true),
        };
        if self.undoes {
            let before = record.before.as_ref();
            return Ok(Entry {
                host: At::after_undo(before.map(|b| b.host), at),
                session: before.and_then(|b| b.session),
                content: before.and_then(|b| b.content),
                done: before.is_some_and(|b| b.done),
            });
        }
        if record.part {
            // The host has what the session is to be compared with from now on, and the rest is left to do.
            return Ok(Entry { host: at, session: None, content: record.content, done: false });
        }
        let mut content = record.content;
        if let (None, Some(found), true) = (content, found, as_left)
            && let Some(bytes) = small(self.host, path, &found)?
        {
            let pack = match &mut self.pack {
                Some(pack) => pack,
                None => self.pack.insert(base.pack()?),
            };
            content = Some(pack.keep(&bytes)?);
        }
        Ok(Entry { host: at, session: record.session, content, done: true })
    }

    fn due(&self, path: &Path) -> Due<'a> {
        if let Some(id) = self.made.get(path) {
            return Due::Made(id);
        }
        if let Some(looks) = self.looks.get(path) {
            return Due::Looks(looks);
        }
        match path.ancestors().find_map(|above| self.steps.get(above)) {
            // Journals of before did not have what an undo brings back.
            Some(step) if step.kept.is_some() && self.made.get(&step.path.0).is_none() => Due::Anything,
            Some(_) => Due::Gone,
            None => Due::Anything,
        }
    }
}

/// Notes how something looks now.
pub(super) fn looked(path: &Path, now: Identity, base: &mut Base) {
    if let Some(entry) = base.get(path) {
        let entry = Entry { host: At::Here(now), ..entry.clone() };
        base.set(path.to_path_buf(), entry);
    }
}

/// A name that came or went is no edit of the file, though it leaves another ctime: under its other names, too.
/// Tells whether there were any.
pub(super) fn refresh(host: &Host, intent: &Intent, staged: Option<&Staged>, base: &mut Base) -> Result<bool, Failed> {
    let mut ours: HashSet<u64> = intent.steps.iter().filter_map(|step| Some(step.old?.inode)).collect();
    ours.extend(staged.iter().flat_map(|staged| staged.inodes.iter().flatten()));
    let mut any = false;
    for (path, then) in base.with_inodes(&ours) {
        let found = match host.find(&path) {
            // In a closed directory. It will look changed, which is a conflict at worst.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => None,
            other => other.map_err(|e| (path.clone(), e))?,
        };
        if let Some(found) = found.filter(|found| then.is_same_but_renamed(&found.id) && then != found.id) {
            looked(&path, found.id, base);
            any = true;
        }
    }
    Ok(any)
}

/// The content of a text file in the state in which it was found.
fn small(host: &Host, path: &Path, found: &Found) -> io::Result<Option<Vec<u8>>> {
    if found.meta.kind != Kind::File || found.meta.size > LARGEST {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let file = match host.place(path)?.open() {
        // A file that its owner may not read is none to merge with.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied || is_missing(&e) => return Ok(None),
        other => other?,
    };
    (&file).take(LARGEST + 1).read_to_end(&mut bytes)?;
    let unchanged = Identity::from(&rustix::fs::fstat(file.as_fd())?) == found.id;
    Ok((unchanged && bytes.len() as u64 <= LARGEST && is_text(&bytes)).then_some(bytes))
}
