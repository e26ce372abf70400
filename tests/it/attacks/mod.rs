//! The command inside wants something outside: what it leaves behind, and what becomes of it on the host.
//!
//! Every test has an [`Arena`]: a folder beside the repo that must stay as it is, to the last ctime, and a program
//! that leaves a trace when anybody runs it on the host. `case_NN` are the twenty-five known attacks, by number.

mod beyond;
mod bombs;
mod commits;
mod display;
mod drift;
mod files;
mod forged;
mod gitdir;
mod landing;
mod links;
mod reviewer;

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Engine, Fingerprint, Output, Sandbox};

/// A sandbox with something to lose beside it.
pub struct Arena {
    sandbox: Sandbox,
    outside: Fingerprint,
}

impl Deref for Arena {
    type Target = Sandbox;
    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Arena {
    /// The usual repo.
    pub fn new(engine: Engine) -> Self {
        Self::around(Sandbox::new(engine))
    }

    /// A real git repository with one commit.
    pub fn with_git(engine: Engine) -> Self {
        let arena = Self::new(engine);
        fs::remove_dir_all(arena.repo().join(".git")).unwrap();
        arena.git(&["init", "-q", "-b", "main"]);
        arena.git(&["add", "-A"]);
        arena.git(&["commit", "-q", "-m", "first"]);
        arena
    }

    fn around(sandbox: Sandbox) -> Self {
        let outside = sandbox.root().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("canary"), "alive\n").unwrap();
        let program = format!("#!/bin/sh\necho \"$0 $*\" >> {}/fired\n", sandbox.root().display());
        fs::write(outside.join("fire"), program).unwrap();
        fs::set_permissions(outside.join("fire"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { outside: Fingerprint::of(&outside), sandbox }
    }

    /// The folder that must stay as it is.
    pub fn outside(&self) -> PathBuf {
        self.root().join("outside")
    }

    /// A program that leaves a trace on the host.
    pub fn fire(&self) -> String {
        self.outside().join("fire").to_str().unwrap().to_owned()
    }

    /// What has been run on the host, and forgets it.
    pub fn fired(&self) -> String {
        let trace = self.root().join("fired");
        let text = fs::read_to_string(&trace).unwrap_or_default();
        let _ = fs::remove_file(trace);
        text
    }

    /// After the outside was changed on purpose.
    pub fn outside_changed(&mut self) {
        self.outside = Fingerprint::of(&self.outside());
    }

    #[track_caller]
    pub fn check_outside(&self) {
        let differences = self.outside.differences(&Fingerprint::of(&self.outside()));
        assert!(differences.is_empty(), "what lies outside was touched:\n{}", differences.join("\n"));
        let fired = self.fired();
        assert!(fired.is_empty(), "the session's programs ran on the host:\n{fired}");
    }

    /// The upper directory of the only session.
    pub fn upper(&self) -> PathBuf {
        self.only_dir().join("upper")
    }

    /// The directory of the only session.
    pub fn only_dir(&self) -> PathBuf {
        let ids = self.session_ids();
        assert_eq!(ids.len(), 1, "{ids:?}");
        self.session_dir(&ids[0])
    }

    /// A verb that may write to the repo.
    pub fn writing(&self, args: &[&str]) -> Output {
        let mut output = None;
        self.change_repo(|_| output = Some(self.cowbox(args).output()));
        output.unwrap()
    }

    /// `cowbox apply -y …`
    pub fn apply(&self, args: &[&str]) -> Output {
        self.writing(&[&["apply", "-y"], args].concat())
    }

    /// Git of the host in the repo, without the user's settings.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        git(self.repo(), args)
    }

    /// A file of the repo.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Whether the repo has something there; no link is followed.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.repo().join(path).symlink_metadata().is_ok()
    }

    /// Permission bits of a file of the repo.
    pub fn mode(&self, path: &str) -> u32 {
        self.repo().join(path).symlink_metadata().unwrap().mode() & 0o7777
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_outside();
        }
    }
}

/// Git without anybody's settings but the repository's own.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "safe.directory=*"]).args(args).current_dir(dir);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Sets an attribute, as an older kernel or another way into the layer would.
#[track_caller]
pub fn mark(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}
