//! What engines say about themselves. Parsers of captured output: they take text, others read it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What cowbox needs to know of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its version.
    pub version: String,
    /// Whether it runs without root.
    pub rootless: bool,
    /// Where podman keeps its images.
    pub graph_root: Option<String>,
    /// Whether `--memory` and the like are enforced.
    pub limits: bool,
    /// Whether an overlay that it mounts of its own accord (`:O`) is the kernel's, and not fuse-overlayfs.
    pub kernel_overlay: bool,
    /// The socket of docker's daemon.
    pub socket: Option<String>,
}

/// Why an engine is not used: one line.
pub type Unusable = String;

/// What is said of `podman-docker`, and of a podman service on docker's socket.
pub const SHIM: &str = "this docker is podman under another name; use the podman engine";

/// Reads `podman info --format json`.
pub fn parse_podman_info(text: &str) -> Result<Facts, Unusable> {
    #[derive(Deserialize)]
    struct Info {
        host: Host,
        store: Option<Store>,
        version: Version,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Host {
        #[serde(default)]
        service_is_remote: bool,
        #[serde(default)]
        cgroup_version: String,
        #[serde(default)]
        cgroup_controllers: Option<Vec<String>>,
        security: Security,
    }
    #[derive(Deserialize)]
    struct Security {
        #[serde(default)]
        rootless: bool,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Store {
        graph_driver_name: String,
        graph_root: String,
        #[serde(default)]
        graph_options: BTreeMap<String, serde_json::Value>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Version {
        version: String,
    }
    let info: Info = serde_json::from_str(text).map_err(|e| format!("`podman info` gave something else: {e}"))?;
    if info.host.service_is_remote {
        return Err("podman talks to another machine, where this repository is not".into());
    }
    let store = info.store.ok_or("podman says nothing of its storage")?;
    if store.graph_driver_name == "vfs" {
        return Err(
            "podman uses the vfs storage driver, which copies whole images; set driver = \"overlay\" in storage.conf"
                .into(),
        );
    }
    let rootless = info.host.security.rootless;
    let controllers = info.host.cgroup_controllers.unwrap_or_default();
    let delegated = ["memory", "pids", "cpu"].iter().all(|c| controllers.iter().any(|have| have == c));
    let limits = if rootless { info.host.cgroup_version == "v2" && delegated } else { true };
    // Set in storage.conf, or by podman itself where it found the kernel's overlay wanting.
    let kernel_overlay = !store.graph_options.keys().any(|option| option.ends_with("mount_program"));
    Ok(Facts {
        version: info.version.version,
        rootless,
        graph_root: Some(store.graph_root),
        limits,
        kernel_overlay,
        socket: None,
    })
}

/// Reads `docker version --format '{{json .}}'` together with the endpoint that the client uses.
pub fn parse_docker_version(text: &str, endpoint: &str) -> Result<Facts, Unusable> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        server: Option<Server>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Server {
        version: String,
        #[serde(default)]
        components: Vec<Component>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Component {
        name: String,
    }
    local_endpoint(endpoint)?;
    let other = |e: serde_json::Error| format!("`docker version` gave something else: {e}");
    let raw: serde_json::Value = serde_json::from_str(text).map_err(other)?;
    // podman answers in docker's place without ever mentioning a server; docker says `null`.
    if raw.get("Server").is_none() {
        return Err(SHIM.into());
    }
    let output: Output = serde_json::from_value(raw).map_err(other)?;
    let server = output.server.ok_or("the docker daemon does not answer")?;
    let is = |name: &str| server.components.iter().any(|c| c.name.starts_with(name));
    if is("Podman") {
        return Err(SHIM.into());
    }
    Ok(Facts {
        version: server.version,
        rootless: is("rootlesskit"),
        graph_root: None,
        limits: true,
        kernel_overlay: true,
        socket: endpoint.strip_prefix("unix://").map(str::to_owned),
    })
}

/// Refuses a daemon that is elsewhere: an overlay over a path of this machine cannot work there.
pub fn local_endpoint(endpoint: &str) -> Result<(), Unusable> {
    if endpoint.starts_with("unix://") {
        Ok(())
    } else {
        Err(format!("its daemon is elsewhere ({}), where this repository is not", crate::ui::sanitize::text(endpoint)))
    }
}
