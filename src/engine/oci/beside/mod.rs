//! Services beside a sandbox: started before it, gone after it.
//!
//! They are the session's own: their names begin with that of its container, a label ties them to it, and whoever
//! sweeps a session that was killed finds them by that.

mod arguments;
pub mod data;
mod meeting;
mod wait;

use std::path::Path;

pub use meeting::Meeting;

use super::links::Links;
use crate::engine::Kind;
use crate::engine::client::Client;
use crate::error::{Error, Result};
use crate::plan::Plan;

/// How often it is tried to remove them.
const SWEEPS: usize = 3;

/// What is known when services are to be started.
pub struct Scene<'a> {
    /// The engine's client.
    pub client: &'a Client,
    /// Which engine that is.
    pub kind: Kind,
    /// The sandbox.
    pub plan: &'a Plan,
    /// Name of its container.
    pub container: &'a str,
    /// Plain names for host paths.
    pub links: &'a Links,
    /// cowbox's cache.
    pub cache: &'a Path,
}

/// What runs beside one container. Dropped, it is gone.
#[derive(Debug)]
pub struct Beside {
    client: Client,
    container: String,
}

impl Beside {
    /// Starts the services of a plan in their order, each when those that it depends on are there; none is fine.
    pub fn start(scene: &Scene<'_>, meeting: &Meeting) -> Result<Option<Self>> {
        let Scene { client, plan, container, .. } = scene;
        if plan.services.is_empty() {
            return Ok(None);
        }
        let all = Self { client: (*client).clone(), container: (*container).to_owned() };
        meeting.open(scene)?;
        let volumes: Vec<_> = plan.services.iter().map(|service| data::volumes_of(scene, service)).collect();
        data::make(scene, &volumes)?;
        for (number, (service, volumes)) in plan.services.iter().zip(&volumes).enumerate() {
            let name = format!("{container}-{number}");
            let failed = |e: Error| e.context(format_args!("cannot start the service {}", service.name));
            arguments::of(scene, meeting, service, volumes, &name)?.run(client).map_err(failed)?;
            wait::until_there(client, &name, service)?;
        }
        Ok(Some(all))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        sweep(&self.client, &self.container);
    }
}

/// Everything that stands beside a container, what holds their namespace last.
fn all(client: &Client, container: &str) -> Vec<String> {
    let label = format!("label={}", super::owner_label(container));
    let found = client.capture(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]).unwrap_or_default();
    let mut names: Vec<String> = found.lines().filter(|name| *name != container).map(str::to_owned).collect();
    names.sort_by_key(|name| *name == meeting::anchor(container));
    names
}

/// Removes whatever stands beside a container; nothing is fine.
pub fn sweep(client: &Client, container: &str) {
    // More than once: a client of somebody who was killed may still be starting one, and podman does not let go of a
    // namespace while others are in it.
    for _ in 0..SWEEPS {
        let found = all(client, container);
        if found.is_empty() {
            break;
        }
        found.iter().for_each(|name| super::attached::remove_container(client, name));
    }
    let label = format!("label={}", super::owner_label(container));
    let networks = client.capture(&["network", "ls", "--filter", &label, "--format", "{{.Name}}"]).unwrap_or_default();
    for network in networks.lines() {
        client.attempt(&["network", "rm", network]);
    }
    super::remove_volumes(client, container);
}
