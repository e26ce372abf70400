//! Reads what a session changed: its layers against the host, with what the session saw as the third side.
//! Costs O(changes), never a walk of the repo.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::base::Base;
use super::deep::{on_a_large_stack, raise_limit};
use super::judge::{Judge, Verdict};
pub use super::layers::Layers;
use super::places::Places;
use super::{Change, ChangeKind, ChangeSet, Conflict};
use crate::layer::entry::{Found, Identity, Kind};
use crate::layer::stack::{Dir, Entry};

/// No real tree is deeper, and what a level costs grows with the number of those above it.
const DEEPEST: usize = 1200;

/// Why a layer could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// What was being read.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Unreadable {
    /// Whether more rights would help.
    pub fn needs_access(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }
}

/// Everything that was seen on the way, for those who write it down.
#[derive(Debug)]
pub struct Seen {
    /// Relative to the root.
    pub path: PathBuf,
    /// The session's side; `None`: deleted.
    pub session: Option<Identity>,
    /// The host's side.
    pub host: Option<Found>,
    /// Both have the same content.
    pub same: bool,
    /// Nothing speaks for the host's side having been elsewhere when the run started.
    pub in_place: bool,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// The change set.
    pub set: ChangeSet,
    /// Every path that the session has something to say about.
    pub seen: Vec<Seen>,
    /// Whether something of the session's belongs to another user.
    pub foreign: bool,
    /// Marks of the layers that delete something, whatever the host has there.
    pub hidden: Vec<PathBuf>,
    /// Over the user's attributes of the session's directories, in their order: no time of a directory tells of them.
    pub attributes: Sha256,
}

/// Reads the change set of a session.
pub fn read(layers: &Layers, base: &Base) -> Result<Reading, Unreadable> {
    let walk = || {
        let (session, setup, below) = (layers.session_root()?, layers.setup_root()?, layers.below_root()?);
        let mut walk = Walk { base, places: Places::new(base, layers), out: Reading::default(), links: HashMap::new() };
        walk.own_looks(&session, setup.as_ref(), &below)
            .map_err(|source| Unreadable { path: PathBuf::from("."), source })?;
        walk.dir(&session, setup.as_ref(), Some(&below), Path::new(""))?;
        Ok((walk.out, walk.links))
    };
    // Most commands leave nothing: a thread costs more than that.
    let (mut out, links) = if layers.are_empty() {
        walk()?
    } else {
        raise_limit();
        on_a_large_stack(walk)?
    };
    super::links::add(&mut out, links);
    out.set.changes.sort_by(|a, b| a.path.cmp(&b.path));
    super::rename::find(&mut out.set, layers)?;
    Ok(out)
}

