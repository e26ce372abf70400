//! What tests need of the host beside cowbox: git, canaries, namespaces, other programs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{Cowbox, Fingerprint, Sandbox};

/// Whether the tests run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs git on the host, without anybody's configuration.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false", "-C"])
        .arg(dir)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a directory a git repository with one commit of all that is in it.
pub fn git_init(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "--quiet"]);
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "--allow-empty", "--message", "first"]);
}

/// Runs a program of the host to its end.
#[track_caller]
pub fn sh(script: &str) -> String {
    let output = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A file or directory outside of the repo that must stay as it is.
pub struct Canary {
    path: PathBuf,
    before: Fingerprint,
}

impl Canary {
    /// Watches what is there.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf(), before: Fingerprint::of(path) }
    }

    /// Fails if anything about it is different.
    #[track_caller]
    pub fn check(&self) {
        let differences = self.before.differences(&Fingerprint::of(&self.path));
        assert!(differences.is_empty(), "{} was touched:\n{}", self.path.display(), differences.join("\n"));
    }
}

/// A directory in the real home of whoever runs the tests: it is neither below /tmp nor in the home that cowbox is
/// told of, so that a native sandbox sees it as a part of the host's root. Dropped, it is removed.
pub fn outside() -> tempfile::TempDir {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let dir = tempfile::Builder::new().prefix(".cowbox-it-").tempdir_in(home).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// Runs cowbox as root of a user and mount namespace, after `script`: what it mounts nobody else sees.
pub fn in_namespace(cowbox: Cowbox, script: &str) -> Cowbox {
    let script = format!("{script}\nexec \"$@\"").replace('\'', r"'\''");
    cowbox.through(&format!("exec unshare --user --map-root-user --mount sh -ec '{script}' sh \"$@\""))
}

/// For `in_namespace`: a script that mounts an overlay at `DIR/merged`, whose parts this makes beside it.
pub fn overlay_at(dir: &Path) -> String {
    for part in ["lower", "upper", "work", "merged"] {
        fs::create_dir_all(dir.join(part)).unwrap();
    }
    let d = dir.display();
    format!("mount -t overlay none -o lowerdir={d}/lower,upperdir={d}/upper,workdir={d}/work,userxattr {d}/merged")
}

/// A python that the system has, not one of somebody's own home.
pub fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" }
}

/// A directory of programs that stand in for real ones.
pub struct Programs {
    dir: PathBuf,
}

impl Programs {
    /// An empty one in the scratch space of the test.
    pub fn new(sandbox: &Sandbox) -> Self {
        let dir = sandbox.root().join("bin");
        fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    /// Adds a shell script. It has a PATH of its own: the caller's has only what is in here.
    pub fn script(self, name: &str, body: &str) -> Self {
        let file = self.dir.join(name);
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        fs::write(&file, format!("#!/bin/sh\nPATH={path}\n{body}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// For PATH: these programs, and nothing else.
    pub fn path(&self) -> &OsStr {
        self.dir.as_os_str()
    }
}

/// A process of the host that a test watches. Dropped, it ends.
pub struct Bystander(Child);

impl Bystander {
    /// Sleeps, with `mark` among its arguments.
    pub fn sleeping(mark: &str) -> Self {
        let script = "while :; do sleep 1; done";
        Self(Command::new("sh").args(["-c", script, mark]).stdin(Stdio::null()).spawn().unwrap())
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    /// When it started, in the kernel's ticks.
    pub fn start(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.rsplit(')').next().unwrap().split_ascii_whitespace().nth(19).unwrap().parse().unwrap()
    }

    /// Whether it still lives.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
