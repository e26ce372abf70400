//! Several compose files as one: a later file adds to an earlier one, or replaces.

use serde_json::{Map, Value};

use super::volumes::target;
use super::yaml::text;

/// Lists that are one value: the later one stands alone.
const WHOLE: &[&str] = &["command", "entrypoint", "test"];

/// Lays `over` on `base`.
pub(super) fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, new) in over {
        let Some(old) = base.get_mut(&key) else {
            base.insert(key, new);
            continue;
        };
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => merge(old, new),
            (Value::Array(old), Value::Array(new)) if !WHOLE.contains(&key.as_str()) => append(&key, old, new),
            // A key without a value says nothing.
            (old, Value::Null) if old.is_object() || old.is_array() => {}
            (old, new) => *old = new,
        }
    }
}

/// Mounts and devices are the same where their place inside is the same; other things where they are equal.
fn append(key: &str, old: &mut Vec<Value>, new: Vec<Value>) {
    let place = |item: &Value| match key {
        "volumes" => target(item),
        "devices" => text(item).map(|device| device.split(':').nth(1).unwrap_or(&device).to_owned()),
        _ => None,
    };
    for item in new {
        let same = |known: &&mut Value| **known == item || place(known).is_some_and(|at| Some(at) == place(&item));
        match old.iter_mut().find(same) {
            Some(known) => *known = item,
            None => old.push(item),
        }
    }
}
