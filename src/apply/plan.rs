//! What an apply will do, decided before anything is written.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::access_list;
use super::host::Host;
use super::leaders::leaders;
use super::picks::Picks;
pub use super::steps::{Looks, Node, Plan, Source, Step};
use crate::changes::read::Unreadable;
use crate::changes::sides::Sides;
use crate::changes::{Change, ChangeKind, ChangeSet};
use crate::layer::entry::{Identity, Kind, find, names};

/// Up to here it does not matter whether a file has holes.
const LARGE: u64 = 1 << 20;

/// Which of the chosen changes that are in conflict are merged with markers.
pub type Marked<'a> = &'a dyn Fn(&Change) -> bool;

/// Plans the chosen changes, of files in `picks` only the part. All conflicts among them have been decided.
pub fn plan(
    set: &ChangeSet,
    chosen: &[&Change],
    picks: &Picks,
    marked: Marked<'_>,
    sides: &Sides<'_>,
    host: &Host,
) -> Result<Plan, Unreadable> {
    let mut planner = Planner {
        all: set.changes.iter().map(|change| (change.path.as_path(), change)).collect(),
        chosen: chosen.iter().map(|change| (change.path.as_path(), *change)).collect(),
        leaders: leaders(set, chosen, picks),
        picks,
        renamed: chosen.iter().filter_map(|change| change.from.as_deref()).collect(),
        all_renamed: set.changes.iter().filter_map(|change| change.from.as_deref()).collect(),
        gone: HashSet::new(),
        marked,
        sides,
        host,
        puts: Vec::new(),
        new_dirs: HashMap::new(),
        removes: Vec::new(),
        deleted: Vec::new(),
        replaced: HashSet::new(),
        kept: HashSet::new(),
        out: Plan::default(),
    };
    planner.deletions().map_err(|(path, source)| Unreadable { path, source })?;
    for change in chosen.iter().filter(|change| change.new.is_some()) {
        planner.change(change).map_err(|source| Unreadable { path: change.path.clone(), source })?;
    }
    let mut out = planner.finish();
    // The deepest first: a directory that becomes read-only is the last thing to be touched in it.
    out.looks.sort_by(|a, b| b.path.cmp(&a.path));
    Ok(out)
}

/// What becomes of what the host has below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Below {
    /// All of it goes.
    Goes,
    /// Some of it the session never saw.
    HostsOwn,
    /// Some of it was not chosen.
    Stays,
}

struct Planner<'a> {
    all: HashMap<&'a Path, &'a Change>,
    chosen: HashMap<&'a Path, &'a Change>,
    leaders: HashMap<PathBuf, Source>,
    picks: &'a Picks,
    /// Where chosen renames come from.
    renamed: HashSet<&'a Path>,
    /// Where all renames come from.
    all_renamed: HashSet<&'a Path>,
    /// Directories that go aside as a whole.
    gone: HashSet<PathBuf>,
    marked: Marked<'a>,
    sides: &'a Sides<'a>,
    host: &'a Host,
    puts: Vec<Step>,
    /// Which of them are directories: a search through all would cost the square of their number.
    new_dirs: HashMap<PathBuf, usize>,
    removes: Vec<Step>,
    /// Deletions that are done with.
    deleted: Vec<PathBuf>,
    /// Directories in whose place something else lands: what is below them goes with them.
    replaced: HashSet<PathBuf>,
    /// Directories in whose place something else should have landed: what is below them stays.
    kept: HashSet<PathBuf>,
    out: Plan,
}

