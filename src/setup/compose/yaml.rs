//! One YAML file as a tree. It is hostile: every way to make it large is bounded.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{Error, Result, show};
use crate::ui::sanitize;

/// The largest compose files of real projects are some thousand lines.
const MOST_BYTES: usize = 1 << 20;
const MOST_NODES: usize = 50_000;

/// Reads a file; an empty one is an empty map.
pub(super) fn parse(from: &Path, content: &[u8]) -> Result<Map<String, Value>> {
    let broken = |why: &str| Error::new(format!("{}: {}", show(from), sanitize::text(why)));
    if content.len() > MOST_BYTES {
        return Err(broken("it is too large for a compose file"));
    }
    let text = std::str::from_utf8(content).map_err(|_| broken("it is not text"))?;
    let value: Value = serde_saphyr::from_str_with_options(text, frugal()).map_err(|e| {
        let why = e.to_string();
        broken(why.lines().next().unwrap_or("it cannot be read"))
    })?;
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err(broken("it is not a map of keys")),
    }
}

/// Aliases multiply text: they may not bring more than a file could hold. A tag changes what a key means, and none is
/// known here. `yes` and `on` are text, as compose takes them.
fn frugal() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
            max_aliases: 1000,
            max_recorded_anchor_bytes: 64 << 10,
            max_depth: 32,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
        },
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// A scalar as text, as a variable or a path would have it.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// A scalar, or the scalars of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect(),
    }
}

/// Whether a scalar says yes.
pub(super) fn is_true(value: &Value) -> bool {
    text(value).is_some_and(|text| text == "true")
}
