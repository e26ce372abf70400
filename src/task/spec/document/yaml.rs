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
    let mut document = parsed.map(Node::from).map_err(|e| wrong(e.without_snippet()))?;
    let lines: Vec<&str> = text.lines().collect();
    keep_ids(&mut document, &lines);
    Ok(document)
}

/// The id of a commit may have nothing but digits. No number is as long as that.
fn keep_ids(node: &mut Node, lines: &[&str]) {
    match &mut node.value {
        Value::List(list) => list.iter_mut().for_each(|node| keep_ids(node, lines)),
        Value::Fields(fields) => fields.iter_mut().for_each(|field| keep_ids(&mut field.node, lines)),
        Value::Whole(_) | Value::Number(_) => {
            let (line, column) = node.place;
            let line = usize::try_from(line).ok().and_then(|line| lines.get(line.checked_sub(1)?));
            let column = usize::try_from(column).unwrap_or_default().saturating_sub(1);
            let digits = |line: &&str| line.chars().skip(column).take_while(char::is_ascii_digit).collect::<String>();
            if let Some(id) = line.map(digits).filter(|id| matches!(id.len(), 40 | 64)) {
                node.value = Value::Text(id);
            }
        }
        _ => {}
    }
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
        let place = (written.referenced.line(), written.referenced.column());
        Self { line: place.0, place, value: written.value.0 }
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
            let node = Node { line, ..from.next_value::<Spanned<Written>>()?.into() };
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
