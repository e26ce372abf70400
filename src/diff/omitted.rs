//! What a patch cannot say about a change set, so that it can be said beside it.

use std::fmt;
use std::path::PathBuf;

use crate::changes::{Change, Meta};
use crate::layer::entry::Kind;

/// What a patch has no words for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Directories that are new or gone with nothing of the patch in them, or have another mode.
    pub directories: usize,
    /// Pipes, sockets, devices.
    pub special: usize,
    /// Files whose permission bits differ in more than being executable.
    pub modes: usize,
    /// Files that differ in nothing but their extended attributes.
    pub attributes: usize,
    /// Files too large to be in a patch: named, and that is all.
    pub large: usize,
}

impl fmt::Display for Omitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.directories, "directory", "directories"),
            (self.special, "special file", "special files"),
            (self.modes, "change of permission bits", "changes of permission bits"),
            (self.attributes, "change of attributes", "changes of attributes"),
            (self.large, "large file", "large files"),
        ];
        let said = counts.iter().filter(|(n, ..)| *n > 0);
        let said: Vec<String> =
            said.map(|(n, one, more)| format!("{n} {}", if *n == 1 { one } else { more })).collect();
        f.write_str(&said.join(", "))
    }
}

/// Counts while changes are written, sorted by path.
#[derive(Debug, Default)]
pub struct Counter {
    /// So far.
    pub omitted: Omitted,
    /// Directories above the current path, new or gone, in which no file has been seen yet.
    empty: Vec<PathBuf>,
}

impl Counter {
    /// Counts what the patch will not say about a change.
    pub fn count(&mut self, change: &Change) {
        while self.empty.pop_if(|dir| !change.path.starts_with(dir)).is_some() {
            self.omitted.directories += 1;
        }
        let kind = |meta: Option<Meta>| meta.map(|meta| meta.kind);
        let kinds = [kind(change.old), kind(change.new)];
        if kinds.iter().any(|kind| matches!(kind, Some(Kind::File | Kind::Symlink))) {
            // A file brings its directories along, and takes them away.
            self.empty.clear();
        }
        match kinds {
            [Some(Kind::Dir), Some(Kind::Dir)] => self.omitted.directories += 1,
            [_, Some(Kind::Dir)] | [Some(Kind::Dir), None] => self.empty.push(change.path.clone()),
            _ => {}
        }
        self.omitted.special += usize::from(kinds.iter().flatten().any(|kind| kind.is_special()));
        if let (Some(old), Some(new)) = (change.old, change.new)
            && (old.kind, new.kind) == (Kind::File, Kind::File)
            && differs_beyond_git(old.mode, new.mode)
        {
            self.omitted.modes += 1;
        }
    }

    /// After the last change.
    pub fn done(mut self) -> Omitted {
        self.omitted.directories += self.empty.len();
        self.omitted
    }
}

/// git knows whether the owner may execute a file, and no more.
fn differs_beyond_git(old: u32, new: u32) -> bool {
    let bits = old ^ new;
    bits & !0o111 != 0 || (bits != 0 && bits & 0o100 == 0)
}
