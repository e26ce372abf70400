//! A value of a document with its place, and reading it as what a key takes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ui::sanitize;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Byte in the document.
    pub(super) at: usize,
    pub(super) data: Data,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Null,
    Bool(bool),
    /// As written.
    Number(Box<str>),
    Text(String),
    List(Vec<Node>),
    /// In the order of the document, every key once.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// From a document that is parsed already: nothing in it has a place.
    pub(super) fn of(value: &Value) -> Self {
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(b) => Data::Bool(*b),
            Value::Number(n) => Data::Number(n.to_string().into()),
            Value::String(s) => Data::Text(s.clone()),
            Value::Array(list) => Data::List(list.iter().map(Node::of).collect()),
            Value::Object(map) => Data::Map(map.iter().map(|(key, value)| (key.clone(), Node::of(value))).collect()),
        };
        Self { at: 0, data }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(b) => Value::Bool(*b),
            Data::Number(n) => serde_json::from_str(n).unwrap_or_else(|_| Value::String(n.to_string())),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(list) => Value::Array(list.iter().map(Node::to_json).collect()),
            Data::Map(map) => Value::Object(map.iter().map(|(key, node)| (key.clone(), node.to_json())).collect()),
        }
    }

    /// Whether the character NUL is in a key or a text.
    pub(super) fn has_nul(&self) -> bool {
        match &self.data {
            Data::Text(text) => text.contains('\0'),
            Data::List(list) => list.iter().any(Node::has_nul),
            Data::Map(map) => map.iter().any(|(key, node)| key.contains('\0') || node.has_nul()),
            _ => false,
        }
    }

    /// The value of a key. `null` says nothing.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Data::Map(map) = &self.data else { return None };
        map.iter().find(|(name, _)| name == key).map(|(_, node)| node).filter(|node| node.data != Data::Null)
    }
}

/// A value that is not what its key takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    /// Byte in the document.
    pub(super) at: usize,
    /// What, with the path of keys.
    pub(super) what: String,
}

/// A value with the keys that lead to it.
#[derive(Clone, Debug)]
pub(super) struct At<'n> {
    pub(super) node: &'n Node,
    pub(super) path: String,
}

type Read<T> = Result<T, Problem>;

impl<'n> At<'n> {
    /// The top.
    pub(super) fn top(node: &'n Node) -> Self {
        Self { node, path: String::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<At<'n>> {
        self.node.get(key).map(|node| self.below(node, key))
    }

    fn below(&self, node: &'n Node, key: &str) -> At<'n> {
        let key = sanitize::text(key);
        At { node, path: if self.path.is_empty() { key } else { format!("{}.{key}", self.path) } }
    }

    /// A problem with this value.
    pub(super) fn problem(&self, what: &str) -> Problem {
        Problem { at: self.node.at, what: format!("`{}` {what}", self.path) }
    }

    /// This must be something else.
    pub(super) fn must_be<T>(&self, what: &str) -> Read<T> {
        Err(self.problem(&format!("must be {what}")))
    }

    pub(super) fn text(&self) -> Read<&'n str> {
        if let Data::Text(text) = &self.node.data { Ok(text) } else { self.must_be("a string") }
    }

    pub(super) fn owned(&self) -> Read<String> {
        self.text().map(str::to_owned)
    }

    pub(super) fn boolean(&self) -> Read<bool> {
        if let Data::Bool(b) = self.node.data { Ok(b) } else { self.must_be("true or false") }
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self) -> Read<u64> {
        let number = if let Data::Number(n) = &self.node.data { n.parse().ok() } else { None };
        number.map_or_else(|| self.must_be("a whole number"), Ok)
    }

    pub(super) fn items(&self) -> Read<Vec<At<'n>>> {
        let Data::List(list) = &self.node.data else { return self.must_be("a list") };
        Ok(list.iter().enumerate().map(|(i, node)| At { node, path: format!("{}[{i}]", self.path) }).collect())
    }

    pub(super) fn strings(&self) -> Read<Vec<String>> {
        self.items()?.iter().map(At::owned).collect()
    }

    /// One string, or several.
    pub(super) fn one_or_more(&self) -> Read<Vec<String>> {
        match &self.node.data {
            Data::Text(text) => Ok(vec![text.clone()]),
            Data::List(_) => self.strings(),
            _ => self.must_be("a string or a list of strings"),
        }
    }

    pub(super) fn entries(&self) -> Read<Vec<(&'n str, At<'n>)>> {
        let Data::Map(map) = &self.node.data else { return self.must_be("an object") };
        Ok(map.iter().map(|(key, node)| (key.as_str(), self.below(node, key))).collect())
    }

    /// Numbers and truth values count as their text: many write them so.
    fn scalar(&self) -> Read<String> {
        match &self.node.data {
            Data::Text(text) => Ok(text.clone()),
            Data::Bool(b) => Ok(b.to_string()),
            Data::Number(n) => Ok(number_text(n)),
            _ => self.must_be("a string"),
        }
    }

    /// Variables. `null` is none.
    pub(super) fn variables(&self) -> Read<BTreeMap<String, Option<String>>> {
        let mut variables = BTreeMap::new();
        for (name, at) in self.entries()? {
            if name.is_empty() || name.contains('=') || name.contains(char::is_control) {
                return Err(at.problem("is not a name for a variable"));
            }
            let value = if at.node.data == Data::Null { None } else { Some(at.scalar()?) };
            variables.insert(name.to_owned(), value);
        }
        Ok(variables)
    }

    /// Variables that all have a value.
    pub(super) fn set_variables(&self) -> Read<BTreeMap<String, String>> {
        let variables = self.variables()?.into_iter();
        let set = |(name, value): (String, Option<String>)| match value {
            Some(value) => Ok((name, value)),
            None => Err(self.problem(&format!("has no value for `{}`", sanitize::text(&name)))),
        };
        variables.map(set).collect()
    }
}

/// As JavaScript writes it, which is what people see elsewhere: `3.10` is `3.1`.
fn number_text(written: &str) -> String {
    match written.parse::<f64>() {
        Ok(number) if number.is_finite() && number.abs() < 1e21 => number.to_string(),
        _ => written.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_name_the_path_of_keys() {
        let node = Node::of(&json!({ "build": { "args": { "A": [] } }, "l": ["a", 1], "n": null }));
        let top = At::top(&node);
        let args = top.get("build").unwrap().get("args").unwrap();
        assert_eq!(args.variables().unwrap_err().what, "`build.args.A` must be a string");
        assert_eq!(top.get("l").unwrap().strings().unwrap_err().what, "`l[1]` must be a string");
        assert!(top.get("n").is_none());
    }

    #[test]
    fn numbers_and_truth_values_are_text_in_variables() {
        let node = Node::of(&json!({ "A": 5, "B": true, "C": 3.10, "D": 1e3, "E": "x" }));
        let found = At::top(&node).set_variables().unwrap();
        assert_eq!(found.values().map(String::as_str).collect::<Vec<_>>(), ["5", "true", "3.1", "1000", "x"]);
    }

    #[test]
    fn names_that_no_variable_can_have_are_a_problem() {
        for name in ["", "A=B", "A\nB"] {
            let node = Node::of(&json!({ name: "x" }));
            assert!(At::top(&node).variables().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_value_survives_the_way_there_and_back() {
        let value = json!({ "a": [1, 2.5, -3, null, true], "b": { "c": "é" } });
        assert_eq!(Node::of(&value).to_json(), value);
    }
}
