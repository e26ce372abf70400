//! A gitdir as a session sees it: its layer over the host's.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use super::dir::{Dir, open_followed, read_all};
use crate::layer::entry::{self, Kind, open_dir};
use crate::layer::marks::is_opaque;

/// The merged view of a directory. What the session wrote is read without following anything.
#[derive(Debug)]
pub struct View {
    /// `None` where the session hides it.
    host: Option<PathBuf>,
    /// `None` where the session wrote nothing.
    layer: Option<OwnedFd>,
}

/// Where the top entry of a path is.
enum Place {
    Host(PathBuf),
    Session { dir: OwnedFd, name: OsString, over: Option<PathBuf> },
    Nowhere,
}

impl View {
    /// The host's alone.
    pub fn host(path: &Path) -> Self {
        Self { host: Some(path.to_path_buf()), layer: None }
    }

    /// `within` of `layer`, an upper directory that cowbox made, over `host`.
    pub fn new(host: &Path, layer: &Path, within: &Path) -> io::Result<Self> {
        let Some(Dir::Strict(top)) = Dir::strict(layer)? else { return Ok(Self::host(host)) };
        let mut view = Self { host: Some(host.to_path_buf()), layer: Some(top) };
        view.hide_if_opaque()?;
        for part in within.components() {
            let Component::Normal(name) = part else { return Err(not_plain()) };
            let Some(dir) = view.layer.take() else { break };
            match entry::stat(dir.as_fd(), name)? {
                None => {}
                Some(meta) if meta.kind == Kind::Dir => {
                    view.layer = Some(open_dir(dir.as_fd(), name)?);
                    view.hide_if_opaque()?;
                }
                // Deleted, or no directory any more.
                Some(_) => view.host = None,
            }
        }
        Ok(view)
    }

    /// What the session wrote in the directory `rel`, alone.
    pub fn session_dir(&self, rel: &Path) -> io::Result<Option<Dir>> {
        let Some(layer) = &self.layer else { return Ok(None) };
        Dir::Strict(layer.try_clone()?).sub(rel)
    }

    /// The content of a regular file.
    pub fn read(&self, rel: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
        match self.locate(rel)? {
            Place::Nowhere => Ok(None),
            Place::Host(path) => open_followed(&path)?.map(|file| read_all(file, most)).transpose(),
            Place::Session { dir, name, .. } => match entry::stat(dir.as_fd(), &name)? {
                Some(meta) if meta.kind == Kind::File => {
                    entry::open_file(dir.as_fd(), &name).and_then(|file| read_all(file, most)).map(Some)
                }
                _ => Ok(None),
            },
        }
    }

    /// Whether `rel` is a directory.
    pub fn is_dir(&self, rel: &Path) -> io::Result<bool> {
        Ok(match self.locate(rel)? {
            Place::Nowhere => false,
            Place::Host(path) => path.is_dir(),
            Place::Session { dir, name, .. } => {
                entry::stat(dir.as_fd(), &name)?.is_some_and(|meta| meta.kind == Kind::Dir)
            }
        })
    }

    /// Names in the directory `rel`, sorted; none if it is missing.
    pub fn names(&self, rel: &Path, most: usize) -> io::Result<Vec<OsString>> {
        let of_host = |path: PathBuf| Dir::Following(path).names(Path::new(""), most);
        let (fd, over) = match self.locate(rel)? {
            Place::Nowhere => return Ok(Vec::new()),
            Place::Host(path) => return of_host(path).map(sorted),
            Place::Session { dir, name, over } => match entry::stat(dir.as_fd(), &name)? {
                Some(meta) if meta.kind == Kind::Dir => (open_dir(dir.as_fd(), &name)?, over),
                _ => return Ok(Vec::new()),
            },
        };
        let over = over.filter(|_| !is_opaque(&fd).unwrap_or(true));
        let mut all: BTreeSet<OsString> = over.map(of_host).transpose()?.unwrap_or_default().into_iter().collect();
        for name in Dir::Strict(fd.try_clone()?).names(Path::new(""), most)? {
            match entry::stat(fd.as_fd(), &name)? {
                Some(meta) if !meta.whiteout => drop(all.insert(name)),
                _ => drop(all.remove(&name)),
            }
        }
        Ok(all.into_iter().collect())
    }

