//! YAML 1.2: what is not in quotes is a truth, a number or nothing where it looks like one, and text elsewhere.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Spanned};

use super::{DEEPEST, Field, Node, Value, Wrong, too_deep};

/// Aliases multiply text: they may not bring more values than that,
const MOST_REPEATED: usize = 10_000;
/// nor more bytes.
const MOST_BYTES: usize = 4 << 20;

pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEEPEST, max_total_scalar_bytes: MOST_BYTES },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
        // They all come here, and are told with where they are.
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        // YAML 1.2 has none, nor have the other formats.
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    let parsed = serde_saphyr::from_str_with_options::<Spanned<Written>>(text, options);
    parsed.map(Node::from).map_err(|e| wrong(e.without_snippet()))
}

fn wrong(error: &Error) -> Wrong {
    let line = error.location().map_or(1, |place| place.line());
    match error {
        Error::AliasError { error, .. } => wrong(error).at(line),
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => too_deep(line),
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } | Error::AliasReplayStackDepthExceeded { .. } => {
            Wrong::new("is too much once it is repeated for every alias").at(line)
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => Wrong::new("repeats itself within itself").at(line),
        Error::InvalidScalar { .. }
        | Error::InvalidBooleanStrict { .. }
        | Error::TaggedScalarCannotDeserializeIntoString { .. } => Wrong::new("is not what its tag says").at(line),
        Error::MultipleDocuments { .. } => Wrong::new("holds more than one document").at(line),
        other => {
            let what = other.to_string();
            Wrong::new(what.split(" at line ").next().unwrap_or(&what)).at(line)
        }
    }
}

/// A value as it was written.
struct Written(Value);

impl From<Spanned<Written>> for Node {
    fn from(written: Spanned<Written>) -> Self {
        Self { line: written.referenced.line(), value: written.value.0 }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any).map(Written)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = from.next_element::<Spanned<Written>>()? {
            list.push(element.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = from.next_key::<Spanned<Written>>()? {
            let line = name.referenced.line();
            let Written(value) = from.next_value()?;
            let node = Node { line, value };
            fields.push(match name.value.0 {
                Value::Text(name) => Field { name, is_text: true, node },
                other => Field { name: shown(&other), is_text: false, node },
            });
        }
        Ok(Value::Fields(fields))
    }
}

/// A name that is none.
fn shown(name: &Value) -> String {
    match name {
        Value::Truth(truth) => truth.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        _ => "?".to_owned(),
    }
}
