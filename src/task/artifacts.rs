//! Files that a task wants to keep, copied out of its layers with the code that lands changes. What is kept are files
//! and directories, never a link: one that stays in the workspace gives what it leads to.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobMatcher};

use super::expect::plain;
use super::links::{self, Place};
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
/// How many bytes of names, and of words about them, are held.
const MOST_TEXT: usize = 64 << 20;
/// How deep.
const DEEPEST: usize = 200;
/// What an empty directory takes on most disks.
const DIRECTORY: u64 = 4096;

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
    if wanted.is_empty() {
        return Ok(Kept::default());
    }
    let mut keeper = Keeper {
        reader,
        host: Host::open(to)?,
        copier: Copier::default(),
        kept: Kept::default(),
        bytes: 0,
        names: 0,
        text: 0,
        full: false,
        found: false,
    };
    for pattern in wanted {
        keeper.found = false;
        let path = plain(Path::new(pattern));
        match literal(&path) {
            None => {
                if let Some(real) = keeper.real(&path, &path)? {
                    keeper.all(&path, &real, 0)?;
                }
            }
            Some(start) => {
                let matcher = Glob::new(&path.to_string_lossy()).map_err(io::Error::other)?.compile_matcher();
                if let Some(real) = keeper.real(&start, &start)? {
                    keeper.matching(&start, &real, &matcher, 0)?;
                }
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
    text: usize,
    /// No more is taken.
    full: bool,
    /// Whether there is anything for the pattern, kept by now or not.
    found: bool,
}

impl Keeper<'_> {
    fn notice(&mut self, text: String) {
        self.text += text.len();
        self.kept.notices.push(text);
    }

    /// Where what is `shown` as this path lies; `None` if it cannot be had, and that is told.
    fn real(&mut self, shown: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
        let why = match links::find(self.reader, path, &mut self.names)? {
            Place::At(real) => return Ok(Some(real)),
            Place::Absent => return Ok(None),
            Place::Dangling => "is a link that leads nowhere",
            Place::Away => "is a link that leads out of the workspace",
            Place::Behind => "is behind a link that leads out of the workspace, or too far",
        };
        self.found = true;
        self.notice(format!("{} {why}: left out", show(shown)));
        Ok(None)
    }

    /// A path, and everything below it.
    fn all(&mut self, shown: &Path, real: &Path, depth: usize) -> io::Result<()> {
        if let Some(leaf) = self.reader.leaf(real)? {
            return self.leaf(shown, real, &leaf);
        }
        let Some(dir) = self.reader.dir(real)? else { return Ok(()) };
        self.found = true;
        let mut is_empty = true;
        for name in dir.names()? {
            if !self.may_go_on(depth) {
                return Ok(());
            }
            if !matches!(dir.entry(&name)?, Entry::Nothing | Entry::Deleted) {
                is_empty = false;
                self.all(&shown.join(&name), &real.join(name), depth + 1)?;
            }
        }
        if is_empty && self.has_room(DIRECTORY, shown) {
            self.make_dirs(shown)?;
        }
        Ok(())
    }

    /// What of a directory a pattern means. Links to other directories are not gone through.
    fn matching(&mut self, shown: &Path, real: &Path, matcher: &GlobMatcher, depth: usize) -> io::Result<()> {
        let Some(dir) = self.reader.dir(real)? else { return Ok(()) };
        for name in dir.names()? {
            if !self.may_go_on(depth) {
                break;
            }
            let (shown, real) = (shown.join(&name), real.join(&name));
            match dir.entry(&name)? {
                Entry::Nothing | Entry::Deleted => {}
                _ if matcher.is_match(&shown) => self.all(&shown, &real, depth)?,
                Entry::Dir(..) if name != ".git" => self.matching(&shown, &real, matcher, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn may_go_on(&mut self, depth: usize) -> bool {
        self.names += 1;
        if (self.names >= MOST_NAMES || self.text >= MOST_TEXT) && !self.full {
            self.full = true;
            self.notice(format!("only the first {} names were looked at for artifacts", self.names));
        }
        depth < DEEPEST && !self.full
    }

    /// Whether so much can be kept as well.
    fn has_room(&mut self, bytes: u64, shown: &Path) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES {
            self.full = true;
            self.notice(format!("artifacts are larger than {} GiB: {} is left out", MOST_BYTES >> 30, show(shown)));
        }
        self.bytes <= MOST_BYTES
    }

    fn leaf(&mut self, shown: &Path, real: &Path, leaf: &Leaf) -> io::Result<()> {
        let Some(name) = real.file_name() else { return Ok(()) };
        self.found = true;
        match leaf.found.meta.kind {
            Kind::File if !self.has_room(leaf.found.allocated, shown) => {}
            Kind::File => {
                // First: what cannot be read leaves nothing, and can be tried again.
                let mut file = leaf.open(name)?;
                let Some(place) = self.place(shown)? else { return Ok(()) };
                let mut copy = place.create()?;
                self.copier.copy(&mut file, &mut copy)?;
                place.chmod(leaf.found.meta.mode & 0o755 | 0o600)?;
                self.text += shown.as_os_str().len();
                self.kept.files.push(shown.into());
            }
            Kind::Symlink => {
                let Some(real) = self.real(shown, real)? else { return Ok(()) };
                match self.reader.leaf(&real)? {
                    Some(leaf) => return self.leaf(shown, &real, &leaf),
                    // Many of them could lead to the same one, and to each other.
                    None => self.notice(format!("{} is a link to a directory: left out", show(shown))),
                }
            }
            Kind::Dir | Kind::Fifo | Kind::Socket | Kind::Device => {
                self.notice(format!("{} is no file: left out", show(shown)));
            }
        }
        Ok(())
    }

    /// Where a path goes; `None` if it is there already.
    fn place(&self, path: &Path) -> io::Result<Option<crate::apply::host::Place>> {
        self.make_dirs(path.parent().unwrap_or(Path::new("")))?;
        let place = self.host.place(path)?;
        Ok(if place.find()?.is_some() { None } else { Some(place) })
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        let mut above = PathBuf::new();
        for part in path {
            above.push(part);
            if self.host.find(&above)?.is_none() {
                self.host.place(&above)?.mkdir()?;
                self.host.place(&above)?.chmod(0o755)?;
            }
        }
        Ok(())
    }
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
        symlink("deep", from.join("out/dir")).unwrap();
        symlink("nowhere", from.join("out/dangling")).unwrap();
        symlink("out", from.join("other")).unwrap();
        fs::create_dir(from.join("empty")).unwrap();
        nix::unistd::mkfifo(&from.join("out/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = Reader::new(Dir::root(&[(&from, Encoding::Plain)]).unwrap());
        let wanted = ["./run.sh", "run.sh", "out/**/*.log", "out", "missing", "other/deep", "other/d*/*.log", "empty"];
        let wanted = wanted.map(str::to_owned);
        let kept = keep(&reader, &wanted, &to).unwrap();
        let names: Vec<&[u8]> = kept.files.iter().map(|path| path.0.as_os_str().as_bytes()).collect();
        assert_eq!(names, [&b"other/deep/a.log"[..], b"out/b\xff.txt", b"out/deep/a.log", b"out/near", b"run.sh"]);
        let mut said = kept.notices.clone();
        said.sort();
        assert_eq!(
            said,
            [
                "nothing was found for artifact missing",
                "out/away is a link that leads out of the workspace: left out",
                "out/dangling is a link that leads nowhere: left out",
                "out/dir is a link to a directory: left out",
                "out/pipe is no file: left out",
                "out/round is a link that leads nowhere: left out",
                "out/up is a link that leads out of the workspace: left out",
            ]
        );
        assert_eq!(fs::read_to_string(to.join("out/deep/a.log")).unwrap(), "a");
        assert_eq!(fs::metadata(to.join("run.sh")).unwrap().permissions().mode() & 0o7777, 0o755);
        assert!(!to.join("out/away").is_symlink() && !to.join("out/pipe").exists());
        assert!(!to.join("out/near").is_symlink() && to.join("empty").is_dir());
        assert_eq!(fs::read_to_string(to.join("out/near")).unwrap(), "x");
    }
}
