//! Dev containers: most of a file acts inside of the container, some keys act on the host that starts it.

use super::Risk;
use super::codes::{DEVCONTAINER, DEVCONTAINER_HOST};
use super::doc::{Doc, Format};
use super::key::Key;
use super::keys::{How, KeyRules, Keys, describe};
use super::rule::{Judged, Rule, Sides};

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::own(".devcontainer/devcontainer.json", DEVCONTAINER_HOST, judge),
    Rule::own(".devcontainer/*/devcontainer.json", DEVCONTAINER_HOST, judge),
    Rule::own(".devcontainer.json", DEVCONTAINER_HOST, judge),
    Rule::own("devcontainer-feature.json", DEVCONTAINER_HOST, judge),
    Rule::own(".devcontainer/**/*.yml", DEVCONTAINER_HOST, yaml),
    Rule::own(".devcontainer/**/*.yaml", DEVCONTAINER_HOST, yaml),
    Rule::any(".devcontainer/**", DEVCONTAINER, "is part of a dev container"),
];

/// A file that `dockerComposeFile` names, wherever it lies.
pub(super) const NAMED_COMPOSE: Rule = Rule::own("", DEVCONTAINER_HOST, compose);

/// By these a document is known as one of compose's.
const COMPOSE_MARKS: &[&str] = &["services", "volumes", "networks", "include", "configs", "secrets"];

/// Of a compose file, what stays inside: all else can mount, publish or give rights.
const COMPOSE: KeyRules = KeyRules::all_but(&[
    "version",
    "name",
    "services.*.image",
    "services.*.command*",
    "services.*.entrypoint*",
    "services.*.working_dir",
    "services.*.user",
    "services.*.init",
    "services.*.restart",
    "services.*.depends_on*",
    "services.*.healthcheck*",
    "services.*.labels*",
    "services.*.build.target",
    "services.*.build.dockerfile",
]);

/// Top-level keys that act on the host, whatever their value. Features can bring mounts and privileges of their own.
const HOST_KEYS: &[&str] =
    &["initializeCommand", "runArgs", "capAdd", "securityOpt", "workspaceMount", "dockerComposeFile", "features"];

/// Any name may be that of a compose file.
fn yaml(sides: &Sides<'_>) -> Judged {
    let (_, new) = sides.docs(Format::Yaml)?;
    if new.entries().iter().any(|(name, _)| COMPOSE_MARKS.contains(&&**name)) {
        return compose(sides);
    }
    let risk = || Risk::of(DEVCONTAINER, format!("`{}` is part of a dev container", sides.name));
    Ok(sides.new.is_some().then(risk).into_iter().collect())
}

fn compose(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Yaml)?;
    Ok(sides.by_keys(DEVCONTAINER_HOST, &old, &new, &COMPOSE).into_iter().collect())
}

/// The compose files that a `devcontainer.json` names, relative to its folder. None if it cannot be read: then it is
/// judged by its name.
pub fn compose_files(bytes: &[u8]) -> Vec<String> {
    let Ok(doc) = Doc::read(Format::Json, bytes) else { return Vec::new() };
    let named = doc.entries().iter().filter(|(name, _)| &**name == "dockerComposeFile");
    named
        .flat_map(|(_, value)| value.text().into_iter().chain(value.items().iter().filter_map(Doc::text)))
        .map(str::to_owned)
        .collect()
}

fn judge(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    let changed: Vec<_> = new.since(&old).into_iter().filter(|(_, how)| *how != How::Removed).collect();
    let (host, rest): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(key, _)| reaches_host(key, &new));
    let risk = |code, found: &[_]| (!found.is_empty()).then(|| Risk::of(code, describe(&sides.name, found)));
    Ok([risk(DEVCONTAINER_HOST, &host), risk(DEVCONTAINER, &rest)].into_iter().flatten().collect())
}

fn reaches_host(key: &Key, keys: &Keys) -> bool {
    let top = key.top();
    let values = keys.values(key);
    let all = |test: fn(&str) -> bool| values.iter().all(|value| test(value));
    if HOST_KEYS.contains(&top) || key.is_within("build.options*") {
        return true;
    }
    // Outside of the folder, or by a variable of the host.
    if values.iter().any(|value| value.contains("${localEnv:") || value.contains("${env:")) {
        return true;
    }
    match top {
        "privileged" => !all(|value| value == "false"),
        "mounts" => !is_volume(key, keys),
        "build" | "dockerFile" | "context" => !all(|value| !value.starts_with(['/', '~']) && !value.contains("..")),
        _ => false,
    }
}

/// A named volume stays with the engine; a bind is a folder of the host. Written as text or as a map.
fn is_volume(key: &Key, keys: &Keys) -> bool {
    let types = |text: &str| text.split(',').any(|part| part.trim() == "type=volume") && !text.contains("type=bind");
    if key.is_place() {
        return keys.values(key).iter().all(|text| types(text) && !text.contains("device="));
    }
    let kind = keys.values(&key.beside("type"));
    key.names().count() == 3 && !kind.is_empty() && kind.iter().all(|kind| kind == "volume")
}
