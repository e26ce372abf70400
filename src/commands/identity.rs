//! Who steps and the command are where podman runs as root.
//!
//! There a user of the image is mapped to the caller, so that files belong to the caller outside. But podman writes ids
//! of the host into an image that it makes of such a container: what a setup installed would be somebody else's.

use crate::engine::{EngineRecord, Kind};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::setup::image::Found;
use crate::setup::plan::{EnvProbe, SetupPlan};
use crate::ui::{Ui, sanitize};

/// Has everything done as root where another user could not keep what a setup made; an error if that user was asked for.
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
