//! Files that a task wants to keep, copied out of its layers with the code that lands changes: no link is followed on
//! either side, and what is no file, directory or harmless link stays where it is.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobMatcher};

use super::expect::plain;
use crate::apply::copy::Copier;
use crate::apply::host::Host;
use crate::changes::sides::{Leaf, Reader};
use crate::error::show;
use crate::layer::entry::Kind;
use crate::layer::stack::Entry;
use crate::paths::BytePath;

/// What is copied at most: a sandbox must not fill the host's disk.
const MOST_BYTES: u64 = 4 << 30;
/// How many names are looked at.
const MOST_NAMES: usize = 500_000;
/// How deep.
const DEEPEST: usize = 200;

/// What was kept.
#[derive(Debug, Default)]
pub struct Kept {
    /// Paths relative to the workspace, and to where they are now.
    pub files: Vec<BytePath>,
    /// What was not, and why.
    pub notices: Vec<String>,
}

/// Copies what `wanted` names to `to`.
pub fn keep(reader: &Reader, wanted: &[String], to: &Path) -> io::Result<Kept> {
    let mut keeper = Keeper {
        reader,
        host: Host::open(to)?,
        copier: Copier::default(),
        kept: Kept::default(),
        bytes: 0,
        names: 0,
        full: false,
        found: false,
    };
    for pattern in wanted {
        keeper.found = false;
        let path = plain(Path::new(pattern));
        match literal(&path) {
            None => keeper.all(&path, 0)?,
            Some(start) => {
                let matcher = Glob::new(&path.to_string_lossy()).map_err(io::Error::other)?.compile_matcher();
                keeper.matching(&start, &matcher, 0)?;
            }
        }
        if !keeper.found {
            keeper.notice(format!("nothing was found for artifact {}", show(Path::new(pattern))));
        }
    }
    keeper.kept.files.sort();
    keeper.kept.files.dedup();
    Ok(keeper.kept)
}

/// Where a pattern begins to be one; `None`: it is a plain path.
fn literal(path: &Path) -> Option<PathBuf> {
    let is_glob = |part: &Component<'_>| part.as_os_str().as_bytes().iter().any(|b| b"*?[]{}".contains(b));
    let at = path.components().position(|part| is_glob(&part))?;
    Some(path.components().take(at).collect())
}

struct Keeper<'a> {
    reader: &'a Reader,
    host: Host,
    copier: Copier,
    kept: Kept,
    bytes: u64,
    names: usize,
    full: bool,
    /// Whether there is anything for the pattern, kept by now or not.
    found: bool,
}

