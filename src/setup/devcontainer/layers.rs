//! Settings of the image, the features and the config, one over the other: the rules of merging.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::config::Config;
use super::hooks::Commands;
use super::keys::Kind;
use super::label::{Origin, Part};
use super::ledger::{CONFIG, Host, Ledger};
use super::mounts::RawMount;
use super::node::{At, Node};
use super::requirements::Requirements;
use super::run_args::{add_free, is_free};
use super::snippet::{Reader, Snippet};
use super::substitute::Values;
use crate::error::{Error, Result};
use crate::setup::plan::ContainerOptions;
use crate::ui::sanitize;

/// Our own key in `customizations`.
const OWN: &str = "cowbox";
/// Problems of one part that are named.
const MOST_PROBLEMS: usize = 3;

/// All of them, the config last.
pub(super) struct Layers<'a> {
    list: Vec<(String, Snippet)>,
    config: &'a Config,
}

impl<'a> Layers<'a> {
    /// A part that is wrong somewhere loses that key, with a notice: it is not the repo's to mend.
    pub(super) fn new(config: &'a Config, parts: &[Part], ledger: &mut Ledger<'_>) -> Self {
        let mut list = Vec::with_capacity(parts.len() + 1);
        for part in parts {
            let (from, kind) = match &part.origin {
                Origin::Image => ("the image".to_owned(), Kind::Label),
                Origin::Feature(id) => (format!("feature {}", sanitize::text(id)), Kind::Feature),
            };
            let node = Node::of(&part.metadata);
            if node.has_nul() {
                ledger.notice(format!("{from}: its settings are left out: they hold the character NUL"));
                continue;
            }
            let mut reader = Reader::new(At::top(&node), kind);
            let snippet = reader.snippet();
            for problem in reader.problems.iter().take(MOST_PROBLEMS) {
                ledger.notice(format!("{from}: {}; left out", problem.what));
            }
            list.push((from, snippet));
        }
        list.push((CONFIG.to_owned(), config.shared.clone()));
        Self { list, config }
    }

    fn snippets(&self) -> impl DoubleEndedIterator<Item = &Snippet> {
        self.list.iter().map(|(_, snippet)| snippet)
    }

    /// Whether any says yes.
    pub(super) fn any(&self, get: impl Fn(&Snippet) -> Option<bool>) -> bool {
        self.snippets().any(|snippet| get(snippet) == Some(true))
    }

    /// What the last one says that says something.
    pub(super) fn last<T>(&self, get: impl Fn(&Snippet) -> Option<T>) -> Option<T> {
        self.snippets().rev().find_map(get)
    }

    /// As [`Layers::last`]; an empty name says nothing.
    pub(super) fn user(
        &self,
        key: &str,
        values: &Values<'_>,
        get: impl Fn(&Snippet) -> Option<&str>,
    ) -> Result<Option<String>> {
        let raw = self.snippets().rev().find_map(|snippet| get(snippet).filter(|name| !name.is_empty()));
        let name = raw.map(|raw| values.text(raw)).transpose()?.filter(|name| !name.is_empty());
        let odd = |name: &String| name.starts_with('-') || name.contains(|c: char| c.is_whitespace() || c.is_control());
        if name.as_ref().is_some_and(odd) {
            let shown = values.shown(raw.unwrap_or_default())?;
            return Err(Error::new(format!("`{key}` is not the name of a user: `{}`", sanitize::text(&shown))));
        }
        Ok(name)
    }

    /// `containerEnv`: of each variable the last.
    pub(super) fn env(&self, values: &Values<'_>) -> Result<BTreeMap<String, String>> {
        let raw: BTreeMap<&String, &String> = self.snippets().flat_map(|snippet| &snippet.container_env).collect();
        raw.into_iter().map(|(name, value)| Ok((name.clone(), values.text(value)?))).collect()
    }

    /// `remoteEnv`: of each variable the last; `null` unsets.
    pub(super) fn remote_env(&self, values: &Values<'_>) -> Result<BTreeMap<String, Option<String>>> {
        let raw: BTreeMap<&String, &Option<String>> = self.snippets().flat_map(|snippet| &snippet.remote_env).collect();
        let replaced = |value: &Option<String>| value.as_ref().map(|text| values.text(text)).transpose();
        raw.into_iter().map(|(name, value)| Ok((name.clone(), replaced(value)?))).collect()
    }

