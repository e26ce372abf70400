//! Real repositories, and damage, for tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository in a directory of its own.
pub(crate) struct TestRepo {
    dir: tempfile::TempDir,
}

impl TestRepo {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// `git init` with further arguments.
    pub(crate) fn with(args: &[&str]) -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(repo.root()).unwrap();
        std::fs::create_dir_all(repo.home()).unwrap();
        repo.git(&[&["init", "-q", "-b", "main"], args].concat());
        repo
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A path beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Adds all and commits.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.home());
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(dir).stdin(Stdio::null());
        command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]);
        command
    }

    /// Runs git in the root and gives what it says.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root(), args)
    }

    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.command(dir).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_string()
    }
}

/// Numbers that are the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// A copy with some bytes changed, cut, repeated or put in.
    pub(crate) fn damage(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.next() as u8),
                2 if !bytes.is_empty() => drop(bytes.remove(at)),
                3 if bytes.len() >= at + 4 => bytes[at..at + 4].copy_from_slice(&[0xff; 4]),
                _ if !bytes.is_empty() => bytes[at] = self.next() as u8,
                _ => {}
            }
        }
        bytes
    }
}

/// A session over a repository: a plain copy that git works in, and the layer that an overlay would
/// have made of it.
pub(crate) struct Session<'a> {
    repo: &'a TestRepo,
    dir: tempfile::TempDir,
}

impl<'a> Session<'a> {
    pub(crate) fn over(repo: &'a TestRepo) -> Self {
        let session = Self { repo, dir: tempfile::tempdir().unwrap() };
        let status = Command::new("cp").arg("-a").arg(repo.root()).arg(session.root()).status().unwrap();
        assert!(status.success());
        session
    }

    /// What the command inside sees as its repository.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("merged")
    }

    /// The session's directory.
    pub(crate) fn dir(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("session")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_at(&self.root(), args)
    }

    pub(crate) fn git_at(&self, dir: &Path, args: &[&str]) -> String {
        self.repo.git_in(dir, args)
    }

    pub(crate) fn commit(&self, file: &str, content: &str, message: &str) -> String {
        std::fs::write(self.root().join(file), content).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Makes the layer anew from what differs now.
    pub(crate) fn take_layer(&self) {
        let upper = self.dir().join("upper");
        let _ = std::fs::remove_dir_all(&upper);
        std::fs::create_dir_all(&upper).unwrap();
        differ(&self.root(), &self.repo.root(), &upper);
    }
}

fn differ(new: &Path, old: &Path, upper: &Path) {
    let names = |dir: &Path| -> Vec<_> {
        std::fs::read_dir(dir).map(|all| all.map(|e| e.unwrap().file_name()).collect()).unwrap_or_default()
    };
    for name in names(new) {
        let (path, below, target) = (new.join(&name), old.join(&name), upper.join(&name));
        if path.is_dir() {
            std::fs::create_dir(&target).unwrap();
            differ(&path, &below, &target);
            // Nothing differs: an overlay would have nothing there.
            if below.is_dir() {
                let _ = std::fs::remove_dir(&target);
            }
        } else if path.is_file() && std::fs::read(&path).ok() != std::fs::read(&below).ok() {
            std::fs::copy(&path, &target).unwrap();
        }
    }
    for name in names(old).into_iter().filter(|name| new.join(name).symlink_metadata().is_err()) {
        let device = rustix::fs::FileType::CharacterDevice;
        rustix::fs::mknodat(rustix::fs::CWD, upper.join(&name), device, rustix::fs::Mode::empty(), 0).unwrap();
    }
}
