//! Refs: where HEAD and the branches point, on the host or in a session's view.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::refname::is_valid;
use super::view::View;
use super::{GitDirs, Hash, Id};
use crate::error::{Error, Result};

/// HEAD names a branch, which could name another.
const DEEPEST: usize = 5;
/// A loose ref is one line.
const LOOSE: u64 = 8 << 10;
/// Some two hundred thousand refs.
const PACKED: u64 = 32 << 20;
const MOST: usize = 200_000;
/// Directories inside each other below `refs`.
const LEVELS: usize = 64;

type Name = Vec<u8>;

/// The refs of one repository.
pub struct Refs {
    view: View,
    /// The gitdir of a linked worktree, relative to the shared one; empty for the main one.
    worktree: PathBuf,
    hash: Hash,
    packed: OnceCell<BTreeMap<Name, Id>>,
}

/// Where HEAD is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch; `None` if it is detached.
    pub branch: Option<Name>,
    /// The commit; `None` before the first one.
    pub id: Option<Id>,
}

enum Loose {
    Id(Id),
    Symbolic(Name),
}

impl Refs {
    /// Those of `view`, a shared gitdir.
    pub fn new(view: View, worktree: &Path, hash: Hash) -> Self {
        Self { view, worktree: worktree.to_path_buf(), hash, packed: OnceCell::new() }
    }

    /// Those of a working tree on the host.
    pub fn of_host(dirs: &GitDirs) -> Result<Self> {
        let worktree = dirs.gitdir.strip_prefix(&dirs.common).unwrap_or(Path::new(""));
        Ok(Self::new(View::host(&dirs.common), worktree, dirs.hash()?))
    }

    /// HEAD of the worktree.
    pub fn head(&self) -> Result<Head> {
        match self.loose(&self.worktree.join("HEAD"))? {
            Some(Loose::Symbolic(name)) if !is_valid(&name) => Ok(Head::default()),
            None => Ok(Head::default()),
            Some(Loose::Id(id)) => Ok(Head { branch: None, id: Some(id) }),
            Some(Loose::Symbolic(name)) => Ok(Head { id: self.resolve(&name)?, branch: Some(name) }),
        }
    }

    /// What a full name (`refs/heads/x`) points to in the end.
    pub fn resolve(&self, name: &[u8]) -> Result<Option<Id>> {
        let mut name = name.to_vec();
        for _ in 0..DEEPEST {
            if !is_valid(&name) {
                return Ok(None);
            }
            match self.loose(Path::new(OsStr::from_bytes(&name)))? {
                Some(Loose::Id(id)) => return Ok(Some(id)),
                Some(Loose::Symbolic(next)) => name = next,
                None => return Ok(self.packed()?.get(&name).copied()),
            }
        }
        Ok(None)
    }

    /// Whether there is a ref of this name, even one that leads nowhere.
    pub fn exists(&self, name: &[u8]) -> Result<bool> {
        if !is_valid(name) {
            return Ok(false);
        }
        let loose = self.read(Path::new(OsStr::from_bytes(name)), LOOSE)?;
        Ok(loose.is_some() || self.packed()?.contains_key(name))
    }

    /// All refs below `prefix` (`refs/heads`) with where they point to.
    pub fn below(&self, prefix: &str) -> Result<BTreeMap<Name, Id>> {
        let start = [prefix.as_bytes(), b"/"].concat();
        let mut found: BTreeMap<Name, Id> = self
            .packed()?
            .range(start.clone()..)
            .take_while(|(name, _)| name.starts_with(&start))
            .map(|(name, id)| (name.clone(), *id))
            .collect();
        let mut left = vec![(PathBuf::from(prefix), 0)];
        while let Some((dir, level)) = left.pop() {
            let names = self.view.names(&dir, MOST).map_err(|e| Error::io("read", &dir, e))?;
            for name in names {
                let path = dir.join(name);
                let full = path.as_os_str().as_bytes();
                if !is_valid(full) {
                    continue;
                }
                if found.len() + left.len() > MOST {
                    return Err(Error::new(format!("there are more than {MOST} git refs")));
                }
                if self.view.is_dir(&path).map_err(|e| Error::io("read", &path, e))? {
                    if level < LEVELS {
                        left.push((path, level + 1));
                    }
                } else if let Some(id) = self.resolve(full)? {
                    found.insert(full.to_vec(), id);
                }
            }
        }
        Ok(found)
    }

