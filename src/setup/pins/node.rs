//! Node.

use serde_json::Value;

use super::range::Unit;
use super::{Pin, first_line, version};
use crate::setup::project::Project;

/// Names of the releases with long support.
const RELEASES: [(&str, &str); 11] = [
    ("argon", "4"),
    ("boron", "6"),
    ("carbon", "8"),
    ("dubnium", "10"),
    ("erbium", "12"),
    ("fermium", "14"),
    ("gallium", "16"),
    ("hydrogen", "18"),
    ("iron", "20"),
    ("jod", "22"),
    ("krypton", "24"),
];

pub(super) fn read(project: &Project<'_>) -> Option<Pin> {
    let file = |name: &str| {
        let raw = first_line(project, name)?;
        Some(Pin::request(project, name, &raw, alias(&raw)))
    };
    file(".nvmrc").or_else(|| file(".node-version")).or_else(|| manifest(project))
}

fn manifest(project: &Project<'_>) -> Option<Pin> {
    const FILE: &str = "package.json";
    let manifest = project.json(FILE)?;
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    if let Some(raw) = text("/volta/node") {
        return Some(Pin::request(project, FILE, raw, version::exact(raw)));
    }
    let is_node = text("/devEngines/runtime/name") == Some("node");
    let raw = text("/devEngines/runtime/version").filter(|_| is_node).or_else(|| text("/engines/node"))?;
    Some(Pin::range(project, FILE, raw, Unit::Major))
}

/// A version, `lts` for the newest with long support, or `latest`.
pub(super) fn alias(raw: &str) -> Option<String> {
    let raw = raw.trim().to_lowercase();
    let word = match raw.as_str() {
        "lts" | "lts/*" | "--lts" => "lts",
        "node" | "stable" | "current" | "latest" => "latest",
        _ => match raw.strip_prefix("lts/").or_else(|| raw.strip_prefix("lts-")) {
            Some(name) => RELEASES.iter().find(|(release, _)| *release == name)?.1,
            None => return version::exact(&raw),
        },
    };
    Some(word.to_owned())
}
