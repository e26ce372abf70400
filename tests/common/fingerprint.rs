//! Everything about a tree that running a sandbox could have changed.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A tree with its root, by path relative to it. Access times are left out: reading is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, Entry>);

#[derive(Clone, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    inode: (u64, u64),
    links: u64,
    device: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// Bytes of a file, target of a link; why not, where it cannot be read.
    content: Result<Vec<u8>, String>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = self.content.as_ref().map(|c| String::from_utf8_lossy(&c[..c.len().min(80)]).into_owned());
        let names: Vec<_> = self.xattrs.keys().map(|n| String::from_utf8_lossy(n)).collect();
        write!(f, "mode {:o} owner {:?} inode {:?} links {}", self.mode, self.owner, self.inode, self.links)?;
        write!(f, " mtime {:?} ctime {:?} xattrs {names:?} content {content:?}", self.modified, self.changed)
    }
}

impl Fingerprint {
    /// Reads a tree; nothing is followed, nothing is opened that could block.
    pub fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        let mut left = vec![PathBuf::new()];
        while let Some(relative) = left.pop() {
            let path = if relative.as_os_str().is_empty() { root.to_path_buf() } else { root.join(&relative) };
            let meta = fs::symlink_metadata(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let text = |e: std::io::Error| e.to_string();
            let content = if meta.is_dir() {
                match fs::read_dir(&path) {
                    Ok(listing) => {
                        left.extend(listing.map(|child| relative.join(child.unwrap().file_name())));
                        Ok(Vec::new())
                    }
                    Err(e) => Err(text(e)),
                }
            } else if meta.is_symlink() {
                fs::read_link(&path).map(|t| t.into_os_string().as_bytes().to_vec()).map_err(text)
            } else if meta.is_file() {
                content(&path, meta.len()).map_err(text)
            } else {
                Ok(Vec::new())
            };
            let entry = Entry {
                mode: meta.mode(),
                owner: (meta.uid(), meta.gid()),
                inode: (meta.dev(), meta.ino()),
                links: meta.nlink(),
                device: meta.rdev(),
                modified: (meta.mtime(), meta.mtime_nsec()),
                changed: (meta.ctime(), meta.ctime_nsec()),
                content,
                xattrs: xattrs(&path),
            };
            entries.insert(relative, entry);
        }
        Self(entries)
    }

    /// Without what a rename there and back changes.
    pub fn but_for_ctime(mut self) -> Self {
        self.0.values_mut().for_each(|entry| entry.changed = (0, 0));
        self
    }

    /// Without what differs between something and an exact copy of it.
    pub fn but_for_inodes(self) -> Self {
        let mut all = self.but_for_ctime();
        all.0.values_mut().for_each(|entry| entry.inode = (0, 0));
        all
    }

    /// What was written, whoever wrote it: without inodes and the times of directories.
    pub fn written(self) -> Self {
        let mut all = self.but_for_inodes();
        let is_dir = |entry: &Entry| entry.mode & 0o170_000 == 0o040_000;
        all.0.values_mut().filter(|entry| is_dir(entry)).for_each(|entry| entry.modified = (0, 0));
        all
    }

    /// Whether there is something at this path.
    pub fn has(&self, check: impl Fn(&Path) -> bool) -> bool {
        self.0.keys().any(|path| check(path))
    }

    /// What differs to somebody who looks, one line each: type, mode, owner, content, attributes, links to each other,
    /// and the time of the last change where `timed` says so. Not inodes and ctimes, which every new file has anew.
    pub fn visible(&self, after: &Self, timed: impl Fn(&Path) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        let paths: std::collections::BTreeSet<&PathBuf> = self.0.keys().chain(after.0.keys()).collect();
        for path in paths {
            let show = path.display();
            match (self.0.get(path), after.0.get(path)) {
                (Some(_), None) => found.push(format!("{show:?} is missing")),
                (None, new) => found.push(format!("{show:?} is too much: {:?}", new.unwrap())),
                (Some(old), Some(new)) => {
                    let looks = |e: &Entry| (e.mode, e.owner, e.device, e.content.clone(), e.xattrs.clone());
                    let times = timed(path) && old.modified != new.modified;
                    if looks(old) != looks(new) || times || self.linked(path) != after.linked(path) {
                        found.push(format!("{show:?}:\n  wanted {old:?}\n  is     {new:?}"));
                    }
                }
            }
        }
        found
    }

    /// Other names of the same file.
    fn linked(&self, path: &Path) -> Vec<&PathBuf> {
        let entry = &self.0[path];
        let same = |other: &Entry| other.inode == entry.inode && entry.mode & 0o170000 == 0o100000;
        self.0.iter().filter(|(_, other)| same(other)).map(|(path, _)| path).collect()
    }

    /// Without what is at `path` and below; instead of it, what `other` has there.
    pub fn take(&mut self, path: &Path, other: &Self) {
        self.0.retain(|p, _| !p.starts_with(path));
        self.0.extend(other.0.iter().filter(|(p, _)| p.starts_with(path)).map(|(p, e)| (p.clone(), e.clone())));
    }

    /// Only what `wanted` names.
    pub fn only(mut self, wanted: impl Fn(&Path) -> bool) -> Self {
        self.0.retain(|path, _| wanted(path));
        self
    }

    /// What differs, one line each; empty if nothing does.
    pub fn differences(&self, after: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, old) in &self.0 {
            match after.0.get(path) {
                None => found.push(format!("{}: is gone", path.display())),
                Some(new) if new != old => found.push(format!("{}:\n  was {old:?}\n  is  {new:?}", path.display())),
                Some(_) => {}
            }
        }
        let new = after.0.keys().filter(|path| !self.0.contains_key(*path));
        found.extend(new.map(|path| format!("{}: is new", path.display())));
        found
    }
}

/// The bytes of a file; of a large one only where there are any, so that terabytes of nothing can be compared.
fn content(path: &Path, length: u64) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    if length <= 64 << 20 {
        return fs::read(path);
    }
    let file = fs::File::open(path)?;
    let (mut found, mut at) = (length.to_le_bytes().to_vec(), 0);
    while let Ok(start) = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) {
        at = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(start))?;
        let mut piece = vec![0; (at - start) as usize];
        file.read_exact_at(&mut piece, start)?;
        found.extend(start.to_le_bytes());
        found.extend(piece);
    }
    Ok(found)
}

fn xattrs(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0u8; 64 << 10];
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let mut found = BTreeMap::new();
    for name in names[..length].split(|b| *b == 0).filter(|n| !n.is_empty()) {
        let mut value = vec![0u8; 64 << 10];
        let c_name = CString::new(name).unwrap();
        let length = rustix::fs::lgetxattr(path, c_name.as_c_str(), &mut value[..]).unwrap_or(0);
        found.insert(name.to_vec(), value[..length].to_vec());
    }
    found
}
