//! Whether what `package.json` names is there.

use serde_json::{Map, Value};

use crate::setup::quote::quote;

/// More would say no more.
const NAMED: usize = 5;

/// A script for `node -e`, quoted: it fails if one of the first dependencies is not installed.
pub(super) fn script(manifest: &Value) -> String {
    let names = names(manifest);
    if names.is_empty() {
        return quote("require(\"./package.json\")");
    }
    // Names are looked for as directories: not every package can be loaded with `require`.
    let list = Value::from(names).to_string();
    quote(&format!(
        "const fs = require(\"fs\"); for (const name of {list}) {{ \
         if (process.versions.pnp) require(\"pnpapi\").resolveToUnqualified(name, process.cwd() + \"/\"); \
         else if (!fs.existsSync(\"node_modules/\" + name + \"/package.json\")) \
         throw new Error(name + \" is not installed\"); }}"
    ))
}

fn names(manifest: &Value) -> Vec<&str> {
    let of = |key: &str| manifest.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let optional = |name: &str| of("optionalDependencies").any(|(key, _)| key == name);
    let all = of("dependencies").chain(of("devDependencies")).map(|(name, _)| name.as_str());
    all.filter(|name| is_name(name) && !optional(name)).take(NAMED).collect()
}

/// What npm takes for the name of a package.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '~')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    };
    match name.strip_prefix('@') {
        _ if name.len() > 214 => false,
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
        None => is_part(name),
    }
}
