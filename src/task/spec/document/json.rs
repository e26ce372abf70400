//! JSON, as strict as it is: no comments, no commas at the end.

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

use super::lines::Lines;
use super::{DEEPEST, Field, Node, Value, Wrong, too_deep};
use crate::jsonc::strict;

pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    // It knows best what is JSON, and the other one where everything is.
    serde_json::from_str::<IgnoredAny>(text).map_err(|e| {
        let what = e.to_string();
        Wrong::new(what.split(" at line ").next().unwrap_or(&what)).at(e.line() as u64)
    })?;
    let options = ParseOptions { allow_comments: false, allow_trailing_commas: false, ..strict() };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|e| Wrong::new(e.kind().to_string()).at(e.line_display() as u64))?;
    let lines = Lines::of(text);
    match &parsed.value {
        Some(value) => node(value, value.start(), 0, &lines),
        None => Ok(Node::new(1, Value::Nothing)),
    }
}

fn node(value: &Ast<'_>, at: usize, depth: usize, lines: &Lines) -> Result<Node, Wrong> {
    let line = lines.at(at);
    if depth > DEEPEST {
        return Err(too_deep(line));
    }
    let value = match value {
        Ast::NullKeyword(_) => Value::Nothing,
        Ast::BooleanLit(truth) => Value::Truth(truth.value),
        Ast::NumberLit(number) => match number.value.parse() {
            Ok(whole) => Value::Whole(whole),
            Err(_) => Value::Number(number.value.parse().unwrap_or(f64::NAN)),
        },
        Ast::StringLit(text) => Value::Text(text.value.to_string()),
        Ast::Array(list) => {
            let elements = list.elements.iter().map(|element| node(element, element.start(), depth + 1, lines));
            Value::List(elements.collect::<Result<_, _>>()?)
        }
        Ast::Object(object) => {
            let fields = object.properties.iter().map(|property| {
                let node = node(&property.value, property.name.start(), depth + 1, lines)?;
                Ok(Field { name: property.name.as_str().to_owned(), is_text: true, node })
            });
            Value::Fields(fields.collect::<Result<_, _>>()?)
        }
    };
    Ok(Node::new(line, value))
}
