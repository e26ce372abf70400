//! What a feature is told, as variables for its `install.sh`.
//!
//! The reference passes on what it does not know; so do we, but we say so: a typo in an option is the usual cause.

use std::collections::BTreeMap;

use serde_json::Value;

use super::id::FeatureId;
use super::metadata::{Metadata, OptionKind, OptionSpec};
use super::quote::shell;
use crate::error::{Error, Result};
use crate::ui::sanitize;

/// The variables of one feature: its defaults, and over them what the user says.
pub(super) fn variables(
    id: &FeatureId,
    metadata: &Metadata,
    value: &Value,
    notices: &mut Vec<String>,
) -> Result<BTreeMap<String, String>> {
    let mut values: Vec<(&str, String)> = Vec::new();
    for (name, spec) in &metadata.options {
        if let Some(default) = spec.default.as_ref().and_then(text) {
            values.push((name, default));
        }
    }
    let spec = |name: &str| metadata.options.iter().find(|(known, _)| known == name).map(|(_, spec)| spec);
    let mut warn = |what: String| notices.push(format!("feature {id}: {what}"));
    match value {
        Value::Object(given) => {
            for (name, value) in given {
                let Some(value) = text(value) else {
                    if !value.is_null() {
                        return Err(Error::new(format!(
                            "feature {id}: the option `{}` must be text, true or false",
                            sanitize::text(name)
                        )));
                    }
                    continue;
                };
                match spec(name) {
                    None => warn(format!("it has no option `{}`", sanitize::text(name))),
                    Some(spec) => complain(name, spec, &value, &mut warn),
                }
                values.push((name, value));
            }
        }
        Value::String(version) if spec("version").is_some() => values.push(("version", version.clone())),
        Value::String(version) if !version.is_empty() => {
            warn(format!("it has no option `version`, so `{}` means nothing to it", sanitize::text(version)));
        }
        Value::Bool(false) => warn("`false` does not switch it off: it is installed".to_owned()),
        Value::String(_) | Value::Bool(true) | Value::Null => {}
        _ => return Err(Error::new(format!("feature {id}: its value must be an object, text, true or false"))),
    }
    values.into_iter().map(|(name, value)| checked(id, name, value)).collect()
}

fn checked(id: &FeatureId, name: &str, value: String) -> Result<(String, String)> {
    let variable = variable(name);
    let shown = sanitize::text(name);
    if variable.is_empty() {
        return Err(Error::new(format!("feature {id}: an option needs a name")));
    }
    if value.contains('\0') {
        return Err(Error::new(format!("feature {id}: the option `{shown}` has a zero byte in it")));
    }
    Ok((variable, value))
}

fn complain(name: &str, spec: &OptionSpec, value: &str, warn: &mut impl FnMut(String)) {
    let (name, shown) = (sanitize::text(name), sanitize::text(value));
    if let Some(allowed) = spec.allowed.as_ref().filter(|allowed| !allowed.iter().any(|known| known == value)) {
        let known: Vec<String> = allowed.iter().take(20).map(|value| sanitize::text(value)).collect();
        warn(format!("the option `{name}` does not know `{shown}`, only {}", known.join(", ")));
    }
    if spec.kind == OptionKind::Boolean && !matches!(value, "true" | "false") {
        warn(format!("the option `{name}` is true or false, not `{shown}`"));
    }
}

/// Numbers are taken too, as the reference does.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The name of the variable for an option. What is no letter, digit or `_` becomes `_`, digits and `_` in front
/// become one `_`. Counted in UTF-16 as the reference does, so that the names are the same.
pub(super) fn variable(option: &str) -> String {
    let mut name = String::with_capacity(option.len());
    for c in option.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c.to_ascii_uppercase());
        } else {
            (0..c.len_utf16()).for_each(|_| name.push('_'));
        }
    }
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    if rest.len() == name.len() { name } else { format!("_{rest}") }
}

/// Variables as a file for a shell. Each value is one quoted word: the reference leaves `"` and `$` as they are, and
/// so runs what is written there.
pub(super) fn env_file<'a>(variables: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    variables.into_iter().map(|(name, value)| format!("{name}={}\n", shell(value))).collect()
}
