//! A directory tree as it can be compared: everything that a user could tell.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    what: String,
    mode: u32,
    mtime: (i64, i64),
    inode: u64,
    links: u64,
    xattrs: String,
}

pub struct Tree(BTreeMap<PathBuf, Node>);

impl Tree {
    /// Without `.git`, which is never applied as files, and the script itself.
    pub fn of(root: &Path) -> Self {
        let mut nodes = BTreeMap::new();
        walk(root, root, &mut nodes);
        let mut tree = Self(nodes);
        tree.read_xattrs(root);
        tree
    }

    fn read_xattrs(&mut self, root: &Path) {
        // One process for the whole tree. Files that nobody may read have their attributes all the same.
        let output = Command::new("getfattr")
            .args(["-R", "-P", "-d", "-e", "hex", "-m", "^user\\.", "."])
            .current_dir(root)
            .output();
        let Ok(output) = output else { return };
        let mut at = None;
        for line in output.stdout.split(|b| *b == b'\n') {
            if let Some(name) = line.strip_prefix(b"# file: ") {
                at = Some(PathBuf::from(std::ffi::OsStr::from_bytes(&unescape(name))));
            } else if let (Some(path), false) = (&at, line.is_empty())
                && let Some(node) = self.0.get_mut(path)
            {
                node.xattrs.push_str(&String::from_utf8_lossy(line));
                node.xattrs.push(' ');
            }
        }
    }

    /// Paths of special files, as a listing shows their beginnings.
    pub fn special(&self) -> Vec<String> {
        let special = self.0.iter().filter(|(_, node)| node.what == "special");
        special.map(|(path, _)| path.to_string_lossy().into_owned()).chain(["\"".to_owned()]).collect()
    }

    /// `exact`: times too, and special files.
    pub fn differences(&self, other: &Tree, exact: bool) -> Vec<String> {
        let mut out = Vec::new();
        let special: Vec<&PathBuf> = self.0.iter().filter(|(_, n)| n.what == "special").map(|(path, _)| path).collect();
        let left_out = |path: &Path| !exact && special.iter().any(|s| path.starts_with(s));
        let mut paths: Vec<&PathBuf> = self.0.keys().chain(other.0.keys()).collect();
        paths.sort();
        paths.dedup();
        for path in paths.into_iter().filter(|path| !left_out(path)) {
            let show = path.display();
            match (self.0.get(path), other.0.get(path)) {
                (Some(_), None) => out.push(format!("{show:?} is missing")),
                (None, Some(_)) => out.push(format!("{show:?} is too much")),
                (Some(a), Some(b)) => {
                    if (&a.what, a.mode, &a.xattrs) != (&b.what, b.mode, &b.xattrs) {
                        out.push(format!(
                            "{show:?}: {} {:o} {} against {} {:o} {}",
                            a.what, a.mode, a.xattrs, b.what, b.mode, b.xattrs
                        ));
                    }
                    if exact && a.mtime != b.mtime {
                        out.push(format!("{show:?}: mtime {:?} against {:?}", a.mtime, b.mtime));
                    }
                    if self.group(path) != other.group(path) {
                        out.push(format!("{show:?}: linked {:?} against {:?}", self.group(path), other.group(path)));
                    }
                }
                (None, None) => {}
            }
        }
        out
    }

    fn group(&self, path: &Path) -> Vec<&PathBuf> {
        let node = &self.0[path];
        if node.links < 2 || !node.what.starts_with("file") {
            return Vec::new();
        }
        let group: Vec<&PathBuf> = self.0.iter().filter(|(_, n)| n.inode == node.inode).map(|(path, _)| path).collect();
        if group.len() < 2 { Vec::new() } else { group }
    }
}

fn walk(root: &Path, dir: &Path, nodes: &mut BTreeMap<PathBuf, Node>) {
    let meta = fs::symlink_metadata(dir).unwrap();
    let closed = meta.permissions().mode() & 0o500 != 0o500;
    if closed {
        let _ = fs::set_permissions(dir, fs::Permissions::from_mode(meta.permissions().mode() | 0o700));
    }
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_path_buf();
        if name == Path::new(".git") || name == Path::new(".script") {
            continue;
        }
        let meta = fs::symlink_metadata(&path).unwrap();
        let kind = meta.file_type();
        let what = if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().as_os_str().as_bytes().escape_ascii())
        } else if kind.is_dir() {
            "dir".to_owned()
        } else if kind.is_file() {
            format!("file {}", content(&path, &meta))
        } else {
            assert!(kind.is_fifo() || kind.is_socket() || kind.is_char_device());
            "special".to_owned()
        };
        let node = Node {
            mode: if kind.is_symlink() { 0 } else { meta.permissions().mode() & 0o7777 },
            mtime: (meta.mtime(), meta.mtime_nsec()),
            inode: meta.ino(),
            links: meta.nlink(),
            xattrs: String::new(),
            what,
        };
        nodes.insert(name, node);
        if kind.is_dir() {
            walk(root, &path, nodes);
        }
    }
    if closed {
        fs::set_permissions(dir, meta.permissions()).unwrap();
    }
}

fn content(path: &Path, meta: &fs::Metadata) -> String {
    let bytes = fs::read(path).or_else(|_| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let bytes = fs::read(path);
        fs::set_permissions(path, meta.permissions())?;
        bytes
    });
    let bytes = bytes.unwrap();
    if bytes.len() < 200 {
        bytes.escape_ascii().to_string()
    } else {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        format!("of {} bytes, hash {:x}", bytes.len(), hasher.finish())
    }
}

/// getfattr writes odd bytes as `\ooo`.
fn unescape(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = name;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|t| std::str::from_utf8(t).ok()).and_then(|t| u8::from_str_radix(t, 8).ok());
        match octal {
            Some(byte) if *first == b'\\' => {
                out.push(byte);
                rest = &tail[3..];
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}