impl Keeper<'_> {
    fn notice(&mut self, text: String) {
        self.kept.notices.push(text);
    }

    /// A path, and everything below it.
    fn all(&mut self, path: &Path, depth: usize) -> io::Result<()> {
        if let Some(leaf) = self.reader.leaf(path)? {
            return self.leaf(path, &leaf);
        }
        let Some(dir) = self.reader.dir(path)? else { return Ok(()) };
        self.found = true;
        for name in dir.names()? {
            if !self.may_go_on(depth) {
                break;
            }
            if !matches!(dir.entry(&name)?, Entry::Nothing | Entry::Deleted) {
                self.all(&path.join(name), depth + 1)?;
            }
        }
        Ok(())
    }

    /// What of a directory a pattern means.
    fn matching(&mut self, at: &Path, matcher: &GlobMatcher, depth: usize) -> io::Result<()> {
        let Some(dir) = self.reader.dir(at)? else { return Ok(()) };
        for name in dir.names()? {
            if !self.may_go_on(depth) {
                break;
            }
            let path = at.join(&name);
            match dir.entry(&name)? {
                Entry::Nothing | Entry::Deleted => {}
                _ if matcher.is_match(&path) => self.all(&path, depth)?,
                Entry::Dir(..) if name != ".git" => self.matching(&path, matcher, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn may_go_on(&mut self, depth: usize) -> bool {
        self.names += 1;
        let goes_on = self.names < MOST_NAMES && depth < DEEPEST && !self.full;
        if self.names == MOST_NAMES {
            self.notice(format!("only the first {MOST_NAMES} names were looked at for artifacts"));
        }
        goes_on
    }

    fn leaf(&mut self, path: &Path, leaf: &Leaf) -> io::Result<()> {
        let Some(name) = path.file_name() else { return Ok(()) };
        self.found = true;
        match leaf.found.meta.kind {
            Kind::File if self.bytes.saturating_add(leaf.found.allocated) > MOST_BYTES => {
                self.full = true;
                self.notice(format!("artifacts are larger than {} GiB: {} is left out", MOST_BYTES >> 30, show(path)));
                return Ok(());
            }
            Kind::File => {
                self.bytes += leaf.found.allocated;
                // First: what cannot be read leaves nothing, and can be tried again.
                let mut file = leaf.open(name)?;
                let Some(place) = self.place(path)? else { return Ok(()) };
                let mut copy = place.create()?;
                self.copier.copy(&mut file, &mut copy)?;
                place.chmod(leaf.found.meta.mode & 0o755 | 0o600)?;
            }
            Kind::Symlink => {
                let target = leaf.target(name)?;
                if !stays_inside(path, Path::new(std::ffi::OsStr::from_bytes(&target))) {
                    self.notice(format!("{} is a link that leads out of the workspace: left out", show(path)));
                    return Ok(());
                }
                let Some(place) = self.place(path)? else { return Ok(()) };
                place.symlink(&target)?;
            }
            Kind::Dir | Kind::Fifo | Kind::Socket | Kind::Device => {
                self.notice(format!("{} is no file: left out", show(path)));
                return Ok(());
            }
        }
        self.kept.files.push(path.into());
        Ok(())
    }

    /// Where a path goes; `None` if it is there already.
    fn place(&self, path: &Path) -> io::Result<Option<crate::apply::host::Place>> {
        let mut above = PathBuf::new();
        for part in path.parent().into_iter().flatten() {
            above.push(part);
            if self.host.find(&above)?.is_none() {
                self.host.place(&above)?.mkdir()?;
                self.host.place(&above)?.chmod(0o755)?;
            }
        }
        let place = self.host.place(path)?;
        Ok(if place.find()?.is_some() { None } else { Some(place) })
    }
}

/// Whether a link at `path` leads to somewhere in the same tree: up first, and then only down, for what it passes on
/// the way down may be a link too.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut above = path.components().count() - 1;
    let mut down = false;
    target.components().all(|part| match part {
        Component::Normal(_) => {
            down = true;
            true
        }
        Component::ParentDir if !down && above > 0 => {
            above -= 1;
            true
        }
        Component::CurDir => true,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::layer::Encoding;
    use crate::layer::stack::Dir;

    #[test]
    fn what_is_wanted_is_kept_and_nothing_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("out/deep")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("out/deep/a.log"), "a").unwrap();
        fs::write(from.join(std::ffi::OsStr::from_bytes(b"out/b\xff.txt")), "b").unwrap();
        fs::write(from.join("run.sh"), "x").unwrap();
        fs::set_permissions(from.join("run.sh"), fs::Permissions::from_mode(0o6755)).unwrap();
        symlink("/etc/passwd", from.join("out/away")).unwrap();
        symlink("../../../up", from.join("out/up")).unwrap();
        symlink("deep/../../x", from.join("out/round")).unwrap();
        symlink("../run.sh", from.join("out/near")).unwrap();
        nix::unistd::mkfifo(&from.join("out/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = Reader::new(Dir::root(&[(&from, Encoding::Plain)]).unwrap());
        let wanted = ["./run.sh", "run.sh", "out/**/*.log", "out", "missing"].map(str::to_owned);
        let kept = keep(&reader, &wanted, &to).unwrap();
        let names: Vec<&[u8]> = kept.files.iter().map(|path| path.0.as_os_str().as_bytes()).collect();
        assert_eq!(names, [&b"out/b\xff.txt"[..], b"out/deep/a.log", b"out/near", b"run.sh"]);
        assert_eq!(kept.notices.len(), 5, "{:?}", kept.notices);
        assert_eq!(fs::read_to_string(to.join("out/deep/a.log")).unwrap(), "a");
        assert_eq!(fs::metadata(to.join("run.sh")).unwrap().permissions().mode() & 0o7777, 0o755);
        assert!(!to.join("out/away").is_symlink() && !to.join("out/pipe").exists());
        assert_eq!(fs::read_link(to.join("out/near")).unwrap(), Path::new("../run.sh"));
    }
}
