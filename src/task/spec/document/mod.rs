//! A document, whichever format it was written in: values with their lines. Types are read from it by one set of rules,
//! so that the same document means the same in every format, and what is wrong in it is told in the same words.

mod json;
mod lines;
mod toml;
mod typed;
mod wrong;
mod yaml;

pub(super) use typed::typed;
pub(super) use wrong::Wrong;

/// Deeper than any task. Readers of YAML need much stack for each level.
const DEEPEST: usize = 16;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Yaml,
    Json,
    Toml,
}

/// A value, and the line where it is told of: that of its name, if it has one.
#[derive(Debug)]
pub(super) struct Node {
    line: u64,
    /// Line and column of the value itself, where the reader has to look at it again.
    place: (u64, u64),
    value: Value,
}

#[derive(Debug)]
enum Value {
    Nothing,
    Truth(bool),
    Whole(i128),
    Number(f64),
    /// Only TOML has it.
    Date,
    Text(String),
    List(Vec<Node>),
    /// In the order in which they were written; a name may be there twice.
    Fields(Vec<Field>),
}

#[derive(Debug)]
struct Field {
    name: String,
    /// Whether the name was written as text. YAML has others.
    is_text: bool,
    node: Node,
}

impl Node {
    fn new(line: u64, value: Value) -> Self {
        Self { line, place: (line, 1), value }
    }

    /// Whether there is nothing in the document.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.value, Value::Nothing)
    }
}

/// It goes down too far.
fn too_deep(line: u64) -> Wrong {
    Wrong::new(format!("nested more than {DEEPEST} levels deep")).at(line)
}

/// Reads a document.
pub(super) fn parse(text: &str, format: Format) -> Result<Node, Wrong> {
    match format {
        Format::Yaml => yaml::parse(text),
        Format::Json => json::parse(text),
        Format::Toml => toml::parse(text),
    }
}
