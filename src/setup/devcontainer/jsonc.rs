//! JSON with comments, strictly, with the place of every value.

use std::collections::HashMap;
use std::path::Path;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};

use super::node::{Data, Node};
use crate::error::{Error, Result, show};
use crate::jsonc::strict;

/// Longer than any that is written by hand.
const LARGEST: usize = 1 << 20;
/// Deeper than any setting of an editor.
const DEEPEST: usize = 64;

/// A document with its name, for messages.
pub(super) struct Document<'a> {
    path: &'a Path,
    text: &'a str,
}

impl<'a> Document<'a> {
    /// Reads it. Comments, trailing commas and a byte order mark are accepted; it must be an object.
    pub(super) fn parse(path: &'a Path, bytes: &'a [u8]) -> Result<(Self, Node)> {
        if bytes.len() > LARGEST {
            return Err(Error::new(format!("{}: larger than {} MiB", show(path), LARGEST >> 20)));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let document = match std::str::from_utf8(bytes) {
            Ok(text) => Self { path, text },
            Err(e) => {
                let start = String::from_utf8_lossy(&bytes[..e.valid_up_to()]);
                return Err(Document { path, text: &start }.error(start.len(), "not UTF-8"));
            }
        };
        let parsed = parse_to_ast(document.text, &CollectOptions::default(), &strict()).map_err(|e| {
            let what = e.kind().to_string();
            let mut letters = what.chars();
            let first = letters.next().map(|c| c.to_ascii_lowercase());
            document.error(e.range().start, &first.into_iter().chain(letters).collect::<String>())
        })?;
        match parsed.value {
            Some(value @ Value::Object(_)) => {
                let node = document.node(value, 0)?;
                Ok((document, node))
            }
            Some(value) => Err(document.error(value.start(), "must be an object: `{ … }`")),
            None => Err(document.error(0, "empty, must be an object: `{ … }`")),
        }
    }

    /// An error at a byte of the document.
    pub(super) fn error(&self, at: usize, what: &str) -> Error {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::new(format!("{}:{line}:{column}: {what}", show(self.path)))
    }

    fn node(&self, value: Value<'_>, depth: usize) -> Result<Node> {
        let at = value.start();
        if depth > DEEPEST {
            return Err(self.error(at, &format!("nested more than {DEEPEST} levels deep")));
        }
        let data = match value {
            Value::NullKeyword(_) => Data::Null,
            Value::BooleanLit(b) => Data::Bool(b.value),
            Value::NumberLit(n) => Data::Number(n.value.into()),
            Value::StringLit(s) => Data::Text(self.text(at, &s.value)?),
            Value::Array(list) => {
                Data::List(list.elements.into_iter().map(|v| self.node(v, depth + 1)).collect::<Result<_>>()?)
            }
            Value::Object(object) => {
                let mut entries: Vec<(String, Node)> = Vec::with_capacity(object.properties.len());
                let mut places = HashMap::new();
                for property in object.properties {
                    let name = self.text(property.name.start(), property.name.as_str())?;
                    let node = self.node(property.value, depth + 1)?;
                    // Repeated: the last value, at the first place, as everybody's parser has it.
                    match places.get(&name) {
                        Some(&place) => entries[place] = (name, node),
                        None => {
                            places.insert(name.clone(), entries.len());
                            entries.push((name, node));
                        }
                    }
                }
                Data::Map(entries)
            }
        };
        Ok(Node { at, data })
    }

    /// No variable, argument or path can hold this one; it would only end a text early somewhere.
    fn text(&self, at: usize, text: &str) -> Result<String> {
        if text.contains('\0') { Err(self.error(at, "holds the character NUL")) } else { Ok(text.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parse(text: &str) -> Result<Value> {
        Document::parse(Path::new("d.json"), text.as_bytes()).map(|(_, node)| node.to_json())
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().message().to_owned()
    }

    #[test]
    fn comments_trailing_commas_and_a_mark_are_accepted() {
        let text = "\u{feff}// first\n{ /* a */ \"a\": [1, /* b */ 2, ], // c\n \"b\": true, }\n// end";
        assert_eq!(parse(text).unwrap(), json!({ "a": [1, 2], "b": true }));
    }

    #[test]
    fn everything_else_is_an_error_with_its_place() {
        let cases = [
            ("{\n  \"a\": 'x'\n}", "d.json:2:8: "),
            ("{\n  a: 1\n}", "d.json:2:3: "),
            ("{ \"image\": \"a\" \"name\": \"b\" }", "d.json:1:15: expected comma"),
            ("{ \"é\": \"x", "d.json:1:8: "),
            ("{ \"a\": 1", "d.json:1:1: unterminated object"),
            ("{ \"a\": +1 }", "d.json:1:8: "),
            ("{ \"a\": 0x1 }", "d.json:1:8: "),
            ("{ \"a\": NaN }", "d.json:1:8: "),
            ("{ \"a\":: 1 }", "d.json:1:7: "),
            ("{ \"a\": 1,, }", "d.json:1:10: "),
            ("{} {}", "d.json:1:4: "),
            ("[]", "d.json:1:1: must be an object"),
            ("\"x\"", "d.json:1:1: must be an object"),
            ("", "d.json:1:1: empty"),
            ("// nothing\n", "d.json:1:1: empty"),
            ("{ \"a\": \"x\\u0000y\" }", "d.json:1:8: holds the character NUL"),
        ];
        for (text, expected) in cases {
            let found = error(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_have_a_place_too() {
        let e = Document::parse(Path::new("d.json"), b"{\n \"a\": \"\xff\" }").err().unwrap();
        assert_eq!(e.message(), "d.json:2:8: not UTF-8");
    }

    #[test]
    fn of_a_repeated_key_the_last_value_counts() {
        assert_eq!(parse(r#"{ "a": 1, "b": 2, "a": 3 }"#).unwrap(), json!({ "a": 3, "b": 2 }));
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let deep = |n: usize| format!("{{ \"a\": {}{} }}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&deep(DEEPEST)).is_ok());
        for n in [DEEPEST + 1, 200, 5000, 500_000] {
            assert!(error(&deep(n)).starts_with("d.json:1:"), "{n}");
        }
        assert!(error(&" ".repeat(LARGEST + 1)).contains("larger than 1 MiB"));
    }
}
