//! Times, sizes and numbers as people write them.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::{Serialize, Serializer};

use crate::policy::limits::parse_size;

/// Nobody waits longer, and clocks can still be reckoned with.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// No machine has more, and every engine can count as far.
const LARGEST: u64 = 1 << 60;
/// What engines and the kernel take.
const CPUS: std::ops::RangeInclusive<f64> = 0.01..=8192.0;
/// The kernel counts as far.
const MOST_PIDS: u64 = 1 << 22;

/// A span of time: `90s`, `10m`, `1h 30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A size in bytes: `512m`, `2g`, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// How it was written.
enum Written<'a> {
    Text(&'a str),
    Whole(u64),
    Number(f64),
}

/// Reads what must be `what`.
struct Scalar<T> {
    what: &'static str,
    read: fn(Written<'_>) -> Option<T>,
}

impl<T> Scalar<T> {
    fn visit<E: Error>(self, written: Written<'_>, found: Unexpected<'_>) -> Result<T, E> {
        (self.read)(written).ok_or_else(|| E::invalid_value(found, &self))
    }
}

impl<T> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.visit(Written::Text(text), Unexpected::Str(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit(Written::Whole(number), Unexpected::Unsigned(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit(Written::Number(number), Unexpected::Float(number))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&humantime::format_duration(self.0).to_string())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let what = "a span of time such as 90s or 10m, more than 0s and at most 366d";
        let read = |written: Written<'_>| match written {
            Written::Text(text) => {
                let span = humantime::parse_duration(text).ok()?;
                (!span.is_zero() && span <= LONGEST).then_some(Self(span))
            }
            _ => None,
        };
        from.deserialize_any(Scalar { what, read })
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let what = "a size such as 512m or 2g, more than 0 and at most 1048576t";
        let read = |written: Written<'_>| {
            let bytes = match written {
                Written::Text(text) => parse_size(text).ok()?,
                Written::Whole(bytes) => bytes,
                Written::Number(_) => return None,
            };
            (1..=LARGEST).contains(&bytes).then_some(Self(bytes))
        };
        from.deserialize_any(Scalar { what, read })
    }
}

struct Cpus(f64);

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = |written: Written<'_>| {
            let number = match written {
                Written::Whole(number) => number as f64,
                Written::Number(number) => number,
                Written::Text(_) => return None,
            };
            // NaN is not in there either.
            CPUS.contains(&number).then_some(Self(number))
        };
        from.deserialize_any(Scalar { what: "a number from 0.01 to 8192", read })
    }
}

struct Pids(u32);

impl<'de> Deserialize<'de> for Pids {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = |written: Written<'_>| match written {
            Written::Whole(number @ 1..=MOST_PIDS) => u32::try_from(number).ok().map(Self),
            _ => None,
        };
        from.deserialize_any(Scalar { what: "a whole number from 1 to 4194304", read })
    }
}

/// For `deserialize_with`: a number of processors.
pub(super) fn cpus<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::<Cpus>::deserialize(from)?.map(|cpus| cpus.0))
}

/// For `deserialize_with`: a number of processes.
pub(super) fn pids<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::<Pids>::deserialize(from)?.map(|pids| pids.0))
}

#[cfg(test)]
mod schema {
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::*;

    impl JsonSchema for Span {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Span".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "description": "A span of time: `90s`, `10m`, `1h 30m`." })
        }
    }

    impl JsonSchema for Size {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Size".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": ["string", "integer"], "description": "A size in bytes: `512m`, `2g`, or a number." })
        }
    }
}
