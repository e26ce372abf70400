//! What services write to their volumes. It goes with the sandbox, except for one in which an environment is prepared:
//! there it stays with that environment, and whoever uses it begins with a copy.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{add_policy, capabilities, owner_label};
use super::Scene;
use super::meeting::anchor;
use crate::engine::client::Client;
use crate::error::{Error, Result};
use crate::plan::ServiceData;
use crate::setup::plan::ContainerOptions;
use crate::setup::service::{Service, Volume};

/// Copies every `from` beside a `to`, whoever owns what is in it.
const COPY: &str = "for place in /cowbox-volumes/*; do cp -a \"$place/from/.\" \"$place/to/\" || exit 1; done";

/// The volumes of a service. Those that are to be found again have a name.
pub(super) fn volumes_of(scene: &Scene<'_>, service: &Service) -> Vec<Volume> {
    let mut volumes = service.volumes.clone();
    if scene.plan.service_data == ServiceData::Fresh {
        return volumes;
    }
    let taken = |target: &String| {
        let mut others = service.volumes.iter().map(|own| &own.target).chain(&service.tmpfs);
        others.any(|own| own == target) || service.binds.iter().any(|bind| bind.target == *target)
    };
    let of_image = of_image(scene.client, service).into_iter().filter(|target| !taken(target));
    volumes.extend(of_image.map(|target| Volume { target, name: None }));
    for volume in &mut volumes {
        volume.name.get_or_insert_with(|| by_place(&service.name, &volume.target));
    }
    volumes
}

/// A name for one that has none, from where it is.
fn by_place(service: &str, target: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '.' };
    format!("{service}.{}", target.chars().map(plain).collect::<String>())
}

/// Places that an image declares as volumes.
fn of_image(client: &Client, service: &Service) -> BTreeSet<String> {
    let image = service.image.as_deref().unwrap_or_default();
    let said = client.capture(&["image", "inspect", "--format", "{{json .Config.Volumes}}", "--", image]);
    let declared: Option<BTreeMap<String, serde_json::Value>> =
        said.ok().and_then(|text| serde_json::from_str(text.trim()).ok()).flatten();
    let is_place = |target: &String| target.starts_with('/') && !target.contains([',', ':', '"', '\n']);
    declared.into_iter().flatten().map(|(target, _)| target).filter(is_place).collect()
}

/// What the engine calls a volume of services.
pub(super) fn volume(scene: &Scene<'_>, name: &str) -> String {
    match &scene.plan.service_data {
        ServiceData::Making(id) => kept(id, name),
        _ => format!("{}-of-{name}", scene.container),
    }
}

fn kept(id: &str, name: &str) -> String {
    format!("cowbox-prepared-{id}-of-{name}")
}

/// The label of volumes that belong to an environment.
fn label(id: &str) -> String {
    format!("cowbox-prepared={id}")
}

/// Makes the volumes that have a name: only then do they have a label, too.
pub(super) fn make(scene: &Scene<'_>, all: &[Vec<Volume>]) -> Result<()> {
    let label = match &scene.plan.service_data {
        ServiceData::Making(id) => label(id),
        _ => owner_label(scene.container),
    };
    let names: BTreeSet<&String> = all.iter().flatten().filter_map(|own| own.name.as_ref()).collect();
    for name in &names {
        scene.client.capture(&["volume", "create", "--label", &label, &volume(scene, name)])?;
    }
    let ServiceData::CopyOf { id, names: whole } = &scene.plan.service_data else { return Ok(()) };
    let pairs: Vec<(String, String)> = names
        .into_iter()
        .filter(|name| whole.contains(&kept(id, name)))
        .map(|name| (kept(id, name), volume(scene, name)))
        .collect();
    if pairs.is_empty() { Ok(()) } else { copy(scene, &pairs) }
}

/// In a container, for they belong to ids of containers. The steps that filled them had a shell in the same image.
fn copy(scene: &Scene<'_>, pairs: &[(String, String)]) -> Result<()> {
    let Scene { kind, plan, container, .. } = *scene;
    let mut command = super::arguments::begin(scene);
    command.args(["run", "--rm", "--pull=never", "--network=none", "--user=0:0", "--entrypoint=sh"]);
    command.arg(format!("--name={container}-copy")).arg(format!("--label={}", owner_label(container)));
    super::arguments::add_runtime(&mut command, scene);
    add_policy(&mut command, plan);
    command.args(capabilities::arguments(kind, &ContainerOptions::default()));
    for (number, (from, to)) in pairs.iter().enumerate() {
        let place = format!("/cowbox-volumes/{number}");
        command.arg(format!("--mount=type=volume,src={from},dst={place}/from,ro=true"));
        command.arg(format!("--mount=type=volume,src={to},dst={place}/to"));
    }
    command.arg(plan.image.as_deref().unwrap_or_default()).args(["-c", COPY]);
    scene.client.complete_slowly(command).map(drop).map_err(|e| {
        e.context("cannot copy what the setup wrote to the volumes of services")
            .hint("`cowbox prepare --rebuild` prepares them anew")
    })
}

/// Has the services beside a container write down what they have, and gives the volumes that stay.
pub fn settle(client: &Client, container: &str, id: &str) -> Result<Vec<String>> {
    let kept = listed(client, id)?;
    if !kept.is_empty() {
        let services = super::all(client, container);
        let mut words = vec!["stop", "-t", "10"];
        words.extend(services.iter().filter(|name| **name != anchor(container)).map(String::as_str));
        client.capture_slowly(&words).map_err(|e: Error| e.context("cannot stop the services of the setup"))?;
    }
    Ok(kept)
}

/// Whether all volumes of an environment are still there.
pub fn are_there(client: &Client, id: &str, names: &[String]) -> bool {
    let there = if names.is_empty() { Vec::new() } else { listed(client, id).unwrap_or_default() };
    names.iter().all(|name| there.contains(name))
}

/// Removes the volumes of an environment; none is fine.
pub fn forget(client: &Client, id: &str) {
    for name in listed(client, id).unwrap_or_default() {
        client.attempt(&["volume", "rm", "--force", &name]);
    }
}

fn listed(client: &Client, id: &str) -> Result<Vec<String>> {
    let filter = format!("label={}", label(id));
    let found = client.capture(&["volume", "ls", "--quiet", "--filter", &filter])?;
    Ok(found.lines().map(str::to_owned).collect())
}
