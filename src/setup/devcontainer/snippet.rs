//! The settings that an image, a feature and a config can all have, as written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::hooks::{Commands, HOOKS};
use super::keys::Kind;
use super::mounts::RawMount;
use super::node::{At, Data, Problem};
use super::requirements::Requirements;
use crate::setup::plan::EnvProbe;

/// Settings of one source. Nothing is substituted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snippet {
    pub(super) init: Option<bool>,
    pub(super) privileged: Option<bool>,
    pub(super) cap_add: Vec<String>,
    pub(super) security_opt: Vec<String>,
    pub(super) entrypoint: Option<String>,
    pub(super) mounts: Vec<RawMount>,
    pub(super) hooks: [Commands; 5],
    pub(super) remote_user: Option<String>,
    pub(super) container_user: Option<String>,
    pub(super) user_env_probe: Option<EnvProbe>,
    pub(super) override_command: Option<bool>,
    pub(super) update_remote_user_uid: Option<bool>,
    pub(super) remote_env: BTreeMap<String, Option<String>>,
    pub(super) container_env: BTreeMap<String, String>,
    pub(super) ports: Vec<String>,
    pub(super) requirements: Requirements,
    /// By tool.
    pub(super) customizations: BTreeMap<String, Value>,
    /// Keys that are there and mean nothing without an editor.
    pub(super) editor_keys: BTreeSet<&'static str>,
}

/// Reads keys, and remembers those that hold something else than they should.
pub(super) struct Reader<'n> {
    pub(super) top: At<'n>,
    kind: Kind,
    pub(super) problems: Vec<Problem>,
}

impl<'n> Reader<'n> {
    pub(super) fn new(top: At<'n>, kind: Kind) -> Self {
        Self { top, kind, problems: Vec::new() }
    }

    /// The value of a key, if this kind of source has the key.
    pub(super) fn get(&self, key: &str) -> Option<At<'n>> {
        if self.kind.has(key) { self.top.get(key) } else { None }
    }

    /// What `read` makes of a key; the default where there is none or it is wrong.
    pub(super) fn take<T: Default>(&mut self, key: &str, read: impl FnOnce(&At<'n>) -> Result<T, Problem>) -> T {
        let result = self.get(key).map(|at| read(&at));
        match result {
            Some(Ok(value)) => value,
            Some(Err(problem)) => {
                self.problems.push(problem);
                T::default()
            }
            None => T::default(),
        }
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, |at| at.owned().map(Some))
    }

    fn boolean(&mut self, key: &str) -> Option<bool> {
        self.take(key, |at| at.boolean().map(Some))
    }

    pub(super) fn snippet(&mut self) -> Snippet {
        // Checked and not kept: the hand-over waits for all hooks, and nothing shuts down with an editor.
        self.take("waitFor", |at| {
            let names = HOOKS.map(|(_, name)| name);
            let first_five = |text: &str| text == "initializeCommand" || names[..4].contains(&text);
            if first_five(at.text()?) { Ok(()) } else { at.must_be("the name of a hook up to `postStartCommand`") }
        });
        self.take("shutdownAction", |at| at.text().map(drop));
        let editor_keys = ["portsAttributes", "otherPortsAttributes"].into_iter().filter(|key| self.get(key).is_some());
        let editor_keys = editor_keys.collect();
        Snippet {
            init: self.boolean("init"),
            privileged: self.boolean("privileged"),
            cap_add: self.take("capAdd", |at| at.strings()),
            security_opt: self.take("securityOpt", |at| at.strings()),
            entrypoint: self.text("entrypoint"),
            mounts: self.take("mounts", |at| at.items()?.iter().map(RawMount::read).collect()),
            hooks: HOOKS.map(|(_, key)| self.take(key, Commands::read)),
            remote_user: self.text("remoteUser"),
            container_user: self.text("containerUser"),
            user_env_probe: self.take("userEnvProbe", probe),
            override_command: self.boolean("overrideCommand"),
            update_remote_user_uid: self.boolean("updateRemoteUserUID"),
            remote_env: self.take("remoteEnv", |at| at.variables()),
            container_env: self.take("containerEnv", |at| at.set_variables()),
            ports: self.take("forwardPorts", |at| at.items()?.iter().map(port).collect()),
            requirements: self.take("hostRequirements", Requirements::read),
            customizations: self.take("customizations", |at| {
                Ok(at.entries()?.into_iter().map(|(tool, at)| (tool.to_owned(), at.node.to_json())).collect())
            }),
            editor_keys,
        }
    }
}

fn probe(at: &At<'_>) -> Result<Option<EnvProbe>, Problem> {
    match at.text()? {
        "" => Ok(None),
        "none" => Ok(Some(EnvProbe::None)),
        "loginShell" => Ok(Some(EnvProbe::LoginShell)),
        "interactiveShell" => Ok(Some(EnvProbe::InteractiveShell)),
        "loginInteractiveShell" => Ok(Some(EnvProbe::LoginInteractiveShell)),
        _ => at.must_be("one of none, loginShell, interactiveShell, loginInteractiveShell"),
    }
}

/// A port as text: `3000`, `db:5432`. The own host need not be named.
pub(super) fn port(at: &At<'_>) -> Result<String, Problem> {
    match &at.node.data {
        Data::Text(text) => Ok(text.strip_prefix("localhost:").unwrap_or(text).to_owned()),
        Data::Number(_) => at.count().map(|port| port.to_string()),
        _ => at.must_be("a number or a string"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::node::Node;
    use super::*;

    fn read(kind: Kind, value: Value) -> (Snippet, Vec<String>) {
        let node = Node::of(&value);
        let mut reader = Reader::new(At::top(&node), kind);
        let snippet = reader.snippet();
        (snippet, reader.problems.into_iter().map(|problem| problem.what).collect())
    }

    #[test]
    fn every_wrong_type_is_named() {
        let wrong = json!({
            "init": 1, "capAdd": "x", "mounts": [1], "remoteUser": 5, "userEnvProbe": "x", "remoteEnv": [],
            "containerEnv": { "A": null }, "forwardPorts": [true], "hostRequirements": { "cpus": "x" },
            "waitFor": "postAttachCommand", "customizations": 1, "updateRemoteUserUID": "true", "privileged": null
        });
        let (_, problems) = read(Kind::Config, wrong);
        assert_eq!(problems.len(), 12, "{problems:#?}");
        assert!(problems.iter().any(|what| what == "`hostRequirements.cpus` must be a whole number"));
    }

    #[test]
    fn only_keys_of_its_kind_count() {
        let value = json!({ "entrypoint": "/x", "containerEnv": { "A": "$PATH" }, "remoteUser": "u", "init": true });
        let (config, _) = read(Kind::Config, value.clone());
        assert_eq!((config.entrypoint, config.remote_user.as_deref()), (None, Some("u")));
        let (feature, _) = read(Kind::Feature, value.clone());
        assert!(feature.container_env.is_empty() && feature.remote_user.is_none());
        assert_eq!((feature.entrypoint.as_deref(), feature.init), (Some("/x"), Some(true)));
        let (label, _) = read(Kind::Label, value);
        assert_eq!((label.entrypoint.as_deref(), label.remote_user.as_deref()), (Some("/x"), Some("u")));
    }
}
