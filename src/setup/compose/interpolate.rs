//! `${NAME}` and its forms in the values of a compose file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::ui::sanitize;

/// What all values of a project may grow to.
const MOST_BYTES: usize = 4 << 20;
/// `${A:-${B:-…}}`
const MOST_DEPTH: usize = 16;

/// Puts variables in place of their names.
#[derive(Debug)]
pub(super) struct Interpolator<'a> {
    variables: &'a BTreeMap<String, String>,
    left: usize,
    unset: BTreeSet<String>,
}

impl<'a> Interpolator<'a> {
    /// Knows these variables and no others: the host's environment is not asked.
    pub(super) fn new(variables: &'a BTreeMap<String, String>) -> Self {
        Self { variables, left: MOST_BYTES, unset: BTreeSet::new() }
    }

    /// Names that were used and have no value.
    pub(super) fn unset(self) -> BTreeSet<String> {
        self.unset
    }

    /// Every text in a tree; keys stay as they are.
    pub(super) fn tree(&mut self, value: &mut Value) -> Result<()> {
        match value {
            Value::String(text) => {
                *text = self.text(text)?;
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.tree(item)),
            Value::Object(map) => map.values_mut().try_for_each(|value| self.tree(value)),
            _ => Ok(()),
        }
    }

    /// One text.
    pub(super) fn text(&mut self, text: &str) -> Result<String> {
        self.expand(text, 0)
    }

    fn expand(&mut self, text: &str, depth: usize) -> Result<String> {
        let wrong = || {
            Error::new(format!("`{}` has a variable in it that cannot be read", sanitize::text(&shorten(text))))
                .hint("write `$$` for a dollar sign")
        };
        if depth > MOST_DEPTH {
            return Err(wrong());
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let end = closing(after).ok_or_else(wrong)?;
                let value = self.braced(&after[..end], depth).map_err(|e| e.unwrap_or_else(wrong))?;
                out.push_str(&value);
                rest = &after[end + 1..];
            } else {
                let end = name_length(rest);
                if end == 0 {
                    return Err(wrong());
                }
                out.push_str(&self.value(&rest[..end]));
                rest = &rest[end..];
            }
            if out.len() > self.left {
                return Err(Error::new("its variables make the compose file too large"));
            }
        }
        out.push_str(rest);
        self.left = self
            .left
            .checked_sub(out.len())
            .ok_or_else(|| Error::new("its variables make the compose file too large"))?;
        Ok(out)
    }

    /// What stands between the braces. `Err(None)`: it is malformed.
    fn braced(&mut self, inner: &str, depth: usize) -> Result<String, Option<Error>> {
        let (name, operator) = inner.split_at(name_length(inner));
        if name.is_empty() {
            return Err(None);
        }
        if operator.is_empty() {
            return Ok(self.value(name));
        }
        let known = self.variables.get(name).cloned();
        let filled = known.clone().filter(|value| !value.is_empty());
        let mut other = |text: &str| self.expand(text, depth + 1).map_err(Some);
        for (mark, value) in [(":", filled), ("", known)] {
            let Some(operator) = operator.strip_prefix(mark) else { continue };
            let mut chars = operator.chars();
            let (kind, word) = (chars.next(), chars.as_str());
            match (kind, value) {
                (Some('-' | '?'), Some(value)) => return Ok(value),
                (Some('-'), None) => return other(word),
                (Some('?'), None) => {
                    let why = other(word)?;
                    let message = format!("the compose file needs the variable `{name}`: {}", sanitize::text(&why));
                    return Err(Some(Error::new(message).hint("give it a value in `.env`")));
                }
                (Some('+'), Some(_)) => return other(word),
                (Some('+'), None) => return Ok(String::new()),
                _ => {}
            }
        }
        Err(None)
    }

    fn value(&mut self, name: &str) -> String {
        let value = self.variables.get(name);
        if value.is_none() && self.unset.len() < 100 {
            self.unset.insert(name.to_owned());
        }
        value.cloned().unwrap_or_default()
    }
}

/// Where the brace closes that is open at the start.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' if at > 0 && bytes[at - 1] == b'$' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

fn name_length(text: &str) -> usize {
    let word = |(at, b): (usize, u8)| b == b'_' || b.is_ascii_alphabetic() || at > 0 && b.is_ascii_digit();
    text.bytes().enumerate().take_while(|part| word(*part)).count()
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}
