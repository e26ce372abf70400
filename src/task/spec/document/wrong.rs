//! What is wrong in a document: where, and what, in words that nobody has to know Rust for.

use std::fmt::{self, Display, Write};

use serde::de::{self, Expected, Unexpected};

use crate::near;

/// Where it is, and what is said about it: `must be text`, `is missing`.
#[derive(Debug)]
pub(crate) struct Wrong {
    line: Option<u64>,
    /// From the inside out.
    steps: Vec<Step>,
    what: String,
}

/// One step down in a document.
#[derive(Debug)]
pub(super) enum Step {
    Field(String),
    Place(usize),
}

impl Wrong {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { line: None, steps: Vec::new(), what: what.into() }
    }

    /// Where it is, if nobody knew it better.
    pub(crate) fn at(mut self, line: u64) -> Self {
        self.line.get_or_insert(line);
        self
    }

    /// It is further down than that.
    pub(super) fn below(mut self, step: Step, line: u64) -> Self {
        self.steps.push(step);
        self.at(line)
    }

    pub(crate) fn line(&self) -> Option<u64> {
        self.line
    }

    /// The whole way to the field; empty for the document itself.
    pub(crate) fn field(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            let _ = match step {
                Step::Place(place) => write!(path, "[{place}]"),
                Step::Field(name) if path.is_empty() => write!(path, "{name}"),
                Step::Field(name) => write!(path, ".{name}"),
            };
        }
        path
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }
}

/// What somebody may have meant.
fn meant(word: &str, known: &[&str]) -> Option<String> {
    near::closest(word, known.iter().copied()).map(|near| format!("; did you mean `{near}`?"))
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Wrong {}

/// What serde's own code has to say comes through here, and leaves its words behind.
impl de::Error for Wrong {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("must be {expected}"))
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::new(format!("must be one of {}{}", known.join(", "), meant(word, known).unwrap_or_default()))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let meant = meant(name, known).unwrap_or_else(|| format!("; there are {}", known.join(", ")));
        Self::new(format!("is unknown{meant}"))
    }

    fn missing_field(name: &'static str) -> Self {
        Self { line: None, steps: vec![Step::Field(name.to_owned())], what: "is missing".to_owned() }
    }
}
