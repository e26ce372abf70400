//! Calling an engine's command-line client.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result, reason};
use crate::process::capture;
use crate::repo::Repo;

/// Far more than any answer takes; less than a person waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// The client of an engine: an absolute path, so that no later change of PATH matters.
#[derive(Clone, Debug)]
pub struct Client {
    program: PathBuf,
}

impl Client {
    /// Finds a program in the absolute directories of PATH: never one that the repo brings along.
    pub fn find(name: &str) -> Option<Self> {
        let program = search_path().into_iter().map(|dir| dir.join(name)).find(|file| is_executable(file))?;
        Some(Self { program })
    }

    /// Its path.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A command to be completed. Starts in `/`: relative names must not lead into the repo.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir("/");
        command
    }

    /// Runs and gives stdout; a failure carries the last line of stderr. One that does not answer in
    /// time is given up.
    pub fn capture<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String> {
        self.within(PATIENCE, args)
    }

    /// The same for what may take its time.
    pub fn capture_slowly<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String> {
        self.within(PATIENCE * 60, args)
    }

    /// Runs for its effect alone; failing is fine.
    pub fn attempt<S: AsRef<OsStr>>(&self, args: &[S]) -> bool {
        self.capture(args).is_ok()
    }

    /// Runs a command of this client that is ready but for its streams.
    pub fn complete(&self, command: Command) -> Result<String> {
        self.finish::<&str>(command, PATIENCE * 3, &[])
    }

    /// The same for what may take its time.
    pub fn complete_slowly(&self, command: Command) -> Result<String> {
        self.finish::<&str>(command, PATIENCE * 60, &[])
    }

    /// The end of what a container has said, as one clean line.
    pub fn last_words(&self, container: &str) -> Option<String> {
        let mut command = self.command();
        command.args(["logs", "--tail", "5", container]).stdin(Stdio::null());
        let output = capture::run(command, PATIENCE).ok()?;
        let said = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&said);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(crate::ui::sanitize::text)
    }

    /// Makes an image of a container.
    pub fn commit(&self, container: &str, tag: &str) -> Result<()> {
        // Nothing in it may wait for us meanwhile.
        let args = ["commit", "--pause=false", container, tag];
        match self.capture_slowly(&args) {
            // Podman 4.3 cannot commit with this variable set and a storage.conf there that leaves the runroot out.
            Err(e) if e.message().contains("runroot must be set") => {
                let mut command = self.command();
                command.env_remove("XDG_CONFIG_HOME");
                self.finish(command, PATIENCE * 60, &args)
            }
            other => other,
        }
        .map(drop)
    }

    fn within<S: AsRef<OsStr>>(&self, time: Duration, args: &[S]) -> Result<String> {
        self.finish(self.command(), time, args)
    }

    fn finish<S: AsRef<OsStr>>(&self, mut command: Command, time: Duration, args: &[S]) -> Result<String> {
        command.args(args).stdin(Stdio::null());
        let output = capture::run(command, time)
            .map_err(|e| Error::new(format!("cannot run {}: {}", self.program.display(), reason(&e))))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Error::new(self.complaint(&output.stderr)))
    }

    /// What the engine said last, as one clean line.
    fn complaint(&self, stderr: &[u8]) -> String {
        let text = String::from_utf8_lossy(stderr);
        let mut said =
            text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("Run '") && !l.starts_with("See '"));
        let line = said.next_back().unwrap_or("it failed without a word");
        let line = line.trim_start_matches("Error: ").trim_start_matches("docker: ");
        crate::ui::sanitize::text(line)
    }
}

/// The directories of PATH that are absolute and outside of the repo that we stand in.
pub fn search_path() -> Vec<PathBuf> {
    let repo = std::env::current_dir().ok().and_then(|here| Repo::find(&here).ok());
    let in_repo = |dir: &Path| {
        let real = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        repo.as_ref().is_some_and(|repo| repo.root.parent().is_some() && real.starts_with(&repo.root))
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|dir| dir.is_absolute() && !in_repo(dir)).collect()
}

/// Whether it is a file with an executable bit.
pub fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
