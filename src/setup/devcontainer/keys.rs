//! The keys there are, and what somebody may have meant.

use crate::near;
use crate::ui::sanitize;

use super::node::{At, Data};

/// Keys that an image, a feature and a config share.
const SHARED: &[&str] = &[
    "init",
    "privileged",
    "capAdd",
    "securityOpt",
    "mounts",
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
    "postStartCommand",
    "postAttachCommand",
    "customizations",
];
/// Further keys of an image's label and a config.
const SETTINGS: &[&str] = &[
    "waitFor",
    "remoteUser",
    "containerUser",
    "userEnvProbe",
    "shutdownAction",
    "overrideCommand",
    "updateRemoteUserUID",
    "remoteEnv",
    "containerEnv",
    "forwardPorts",
    "portsAttributes",
    "otherPortsAttributes",
    "hostRequirements",
];
/// Further keys of a config alone.
const CONFIG: &[&str] = &[
    "$schema",
    "name",
    "image",
    "build",
    "dockerFile",
    "context",
    "dockerComposeFile",
    "service",
    "runServices",
    "features",
    "overrideFeatureInstallOrder",
    "workspaceFolder",
    "workspaceMount",
    "runArgs",
    "appPort",
    "secrets",
    "initializeCommand",
    "extends",
    "extensions",
    "settings",
    "devPort",
];
const BUILD: &[&str] = &["dockerfile", "context", "args", "target", "cacheFrom", "options"];
const HOST: &[&str] = &["cpus", "memory", "storage", "gpu"];
/// Configs are full of keys of other tools; a longer list helps nobody.
const MOST_NAMED: usize = 8;
/// Longer names are no misspelling of ours.
const LONGEST: usize = 40;

/// Who a set of settings comes from decides which keys count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Label,
    Feature,
    Config,
}

impl Kind {
    pub(super) fn has(self, key: &str) -> bool {
        let shared = SHARED.contains(&key);
        match self {
            // A feature's variables became part of the image when it was installed.
            Kind::Feature => shared || key == "entrypoint",
            Kind::Label => shared || key == "entrypoint" || SETTINGS.contains(&key),
            Kind::Config => shared || SETTINGS.contains(&key) || CONFIG.contains(&key),
        }
    }
}

/// One line about the keys of a config that nobody knows; none if there are none.
pub(super) fn unknown(top: &At<'_>) -> Option<String> {
    let known: Vec<&str> = [SHARED, SETTINGS, CONFIG].concat();
    let (mut found, mut more) = (Vec::new(), 0);
    for (at, known) in [(Some(top.clone()), &*known), (top.get("build"), BUILD), (top.get("hostRequirements"), HOST)] {
        let Some(at) = at else { continue };
        let Data::Map(map) = &at.node.data else { continue };
        let prefix = if at.path.is_empty() { String::new() } else { format!("{}.", at.path) };
        for (key, _) in map.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            if found.len() == MOST_NAMED {
                more += 1;
                continue;
            }
            let meant = near::closest(key, known.iter().copied())
                .map(|near| format!(" (`{prefix}{near}`?)"))
                .unwrap_or_default();
            let short: String = key.chars().take(LONGEST).collect();
            found.push(format!("`{prefix}{}`{meant}", sanitize::text(&short)));
        }
    }
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!found.is_empty()).then(|| format!("unknown keys are ignored: {}{more}", found.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::node::Node;
    use super::*;

    fn unknown_in(value: serde_json::Value) -> Option<String> {
        unknown(&At::top(&Node::of(&value)))
    }

    #[test]
    fn unknown_keys_are_one_notice_with_what_may_have_been_meant() {
        let found = unknown_in(json!({
            "imagge": 1, "postcreatecommand": 2, "zzz": 3, "build": { "dockerFile": "x" }, "image": "y"
        }));
        let text = "unknown keys are ignored: `imagge` (`image`?), `postcreatecommand` (`postCreateCommand`?), \
                    `zzz`, `build.dockerFile` (`build.dockerfile`?)";
        assert_eq!(found.unwrap(), text);
    }

    #[test]
    fn known_keys_are_none() {
        assert_eq!(unknown_in(json!({ "name": "x", "settings": {}, "hostRequirements": { "cpus": 1 } })), None);
    }

    #[test]
    fn a_long_list_is_cut_and_escaped() {
        let keys = (0..20).map(|i| (format!("k{i}\u{1b}[2J"), json!(1))).collect();
        let found = unknown_in(serde_json::Value::Object(keys)).unwrap();
        assert!(found.ends_with("and 12 more") && !found.contains('\u{1b}'), "{found}");
    }
}
