//! Who steps and the command are.

use crate::engine::{EngineRecord, Kind};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::policy::mounts::Access;
use crate::setup::image::Found;
use crate::setup::plan::{EnvProbe, SetupPlan};
use crate::ui::{Ui, sanitize};

/// For podman as root. There a user of the image is mapped to the caller, so that files belong to the caller outside.
/// But podman writes ids of the host into an image that it makes of such a container: what a setup installed would be
/// somebody else's. Has everything done as root where another user could not keep what a setup made; an error if that user was asked for.
pub fn settle(
    plan: &mut Plan,
    asked: Option<&str>,
    setup: &SetupPlan,
    engine: &EngineRecord,
    image: Option<&Found>,
    ui: &Ui,
) -> Result<()> {
    let Some(image) = image.filter(|_| engine.kind == Kind::Podman && !engine.rootless) else { return Ok(()) };
    let is_prepared =
        setup.user_env_probe != EnvProbe::None || setup.steps.iter().any(|step| !step.hook.is_per_start());
    let user = plan.user.clone().unwrap_or_else(|| image.facts.user.clone());
    let is_root = matches!(user.split(':').next().unwrap_or_default(), "" | "0" | "root");
    if is_root || !is_prepared {
        return Ok(());
    }
    let user = sanitize::text(&user);
    if asked.is_some() {
        return Err(Error::new(format!("podman as root cannot prepare an environment for user {user}"))
            .hint("leave `--user` out, use `--setup none`, or run cowbox as a plain user: podman is rootless then"));
    }
    ui.say(&format!("podman runs as root here, so root takes the place of user {user}"));
    plan.user = Some("0:0".to_owned());
    Ok(())
}

/// Who hooks and the command are. A daemon maps no ids: there the caller takes the user's place, unless that is root,
/// a number, or not to be touched.
pub fn of_devcontainer(plan: &mut Plan, setup: &SetupPlan, engine: &EngineRecord, image: Option<&Found>) {
    let of_image = image.map(|image| image.facts.user.clone()).filter(|user| !user.is_empty());
    let said = setup.remote_user.clone().or_else(|| setup.container_user.clone());
    if engine.kind != Kind::Docker || engine.rootless {
        plan.user = said;
        return;
    }
    let user = said.or(of_image).unwrap_or_else(|| "root".to_owned());
    let name = user.split(':').next().unwrap_or_default();
    let is_root = matches!(name, "root" | "0");
    if is_root || !setup.update_remote_user_uid || name.parse::<u32>().is_ok() {
        plan.user = Some(user.clone());
    } else if !rustix::process::getuid().is_root() {
        plan.account = Some(name.to_owned());
    }
    if is_root && !rustix::process::getuid().is_root() {
        plan.env.trust_git(&plan.workspace);
    }
}

/// The same without a dev container. The command of a daemon is the caller, who could install nothing in an image
/// of root's: its steps are root, as in the image. Not with a directory of the host's to write to, where root inside
/// is root outside.
pub fn of_setup(plan: &mut Plan, engine: &EngineRecord, image: Option<&Found>) {
    let of_image = image.map(|image| image.facts.user.split(':').next().unwrap_or_default());
    let is_root = of_image.is_some_and(|user| matches!(user, "" | "root" | "0"));
    let maps_no_ids = engine.kind == Kind::Docker && !engine.rootless && !rustix::process::getuid().is_root();
    if is_root && maps_no_ids && plan.mounts.iter().all(|mount| mount.access != Access::Rw) {
        plan.setup_user = Some("0:0".to_owned());
    }
}