    pub(super) fn mounts(&self) -> Vec<(&str, &[RawMount])> {
        self.list.iter().map(|(from, snippet)| (from.as_str(), &*snippet.mounts)).collect()
    }

    pub(super) fn hooks(&self) -> Vec<(String, &[Commands; 5])> {
        self.list.iter().map(|(from, snippet)| (from.clone(), &snippet.hooks)).collect()
    }

    /// `customizations.cowbox` of all.
    pub(super) fn customizations(&self) -> Vec<Value> {
        self.snippets().filter_map(|snippet| snippet.customizations.get(OWN).cloned()).collect()
    }

    /// What widens the container's rights, each for who asks for it.
    pub(super) fn container(&self, values: &Values<'_>, ledger: &mut Ledger<'_>) -> Result<ContainerOptions> {
        // What starts the service is its own business, as long as nobody says otherwise.
        let own_command = self.last(|s| s.override_command).unwrap_or(!self.config.is_compose());
        let mut options = ContainerOptions { image_command: !own_command, ..ContainerOptions::default() };
        let (mut capabilities, mut security) = (Granted::default(), Granted::default());
        for (from, snippet) in &self.list {
            if snippet.privileged == Some(true) {
                let reason = "takes nearly all walls between the container and the host away";
                options.privileged |= ledger.ask(from, "privileged", reason, &Value::Bool(true));
            }
            for raw in &snippet.cap_add {
                if is_free(raw) {
                    add_free(&mut options);
                } else {
                    capabilities.ask(from, "capAdd", "gives the container more rights", raw, values, ledger)?;
                }
            }
            for raw in &snippet.security_opt {
                security.ask(from, "securityOpt", "changes what protects the host", raw, values, ledger)?;
            }
            if let Some(entrypoint) = snippet.entrypoint.as_deref().filter(|text| !text.is_empty()) {
                options.entrypoints.push(values.text(entrypoint)?);
            }
        }
        options.cap_add.extend(capabilities.list);
        options.security_opt = security.list;
        Ok(options)
    }

    /// Says what is not done, and what the host lacks.
    pub(super) fn explain(&self, host: &Host<'_>, ledger: &mut Ledger<'_>) {
        let own = &self.config.shared;
        for key in &own.editor_keys {
            ledger.ignore(CONFIG, key, "only an editor needs it");
        }
        for tool in own.customizations.keys().filter(|tool| *tool != OWN) {
            ledger.ignore(CONFIG, &format!("customizations.{}", sanitize::text(tool)), "is for another tool");
        }
        let mut seen = BTreeSet::new();
        let ports = self.snippets().flat_map(|snippet| &snippet.ports).chain(&self.config.app_ports);
        let ports: Vec<String> = ports.filter(|port| seen.insert(*port)).take(20).map(|p| sanitize::text(p)).collect();
        if !ports.is_empty() {
            ledger.notice(format!("ports are not forwarded: {}", ports.join(", ")));
        }
        let wants = self.snippets().fold(Requirements::default(), |most, snippet| most.max(&snippet.requirements));
        if let Some(missing) = wants.missing((host.cpus)(), (host.memory)()) {
            ledger.notice(missing);
        }
        if wants.storage > 0 {
            ledger.ignore(CONFIG, "hostRequirements.storage", "free space is not checked");
        }
    }
}

/// A list of which every entry needs consent: each once, in the order of first appearance.
#[derive(Default)]
struct Granted {
    list: Vec<String>,
    granted: BTreeSet<String>,
    asked: BTreeSet<(String, String)>,
}

impl Granted {
    fn ask(
        &mut self,
        from: &str,
        key: &str,
        reason: &str,
        raw: &str,
        values: &Values<'_>,
        ledger: &mut Ledger<'_>,
    ) -> Result<()> {
        let text = values.text(raw)?;
        let is_new = !self.granted.contains(&text) && self.asked.insert((from.to_owned(), raw.to_owned()));
        if is_new && ledger.ask(from, key, reason, &Value::String(values.shown(raw)?)) {
            self.granted.insert(text.clone());
            self.list.push(text);
        }
        Ok(())
    }
}
