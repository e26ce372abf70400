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
                fs::read(&path).map_err(text)
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
