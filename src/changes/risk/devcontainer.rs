//! Dev containers: most of a file acts inside of the container, some keys act on the host that starts it.

use super::Risk;
use super::codes::{DEVCONTAINER, DEVCONTAINER_HOST};
use super::doc::Format;
use super::keys::{How, KeyRules, Keys, describe};
use super::rule::{Judged, Rule, Sides};

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::own(".devcontainer/devcontainer.json", DEVCONTAINER_HOST, judge),
    Rule::own(".devcontainer/*/devcontainer.json", DEVCONTAINER_HOST, judge),
    Rule::own(".devcontainer.json", DEVCONTAINER_HOST, judge),
    Rule::own("devcontainer-feature.json", DEVCONTAINER_HOST, judge),
    Rule::keys(".devcontainer/*compose*.y*ml", DEVCONTAINER_HOST, Format::Yaml, COMPOSE),
    Rule::any(".devcontainer/**", DEVCONTAINER, "is part of a dev container"),
];

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

fn judge(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    let changed: Vec<_> = new.since(&old).into_iter().filter(|(_, how)| *how != How::Removed).collect();
    let (host, rest): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(key, _)| reaches_host(key, &new));
    let risk = |code, found: &[_]| (!found.is_empty()).then(|| Risk::of(code, describe(&sides.name, found)));
    Ok([risk(DEVCONTAINER_HOST, &host), risk(DEVCONTAINER, &rest)].into_iter().flatten().collect())
}

fn reaches_host(key: &str, keys: &Keys) -> bool {
    let top = key.split(['.', '[']).next().unwrap_or(key);
    let values = keys.values(key);
    let all = |test: fn(&str) -> bool| values.iter().all(|value| test(value));
    if HOST_KEYS.contains(&top) || key.starts_with("build.options") {
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
fn is_volume(key: &str, keys: &Keys) -> bool {
    let types = |text: &str| text.split(',').any(|part| part.trim() == "type=volume") && !text.contains("type=bind");
    match key.split_once("].") {
        None => keys.values(key).iter().all(|text| types(text) && !text.contains("device=")),
        Some((mount, _)) => {
            let kind = keys.values(&format!("{mount}].type"));
            !kind.is_empty() && kind.iter().all(|kind| kind == "volume")
        }
    }
}