impl Planner<'_> {
    /// Everything that goes, parents first: what goes with its directory is no step of its own.
    fn deletions(&mut self) -> Result<(), (PathBuf, io::Error)> {
        let mut all: Vec<(PathBuf, Option<Identity>)> = Vec::new();
        for change in self.chosen.values() {
            match &change.from {
                Some(from) => all.push((from.clone(), change.from_host)),
                None if change.kind == ChangeKind::Deleted => all.push((change.path.clone(), change.host)),
                None => {}
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, old) in all {
            self.delete(&path, old).map_err(|source| (path.clone(), source))?;
        }
        Ok(())
    }

    fn change(&mut self, change: &Change) -> io::Result<()> {
        let Some(new) = change.new else { return Ok(()) };
        if new.kind == Kind::Dir && change.old.is_some_and(|old| old.kind == Kind::Dir) {
            self.look(change, change.lands_with_mode().unwrap_or(new.mode) & 0o1777, true)?;
        } else if change.kind == ChangeKind::ModeChanged && self.has_one_name(&change.path)? {
            self.look(change, new.mode & 0o777, false)?;
        } else if !self.put(change)? {
            return Ok(());
        }
        self.out.settled.push((change.path.clone(), change.session));
        Ok(())
    }

    fn has_one_name(&self, path: &Path) -> io::Result<bool> {
        Ok(self.host.find(path)?.is_some_and(|found| found.links < 2))
    }

    fn look(&mut self, change: &Change, mode: u32, xattrs: bool) -> io::Result<()> {
        if let Some(old) = change.host {
            let mode = self.without_list(&change.path, mode, xattrs)?;
            // A bit that the host has set is the host's to keep.
            let mode = mode | (old.permissions() & 0o6000 & change.new.map_or(0, |new| new.mode));
            self.out.looks.push(Looks { path: change.path.clone(), old, mode, xattrs });
        }
        Ok(())
    }

    /// An access list that the host does not have stays behind, and what it says about the group's bits with it.
    fn without_list(&mut self, path: &Path, mode: u32, is_dir: bool) -> io::Result<u32> {
        let list = match is_dir {
            true => self.sides.session.dir(path)?.and_then(|dir| dir.marks().acl.clone()),
            false => self.sides.session.acl(path)?,
        };
        let Some(list) = list else { return Ok(mode) };
        let hosts = self.host.place(path).and_then(|place| place.acl()).ok().flatten();
        if hosts.is_some_and(|hosts| access_list::is_same(&list, &hosts)) {
            return Ok(mode);
        }
        self.out.dropped.push((path.to_path_buf(), access_list::LEFT_OUT));
        Ok(access_list::mode_without(&list, mode))
    }

    fn delete(&mut self, path: &Path, old: Option<Identity>) -> io::Result<()> {
        let Some(old) = old else { return Ok(()) };
        if path.ancestors().skip(1).any(|above| self.gone.contains(above)) {
            self.deleted.push(path.to_path_buf());
            return Ok(());
        }
        let mut below = Vec::new();
        if old.is_dir() {
            match self.all_below(path, &mut below)? {
                Below::Goes => {
                    self.gone.insert(path.to_path_buf());
                }
                // What the session never saw is no reason to ask again.
                Below::HostsOwn => {
                    self.out.left.push((path.to_path_buf(), "the host has put files into it"));
                    self.deleted.push(path.to_path_buf());
                    return Ok(());
                }
                Below::Stays => {
                    self.out.left.push((path.to_path_buf(), "it holds files that are not applied"));
                    return Ok(());
                }
            }
        }
        self.removes.push(Step::Remove { path: path.to_path_buf(), old, below });
        self.deleted.push(path.to_path_buf());
        Ok(())
    }

    /// Lists what the host has below a directory, and tells whether all of it goes.
    fn all_below(&self, path: &Path, below: &mut Vec<(PathBuf, Identity)>) -> io::Result<Below> {
        let dir = self.host.dir(path)?;
        let mut all = Below::Goes;
        for name in names(dir.as_fd())? {
            let child = path.join(&name);
            let Some(found) = find(dir.as_fd(), &name)? else { continue };
            let deleted = |c: &&Change| c.kind == ChangeKind::Deleted;
            if self.chosen.get(child.as_path()).is_some_and(deleted) || self.renamed.contains(child.as_path()) {
                below.push((child.clone(), found.id));
                if found.meta.kind == Kind::Dir {
                    all = all.max(self.all_below(&child, below)?);
                }
            } else if self.all.contains_key(child.as_path()) || self.all_renamed.contains(child.as_path()) {
                return Ok(Below::Stays);
            } else {
                all = Below::HostsOwn;
            }
        }
        Ok(all)
    }

    /// Plans something new; false if it cannot land.
    fn put(&mut self, change: &Change) -> io::Result<bool> {
        let source = self.source(change);
        let node = self.node(change, source)?;
        if let Some(parent) = self.new_parent(&change.path) {
            parent.insert(change.path.file_name().unwrap_or_default().to_owned(), node);
            return Ok(true);
        }
        // With only a part chosen, the directories on the way come along.
        let missing = self.missing_parent(&change.path)?;
        let (top, old) = match missing {
            Some(top) => match self.host.find(&top)? {
                // The session made a directory of it, and the host left it alone or the conflict was decided for the
                // session: it goes aside.
                Some(found) if change.conflict.is_some() || self.became_dir(&top) => {
                    (self.wrap(&top, node)?, Some(found.id))
                }
                // Else it is an edit of the host's, and not ours to replace.
                Some(_) => {
                    self.out.left.push((change.path.clone(), "the host has no directory for it, but something else"));
                    return Ok(false);
                }
                None => (self.wrap(&top, node)?, None),
            },
            None => (node, change.host),
        };
        let mut below = Vec::new();
        let replaces_dir = old.is_some_and(|old| old.is_dir());
        if replaces_dir && self.all_below(&top.path, &mut below)? != Below::Goes {
            self.out.left.push((top.path.clone(), "the directory in its place holds files that stay"));
            self.kept.insert(top.path);
            return Ok(false);
        }
        if let Some(found) = self.host.find(&top.path)?
            && found.meta.kind == Kind::File
            && found.links > 1
        {
            self.out.unlinked.push(top.path.clone());
        }
        if replaces_dir {
            self.replaced.insert(top.path.clone());
        }
        if matches!(top.source, Source::Dir(_)) {
            self.new_dirs.insert(top.path.clone(), self.puts.len());
        }
        self.puts.push(Step::Put { node: top, old, below });
        Ok(true)
    }

    /// Whether the session made a directory of what the host has, and nothing stands against that.
    fn became_dir(&self, path: &Path) -> bool {
        self.all.get(path).is_some_and(|c| c.kind == ChangeKind::TypeChanged && c.conflict.is_none())
    }

    fn source(&self, change: &Change) -> Source {
        if let Some(leader) = self.leaders.get(&change.path) {
            return leader.clone();
        }
        if let Some(part) = self.picks.part(&change.path) {
            return Source::Part(part.bytes.clone());
        }
        match change.new.map(|new| new.kind) {
            Some(Kind::Dir) => Source::Dir(BTreeMap::new()),
            Some(Kind::Symlink) => Source::Symlink,
            _ if change.merged || (self.marked)(change) => Source::Merged,
            _ => Source::File,
        }
    }

    fn node(&mut self, change: &Change, source: Source) -> io::Result<Node> {
        let new = change.new.map_or((0o644, 0), |new| (new.mode, new.size));
        let is_dir = matches!(source, Source::Dir(_));
        if matches!(source, Source::File | Source::Merged) {
            let whole = new.1.div_ceil(4096) * 4096;
            // Holes stay holes.
            let leaf = if whole > LARGE { self.sides.session.leaf(&change.path)? } else { None };
            let taken = leaf.map_or(whole, |leaf| leaf.found.allocated.min(whole));
            self.out.bytes = self.out.bytes.saturating_add(taken);
        }
        if source == Source::Merged {
            self.out.merged.insert(change.path.clone());
        }
        if let Source::Part(bytes) = &source {
            self.out.bytes = self.out.bytes.saturating_add(bytes.len() as u64);
            self.out.parts.insert(change.path.clone(), bytes.clone());
        }
        // Merged with an edit of the host: its mode too, unless the session changed it.
        let part = self.picks.part(&change.path).map(|part| part.mode);
        let mode = part.or(change.lands_with_mode()).unwrap_or(new.0);
        Ok(Node {
            path: change.path.clone(),
            source,
            mode: mode & if is_dir { 0o1777 } else { 0o777 },
            session: change.session,
        })
    }

    /// The directory of this transaction that `path` belongs into.
    fn new_parent(&mut self, path: &Path) -> Option<&mut BTreeMap<OsString, Node>> {
        let number = path.ancestors().skip(1).find_map(|above| self.new_dirs.get(above))?;
        let Some(Step::Put { node: top, .. }) = self.puts.get_mut(*number) else { return None };
        let way = path.parent()?.strip_prefix(&top.path).ok()?.to_path_buf();
        let mut children = match &mut top.source {
            Source::Dir(children) => children,
            _ => return None,
        };
        let mut at = top.path.clone();
        for part in &way {
            at.push(part);
            let fresh = || Node { path: at.clone(), source: Source::Dir(BTreeMap::new()), mode: 0o755, session: None };
            let mode = self.all.get(at.as_path()).and_then(|c| c.new).map(|new| new.mode & 0o1777);
            let node = children.entry(part.to_owned()).or_insert_with(|| {
                let mut node = fresh();
                node.mode = mode.unwrap_or(node.mode);
                node
            });
            children = match &mut node.source {
                Source::Dir(children) => children,
                _ => return None,
            };
        }
        Some(children)
    }

    /// The topmost directory above `path` that the host does not have.
    fn missing_parent(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()).collect();
        above.reverse();
        for dir in above {
            if self.host.find(dir)?.is_none_or(|found| found.meta.kind != Kind::Dir) {
                return Ok(Some(dir.to_path_buf()));
            }
        }
        Ok(None)
    }

    /// Puts a node into the directories from `top` on down.
    fn wrap(&mut self, top: &Path, node: Node) -> io::Result<Node> {
        let mut node = node;
        while node.path != top {
            let parent = node.path.parent().unwrap_or(Path::new("")).to_path_buf();
            let seen = self.all.get(parent.as_path()).and_then(|c| Some((c.new?.mode & 0o1777, c.session)));
            let mode = match seen {
                Some((mode, session)) => {
                    self.out.settled.push((parent.clone(), session));
                    mode
                }
                None => self.sides.session.mode_of_dir(&parent)?.unwrap_or(0o755) & 0o1777,
            };
            let name = node.path.file_name().unwrap_or_default().to_owned();
            node = Node { path: parent, source: Source::Dir(BTreeMap::from([(name, node)])), mode, session: None };
        }
        Ok(node)
    }

    /// Deletions were planned on their own, before it was known what lands in the place of a directory above them.
    fn finish(self) -> Plan {
        let is_below =
            |path: &Path, dirs: &HashSet<PathBuf>| path.ancestors().skip(1).any(|above| dirs.contains(above));
        let mut out = self.out;
        let goes = |path: &Path| {
            let with_another = self.replaced.contains(path) || is_below(path, &self.replaced);
            !with_another && !is_below(path, &self.kept)
        };
        out.steps = self.removes.into_iter().filter(|step| goes(step.path())).chain(self.puts).collect();
        let (stay, done): (Vec<_>, Vec<_>) = self.deleted.into_iter().partition(|path| is_below(path, &self.kept));
        out.left.extend(stay.into_iter().map(|path| (path, "what replaces its directory is left out")));
        out.settled.splice(0..0, done.into_iter().map(|path| (path, None)));
        out
    }
}
