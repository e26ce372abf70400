//! TOML.

use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::wrong::Step;
use super::{DEEPEST, Field, Node, Value, Wrong, too_deep};

/// Stands in for a name that is there twice, to see where it is.
const TWICE: &str = "cowbox-is-there-twice";

pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|e| wrong(text, &e, &lines))?;
    Ok(Node::new(1, fields(table.get_ref(), 0, &lines)?))
}

fn wrong(text: &str, error: &toml::de::Error, lines: &Lines) -> Wrong {
    let Some(span) = error.span() else { return Wrong::new(error.message()) };
    let line = lines.at(span.start);
    // The parser knows the name, and not what it is part of.
    if error.message() == "duplicate key"
        && let (Some(before), Some(name), Some(after)) =
            (text.get(..span.start), text.get(span.clone()), text.get(span.end..))
    {
        let other = format!("{before}{TWICE}{after}");
        let (table, _) = DeTable::parse_recoverable(&other);
        let found = fields(table.get_ref(), 0, lines).ok().and_then(|fields| find(&fields));
        let twice = Wrong::new("is there twice").below(Step::Field(name.trim_matches(['"', '\'']).to_owned()), line);
        return found.into_iter().flatten().fold(twice, |wrong, step| wrong.below(step, line));
    }
    Wrong::new(error.message()).at(line)
}

/// The way to the stand-in, from the inside out.
fn find(value: &Value) -> Option<Vec<Step>> {
    let below = |node: &Node, step: Step| {
        let mut steps = find(&node.value)?;
        steps.push(step);
        Some(steps)
    };
    match value {
        Value::Fields(fields) if fields.iter().any(|field| field.name == TWICE) => Some(Vec::new()),
        Value::Fields(fields) => fields.iter().find_map(|field| below(&field.node, Step::Field(field.name.clone()))),
        Value::List(list) => list.iter().enumerate().find_map(|(place, node)| below(node, Step::Place(place))),
        _ => None,
    }
}

fn fields(table: &DeTable<'_>, depth: usize, lines: &Lines) -> Result<Value, Wrong> {
    let mut fields: Vec<_> = table.iter().collect();
    fields.sort_by_key(|(name, _)| name.span().start);
    let fields = fields.into_iter().map(|(name, value)| {
        let node = node(value.get_ref(), name.span().start, depth + 1, lines)?;
        Ok(Field { name: name.get_ref().to_string(), is_text: true, node })
    });
    Ok(Value::Fields(fields.collect::<Result<_, _>>()?))
}

fn node(value: &DeValue<'_>, at: usize, depth: usize, lines: &Lines) -> Result<Node, Wrong> {
    let line = lines.at(at);
    if depth > DEEPEST {
        return Err(too_deep(line));
    }
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(whole) => Value::Whole(whole),
            Err(_) => Value::Number(f64::INFINITY),
        },
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Value::Truth(*truth),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(list) => {
            let elements = list.iter().map(|element| node(element.get_ref(), element.span().start, depth + 1, lines));
            Value::List(elements.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => fields(table, depth, lines)?,
    };
    Ok(Node::new(line, value))
}
