//! Keys that can be written in several ways, in one way: so that files can be merged key by key.

use serde_json::{Map, Value};

use super::yaml::text;

/// `- NAME=value` or `NAME: value`.
const PAIRS: &[&str] = &["environment", "labels", "sysctls", "annotations"];
/// One thing or a list of them.
const LISTS: &[&str] =
    &["env_file", "tmpfs", "dns", "dns_search", "cap_add", "cap_drop", "security_opt", "devices", "ports", "volumes"];

/// One service.
pub(super) fn service(service: &mut Map<String, Value>) {
    for key in PAIRS {
        change(service, key, |value| pairs(value, '='));
    }
    change(service, "extra_hosts", hosts);
    for key in LISTS {
        change(service, key, list);
    }
    change(service, "depends_on", names);
    change(service, "networks", names);
    change(service, "build", |value| match value {
        Value::String(_) => Value::Object([("context".to_owned(), value)].into_iter().collect()),
        other => other,
    });
    if let Some(Value::Object(build)) = service.get_mut("build") {
        change(build, "args", |value| pairs(value, '='));
        change(build, "cache_from", list);
    }
}

fn change(map: &mut Map<String, Value>, key: &str, how: impl FnOnce(Value) -> Value) {
    if let Some(value) = map.get_mut(key) {
        *value = how(value.take());
    }
}

fn list(value: Value) -> Value {
    match value {
        Value::Array(_) | Value::Null => value,
        one => Value::Array(vec![one]),
    }
}

/// A list of `name=value` as a map; without a value it is null.
fn pairs(value: Value, separator: char) -> Value {
    let Value::Array(items) = value else { return value };
    let entry = |item: &Value| {
        let item = text(item)?;
        Some(match item.split_once(separator) {
            Some((name, value)) => (name.to_owned(), Value::String(value.to_owned())),
            None => (item, Value::Null),
        })
    };
    Value::Object(items.iter().filter_map(entry).collect())
}

/// `host:address` or `host=address`.
fn hosts(value: Value) -> Value {
    let Value::Array(items) = &value else { return value };
    let has_equals = items.iter().filter_map(Value::as_str).all(|item| item.contains('='));
    pairs(value, if has_equals { '=' } else { ':' })
}

/// A list of names as a map of nothing.
fn names(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    Value::Object(items.iter().filter_map(text).map(|name| (name, Value::Null)).collect())
}
