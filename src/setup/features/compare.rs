//! When two features are the same one, and which of two goes first in a round.
//!
//! Both are the reference's rules, with what is odd in them: fewest options first, versions as plain text, and a value
//! that is text on one side and a truth value on the other counts as the same.

use std::cmp::Ordering;

use serde_json::Value;

use super::collate::compare as by_text;
use super::graph::{Item, Soft};
use super::id::{RegistryRef, Source};

/// Negative where `a` goes first.
pub(super) fn compare(a: &Item, b: &Item) -> Ordering {
    let by_options = || options(&a.options, &b.options);
    match (&a.id.source, &b.id.source) {
        (Source::Registry(left), Source::Registry(right)) => {
            if a.digest == b.digest && by_options().is_eq() {
                return Ordering::Equal;
            }
            let by_tag = || match (&left.tag, &right.tag) {
                (Some(left), Some(right)) => by_text(left, right),
                _ => Ordering::Equal,
            };
            resource((left, &a.aliases), (right, &b.aliases))
                .then_with(by_tag)
                .then_with(by_options)
                .then_with(|| a.digest.cmp(&b.digest))
        }
        (Source::Local(left), Source::Local(right)) => by_text(&left.to_string_lossy(), &right.to_string_lossy())
            .then_with(|| left.cmp(right))
            .then_with(by_options),
        (Source::Tarball(left), Source::Tarball(right)) | (Source::Release(left), Source::Release(right)) => {
            by_text(left, right).then_with(by_options)
        }
        _ => by_text(&a.id.written, &b.id.written),
    }
}

/// Whether two are one and the same installation.
pub(super) fn is_same(a: &Item, b: &Item) -> bool {
    std::mem::discriminant(&a.id.source) == std::mem::discriminant(&b.id.source) && compare(a, b).is_eq()
}

/// Whether `node` is what a soft dependency means: the version does not matter, and old names count.
pub(super) fn is_meant(node: &Item, soft: &Soft) -> bool {
    match (&node.id.source, &soft.id.source) {
        (Source::Registry(have), Source::Registry(want)) => {
            have.resource() == want.resource() || have.is_beside(want) && node.aliases.contains(&want.id)
        }
        (Source::Local(have), Source::Local(want)) => have == want,
        (Source::Tarball(have), Source::Tarball(want)) => have == want,
        _ => false,
    }
}

fn resource(a: (&RegistryRef, &[String]), b: (&RegistryRef, &[String])) -> Ordering {
    let home = |reference: &RegistryRef| format!("{}/{}", reference.registry, reference.namespace);
    let by_home = by_text(&home(a.0), &home(b.0));
    let share_name = || a.1.iter().any(|name| b.1.contains(name));
    if by_home.is_ne() || share_name() { by_home } else { by_text(&a.0.id, &b.0.id) }
}

fn options(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let by_entry = |((key, value), (other, theirs)): ((&String, &Value), (&String, &Value))| {
                by_text(key, other).then_with(|| option(value, theirs))
            };
            let first = left.iter().zip(right).map(by_entry).find(|order| order.is_ne());
            left.len().cmp(&right.len()).then(first.unwrap_or(Ordering::Equal))
        }
        _ if kind(a) != kind(b) => kind(a).cmp(kind(b)),
        _ => option(a, b),
    }
}

fn option(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(left), Value::String(right)) => by_text(left, right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => by_text(&left.to_string(), &right.to_string()),
        _ => Ordering::Equal,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Null | Value::Array(_) | Value::Object(_) => "object",
    }
}
