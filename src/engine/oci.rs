//! What podman and docker have in common: arguments, variables, and an attached client to supervise.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitStatus, waitid};

use super::client::Client;
use super::{ExecSpec, Sandbox, guest, plain_exit_code};
use crate::error::{Error, Result, reason, show};
use crate::paths::is_plain;
use crate::plan::{Overlay, Plan};
use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::session::Record;
use crate::sys;

/// A shell that nearly every image has, the better one first.
const SHELL: &str = "command -v bash >/dev/null 2>&1 && exec bash; exec sh";

/// The command as given, or a shell.
pub fn command_or_shell(command: &[OsString]) -> Vec<OsString> {
    if command.is_empty() { ["sh", "-c", SHELL].map(Into::into).to_vec() } else { command.to_vec() }
}

/// Names for host paths that an engine's arguments can carry. Paths may hold anything; engines
/// split at `:` and `,` and know no escape. So they get a link in a place with a plain name.
#[derive(Debug)]
pub struct Links {
    dir: PathBuf,
    /// Removed when the sandbox has ended.
    _temporary: Option<tempfile::TempDir>,
    session: PathBuf,
}

impl Links {
    /// Links for one sandbox.
    pub fn new(session_dir: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io("prepare", session_dir, e);
        if is_plain(session_dir.as_os_str()) {
            let dir = session_dir.join("links");
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).map_err(failed)?;
            return Ok(Self { dir, _temporary: None, session: session_dir.to_path_buf() });
        }
        let base =
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_dir() && is_plain(d.as_os_str()));
        let base = base.unwrap_or_else(|| PathBuf::from("/tmp"));
        let temporary = tempfile::Builder::new().prefix("cowbox-").tempdir_in(base).map_err(failed)?;
        let session = temporary.path().join("session");
        symlink(session_dir, &session).map_err(failed)?;
        Ok(Self { dir: temporary.path().to_path_buf(), _temporary: Some(temporary), session })
    }

    /// A plain name for a host path.
    pub fn link(&self, name: &str, target: &Path) -> Result<String> {
        let link = self.dir.join(name);
        symlink(target, &link).map_err(|e| Error::io("link", &link, e))?;
        Ok(link.to_string_lossy().into_owned())
    }

    /// A plain name for a path below the session's directory.
    pub fn in_session(&self, path: &Path, session_dir: &Path) -> String {
        let below = path.strip_prefix(session_dir).unwrap_or(path);
        self.session.join(below).to_string_lossy().into_owned()
    }
}

/// Makes the directories of an overlay. The merged root takes its looks from the upper, so the
/// upper gets those of the repo.
pub fn make_layers(overlay: &Overlay) -> Result<()> {
    for dir in [&overlay.upper, &overlay.work] {
        fs::create_dir_all(dir).map_err(|e| Error::io("create", dir, e))?;
    }
    // The kernel's mark that an earlier volatile mount was not synced; it refuses a new mount over it.
    let _ = crate::layer::remove::tree(&overlay.work.join("work/incompat"));
    let failed = |e: std::io::Error| Error::io("prepare", &overlay.upper, e);
    let lower = fs::metadata(&overlay.lower).map_err(|e| Error::io("read", &overlay.lower, e))?;
    fs::set_permissions(&overlay.upper, lower.permissions()).map_err(failed)?;
    if let (Ok(mtime), Ok(dir)) = (lower.modified(), File::open(&overlay.upper)) {
        let _ = dir.set_times(fs::FileTimes::new().set_modified(mtime));
    }
    Ok(())
}

/// Refuses paths inside that an engine's arguments cannot carry.
pub fn check_targets(plan: &Plan) -> Result<()> {
    let overlays = plan.overlays();
    let targets = overlays.iter().map(|o| &o.target).chain(plan.mounts.iter().map(|m| &m.target));
    for target in targets {
        if !is_plain(target.as_os_str()) {
            return Err(Error::new(format!(
                "{} cannot be a path inside a container: its name holds a character that engines split at",
                show(target)
            ))
            .hint("choose another DST, or `--engine native`"));
        }
    }
    if plan.workdir.to_str().is_none() {
        return Err(Error::new(format!(
            "the directory {} cannot be entered in a container: its name is not UTF-8",
            show(&plan.workdir)
        ))
        .hint("start cowbox in another directory, or use `--engine native`"));
    }
    let text = plan.command.iter().find(|word| word.to_str().is_none());
    if text.is_some() {
        return Err(Error::new("an argument of the command is not UTF-8, and engines cannot carry it")
            .hint("use `--engine native`"));
    }
    Ok(())
}

/// Refuses a workdir in the workspace that does not exist: said here, nothing need be started.
pub fn check_workdir(plan: &Plan) -> Result<()> {
    let Ok(below) = plan.workdir.strip_prefix(&plan.workspace) else { return Ok(()) };
    if plan.repo.join(below).is_dir() || plan.session_dir.join("upper").join(below).is_dir() {
        return Ok(());
    }
    Err(Error::new(format!("the working directory {} does not exist", show(&plan.workdir)))
        .hint("name one that does with `--workdir`"))
}

