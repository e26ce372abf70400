//! The host's git, for the few things that only git should do, with nothing left that it could start.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result, reason};
use crate::process::capture;
use crate::ui::sanitize;

/// A large pack takes minutes; more is a hang.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// Settings by which a repository could make git start a program or reach out.
const HARMLESS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.pager=cat",
    "core.editor=false",
    "protocol.allow=never",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.attributesFile=/dev/null",
];

/// The host's git: an absolute path that the repo did not bring along.
#[derive(Clone, Debug)]
pub(super) struct HostGit {
    program: PathBuf,
}

impl HostGit {
    /// Finds git in the absolute directories of PATH that lie outside of the repo.
    pub(super) fn find(repo: &Path) -> Result<Self> {
        let repo = repo.canonicalize().map_err(|e| Error::io("read", repo, e))?;
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let inside = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&repo));
        let runs = |file: &Path| file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
        std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("git"))
            .find(|file| runs(file) && !inside(file) && !file.parent().is_some_and(inside))
            .map(|program| Self { program })
            .ok_or_else(|| {
                Error::new("git is not installed, and commits cannot be imported without it")
                    .hint("install it; the files themselves can be applied without: `cowbox apply`")
            })
    }

    /// A command on one git directory. It sees no settings but those in there, and these are outdone.
    pub(super) fn command(&self, gitdir: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().current_dir("/").stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent").env("LC_ALL", "C");
        command.env("GIT_DIR", gitdir);
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            // For the line in the log of a new branch.
            ("GIT_COMMITTER_NAME", "cowbox"),
            ("GIT_COMMITTER_EMAIL", "cowbox@localhost"),
        ] {
            command.env(name, value);
        }
        command.args(HARMLESS.iter().flat_map(|setting| ["-c", setting]));
        command
    }

    /// Runs to the end and gives what it says.
    pub(super) fn run<S: AsRef<OsStr>>(&self, gitdir: &Path, args: &[S], input: Option<File>) -> Result<Vec<u8>> {
        let mut command = self.command(gitdir);
        command.args(args);
        if let Some(file) = input {
            command.stdin(file);
        }
        let output = capture::run(command, PATIENCE)
            .map_err(|e| Error::new(format!("cannot run {}: {}", self.program.display(), reason(&e))))?;
        if output.status.success() { Ok(output.stdout) } else { Err(Error::new(complaint(&output.stderr))) }
    }
}

/// What went wrong: the first error, which says what, before the last, which says that.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line =
        lines().find(|line| line.starts_with("error:") || line.starts_with("fatal:")).or_else(|| lines().next_back());
    let line = line.unwrap_or("git failed without a word");
    let line = line.trim_start_matches("error: ").trim_start_matches("fatal: ");
    sanitize::text(&line.chars().take(500).collect::<String>())
}
