//! Names from before features had registries: `node` for what is now a feature of the default registry.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::ui::sanitize;

/// Names that are the same there.
const SAME: &[&str] = &[
    "aws-cli",
    "azure-cli",
    "desktop-lite",
    "docker-in-docker",
    "docker-from-docker",
    "dotnet",
    "git",
    "git-lfs",
    "github-cli",
    "java",
    "kubectl-helm-minikube",
    "node",
    "powershell",
    "python",
    "ruby",
    "rust",
    "sshd",
    "terraform",
];
/// Names that changed.
const RENAMED: &[(&str, &str)] = &[("golang", "go"), ("common", "common-utils")];
/// Names that became an option of another one.
const FOLDED: &[(&str, &str, &str)] = &[
    ("gradle", "java", "installGradle"),
    ("maven", "java", "installMaven"),
    ("jupyterlab", "python", "installJupyterlab"),
];
/// Where all of them are now, and the version that keeps what they did.
const NAMESPACE: &str = "devcontainers/features";
const VERSION: &str = "1";

/// The full name of a short one; others stay as they are.
pub(super) fn expand(written: &str, default_registry: Option<&str>) -> Result<String> {
    if written.contains(['/', '\\']) {
        return Ok(written.to_owned());
    }
    let shown = sanitize::text(written);
    let renamed = RENAMED.iter().find(|(old, _)| *old == written).map(|(_, new)| *new);
    let Some(name) = renamed.or_else(|| SAME.iter().find(|name| **name == written).copied()) else {
        return Err(Error::new(format!("`{shown}` is not the name of a feature"))
            .hint(format!("write `./{shown}` for a local one, or its full name in a registry")));
    };
    let Some(registry) = default_registry else {
        return Err(Error::new(format!("the feature `{shown}` is a short name, and no default registry is set"))
            .hint(format!("write it in full: `<registry>/{NAMESPACE}/{name}:{VERSION}`")));
    };
    Ok(format!("{registry}/{NAMESPACE}/{name}:{VERSION}"))
}

/// Turns the names that became options into those, and says so.
pub(super) fn fold(features: &mut Vec<(String, Value)>, default_registry: Option<&str>, notices: &mut Vec<String>) {
    for (old, target, option) in FOLDED {
        let Some(at) = features.iter().position(|(id, _)| id == old) else { continue };
        features.remove(at);
        notices.push(format!("the feature `{old}` is now the option `{option}` of `{target}`"));
        let full = default_registry.map(|registry| format!("{registry}/{NAMESPACE}/{target}"));
        let is_target = |id: &str| {
            let rest = full.as_deref().and_then(|full| id.strip_prefix(full));
            id == *target || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let option = (String::from(*option), Value::Bool(true));
        match features.iter_mut().find(|(id, _)| is_target(id)) {
            Some((_, value)) => *value = Value::Object(as_options(value).into_iter().chain([option]).collect()),
            None => features.push((String::from(*target), Value::Object([option].into_iter().collect()))),
        }
    }
}

fn as_options(value: &Value) -> Map<String, Value> {
    match value {
        Value::Object(options) => options.clone(),
        Value::String(version) => [("version".to_owned(), Value::String(version.clone()))].into_iter().collect(),
        _ => Map::new(),
    }
}

/// Whether a notice is due: it is one of the old names.
pub(super) fn is_old(written: &str) -> bool {
    SAME.contains(&written) || RENAMED.iter().any(|(old, _)| *old == written)
}