    fn loose(&self, path: &Path) -> Result<Option<Loose>> {
        let Some(text) = self.read(path, LOOSE)? else { return Ok(None) };
        if let Some(name) = text.strip_prefix(b"ref:") {
            return Ok(Some(Loose::Symbolic(name.trim_ascii().to_vec())));
        }
        Ok(text.get(..self.hash.size() * 2).and_then(Id::from_hex).map(Loose::Id))
    }

    fn packed(&self) -> Result<&BTreeMap<Name, Id>> {
        if let Some(packed) = self.packed.get() {
            return Ok(packed);
        }
        let text = self.read(Path::new("packed-refs"), PACKED)?.unwrap_or_default();
        let digits = self.hash.size() * 2;
        let packed = text.split(|b| *b == b'\n').take(MOST * 2).filter_map(|line| {
            let id = Id::from_hex(line.get(..digits)?)?;
            let name = line.get(digits..)?.strip_prefix(b" ")?.trim_ascii_end();
            is_valid(name).then(|| (name.to_vec(), id))
        });
        let packed = packed.collect();
        Ok(self.packed.get_or_init(|| packed))
    }

    fn read(&self, path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
        self.view.read(path, most).map_err(|e| Error::io("read git's", path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::TestRepo;

    fn refs(repo: &TestRepo) -> Refs {
        Refs::new(View::host(&repo.root().join(".git")), Path::new(""), Hash::Sha1)
    }

    #[test]
    fn loose_and_packed_refs_are_gits() {
        let repo = TestRepo::new();
        assert_eq!(refs(&repo).head().unwrap(), Head { branch: Some(b"refs/heads/main".to_vec()), id: None });
        repo.commit("one");
        for name in ["a", "b/c/d", "b/e"] {
            repo.git(&["branch", name]);
        }
        repo.git(&["pack-refs", "--all"]);
        repo.commit("two");
        repo.git(&["branch", "-f", "b/e"]);
        repo.git(&["branch", "new"]);
        repo.git(&["symbolic-ref", "refs/heads/sym", "refs/heads/b/e"]);
        let ours: Vec<String> = refs(&repo)
            .below("refs/heads")
            .unwrap()
            .iter()
            .map(|(name, id)| format!("{id} {}", String::from_utf8_lossy(name)))
            .collect();
        assert_eq!(ours.join("\n"), repo.git(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"]));
        let main = refs(&repo).resolve(b"refs/heads/main").unwrap().unwrap().to_string();
        assert_eq!(main, repo.git(&["rev-parse", "main"]));
        repo.git(&["checkout", "-q", "--detach", "a"]);
        let head = refs(&repo).head().unwrap();
        assert_eq!((head.branch, head.id.unwrap().to_string()), (None, repo.git(&["rev-parse", "a"])));
        assert!(refs(&repo).exists(b"refs/heads/a").unwrap() && !refs(&repo).exists(b"refs/heads/zzz").unwrap());
    }

    #[test]
    fn names_that_lead_out_or_around_lead_nowhere() {
        let repo = TestRepo::new();
        repo.write("secret", "4b825dc642cb6eb9a060e54bf8d69288fbee4904\n");
        for target in ["refs/../../secret", "../secret", "/etc/passwd", "refs/heads/x"] {
            repo.write(".git/HEAD", format!("ref: {target}\n"));
            repo.write(".git/refs/heads/x", "ref: refs/heads/x\n");
            assert_eq!(refs(&repo).head().unwrap().id, None, "{target}");
        }
        repo.write(".git/HEAD", [b'x'; 9000]);
        assert!(refs(&repo).head().is_err());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let repo = TestRepo::new();
        let mut random = crate::git::testing::Random::new(17);
        let id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let good = format!("# pack-refs with: peeled\n{id} refs/heads/a\n^{id}\n{id} refs/heads/b/c\n");
        for _ in 0..300 {
            repo.write(".git/packed-refs", random.damage(good.as_bytes()));
            repo.write(".git/HEAD", random.damage(b"ref: refs/heads/a\n"));
            let _ = refs(&repo).head();
            let _ = refs(&repo).below("refs/heads");
        }
    }
}
