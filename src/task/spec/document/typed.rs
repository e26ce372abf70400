//! From a document to types. Nothing is converted: a number is no text, and text is no number.

use std::collections::HashSet;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use super::wrong::Step;
use super::{Field, Node, Value, Wrong};

/// Reads a type from a whole document.
pub(crate) fn typed<'de, T: Deserialize<'de>>(document: &'de Node) -> Result<T, Wrong> {
    T::deserialize(document).map_err(|wrong| wrong.at(document.line))
}

impl Node {
    /// It is something else.
    fn must(&self, be: &str) -> Wrong {
        match self.value {
            Value::Nothing => Wrong::new("has no value: give it one, or leave it out"),
            _ => Wrong::new(format!("must {be}")),
        }
    }

    fn must_be_text(&self) -> Wrong {
        let is_plain = matches!(self.value, Value::Truth(_) | Value::Whole(_) | Value::Number(_) | Value::Date);
        self.must(if is_plain { "be text: put it in quotes" } else { "be text" })
    }
}

macro_rules! whole {
    ($($method:ident $type:ident $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            if let Value::Whole(number) = self.value
                && let Ok(number) = $type::try_from(number)
            {
                return visitor.$visit(number);
            }
            Err(self.must(&format!("be a whole number from {} to {}", $type::MIN, $type::MAX)))
        })*
    };
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Wrong;

    /// For types that can be written in several ways: they say themselves what they must be.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Nothing => Err(self.must("be something")),
            Value::Truth(truth) => visitor.visit_bool(*truth),
            Value::Whole(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => visitor.visit_i128(*number),
            },
            Value::Number(number) => visitor.visit_f64(*number),
            Value::Date => Err(Wrong::invalid_type(Unexpected::Other("date"), &visitor)),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(list) => visitor.visit_seq(Elements { list: list.iter().enumerate() }),
            Value::Fields(fields) => {
                visitor.visit_map(Fields { fields: fields.iter(), value: None, seen: HashSet::new() })
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Truth(truth) => visitor.visit_bool(truth),
            _ => Err(self.must("be true or false")),
        }
    }

    whole! { deserialize_u8 u8 visit_u8 deserialize_u16 u16 visit_u16 deserialize_u32 u32 visit_u32 deserialize_u64 u64 visit_u64 }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            _ => Err(self.must_be_text()),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    /// What may be left out is left out, or has a value. A name without one is a mistake.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::List(_) => self.deserialize_any(visitor),
            _ => Err(self.must("be a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Fields(_) => self.deserialize_any(visitor),
            _ => Err(self.must("be names with values")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Fields(_) => self.deserialize_any(visitor),
            _ => Err(self.must(&format!("have fields; there are {}", fields.join(", ")))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Text(text) => visitor.visit_enum(named(text)),
            _ => Err(self.must(&format!("be one of {}", words.join(", ")))),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

fn named(text: &str) -> StrDeserializer<'_, Wrong> {
    text.into_deserializer()
}

struct Elements<'de> {
    list: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some((place, node)) = self.list.next() else { return Ok(None) };
        seed.deserialize(node).map(Some).map_err(|wrong| wrong.below(Step::Place(place), node.line))
    }
}

struct Fields<'de> {
    fields: std::slice::Iter<'de, Field>,
    value: Option<&'de Field>,
    seen: HashSet<&'de str>,
}

impl Field {
    fn wrong(&self, wrong: Wrong) -> Wrong {
        wrong.below(Step::Field(self.name.clone()), self.node.line)
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Wrong;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(field) = self.fields.next() else { return Ok(None) };
        self.value = Some(field);
        let read = match field.is_text {
            false => Err(Wrong::new("must have text for a name: put it in quotes")),
            true if !self.seen.insert(&field.name) => Err(Wrong::new("is there twice")),
            true => seed.deserialize(named(&field.name)),
        };
        read.map(Some).map_err(|wrong| field.wrong(wrong))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Wrong> {
        let field = self.value.take().ok_or_else(|| Wrong::new("has a value without a name"))?;
        seed.deserialize(&field.node).map_err(|wrong| field.wrong(wrong))
    }
}
