//! The arguments of `run` for a service.

use std::path::Path;
use std::process::Command;

use super::super::variables::Variables;
use super::super::{add_policy, add_rights, capabilities, memory, owner_label};
use super::{Meeting, Scene, data};
use crate::engine::Kind;
use crate::engine::client::Client;
use crate::error::Result;
use crate::paths::is_plain;
use crate::policy::environment::Environment;
use crate::setup::service::{Service, Volume};

/// A service's container is kept until it is removed, so that it can be asked what went wrong; no log grows for ever.
const FIXED: [&str; 4] = ["run", "--detach", "--pull=never", "--log-opt=max-size=1m"];

/// A client's command, with what it needs open until it has been run.
pub(super) struct Ready {
    command: Command,
    _variables: Variables,
}

impl Ready {
    /// Runs it.
    pub(super) fn run(self, client: &Client) -> Result<()> {
        client.complete(self.command).map(drop)
    }
}

/// For one service, as the container `name`.
pub(super) fn of(
    scene: &Scene<'_>,
    meeting: &Meeting,
    service: &Service,
    volumes: &[Volume],
    name: &str,
) -> Result<Ready> {
    let Scene { kind, plan, container, .. } = *scene;
    let mut command = begin(scene);
    command.args(FIXED).arg(format!("--name={name}")).arg(format!("--label={}", owner_label(container)));
    add_runtime(&mut command, scene);
    add_policy(&mut command, plan);
    command.args(meeting.arguments(plan.network, Some(&service.name)));
    command.args(capabilities::arguments(kind, &service.container));
    add_rights(&mut command, &service.container);
    command.args(meeting.own(&service.container.run_args));
    add_volumes(&mut command, scene, volumes);
    add_places(&mut command, scene, service, name)?;
    if let Some(user) = &service.user {
        command.arg(format!("--user={user}"));
    }
    if let Some(dir) = &service.working_dir {
        command.arg(format!("--workdir={dir}"));
    }
    let mut env = Environment::default();
    service.env.iter().for_each(|(name, value)| env.set(name, value));
    let variables = Variables::new(&env)?;
    variables.add_to(&mut command);
    // The engines know a program here, and no words after it.
    let (program, words) = match service.entrypoint.as_deref().map(<[String]>::split_first) {
        Some(Some((program, words))) => (Some(program.as_str()), words),
        Some(None) => (Some(""), &[][..]),
        None => (None, &[][..]),
    };
    command.args(program.map(|program| format!("--entrypoint={program}")));
    command.arg(service.image.as_deref().unwrap_or_default());
    command.args(words).args(service.command.iter().flatten());
    Ok(Ready { command, _variables: variables })
}

/// What comes before `run`.
pub(super) fn begin(scene: &Scene<'_>) -> Command {
    let mut command = scene.client.command();
    // conmon drops a file `oom` where it stands.
    command.current_dir(&scene.plan.session_dir);
    if let Some(runtime) = scene.plan.runtime.as_ref().filter(|_| scene.kind == Kind::Podman) {
        command.arg("--runtime").arg(runtime);
    }
    command
}

/// What the engines say in ways of their own: the OCI runtime, and that no proxy of the host is passed on.
pub(super) fn add_runtime(command: &mut Command, scene: &Scene<'_>) {
    match (scene.kind, &scene.plan.runtime) {
        (Kind::Docker, Some(runtime)) => drop(command.arg(format!("--runtime={runtime}"))),
        (Kind::Docker, None) => {}
        _ => drop(command.arg("--http-proxy=false")),
    }
}

fn add_volumes(command: &mut Command, scene: &Scene<'_>, volumes: &[Volume]) {
    for volume in volumes {
        let source = volume.name.as_ref().map(|own| format!("src={},", data::volume(scene, own)));
        command.arg(format!("--mount=type=volume,{}dst={}", source.unwrap_or_default(), volume.target));
    }
}

/// Memory, and paths of the host that the user agreed to.
fn add_places(command: &mut Command, scene: &Scene<'_>, service: &Service, name: &str) -> Result<()> {
    let kind = scene.kind;
    command.args(service.tmpfs.iter().map(|target| memory(kind, target, service.user.as_deref())));
    for (number, bind) in service.binds.iter().enumerate() {
        let path = Path::new(&bind.source);
        let source = if is_plain(path.as_os_str()) {
            bind.source.clone()
        } else {
            scene.links.link(&format!("{name}-bind{number}"), path)?
        };
        command.arg(format!("--mount=type=bind,src={source},dst={},ro={}", bind.target, bind.readonly));
    }
    Ok(())
}
