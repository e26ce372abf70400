//! How a sandbox and its services reach each other.
//!
//! Docker has a network of the session's own, with names. Podman without root may lack what that takes, and a
//! network that docker calls internal still leads to the host: there, and without a network, all of them share the
//! namespace of one container that does nothing, and every name is the loopback's.

use std::path::Path;

use super::super::{Links, guest_mount, owner_label};
use super::Scene;
use crate::engine::{Kind, guest};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::policy::Network;

/// How they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// There is nobody to meet.
    Alone,
    /// In a network of this name.
    Network(String),
    /// In the namespace of a container of this name.
    Shared {
        /// Its name.
        anchor: String,
        /// Whether its host name is everybody's.
        with_host_name: bool,
        /// A file with everybody's names, where the engine does not pass on its own.
        hosts: Option<String>,
    },
}

/// Options of `run` that are about the namespace, and so for whoever opens it.
const OF_NAMESPACE: [&str; 2] = ["--add-host=", "--publish="];
const HOST_NAME: &str = "--hostname=";

/// What the container is called that holds the namespace.
pub(super) fn anchor(container: &str) -> String {
    format!("{container}-net")
}

impl Meeting {
    /// For a plan.
    pub fn of(kind: Kind, plan: &Plan, container: &str, links: &Links) -> Result<Self> {
        if plan.services.is_empty() {
            return Ok(Meeting::Alone);
        }
        if kind == Kind::Docker && plan.network == Network::Full {
            return Ok(Meeting::Network(container.to_owned()));
        }
        let runtime = plan.runtime.as_deref().and_then(|path| Path::new(path).file_name()).unwrap_or_default();
        if ["runsc", "kata"].iter().any(|own| runtime.to_string_lossy().starts_with(own)) {
            return Err(Error::new(format!(
                "services beside the sandbox share its network, and `--runtime {}` has one of its own in each container",
                runtime.to_string_lossy()
            ))
            .hint("leave `--runtime` out, or run without the dev container: `--setup none`"));
        }
        // Podman has everybody share the names of a container, but not of one without a network.
        let without_names = kind == Kind::Podman && plan.network == Network::None;
        let hosts = without_names.then(|| links.write("hosts", &hosts(plan))).transpose()?;
        Ok(Meeting::Shared { anchor: anchor(container), with_host_name: kind == Kind::Docker, hosts })
    }

    /// The arguments of `run` for one that takes part under `name`.
    pub fn arguments(&self, network: Network, name: Option<&str>) -> Vec<String> {
        match self {
            Meeting::Alone if network == Network::None => vec!["--network=none".to_owned()],
            Meeting::Alone => Vec::new(),
            Meeting::Network(network) => {
                let alias = name.map(|name| format!("--network-alias={name}"));
                std::iter::once(format!("--network={network}")).chain(alias).collect()
            }
            Meeting::Shared { anchor, hosts, .. } => {
                let mut words = vec![format!("--network=container:{anchor}")];
                if let Some(file) = hosts {
                    words.push("--no-hosts".to_owned());
                    words.push(format!("--mount=type=bind,src={file},dst=/etc/hosts,ro=true"));
                }
                words
            }
        }
    }

    /// Further arguments, without those that are for whoever opens the namespace.
    pub fn own<'a>(&self, words: &'a [String]) -> impl Iterator<Item = &'a String> {
        words.iter().filter(|word| !self.is_for_anchor(word))
    }

    fn is_for_anchor(&self, word: &str) -> bool {
        match self {
            Meeting::Alone | Meeting::Network(_) => false,
            Meeting::Shared { with_host_name, .. } => {
                OF_NAMESPACE.iter().any(|own| word.starts_with(own)) || (*with_host_name && word.starts_with(HOST_NAME))
            }
        }
    }

    /// Has it ready before anybody comes.
    pub(super) fn open(&self, scene: &Scene<'_>) -> Result<()> {
        let client = scene.client;
        let label = format!("--label={}", owner_label(scene.container));
        match self {
            Meeting::Alone => Ok(()),
            Meeting::Network(name) => client
                .capture(&["network", "create", &label, name])
                .map(drop)
                .map_err(|e| e.context("cannot make a network for the services")),
            Meeting::Shared { anchor, .. } => {
                let mut command = client.command();
                command.current_dir(&scene.plan.session_dir);
                command.args(["run", "--detach", "--pull=never", "--read-only", "--cap-drop=ALL"]);
                command.args(["--security-opt=no-new-privileges", &label]).arg(format!("--name={anchor}"));
                command.args(self.of_namespace(scene.plan));
                command.arg("--mount").arg(guest_mount(scene.cache, scene.links)?);
                command.args(["--entrypoint", guest::INSIDE]).arg(scene.plan.image.as_deref().unwrap_or_default());
                command.arg("hold");
                client
                    .complete(command)
                    .map(drop)
                    .map_err(|e| e.context("cannot make a network namespace for the services"))
            }
        }
    }

    /// What is said once, for the namespace that all are in.
    fn of_namespace(&self, plan: &Plan) -> Vec<String> {
        let mut words = Meeting::Alone.arguments(plan.network, None);
        words.extend(names(plan).map(|name| format!("--add-host={name}:127.0.0.1")));
        let is_for_anchor = |word: &&String| self.is_for_anchor(word);
        words.extend(plan.container.run_args.iter().filter(is_for_anchor).cloned());
        let of_services = plan.services.iter().flat_map(|service| &service.container.run_args);
        // A host has one name, and that is the sandbox's.
        words.extend(of_services.filter(is_for_anchor).filter(|word| !word.starts_with(HOST_NAME)).cloned());
        words
    }
}

/// Everybody's names.
fn names(plan: &Plan) -> impl Iterator<Item = &String> {
    plan.services.iter().map(|service| &service.name).chain(&plan.service)
}

/// The same as a file, with what the compose file adds.
fn hosts(plan: &Plan) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    names(plan).for_each(|name| text.push_str(&format!("127.0.0.1 {name}\n")));
    let of_services = plan.services.iter().flat_map(|service| &service.container.run_args);
    let words = plan.container.run_args.iter().chain(of_services);
    for (name, address) in words.filter_map(|word| word.strip_prefix("--add-host=")?.split_once(':')) {
        text.push_str(&format!("{address} {name}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_the_namespace_goes_to_whoever_opens_it() {
        let words = ["--add-host=a:1.2.3.4", "--hostname=box", "--shm-size=1m"].map(str::to_owned);
        let own = |meeting: &Meeting| meeting.own(&words).map(String::as_str).collect::<Vec<_>>();
        let shared = |with_host_name| Meeting::Shared { anchor: "c-net".into(), with_host_name, hosts: None };
        assert_eq!(own(&shared(true)), ["--shm-size=1m"]);
        assert_eq!(own(&shared(false)), ["--hostname=box", "--shm-size=1m"]);
        assert_eq!(own(&Meeting::Network("c".into())), words);
        assert_eq!(shared(true).arguments(Network::None, Some("db")), ["--network=container:c-net"]);
        assert_eq!(Meeting::Alone.arguments(Network::None, None), ["--network=none"]);
        let named = Meeting::Network("c".into()).arguments(Network::Full, Some("db"));
        assert_eq!(named, ["--network=c", "--network-alias=db"]);
    }
}
