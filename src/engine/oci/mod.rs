//! What podman and docker have in common: the arguments of `run` and `exec`.

mod attached;
pub mod beside;
pub mod capabilities;
pub mod hook;
mod links;
mod variables;

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

pub use attached::{Attached, Behind, owner_label, remove, remove_volumes};
use beside::Meeting;
pub use links::Links;
use variables::Variables;

use super::client::Client;
use super::{ExecSpec, Kind, Sandbox, guest};
use crate::error::{Error, Result, show};
use crate::paths::is_plain;
use crate::plan::Plan;
use crate::session::Record;
use crate::setup::plan::ContainerOptions;

/// A shell that nearly every image has, the better one first.
const SHELL: &str = "command -v bash >/dev/null 2>&1 && exec bash; exec sh";

/// The command as given, or a shell.
pub fn command_or_shell(command: &[OsString]) -> Vec<OsString> {
    if command.is_empty() { ["sh", "-c", SHELL].map(Into::into).to_vec() } else { command.to_vec() }
}

/// Refuses paths inside that an engine's arguments cannot carry.
pub fn check_targets(plan: &Plan) -> Result<()> {
    let overlays = plan.overlays();
    let targets = overlays.iter().map(|o| &o.target).chain(plan.mounts.iter().map(|m| &m.target)).chain(&plan.tmpfs);
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

/// Limits: both engines write them alike, for every container of a session.
pub fn add_policy(command: &mut Command, plan: &Plan) {
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

/// What a devcontainer wants of its container: harmless, or with the user's consent.
pub fn add_options(command: &mut Command, kind: Kind, plan: &Plan, meeting: &Meeting) {
    for target in &plan.tmpfs {
        command.arg(memory(kind, &target.display().to_string(), plan.user.as_deref()));
    }
    add_rights(command, &plan.container);
    // The helper is an init already.
    command.args(meeting.own(&plan.container.run_args).filter(|word| *word != "--init"));
}

/// A place in memory that the user can write to. Over a directory that is there, docker's runtime takes its mode and
/// has root for its owner, unless it is told.
fn memory(kind: Kind, target: &str, user: Option<&str>) -> String {
    let ids = user
        .and_then(|user| user.split_once(':'))
        .filter(|(uid, gid)| uid.parse::<u32>().is_ok() && gid.parse::<u32>().is_ok());
    match ids {
        Some((uid, gid)) if kind == Kind::Docker => format!("--tmpfs={target}:mode=1777,uid={uid},gid={gid}"),
        _ => format!("--mount=type=tmpfs,dst={target},tmpfs-mode=1777"),
    }
}

/// What widens a container's rights, with the user's consent.
fn add_rights(command: &mut Command, options: &ContainerOptions) {
    if options.privileged {
        command.arg("--privileged");
    }
    for option in &options.security_opt {
        command.arg(format!("--security-opt={option}"));
    }
}

/// Whether a command that is not root must not become it.
pub fn forbids_new_privileges(plan: &Plan) -> bool {
    let decided = plan.container.security_opt.iter().any(|option| option.starts_with("no-new-privileges"));
    !plan.container.privileged && !decided
}

/// The helper's arguments. It enters the directory itself: engines would create a missing one.
fn add_command(client: &mut Command, workdir: &Path, terminal: bool, token: &str, command: &[OsString]) {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdin()).ok().filter(|_| terminal);
    let (rows, columns) = size.map_or((0, 0), |size| (size.ws_row, size.ws_col));
    client.arg("init").arg(workdir).args([&rows.to_string(), &columns.to_string(), token]);
    client.args(command_or_shell(command));
}

/// A client's command, with what it needs open until it has been started.
pub struct Ready {
    command: Command,
    _variables: Variables,
}

/// What is the same at the end of every `run`: binds, the helper as pid 1, variables, the command. The helper is told
/// `before` that what it has to do first.
pub fn finish(mut command: Command, plan: &Plan, cache: &Path, links: &Links, before: &[String]) -> Result<Ready> {
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
    command.args(before);
    command.args(plan.announce.iter().flat_map(|word| ["tell", word.as_str()]));
    add_command(&mut command, &plan.workdir, plan.terminal, "-", &plan.argv());
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
    if let Some(user) = spec.user {
        command.arg(format!("--user={user}"));
    }
    variables.add_to(&mut command);
    command.arg(&container).arg(guest::INSIDE);
    let token = crate::session::SessionId::new().to_string();
    add_command(&mut command, spec.workdir.unwrap_or(&record.policy.workdir.0), spec.terminal, &token, spec.command);
    let ready = Ready { command, _variables: variables };
    Ok(Box::new(Attached::spawn(client, ready, Behind::Command { container, token }, None)?))
}

/// The words before a command of somebody else's. The container's own user, variables and limits hold for it.
pub fn exec_prefix(client: &Client, record: &Record) -> Vec<OsString> {
    let container = record.incarnation.as_ref().and_then(|run| run.container.clone()).unwrap_or_default();
    let mut words = vec![client.program().as_os_str().to_owned()];
    words.extend(["exec", "--interactive", "--workdir"].map(Into::into));
    words.extend([record.policy.workdir.0.clone().into_os_string(), container.into()]);
    words
}

/// Whether a container runs: an attached client says nothing when it does.
pub fn is_running(client: &Client, container: &str) -> bool {
    let state = client.capture(&["container", "inspect", "--format", "{{.State.Running}}", container]);
    state.is_ok_and(|s| s.trim() == "true")
}
