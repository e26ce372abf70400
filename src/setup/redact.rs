//! Values that were given to the setup alone: no log, screen or document shows them.

use std::fmt;

use serde_json::Value;

use crate::policy::certificates::PROXIES;
use crate::policy::environment::Environment;

/// What stands there instead.
const MASK: &[u8] = b"***";
/// Shorter ones are parts of any text, and no secrets.
const SHORTEST: usize = 4;
/// A line of a value that has several, a key for example, counts from this length.
const SHORTEST_LINE: usize = 12;

/// Knows the values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    values: Vec<Vec<u8>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.values.len())
    }
}

impl Redactor {
    /// Of variables. The address of a proxy is no secret, unless a password is in it.
    pub fn new(env: &Environment) -> Self {
        let is_open = |name: &str, value: &str| PROXIES.contains(&name) && !value.contains('@');
        let kept = env.iter().filter(|(name, value)| !is_open(&name.to_string_lossy(), &value.to_string_lossy()));
        Self::of(kept.map(|(_, value)| value.as_encoded_bytes()))
    }

    /// Of values.
    pub fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut all = Vec::new();
        for value in values {
            all.push(value.trim_ascii().to_vec());
            let lines = value.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|line| line.len() >= SHORTEST_LINE);
            all.extend(lines.map(<[u8]>::to_vec));
        }
        all.retain(|value| value.len() >= SHORTEST);
        // The longest that fits is the one that was meant.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self { values: all }
    }

    /// Whether one of the values is in a text.
    pub fn is_in(&self, text: &[u8]) -> bool {
        (0..text.len()).any(|at| self.at(&text[at..]).is_some())
    }

    /// A text without them.
    pub fn text(&self, text: &str) -> String {
        let mut stream = self.stream();
        let mut done = stream.push(text.as_bytes());
        done.extend(stream.finish());
        String::from_utf8_lossy(&done).into_owned()
    }

    /// A document without them, in keys and values.
    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(list) => list.into_iter().map(|value| self.json(value)).collect(),
            Value::Object(map) => map.into_iter().map(|(key, value)| (self.text(&key), self.json(value))).collect(),
            other => other,
        }
    }

    /// For output that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream { of: self.clone(), held: Vec::new() }
    }

    /// The value that a text begins with.
    fn at(&self, text: &[u8]) -> Option<&Vec<u8>> {
        self.values.iter().find(|value| text.starts_with(value))
    }

    /// Whether a text is the beginning of a value, and more could follow.
    fn is_begun(&self, text: &[u8]) -> bool {
        self.values.iter().any(|value| value.len() > text.len() && value.starts_with(text))
    }
}

/// Output in pieces: the end of one that could be the beginning of a value is held back.
#[derive(Debug)]
pub struct Stream {
    of: Redactor,
    held: Vec<u8>,
}

impl Stream {
    /// What can be shown after one more piece.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        self.take(false)
    }

    /// What was held back, at the end.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    fn take(&mut self, at_end: bool) -> Vec<u8> {
        let text = std::mem::take(&mut self.held);
        let mut done = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if !at_end && self.of.is_begun(rest) {
                self.held = rest.to_vec();
                break;
            }
            match self.of.at(rest) {
                Some(value) => {
                    done.extend_from_slice(MASK);
                    at += value.len();
                }
                None => {
                    done.push(text[at]);
                    at += 1;
                }
            }
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Redactor {
        Redactor::of(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn values_are_replaced_wherever_they_stand() {
        let redactor = of(&["hunter2", "hunter2-and-more", "no"]);
        assert_eq!(redactor.text("a hunter2-and-more, hunter2hunter2 no"), "a ***, ****** no");
        assert!(redactor.is_in(b"xhunter2x") && !redactor.is_in(b"hunter"));
        let document = serde_json::json!({"k-hunter2": ["hunter2", 1], "x": {"y": "hunter2"}});
        assert_eq!(redactor.json(document), serde_json::json!({"k-***": ["***", 1], "x": {"y": "***"}}));
        assert_eq!(format!("{redactor:?}"), "2 values");
    }

    #[test]
    fn a_value_that_comes_in_pieces_is_found_and_nothing_is_lost() {
        let redactor = of(&["secret", "secretary"]);
        let text = "se secre secret; secretary! secretar".as_bytes();
        for size in 1..text.len() {
            let mut stream = redactor.stream();
            let mut done: Vec<u8> = text.chunks(size).flat_map(|piece| stream.push(piece)).collect();
            done.extend(stream.finish());
            assert_eq!(String::from_utf8(done).unwrap(), "se secre ***; ***! ***ar", "{size}");
        }
    }

    #[test]
    fn the_lines_of_a_key_are_values_too() {
        let redactor = of(&["-----BEGIN KEY-----\nMIIEpAIBAAKC\nend\n"]);
        assert_eq!(redactor.text("MIIEpAIBAAKC end"), "*** end");
    }

    #[test]
    fn a_proxy_is_no_secret_without_a_password() {
        let mut env = Environment::default();
        env.set("HTTP_PROXY", "http://proxy:3128");
        env.set("HTTPS_PROXY", "http://me:pass@proxy:3128");
        env.set("TOKEN", "t0ken");
        let text = "http://proxy:3128 http://me:pass@proxy:3128 t0ken";
        assert_eq!(Redactor::new(&env).text(text), "http://proxy:3128 *** ***");
    }
}