/// The sides of something that preparing left behind.
struct Prepared<'a> {
    new: (&'a crate::layer::stack::Part, Found),
    saw: (&'a crate::layer::stack::Part, Found),
    host: Option<(&'a crate::layer::stack::Part, Found)>,
}

fn looks_same(a: (&Dir, &Found), b: (&Dir, &Found)) -> bool {
    a.1.meta.mode == b.1.meta.mode && a.0.xattrs() == b.0.xattrs()
}

struct Walk<'a> {
    base: &'a Base,
    places: Places<'a>,
    out: Reading,
    /// Names of one file of the session, by inode.
    links: HashMap<(usize, u64), Vec<PathBuf>>,
}

impl Walk<'_> {
    /// The overlay's root takes its mode from the upper: a chmod of it counts too.
    fn own_looks(&mut self, session: &Dir, setup: Option<&Dir>, below: &Dir) -> io::Result<()> {
        let stat = |dir: &Dir| {
            let mut found = Found::from(&rustix::fs::fstat(dir.top().fd())?);
            found.meta.mode = dir.marks().mode.unwrap_or(found.meta.mode);
            Ok::<_, io::Error>(found)
        };
        let (new, old) = (stat(session)?, stat(below)?);
        self.places.enter(Path::new(""), old.id);
        let saw = setup.map(|setup| Ok::<_, io::Error>((setup, stat(setup)?))).transpose()?;
        if !saw.is_some_and(|(setup, saw)| looks_same((session, &new), (setup, &saw))) {
            self.looks_of_dir(Path::new("."), session, new, below, old);
        }
        Ok(())
    }

    /// One directory of the session, and what is below it if anything is.
    fn dir(&mut self, session: &Dir, setup: Option<&Dir>, below: Option<&Dir>, path: &Path) -> Result<(), Unreadable> {
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Unreadable { path: path.clone(), source }
        };
        // Each level costs two descriptors and its path once per entry: a command could make both run out.
        if path.components().count() > DEEPEST {
            let source = io::Error::other(format!("more than {DEEPEST} directories inside each other"));
            return Err(Unreadable { path: path.iter().take(8).collect(), source });
        }
        let names = session.names().map_err(at(path))?;
        // Whatever the host has there: it must not count for what was reviewed.
        if !session.open_below {
            self.out.hidden.push(path.to_path_buf());
        }
        self.attributes_of(session, path);
        for name in &names {
            self.entry(session, setup, below, name, &path.join(name))?;
        }
        if let (false, Some(below)) = (session.open_below, below) {
            // Replaced as a whole: what the session does not have is gone.
            for name in below.names().map_err(at(path))? {
                // What preparing had hidden before is not the session's doing.
                let hidden = setup.is_some_and(|setup| matches!(setup.entry(&name), Ok(Entry::Deleted)));
                if names.binary_search(&name).is_err() && !hidden {
                    self.deleted(below, &name, &path.join(&name))?;
                }
            }
        }
        Ok(())
    }

    fn judge<'b>(&'b self, path: &'b Path, name: &'b OsStr) -> Judge<'b> {
        Judge { base: self.base, places: &self.places, path, name }
    }

    fn enter(&self, host: &Entry, path: &Path) {
        if let Entry::Dir(_, found) = host {
            self.places.enter(path, found.id);
        }
    }

    fn attributes_of(&mut self, session: &Dir, path: &Path) {
        for (name, value) in session.xattrs() {
            for field in [path.as_os_str().as_encoded_bytes(), name, value] {
                self.out.attributes.update((field.len() as u64).to_le_bytes());
                self.out.attributes.update(field);
            }
        }
    }

    fn entry(
        &mut self,
        session: &Dir,
        setup: Option<&Dir>,
        below: Option<&Dir>,
        name: &OsStr,
        path: &Path,
    ) -> Result<(), Unreadable> {
        let failed = |source| Unreadable { path: path.to_path_buf(), source };
        let new = session.entry(name).map_err(failed)?;
        let old = below.map_or(Ok(Entry::Nothing), |below| below.entry(name)).map_err(failed)?;
        let saw = setup.map_or(Ok(Entry::Nothing), |setup| setup.entry(name)).map_err(failed)?;
        self.enter(&old, path);
        match (&new, &saw, setup) {
            (Entry::Leaf { part, found }, Entry::Leaf { part: at, found: saw }, Some(setup)) => {
                let host = match (&old, below) {
                    (Entry::Leaf { part, found }, Some(below)) => Some((&below.parts()[*part], *found)),
                    _ => None,
                };
                if !matches!(old, Entry::Dir(..)) {
                    let sides =
                        Prepared { new: (&session.parts()[*part], *found), saw: (&setup.parts()[*at], *saw), host };
                    return self.over_setup(&sides, name, path).map_err(failed);
                }
            }
            (Entry::Dir(dir, new), Entry::Dir(setup, saw), _) => {
                let host = match &old {
                    Entry::Dir(host, old) => Some((host, *old)),
                    _ => None,
                };
                if let Some((host, old)) = host.filter(|_| !looks_same((dir, new), (setup, saw))) {
                    self.looks_of_dir(path, dir, *new, host, old);
                }
                return self.dir(dir, Some(setup), host.map(|(host, _)| host), path);
            }
            _ => {}
        }
        match (new, old, below) {
            (Entry::Nothing, ..) => Ok(()),
            (Entry::Deleted, old, below) => {
                self.out.hidden.push(path.to_path_buf());
                match (old, below) {
                    (Entry::Leaf { .. } | Entry::Dir(..), Some(below)) => self.deleted(below, name, path).map(drop),
                    _ => {
                        self.saw(path, None, None, false);
                        Ok(())
                    }
                }
            }
            (Entry::Leaf { part, found }, old, below) => {
                if found.links > 1 && found.meta.kind == Kind::File {
                    self.links.entry((part, found.id.inode)).or_default().push(path.to_path_buf());
                }
                let new = (&session.parts()[part], found);
                let judge = self.judge(path, name);
                match (old, below) {
                    (Entry::Leaf { part, found }, Some(below)) => {
                        let verdict = judge.leaves(new, (&below.parts()[part], found)).map_err(failed)?;
                        self.judged(path, new.1, Some(found), verdict);
                    }
                    (Entry::Dir(dir, found), Some(_)) => {
                        judge.check_marks(new).map_err(failed)?;
                        let verdict = judge.types(new.1, found);
                        let changed = matches!(verdict, Verdict::Changed { .. });
                        self.judged(path, new.1, Some(found), verdict);
                        let number = self.out.set.changes.len();
                        // What the host has put there since cannot go with the rest.
                        if changed && self.deleted_below(&dir, path)? {
                            self.out.set.changes[number - 1].conflict.get_or_insert(Conflict::Type);
                        }
                    }
                    _ => {
                        judge.check_marks(new).map_err(failed)?;
                        self.judged(path, new.1, None, judge.no_host(&new.1));
                    }
                }
                Ok(())
            }
            (Entry::Dir(dir, new), Entry::Dir(host, old), _) => {
                self.looks_of_dir(path, &dir, new, &host, old);
                self.dir(&dir, None, Some(&host), path)
            }
            (Entry::Dir(dir, new), old, _) => {
                let host = match old {
                    Entry::Leaf { found, .. } => Some(found),
                    _ => None,
                };
                let judge = self.judge(path, name);
                let verdict = host.map_or_else(|| judge.no_host(&new), |host| judge.types(new, host));
                self.judged(path, new, host, verdict);
                let number = self.out.set.changes.len();
                self.dir(&dir, None, None, path)?;
                // The host's file is in the way of everything below, unless it is what the session replaced.
                if host.is_some() && !verdict.is_plain() {
                    for change in &mut self.out.set.changes[number..] {
                        change.conflict.get_or_insert(Conflict::Type);
                    }
                }
                Ok(())
            }
        }
    }

    /// A file, link or special file that preparing left there, and that the session has too: only what it did to it
    /// since counts, and that lands on what the host has.
    fn over_setup(&mut self, sides: &Prepared<'_>, name: &OsStr, path: &Path) -> io::Result<()> {
        let judge = self.judge(path, name);
        let host = sides.host.map(|(_, found)| found);
        let changed = !judge.same_leaves(sides.new, sides.saw)?;
        let verdict = match sides.host {
            _ if !changed => Verdict::Untouched,
            Some(host) => judge.over_setup(sides.new, sides.saw, host)?,
            None => match judge.no_host(&sides.new.1) {
                Verdict::Changed { conflict, .. } => {
                    Verdict::Changed { kind: ChangeKind::Modified, conflict, merged: None, keeps_mode: false }
                }
                other => other,
            },
        };
        let number = self.out.set.changes.len();
        self.judged(path, sides.new.1, host, verdict);
        for change in &mut self.out.set.changes[number..] {
            change.old = change.old.or(Some(sides.saw.1.meta));
        }
        Ok(())
    }

    /// Mode and attributes of a directory that both have.
    fn looks_of_dir(&mut self, path: &Path, session: &Dir, new: Found, host: &Dir, old: Found) {
        let judge = self.judge(path, OsStr::new(""));
        let verdict = judge.dirs((&new, session.xattrs()), (&old, host.xattrs()));
        self.judged(path, new, Some(old), verdict);
    }

    fn judged(&mut self, path: &Path, new: Found, old: Option<Found>, verdict: Verdict) {
        let same = matches!(verdict, Verdict::Same | Verdict::Changed { kind: ChangeKind::ModeChanged, .. });
        self.out.foreign |= new.owner != rustix::process::geteuid().as_raw();
        self.saw(path, Some(new.id), old, same);
        if let Verdict::Changed { kind, conflict, merged, keeps_mode } = verdict {
            let size = merged.unwrap_or(new.meta.size);
            let mut meta = new.meta;
            meta.size = size;
            self.out.set.changes.push(Change {
                old: old.map(|found| found.meta),
                new: Some(meta),
                conflict,
                merged: merged.is_some(),
                keeps_mode,
                host: old.map(|found| found.id),
                session: Some(new.id),
                ..Change::at(path, kind)
            });
        }
    }

    /// A path that is gone, and all that was below it: deletions are listed in full. Tells whether some of it
    /// is the host's own, which stays.
    fn deleted(&mut self, below: &Dir, name: &OsStr, path: &Path) -> Result<bool, Unreadable> {
        let failed = |source| Unreadable { path: path.to_path_buf(), source };
        let old = below.entry(name).map_err(failed)?;
        self.enter(&old, path);
        let (found, dir) = match old {
            Entry::Leaf { found, .. } => (found, None),
            Entry::Dir(dir, found) => (found, Some(dir)),
            Entry::Nothing | Entry::Deleted => return Ok(false),
        };
        let judge = self.judge(path, name);
        // What the host made since is nothing that the session could have deleted.
        let Some(conflict) = judge.deleted(&found) else { return Ok(true) };
        self.saw(path, None, Some(found), false);
        self.out.set.changes.push(Change {
            old: Some(found.meta),
            conflict,
            host: Some(found.id),
            ..Change::at(path, ChangeKind::Deleted)
        });
        match dir {
            Some(dir) => self.deleted_below(&dir, path),
            None => Ok(false),
        }
    }

    fn deleted_below(&mut self, dir: &Dir, path: &Path) -> Result<bool, Unreadable> {
        let mut hosts_own = false;
        for name in dir.names().map_err(|source| Unreadable { path: path.to_path_buf(), source })? {
            hosts_own |= self.deleted(dir, &name, &path.join(&name))?;
        }
        Ok(hosts_own)
    }

    fn saw(&mut self, path: &Path, session: Option<Identity>, host: Option<Found>, same: bool) {
        let in_place = host.is_none_or(|host| self.places.is_in_place(path, &host));
        self.out.seen.push(Seen { path: path.to_path_buf(), session, host, same, in_place });
    }
}
