//! Layers made by hand, and what is read from them.

mod encodings;
mod stacks;

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::Encoding;
use super::entry::Kind;
use super::stack::{Dir, Entry};

/// A directory of layers.
struct Layers(tempfile::TempDir);

impl Layers {
    /// Beside the sources: not every `/tmp` has attributes.
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("cowbox-unit-").tempdir_in("/var/tmp").unwrap())
    }

    /// A new layer, from lines: `dir/`, `file content`, `-whiteout`, `link -> target`, `path #name=value`, `path %mode`.
    fn layer(&self, name: &str, lines: &[&str]) -> &Self {
        let root = self.0.path().join(name);
        fs::create_dir_all(&root).unwrap();
        for line in lines {
            if let Some(path) = line.strip_prefix('-') {
                mknodat(CWD, root.join(path), FileType::CharacterDevice, Mode::empty(), 0).unwrap();
            } else if let Some((path, mark)) = line.split_once(" #") {
                let (name, value) = mark.split_once('=').unwrap();
                setxattr(root.join(path), name, value.as_bytes(), XattrFlags::empty()).unwrap();
            } else if let Some((path, mode)) = line.split_once(" %") {
                let mode = u32::from_str_radix(mode, 8).unwrap();
                fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
            } else if let Some((path, target)) = line.split_once(" -> ") {
                symlink(target, root.join(path)).unwrap();
            } else if let Some(path) = line.strip_suffix('/') {
                fs::create_dir_all(root.join(path)).unwrap();
            } else {
                let (path, content) = line.split_once(' ').unwrap_or((line, ""));
                fs::write(root.join(path), content).unwrap();
            }
        }
        self
    }

    /// Opens a stack, the topmost layer first.
    fn open(&self, names: &[&str], encoding: Encoding) -> io::Result<Dir> {
        let paths: Vec<_> = names.iter().map(|name| self.0.path().join(name)).collect();
        let layers: Vec<(&Path, Encoding)> = paths.iter().map(|path| (path.as_path(), encoding)).collect();
        Dir::root(&layers)
    }

    /// Everything that a stack has to say: `path content`, `path/` (`path/!` where nothing below shines through),
    /// `-path` for what is deleted.
    fn read(&self, names: &[&str], encoding: Encoding) -> io::Result<Vec<String>> {
        let mut out = Vec::new();
        list(&self.open(names, encoding)?, Path::new(""), &mut out)?;
        Ok(out)
    }
}

fn list(dir: &Dir, at: &Path, out: &mut Vec<String>) -> io::Result<()> {
    for name in dir.names()? {
        let path = at.join(&name);
        let show = path.display();
        match dir.entry(&name)? {
            Entry::Nothing => out.push(format!("?{show}")),
            Entry::Deleted => out.push(format!("-{show}")),
            Entry::Leaf { part, found } => {
                let part = &dir.parts()[part];
                out.push(match found.meta.kind {
                    Kind::File => {
                        let file = super::entry::open_file(part.fd(), &name)?;
                        super::marks::read(file.as_fd(), part.encoding())?;
                        format!("{show} {}", io::read_to_string(file)?)
                    }
                    Kind::Symlink => {
                        let target = rustix::fs::readlinkat(part.fd(), &name, Vec::new())?;
                        format!("{show} -> {}", target.to_string_lossy())
                    }
                    other => format!("{show} {other:?}"),
                });
            }
            Entry::Dir(below, _) => {
                out.push(format!("{show}/{}", if below.open_below { "" } else { "!" }));
                list(&below, &path, out)?;
            }
        }
    }
    Ok(())
}

/// Why a layer is refused.
#[track_caller]
fn refused(layers: &Layers, name: &str, encoding: Encoding) -> String {
    let error = layers.read(&[name], encoding).expect_err("it must be refused");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    error.to_string()
}