/// Variables on their way to the container: never on an argument list.
#[derive(Debug)]
pub struct Variables {
    file: Option<OwnedFd>,
    by_name: Vec<(OsString, OsString)>,
}

impl Variables {
    /// Most go through an anonymous file; a value with line breaks goes by name through the
    /// client's own environment, which is exact but would reach the client too.
    pub fn new(env: &Environment) -> Result<Self> {
        let mut text = Vec::new();
        let mut by_name = Vec::new();
        for (name, value) in env.iter() {
            let (n, v) = (name.as_bytes(), value.as_bytes());
            if std::str::from_utf8(n).is_err() || std::str::from_utf8(v).is_err() {
                return Err(Error::new(format!(
                    "the variable {} is not UTF-8, and engines would change it",
                    crate::ui::sanitize::bytes(n)
                ))
                .hint("leave it out, or use `--engine native`"));
            }
            let plain = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-');
            if !n.iter().all(plain) {
                return Err(Error::new(format!(
                    "`{}` is not a name that engines take for a variable",
                    crate::ui::sanitize::bytes(n)
                )));
            }
            if v.iter().any(|c| matches!(c, b'\n' | b'\r')) {
                if reaches_client(name) {
                    return Err(Error::new(format!(
                        "{} cannot have a value with line breaks in a container",
                        name.to_string_lossy()
                    )));
                }
                by_name.push((name.to_owned(), value.to_owned()));
            } else {
                text.extend_from_slice(n);
                text.push(b'=');
                text.extend_from_slice(v);
                text.push(b'\n');
            }
        }
        if text.is_empty() {
            return Ok(Self { file: None, by_name });
        }
        let failed = |e: std::io::Error| Error::new(format!("cannot pass the variables on: {}", reason(&e)));
        let fd =
            rustix::fs::memfd_create("cowbox-env", rustix::fs::MemfdFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let mut file = File::from(fd);
        file.write_all(&text).map_err(failed)?;
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(Self { file: Some(file.into()), by_name })
    }

    /// Adds them to a client's command.
    pub fn add_to(&self, command: &mut Command) {
        if let Some(file) = &self.file {
            command.arg("--env-file").arg(format!("/proc/self/fd/{}", file.as_raw_fd()));
            sys::process::inherit(command, file.as_fd());
        }
        for (name, value) in &self.by_name {
            command.arg("--env").arg(name).env(name, value);
        }
    }
}

/// Names that would change what the client itself does.
fn reaches_client(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["LD_", "DOCKER", "CONTAINER", "XDG_", "GO", "STORAGE_", "REGISTRY_", "DBUS_", "SSL_"]
        .iter()
        .any(|p| name.starts_with(p))
        || matches!(&*name, "PATH" | "HOME" | "TMPDIR" | "USER")
        || name.to_ascii_lowercase().ends_with("_proxy")
}

/// An engine's client that is attached to a container, or to a command in one.
pub struct Attached {
    client: Client,
    child: Child,
    /// The container to end with it; `None` for an `exec`.
    container: Option<String>,
    _links: Option<Links>,
}

impl Attached {
    /// Starts the client. It ends with us, and its container with it.
    pub fn spawn(client: &Client, mut ready: Ready, container: Option<&str>, links: Option<Links>) -> Result<Self> {
        let command = &mut ready.command;
        sys::process::die_with_parent(command, rustix::process::Signal::TERM);
        let child = command
            .spawn()
            .map_err(|e| Error::new(format!("cannot run {}: {}", client.program().display(), reason(&e))))?;
        Ok(Self { client: client.clone(), child, container: container.map(str::to_owned), _links: links })
    }

    /// Whether the client has ended; it stays to be waited for.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None))
    }

    fn to_client(&self, signal: Signal) {
        let _ = kill(nix::unistd::Pid::from_raw(self.child.id() as i32), signal);
    }
}

impl Sandbox for Attached {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&mut self, signal: Signal) {
        match &self.container {
            // Not through the client: with a terminal it passes nothing on, and before its container
            // runs it dies of it and leaves the engine to finish what it was asked for.
            Some(name) => {
                let deadline = Instant::now() + Duration::from_secs(5);
                while !self.client.attempt(&["kill", "--signal", signal.as_str(), name]) {
                    if self.has_ended() {
                        return;
                    }
                    if Instant::now() > deadline {
                        return self.to_client(signal);
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            None => self.to_client(signal),
        }
    }

    fn kill(&mut self) {
        if let Some(name) = &self.container {
            remove(&self.client, name);
        }
        self.to_client(Signal::SIGKILL);
        // Again: the engine may still be creating what the client asked for.
        if let Some(name) = &self.container {
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(100));
                remove(&self.client, name);
            }
        }
    }

    fn exit_code(&mut self, status: WaitStatus) -> Result<u8> {
        // A client that was killed, or whose reader went away, leaves its container running.
        if let Some(name) = &self.container
            && (status.terminating_signal().is_some() || reader_is_gone())
        {
            remove(&self.client, name);
        }
        Ok(plain_exit_code(status))
    }
}