    fn locate(&self, rel: &Path) -> io::Result<Place> {
        let mut host = self.host.clone();
        let Some(layer) = &self.layer else {
            return Ok(host.map_or(Place::Nowhere, |host| Place::Host(host.join(rel))));
        };
        let mut dir = clone(layer.as_fd())?;
        let mut parts = rel.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(not_plain()) };
            host = host.map(|host| host.join(name));
            match entry::stat(dir.as_fd(), name)? {
                None => {
                    let rest = |host: PathBuf| parts.fold(host, |path, part| path.join(part));
                    return Ok(host.map(rest).map_or(Place::Nowhere, Place::Host));
                }
                Some(meta) if meta.whiteout => return Ok(Place::Nowhere),
                Some(_) if parts.peek().is_none() => {
                    return Ok(Place::Session { dir, name: name.to_owned(), over: host });
                }
                Some(meta) if meta.kind == Kind::Dir => {
                    dir = open_dir(dir.as_fd(), name)?;
                    host = host.filter(|_| !is_opaque(&dir).unwrap_or(true));
                }
                Some(_) => return Ok(Place::Nowhere),
            }
        }
        Err(not_plain())
    }

    fn hide_if_opaque(&mut self) -> io::Result<()> {
        if let Some(layer) = &self.layer
            && is_opaque(layer)?
        {
            self.host = None;
        }
        Ok(())
    }
}

fn clone(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    fd.try_clone_to_owned()
}

fn sorted(mut names: Vec<OsString>) -> Vec<OsString> {
    names.sort();
    names
}

fn not_plain() -> io::Error {
    io::Error::other("not a plain relative path")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_layer_covers_the_host() {
        let dir = tempfile::tempdir().unwrap();
        let (host, layer) = (dir.path().join("host"), dir.path().join("layer"));
        for (base, name) in [(&host, "d/a"), (&host, "d/b"), (&host, "o/x"), (&layer, "g/d/b"), (&layer, "g/o/y")] {
            fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
            fs::write(base.join(name), base.file_name().unwrap().as_encoded_bytes()).unwrap();
        }
        std::os::unix::fs::symlink(host.join("d/a"), layer.join("g/d/link")).unwrap();
        std::os::unix::fs::symlink(&host, layer.join("g/e")).unwrap();
        rustix::fs::setxattr(layer.join("g/o"), "user.overlay.opaque", b"y", rustix::fs::XattrFlags::empty()).unwrap();
        let view = View::new(&host, &layer, Path::new("g")).unwrap();
        let read = |path: &str| view.read(Path::new(path), 100).unwrap().map(|b| String::from_utf8(b).unwrap());
        assert_eq!(read("d/a").as_deref(), Some("host"));
        assert_eq!(read("d/b").as_deref(), Some("layer"));
        for missing in ["d/link", "e/d/a", "o/x", "no", "d", "d/a/x"] {
            assert_eq!(read(missing), None, "{missing}");
        }
        assert_eq!(view.names(Path::new("d"), 9).unwrap(), ["a", "b", "link"]);
        assert_eq!(view.names(Path::new("o"), 9).unwrap(), ["y"]);
        assert!(view.read(Path::new("../host/d/a"), 9).is_err());
        // The gitdir itself turned into a link: nothing of the host is left.
        let view = View::new(&host, &layer, Path::new("g/e")).unwrap();
        assert_eq!(view.read(Path::new("d/a"), 9).unwrap(), None);
    }

    #[test]
    fn a_whiteout_hides() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("host/d")).unwrap();
        fs::create_dir_all(dir.path().join("layer/d")).unwrap();
        fs::write(dir.path().join("host/d/a"), "x").unwrap();
        let mode = rustix::fs::Mode::empty();
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("layer/d/a"),
            rustix::fs::FileType::CharacterDevice,
            mode,
            0,
        );
        // Linux lets everybody make this one device; an odd sandbox may not.
        if made.is_ok() {
            let view = View::new(&dir.path().join("host"), &dir.path().join("layer"), Path::new("")).unwrap();
            assert_eq!(view.read(Path::new("d/a"), 9).unwrap(), None);
            assert_eq!(view.names(Path::new("d"), 9).unwrap().len(), 0);
        }
    }
}
