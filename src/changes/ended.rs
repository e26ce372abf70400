//! Writes down, when a run has ended, what the session saw of the host.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use super::base::{At, AtEnd, Base, Entry, LARGEST, Pack, text_of};
use super::read::{Layers, Reading, Unreadable};
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
        let at = base.first_look(&seen.path, seen.host.as_ref().map(|found| &found.id));
        let mut entry = Entry { host: at, session: seen.session.filter(|_| seen.same), content: None, done: false };
        let differs = !seen.same && seen.session.is_some();
        if let (At::Here(_), true, Some(found)) = (at, differs, seen.host)
            && found.meta.kind == Kind::File
        {
            entry.content = keep(&host, &seen.path, &found.id, base, &mut pack).map_err(|e| failed(&seen.path, e))?;
        }
        if at == At::Absent
            && let Some(began) = began_as(&session, &seen.path, base).map_err(|e| failed(&seen.path, e))?
        {
            // The host had it, and has deleted it meanwhile.
            entry.host = At::Unknown;
            entry.session = seen.session.filter(|_| began.unchanged);
        }
        base.set(seen.path.clone(), entry);
    }
    if let Some(pack) = pack {
        pack.finish().map_err(|e| failed(Path::new("base.pack"), e))?;
    }
    base.set_at_end(left_behind(reading));
    base.run_ended();
    base.save().map_err(|e| failed(Path::new("base.jsonl"), e))
}

/// What the session has left in each place, for what the host puts there before it goes on.
fn left_behind(reading: &Reading) -> HashMap<&Path, AtEnd> {
    let mut left: HashMap<&Path, AtEnd> = HashMap::new();
    let leaves = reading.seen.iter().filter(|seen| seen.session.is_none_or(|id| !id.is_dir()));
    for path in reading.hidden.iter().chain(leaves.map(|seen| &seen.path)) {
        left.entry(path).or_default().closed = true;
    }
    left
}

struct Began {
    unchanged: bool,
}

/// How a file of the session's began, if that was as a copy of one that git knows at this path.
fn began_as(session: &Reader, path: &Path, base: &Base) -> io::Result<Option<Began>> {
    let (Some(leaf), Some(name)) = (session.leaf(path)?, path.file_name()) else { return Ok(None) };
    if !base.knows_a_commit() || leaf.found.meta.kind != Kind::File {
        return Ok(None);
    }
    let file = leaf.open(name)?;
    if !marks::read(file.as_fd(), leaf.encoding())?.copied_up {
        return Ok(None);
    }
    // A file that was renamed to this place was copied up too: only the commit tells.
    let Some(blob) = base.content(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(Some(Began { unchanged: bytes == blob }))
}

/// Keeps the host's content of a text file, as it was when it was compared.
fn keep(
    host: &Reader,
    path: &Path,
    state: &Identity,
    base: &Base,
    pack: &mut Option<Pack>,
) -> io::Result<Option<(u64, u64)>> {
    let (Some(leaf), Some(name)) = (host.leaf(path)?, path.file_name()) else { return Ok(None) };
    if leaf.found.id != *state {
        return Ok(None);
    }
    let Some(bytes) = text_of(&leaf.open(name)?, state)? else { return Ok(None) };
    let pack = match pack {
        Some(pack) => pack,
        None => pack.insert(base.pack()?),
    };
    Ok(Some(pack.keep(&bytes)?))
}
