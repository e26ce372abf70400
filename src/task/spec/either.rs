//! What can be written in two ways.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::check::Check;
use super::keep::Kept;
use super::rule::{Filled, Rule, Word};
use super::{Command, Compat, Fix, OwnFix};

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Command;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a line of text or a list of words")
            }

            fn visit_str<E: Error>(self, line: &str) -> Result<Command, E> {
                Filled::check(line).map_err(E::custom)?;
                Ok(Command::Shell(line.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Command, A::Error> {
                let mut words = Vec::new();
                while let Some(Kept::<Word>(word)) = from.next_element()? {
                    words.push(word);
                }
                match words.first().is_none_or(String::is_empty) {
                    true => Err(A::Error::custom("cannot be empty")),
                    false => Ok(Command::Argv(words)),
                }
            }
        }

        from.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Compat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Compat;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a fix, or one of the task's own with `name` and `patch` or `script`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Compat, E> {
                Fix::deserialize(name.into_deserializer()).map(Compat::Named)
            }

            fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Compat, A::Error> {
                let own = OwnFix::deserialize(MapAccessDeserializer::new(from))?;
                own.check().map_err(A::Error::custom)?;
                Ok(Compat::Own(own))
            }
        }

        from.deserialize_any(Either)
    }
}
