//! Writes down, when a run has ended, what the session saw of the host.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::base::{At, Base, Entry, Pack, text_of};
use super::merge::is_text;
use super::read::{Layers, Reading, Seen, Unreadable};
use super::sides::Reader;
use crate::layer::entry::{Identity, Kind};
use crate::layer::marks;
use crate::layer::stack::Dir;

/// Notes every path that was seen and not known before.
pub fn note(reading: &Reading, layers: &Layers, base: &mut Base) -> Result<(), Unreadable> {
    let (host, session) = (Reader::new(layers.below_root()?), Reader::new(layers.session_root()?));
    let failed = |path: &Path, source| Unreadable { path: path.to_path_buf(), source };
    let mut pack = None;
    for seen in &reading.seen {
        if base.get(&seen.path).is_some() {
            continue;
        }
        let at = base.first_look(&seen.path, seen.host.as_ref().map(|found| &found.id));
        let mut entry = Entry { host: at, session: seen.session.filter(|_| seen.same), content: None, done: false };
        let differs = !seen.same && seen.session.is_some();
        let mut sources = Sources { host: &host, session: &session, base, pack: &mut pack };
        match (at, seen.host) {
            (At::Here(id), Some(found)) if differs && found.meta.kind == Kind::File => {
                entry.content = sources.keep_host(&seen.path, &id).map_err(|e| failed(&seen.path, e))?;
            }
            (At::Unknown, _) | (At::Absent, None) if differs => {
                sources.keep_commit(seen, &mut entry).map_err(|e| failed(&seen.path, e))?;
            }
            _ => {}
        }
        base.set(seen.path.clone(), entry);
        if let Some(dir) = host_dir(seen, &host, base).map_err(|e| failed(&seen.path, e))? {
            base.set_xattrs(&seen.path, dir.xattrs().clone());
        }
    }
    if let Some(pack) = pack {
        pack.finish().map_err(|e| failed(Path::new("base.pack"), e))?;
    }
    base.set_closed(&closed(reading));
    base.run_ended();
    base.save().map_err(|e| failed(Path::new("base.jsonl"), e))
}

/// The host's side of a directory that both have, if it looks as it did when the run began.
fn host_dir(seen: &Seen, host: &Reader, base: &Base) -> io::Result<Option<Rc<Dir>>> {
    let both = seen.session.is_some_and(|id| id.is_dir());
    match seen.host.filter(|found| both && found.id.is_dir() && !base.is_of_the_run(&found.id)) {
        Some(_) => host.dir(&seen.path),
        None => Ok(None),
    }
}

/// Where the session has left nothing that would let the host's shine through.
fn closed(reading: &Reading) -> HashSet<&Path> {
    let leaves = reading.seen.iter().filter(|seen| seen.session.is_none_or(|id| !id.is_dir()));
    leaves.map(|seen| &seen.path).chain(&reading.hidden).map(PathBuf::as_path).collect()
}

/// Where contents are kept from.
struct Sources<'a> {
    host: &'a Reader,
    session: &'a Reader,
    base: &'a Base,
    pack: &'a mut Option<Pack>,
}

impl Sources<'_> {
    /// Keeps the host's content of a text file, as it was when it was compared.
    fn keep_host(&mut self, path: &Path, state: &Identity) -> io::Result<Option<(u64, u64)>> {
        let (Some(leaf), Some(name)) = (self.host.leaf(path)?, path.file_name()) else { return Ok(None) };
        if leaf.found.id != *state {
            return Ok(None);
        }
        text_of(&leaf.open(name)?, state)?.map(|bytes| self.keep(&bytes)).transpose()
    }

    /// The host changed or deleted a file while the command ran: keeps what the commit had of it, for the next
    /// run may start from another commit.
    fn keep_commit(&mut self, seen: &Seen, entry: &mut Entry) -> io::Result<()> {
        let (Some(leaf), Some(name)) = (self.session.leaf(&seen.path)?, seen.path.file_name()) else { return Ok(()) };
        let kind = leaf.found.meta.kind;
        let Some(blob) = (kind == Kind::File).then(|| self.base.committed(&seen.path)).flatten() else {
            return Ok(());
        };
        let file = leaf.open(name)?;
        let copied_up = marks::read(file.as_fd(), leaf.encoding())?.copied_up;
        if seen.host.is_none() {
            // A file that was renamed to this place was copied up too: only the commit tells.
            if !copied_up {
                return Ok(());
            }
            entry.host = At::Unknown;
        }
        if copied_up && has_content(&file, &blob)? {
            entry.session = seen.session;
        } else if is_text(&blob) {
            entry.content = Some(self.keep(&blob)?);
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> io::Result<(u64, u64)> {
        let pack = match self.pack {
            Some(pack) => pack,
            None => self.pack.insert(self.base.pack()?),
        };
        pack.keep(bytes)
    }
}

fn has_content(file: &File, wanted: &[u8]) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.take(wanted.len() as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes == wanted)
}
