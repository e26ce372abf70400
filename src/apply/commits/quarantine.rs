//! A repository apart, where a session's pack is checked before the host's sees any of it.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::PACK_LIMIT;
use super::git::HostGit;
use crate::error::{Error, Result};
use crate::git::{Hash, Id};

/// A fresh bare repository that borrows the host's objects.
pub(super) struct Quarantine {
    dir: TempDir,
}

impl Quarantine {
    /// Makes one in the session's directory, never in the repo.
    pub(super) fn new(session_dir: &Path, host: &Path, hash: Hash) -> Result<Self> {
        let failed = |e| Error::io("write to", session_dir, e);
        let dir = tempfile::Builder::new().prefix("import-").tempdir_in(session_dir).map_err(failed)?;
        let made = Self { dir };
        let at = |name: &str| made.gitdir().join(name);
        for name in ["objects/info", "objects/pack", "refs/heads"] {
            fs::create_dir_all(at(name)).map_err(failed)?;
        }
        let config = match hash {
            Hash::Sha1 => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_string(),
            Hash::Sha256 => format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {}\n",
                hash.name()
            ),
        };
        fs::write(at("config"), config).map_err(failed)?;
        fs::write(at("HEAD"), "ref: refs/heads/none\n").map_err(failed)?;
        let objects = host.join("objects").canonicalize().map_err(|e| Error::io("read", host, e))?;
        fs::write(at("objects/info/alternates"), quoted(&objects)).map_err(failed)?;
        // Where the host's own history ends early, it ends here too.
        match fs::read(host.join("shallow")) {
            Ok(text) => fs::write(at("shallow"), text).map_err(failed)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io("read", &host.join("shallow"), e)),
        }
        Ok(made)
    }

    /// Takes a pack in: every object is read, hashed, and checked as `git fsck` does, warnings too.
    pub(super) fn receive(&self, git: &HostGit, mut pack: File) -> Result<()> {
        pack.rewind().map_err(|e| Error::io("read", self.dir.path(), e))?;
        let limit = format!("--max-input-size={PACK_LIMIT}");
        git.run(&self.gitdir(), &["index-pack", "--stdin", "--fix-thin", "--strict", &limit], Some(pack))
            .map_err(|e| e.context("git's check refuses the session's commits"))?;
        Ok(())
    }

    /// Everything that the tips need must be here or on the host, where what `known` needs is.
    pub(super) fn check_connected(&self, git: &HostGit, tips: &[Id], known: &[Id]) -> Result<()> {
        let input = self.revisions(tips, known)?;
        git.run(&self.gitdir(), &["rev-list", "--objects", "--quiet", "--stdin"], Some(input))
            .map_err(|e| e.context("the session's commits are not complete"))?;
        Ok(())
    }

    /// How many commits of a tip the host does not have.
    pub(super) fn count(&self, git: &HostGit, tip: Id, known: &[Id]) -> Result<usize> {
        let said =
            git.run(&self.gitdir(), &["rev-list", "--count", "--stdin"], Some(self.revisions(&[tip], known)?))?;
        let number = std::str::from_utf8(&said).ok().and_then(|text| text.trim().parse().ok());
        number.ok_or_else(|| Error::new("git cannot count the session's commits"))
    }

    /// The packs that came in: checked, complete in themselves.
    pub(super) fn packs(&self) -> Result<Vec<PathBuf>> {
        let dir = self.gitdir().join("objects/pack");
        let failed = |e| Error::io("read", &dir, e);
        let mut packs = Vec::new();
        for entry in fs::read_dir(&dir).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "pack") {
                packs.push(path);
            }
        }
        Ok(packs)
    }

    /// A file for the packer to write to.
    pub(super) fn pack_file(&self) -> Result<File> {
        tempfile::tempfile_in(self.dir.path()).map_err(|e| Error::io("write to", self.dir.path(), e))
    }

    /// Its objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.gitdir().join("objects")
    }

    fn gitdir(&self) -> PathBuf {
        self.dir.path().join("git")
    }

    fn revisions(&self, tips: &[Id], known: &[Id]) -> Result<File> {
        input(self.dir.path(), &super::revisions(tips, known))
    }
}

/// A file with this content, to be read from its start.
pub(super) fn input(dir: &Path, text: &[u8]) -> Result<File> {
    let failed = |e| Error::io("write to", dir, e);
    let mut file = tempfile::tempfile_in(dir).map_err(failed)?;
    file.write_all(text).map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ok(file)
}

/// A line of `alternates`; a path with a line break in it must be quoted.
fn quoted(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.contains(&b'\n') {
        return [bytes, b"\n"].concat();
    }
    let mut out = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            byte => out.push(*byte),
        }
    }
    out.extend_from_slice(b"\"\n");
    out
}
