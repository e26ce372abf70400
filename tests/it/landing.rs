//! Applying and undoing in tests, with everything that a user could tell about the repo before and after.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Fingerprint, Output, Sandbox};
use crate::host;

/// What stands at the beginning of every script: the umask of an image is not the test's.
const BEGIN: &str = "set -e; umask 022\n";

/// `cowbox apply -y ARGS`, whatever comes of it.
#[track_caller]
pub fn apply(sandbox: &Sandbox, args: &[&str]) -> Output {
    writing(sandbox, &[&["apply", "-y"], args].concat())
}

/// `cowbox undo -y`, whatever comes of it.
#[track_caller]
pub fn undo(sandbox: &Sandbox) -> Output {
    writing(sandbox, &["undo", "-y"])
}

/// A verb that may change the repo.
#[track_caller]
pub fn writing(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut output = None;
    sandbox.change_repo(|_| output = Some(sandbox.cowbox(args).output()));
    output.unwrap()
}

/// A script that ran in the sandbox and on a plain copy of the repo: what the sandbox showed at its end.
pub struct Twin {
    /// The repo before.
    pub before: Fingerprint,
    /// The copy afterwards.
    pub shown: Fingerprint,
}

impl Twin {
    /// Runs `script` on both.
    #[track_caller]
    pub fn run(sandbox: &Sandbox, options: &[&str], script: &str) -> Self {
        let copy = copy(sandbox);
        let script = format!("{BEGIN}{script}");
        let before = Fingerprint::of(sandbox.repo());
        let ran = Command::new("sh").args(["-c", &script]).current_dir(&copy).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        sandbox.shell(options, &script).output().done();
        let shown = Fingerprint::of(&copy);
        Command::new("chmod").args(["-R", "u+rwx"]).arg(&copy).status().unwrap();
        fs::remove_dir_all(&copy).unwrap();
        Self { before, shown }
    }

    /// The repo is what the sandbox showed. `timed`: paths whose times the script has set.
    #[track_caller]
    pub fn landed(&self, sandbox: &Sandbox, timed: impl Fn(&Path) -> bool) {
        nothing(&self.shown.visible(&Fingerprint::of(sandbox.repo()), timed), "it is not what the sandbox showed");
    }

    /// The repo is what it was at first, times and all.
    #[track_caller]
    pub fn is_back(&self, sandbox: &Sandbox) {
        is_back(&self.before, sandbox);
    }

    /// Everything but these paths, and the times of the root, is the very same as before.
    #[track_caller]
    pub fn only_touched(&self, sandbox: &Sandbox, paths: &[&str]) {
        let other = |path: &Path| !path.as_os_str().is_empty() && !paths.iter().any(|p| path.starts_with(p));
        let now = Fingerprint::of(sandbox.repo()).only(other);
        nothing(&self.before.clone().only(other).differences(&now), "something else was touched");
    }
}

/// The repo is what it was, times and all.
#[track_caller]
pub fn is_back(before: &Fingerprint, sandbox: &Sandbox) {
    nothing(&before.visible(&Fingerprint::of(sandbox.repo()), |_| true), "it is not what it was at first");
}

#[track_caller]
fn nothing(differences: &[String], what: &str) {
    assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
}

fn copy(sandbox: &Sandbox) -> PathBuf {
    let copy = sandbox.root().join("twin");
    let copied = Command::new("cp").args(["-a", "--"]).arg(sandbox.repo()).arg(&copy).status().unwrap();
    assert!(copied.success());
    copy
}

/// Runs a script in the host's repo: before the first command, or in `change_repo`.
#[track_caller]
pub fn on_host(sandbox: &Sandbox, script: &str) {
    host::sh(&format!("cd '{}' && {BEGIN}{script}", sandbox.repo().display()));
}

/// Sets an attribute of a file of the host's.
pub fn set_xattr(path: &Path, name: &str, value: &str) {
    rustix::fs::setxattr(path, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
}

/// `diff --name-status` after a full apply.
#[track_caller]
pub fn nothing_is_left(sandbox: &Sandbox) {
    assert_eq!(sandbox.changes(), Vec::<String>::new(), "after a full apply");
}
