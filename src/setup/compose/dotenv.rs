//! `.env` and the files of `env_file`: `NAME=value`, one per line.

use std::collections::BTreeMap;

use super::interpolate::Interpolator;
use crate::error::{Error, Result};

/// What all values may grow to: each can use all those before it.
const MOST_BYTES: usize = 1 << 20;

/// Reads it. Values in single quotes are taken as they are; others may use variables, those of the file included.
pub(super) fn parse(content: &str, known: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut scope = known.clone();
    let mut total = 0;
    let mut rest = content.strip_prefix('\u{feff}').unwrap_or(content);
    while !rest.is_empty() {
        let line = rest.lines().next().unwrap_or_default();
        let after = rest.get(line.len()..).unwrap_or_default().trim_start_matches('\r');
        let after = after.strip_prefix('\n').unwrap_or(after);
        let start = line.trim_start();
        let start = start.strip_prefix("export ").unwrap_or(start);
        let Some((name, _)) = start.split_once('=').filter(|_| !start.starts_with('#')) else {
            rest = after;
            continue;
        };
        let skipped = line.len() - start.len() + name.len() + 1;
        let name = name.trim_end();
        let value = rest[skipped..].trim_start_matches([' ', '\t']);
        let (value, literal, next) = read_value(value);
        let value = if literal { value } else { Interpolator::new(&scope).text(&value)? };
        total += name.len() + value.len();
        if total > MOST_BYTES {
            return Err(Error::new("its variables are too large"));
        }
        if !name.is_empty() && !name.contains(char::is_whitespace) {
            // The environment has the last word, as in compose.
            if !known.contains_key(name) {
                scope.insert(name.to_owned(), value.clone());
            }
            found.insert(name.to_owned(), value);
        }
        rest = next;
    }
    Ok(found)
}

/// The value at the start of `text`, whether it is literal, and what comes after its line.
fn read_value(text: &str) -> (String, bool, &str) {
    let line_end = text.find('\n').unwrap_or(text.len());
    let next_line = |at: usize| {
        let rest = &text[at..];
        rest.find('\n').map_or("", |end| &rest[end + 1..])
    };
    if let Some(inner) = text.strip_prefix('\'')
        && let Some(end) = inner.find('\'')
    {
        return (inner[..end].to_owned(), true, next_line(end + 2));
    }
    if let Some(inner) = text.strip_prefix('"')
        && let Some(end) = closing_quote(inner)
    {
        return (unescape(&inner[..end]), false, next_line(end + 2));
    }
    let line = &text[..line_end];
    // A comment needs a blank before it: `a#b` is a value.
    let comment = line.find(" #").or_else(|| line.find("\t#")).unwrap_or(line.len());
    let value = if line.starts_with('#') { "" } else { line[..comment].trim_end() };
    (value.to_owned(), false, next_line(line_end))
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            // Interpolation comes later and must see an escaped dollar sign as one.
            Some('$') => out.push_str("$$"),
            Some(other @ ('"' | '\\')) => out.push(other),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}