/// Whether one of our output streams leads nowhere any more.
fn reader_is_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds =
        [rustix::stdio::stdout(), rustix::stdio::stderr()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::empty()));
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok() && fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP))
}

/// Removes a container in whatever state it is; none is fine.
pub fn remove(client: &Client, container: &str) {
    // podman waits ten seconds for a command that ignores SIGTERM, unless told; docker knows no -t.
    if !client.attempt(&["rm", "--force", "--volumes", "--time", "0", container]) {
        client.attempt(&["rm", "--force", "--volumes", container]);
    }
}

/// Network and limits: both engines write them alike.
pub fn add_policy(command: &mut Command, plan: &Plan) {
    if plan.network == Network::None {
        command.arg("--network=none");
    }
    if Path::new("/sys/fs/selinux/enforce").exists() {
        // The alternative, relabelling, would write to the repo.
        command.arg("--security-opt=label=disable");
    }
    if let Some(memory) = plan.limits.memory {
        command.arg(format!("--memory={memory}"));
    }
    if let Some(cpus) = plan.limits.cpus {
        command.arg(format!("--cpus={cpus}"));
    }
    if let Some(pids) = plan.limits.pids {
        command.arg(format!("--pids-limit={pids}"));
    }
}

/// The helper's arguments. It enters the directory itself: engines would create a missing one.
fn add_command(client: &mut Command, workdir: &Path, terminal: bool, command: &[OsString]) {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdin()).ok().filter(|_| terminal);
    let (rows, columns) = size.map_or((0, 0), |size| (size.ws_row, size.ws_col));
    client.arg("init").arg(workdir).args([rows.to_string(), columns.to_string()]).args(command_or_shell(command));
}

/// A client's command, with what it needs open until it has been started.
pub struct Ready {
    command: Command,
    _variables: Variables,
}

/// What is the same at the end of every `run`: binds, the helper as pid 1, variables, the command.
pub fn finish(mut command: Command, plan: &Plan, cache: &Path, links: &Links) -> Result<Ready> {
    for (number, (mount, read_only)) in plan.binds().enumerate() {
        let source = if is_plain(mount.source.as_os_str()) {
            mount.source.to_string_lossy().into_owned()
        } else {
            links.link(&format!("bind{number}"), &mount.source)?
        };
        command.arg(format!("--mount=type=bind,src={source},dst={},ro={read_only}", mount.target.display()));
    }
    command.arg("--mount").arg(guest_mount(cache, links)?);
    let variables = Variables::new(&plan.env)?;
    variables.add_to(&mut command);
    command.args(["--workdir", "/", "--entrypoint", guest::INSIDE]).arg(plan.image.as_deref().unwrap_or_default());
    add_command(&mut command, &plan.workdir, plan.terminal, &plan.command);
    redirect(&mut command, plan)?;
    Ok(Ready { command, _variables: variables })
}

/// Sends a client's streams to the plan's log, if it has one.
fn redirect(command: &mut Command, plan: &Plan) -> Result<()> {
    if let Some(path) = &plan.log {
        let file = File::create(path).map_err(|e| Error::io("write", path, e))?;
        let both = file.try_clone().map_err(|e| Error::io("write", path, e))?;
        command.stdin(Stdio::null()).stdout(both).stderr(file);
    }
    Ok(())
}

/// The mount of the helper, for podman and docker alike.
pub fn guest_mount(cache: &Path, links: &Links) -> Result<String> {
    let path = guest::path(cache)?;
    let source =
        if is_plain(path.as_os_str()) { path.to_string_lossy().into_owned() } else { links.link("guest", &path)? };
    Ok(format!("type=bind,src={source},dst={},ro=true", guest::INSIDE))
}

/// Another command in a container, through the helper: engines mix up 126 and 127 here.
pub fn exec(client: &Client, record: &Record, spec: &ExecSpec<'_>, detach_keys: &str) -> Result<Box<dyn Sandbox>> {
    let container = record.incarnation.as_ref().and_then(|i| i.container.clone()).unwrap_or_default();
    let variables = Variables::new(spec.env)?;
    let mut command = client.command();
    command.args(["exec", "--interactive"]);
    if spec.terminal {
        command.args(["--tty", detach_keys]);
    }
    command.args(["--workdir", "/"]);
    variables.add_to(&mut command);
    command.arg(&container).arg(guest::INSIDE);
    add_command(&mut command, &record.policy.workdir.0, spec.terminal, spec.command);
    let ready = Ready { command, _variables: variables };
    Ok(Box::new(Attached::spawn(client, ready, None, None)?))
}

/// Whether a container runs: an attached client says nothing when it does.
pub fn is_running(client: &Client, container: &str) -> bool {
    let state = client.capture(&["container", "inspect", "--format", "{{.State.Running}}", container]);
    state.is_ok_and(|s| s.trim() == "true")
}
