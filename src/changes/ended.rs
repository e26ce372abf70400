//! Writes down, when a run has ended, what the session saw of the host.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::base::{At, Base, Entry, Pack, Xattrs, text_of};
use super::merge::is_text;
use super::read::{Layers, Reading, Seen, Unreadable};
use super::sides::Reader;
use crate::layer::entry::{Identity, Kind};
use crate::layer::marks;

/// Notes every path that was seen and not known before.
pub fn note(reading: &Reading, layers: &Layers, base: &mut Base) -> Result<(), Unreadable> {
    let (host, session) = (Reader::new(layers.below_root()?), Reader::new(layers.session_root()?));
    let failed = |path: &Path, source| Unreadable { path: path.to_path_buf(), source };
    let mut pack = None;
    for seen in &reading.seen {
        if base.get(&seen.path).is_some() {
            continue;
        }
        let at = base.first_look(&seen.path, seen.host.as_ref().map(|found| &found.id), seen.in_place);
        let mut entry = Entry { host: at, session: seen.session.filter(|_| seen.same), content: None, done: false };
        let mut sources = Sources { host: &host, session: &session, base, pack: &mut pack };
        let xattrs = sources.keep(seen, &mut entry).map_err(|e| failed(&seen.path, e))?;
        base.set(seen.path.clone(), entry);
        if let Some(xattrs) = xattrs {
            base.set_xattrs(&seen.path, xattrs);
        }
    }
    if let Some(pack) = pack {
        pack.finish().map_err(|e| failed(Path::new("base.pack"), e))?;
    }
    base.set_closed(&closed(reading));
    base.run_ended();
    base.save().map_err(|e| failed(Path::new("base.jsonl"), e))
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
    /// Keeps what a later edit of the host is compared with; gives the host's attributes if those are known.
    fn keep(&mut self, seen: &Seen, entry: &mut Entry) -> io::Result<Option<Xattrs>> {
        let Some(session) = seen.session else { return Ok(None) };
        match (entry.host, seen.host) {
            (At::Here(state), Some(_)) if state.is_dir() && session.is_dir() && seen.in_place => {
                self.dir(&seen.path, &state)
            }
            (At::Here(state), Some(found)) if !seen.same && found.meta.kind == Kind::File => {
                self.host_file(&seen.path, &state, entry)
            }
            (At::Unknown, _) | (At::Absent, None) if !seen.same => self.committed(seen, entry).map(|()| None),
            _ => Ok(None),
        }
    }

    /// The attributes of a directory that the host has not touched since the run began.
    fn dir(&self, path: &Path, state: &Identity) -> io::Result<Option<Xattrs>> {
        let Some(dir) = self.host.dir(path)?.filter(|_| !self.base.is_of_the_run(state)) else { return Ok(None) };
        // They were read after it had been compared.
        let now = Identity::from(&rustix::fs::fstat(dir.top().fd())?);
        Ok((now == *state).then(|| dir.xattrs().clone()))
    }

    /// Keeps the host's content of a text file, as it was when it was compared.
    fn host_file(&mut self, path: &Path, state: &Identity, entry: &mut Entry) -> io::Result<Option<Xattrs>> {
        let (Some(leaf), Some(name)) = (self.host.leaf(path)?, path.file_name()) else { return Ok(None) };
        if leaf.found.id != *state {
            return Ok(None);
        }
        let file = leaf.open(name)?;
        if let Some(bytes) = text_of(&file, state)? {
            entry.content = Some(self.pack(&bytes)?);
        }
        let xattrs = marks::read(file.as_fd(), leaf.encoding())?.xattrs;
        Ok((Identity::from(&rustix::fs::fstat(&file)?) == *state).then_some(xattrs))
    }

    /// The host changed or deleted a file while the command ran: keeps what the commit had of it, for the next
    /// run may start from another commit.
    fn committed(&mut self, seen: &Seen, entry: &mut Entry) -> io::Result<()> {
        let (Some(leaf), Some(name)) = (self.session.leaf(&seen.path)?, seen.path.file_name()) else { return Ok(()) };
        if !self.base.knows_a_commit() || leaf.found.meta.kind != Kind::File {
            return Ok(());
        }
        let file = leaf.open(name)?;
        let copied_up = marks::read(file.as_fd(), leaf.encoding())?.copied_up;
        // A file that was renamed to this place was copied up too: only the commit tells.
        let blob = if copied_up || seen.host.is_some() { self.base.committed(&seen.path) } else { None };
        let Some(blob) = blob else { return Ok(()) };
        entry.host = At::Unknown;
        if copied_up && has_content(&file, &blob)? {
            entry.session = seen.session;
        } else if is_text(&blob) {
            entry.content = Some(self.pack(&blob)?);
        }
        Ok(())
    }

    fn pack(&mut self, bytes: &[u8]) -> io::Result<(u64, u64)> {
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
