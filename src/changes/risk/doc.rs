//! JSON with comments, TOML and YAML as one tree. The text is hostile: every way to make it large is bounded.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::jsonc::strict;

/// Values in one document of JSON or TOML. The largest lockfiles have half of it.
const MOST_VALUES: usize = 1_000_000;
/// YAML takes ten times as long to read.
const MOST_YAML: usize = 250_000;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML, the first document.
    Yaml,
}

impl Format {
    /// Larger documents are judged by their name. What a byte of them costs in memory differs.
    fn largest(self) -> usize {
        match self {
            Format::Json => 16 << 20,
            Format::Toml => 4 << 20,
            Format::Yaml => 8 << 20,
        }
    }
}

/// Why nothing is known of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unparsed {
    /// It has an error, or more in it than any real one.
    Broken,
    /// Too many bytes.
    Large,
}

/// A value. Maps keep repeated keys, for readers differ in which one they take.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doc {
    /// Text, number, truth value or null, as text.
    Scalar(Box<str>),
    /// Values in order.
    List(Vec<Doc>),
    /// Keys in order.
    Map(Vec<(Box<str>, Doc)>),
}

impl Doc {
    /// Reads a document; no bytes are an empty map.
    pub(super) fn read(format: Format, bytes: &[u8]) -> Result<Doc, Unparsed> {
        if bytes.len() > format.largest() {
            return Err(Unparsed::Large);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Unparsed::Broken)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(Doc::Map(Vec::new()));
        }
        // An upper bound of the values in it, before any of them costs memory. YAML counts its own.
        let separators = |b: &&u8| matches!(**b, b',' | b'[' | b'{' | b'=');
        if format != Format::Yaml && text.as_bytes().iter().filter(separators).count() > MOST_VALUES {
            return Err(Unparsed::Broken);
        }
        match format {
            Format::Json => jsonc_parser::parse_to_serde_value(text, &strict()).map_err(|_| Unparsed::Broken),
            Format::Toml => toml::from_str(text).map_err(|_| Unparsed::Broken),
            Format::Yaml => serde_saphyr::from_str_with_options(text, frugal()).map_err(|_| Unparsed::Broken),
        }
    }

    /// The last value of a key, as most readers take it.
    pub(super) fn get(&self, key: &str) -> Option<&Doc> {
        self.entries().iter().rev().find(|(name, _)| **name == *key).map(|(_, value)| value)
    }

    /// Keys and values; none if it is no map.
    pub(super) fn entries(&self) -> &[(Box<str>, Doc)] {
        if let Doc::Map(entries) = self { entries } else { &[] }
    }

    /// Values of a list; none if it is no list.
    pub(super) fn items(&self) -> &[Doc] {
        if let Doc::List(items) = self { items } else { &[] }
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        if let Doc::Scalar(text) = self { Some(text) } else { None }
    }

    /// The text of a scalar below a key, or nothing.
    pub(super) fn text_of(&self, key: &str) -> &str {
        self.get(key).and_then(Doc::text).unwrap_or_default()
    }
}

/// Aliases multiply text: at most a thousand copies of at most 64 kB.
fn frugal() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MOST_YAML,
            max_events: 2 * MOST_YAML,
            max_aliases: 1000,
            max_recorded_anchor_bytes: 64 << 10,
            max_depth: 64,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1000,
        },
        with_snippet: false,
    }
}

impl<'de> Deserialize<'de> for Doc {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

/// A scalar of any type is its text.
macro_rules! scalars {
    ($($visit:ident($type:ty)),*) => {
        $(fn $visit<E>(self, value: $type) -> Result<Doc, E> { Ok(Doc::Scalar(value.to_string().into())) })*
    };
}

impl<'de> Visitor<'de> for Reader {
    type Value = Doc;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    scalars!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_i128(i128), visit_u128(u128), visit_f64(f64));

    fn visit_str<E>(self, text: &str) -> Result<Doc, E> {
        Ok(Doc::Scalar(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Doc, E> {
        Ok(Doc::Scalar(text.into()))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Doc, E> {
        Ok(Doc::Scalar(String::from_utf8_lossy(bytes).into()))
    }

    fn visit_unit<E>(self) -> Result<Doc, E> {
        Ok(Doc::Scalar("null".into()))
    }

    fn visit_none<E>(self) -> Result<Doc, E> {
        Ok(Doc::Scalar("null".into()))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Doc, D::Error> {
        Doc::deserialize(from)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Doc, D::Error> {
        Doc::deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Doc, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Doc::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Doc, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Doc, Doc>()? {
            match key {
                Doc::Scalar(key) => map.push((key, value)),
                _ => return Err(serde::de::Error::custom("a key that is no text")),
            }
        }
        Ok(Doc::Map(map))
    }
}
