//! The key of a value in a document: the names and numbers on the way to it.

use std::fmt::Write;

use super::glob::fits;

/// What a name begins with, and a place in a list. Neither is part of any real name, so that `{"a.b": 1}` and
/// `{"a": {"b": 1}}` are two keys.
const NAME: char = '\u{1f}';
const PLACE: char = '\u{1e}';

/// Where a value is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(String);

impl Key {
    /// From its names.
    pub(super) fn of(names: &[&str]) -> Self {
        let mut key = Self::default();
        names.iter().for_each(|name| key.enter(name));
        key
    }

    /// Goes on to a value of a map.
    pub(super) fn enter(&mut self, name: &str) {
        self.0.push(NAME);
        self.0.extend(name.chars().map(|c| if matches!(c, NAME | PLACE) { char::REPLACEMENT_CHARACTER } else { c }));
    }

    /// Goes on to a value of a list.
    pub(super) fn enter_place(&mut self, place: usize) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "{PLACE}{place}");
    }

    /// Bytes that it takes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Goes back to when it took so many bytes.
    pub(super) fn go_back(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Its names; of places in lists their numbers.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split([NAME, PLACE]).skip(1)
    }

    /// The first name.
    pub(super) fn top(&self) -> &str {
        self.names().next().unwrap_or_default()
    }

    /// The key of what lies beside it under another name.
    pub(super) fn beside(&self, name: &str) -> Self {
        let mut key = Self(self.0.rfind([NAME, PLACE]).map_or_else(String::new, |at| self.0[..at].to_owned()));
        key.enter(name);
        key
    }

    /// Whether it is a place in a list.
    pub(super) fn is_place(&self) -> bool {
        self.0.rfind([NAME, PLACE]).is_some_and(|at| self.0[at..].starts_with(PLACE))
    }

    /// For people, and for rules that would rather catch too much: `tasks[0].runOptions.runOn`.
    pub(super) fn shown(&self) -> String {
        let mut text = String::with_capacity(self.0.len());
        let mut in_place = false;
        for c in self.0.chars() {
            if matches!(c, NAME | PLACE) {
                text.push_str(if in_place { "]" } else { "" });
                in_place = c == PLACE;
                match c {
                    PLACE => text.push('['),
                    _ if text.is_empty() => {}
                    _ => text.push('.'),
                }
            } else {
                text.push(c);
            }
        }
        text.push_str(if in_place { "]" } else { "" });
        text
    }

    /// Whether a pattern covers it name by name: a `*` is no more than one of them. One at the end also stands for
    /// all below, and a first `*.` for any names before the last.
    pub(super) fn is_within(&self, pattern: &str) -> bool {
        let fits_name = |(pattern, name): (&str, &str)| fits(pattern, name.as_bytes());
        let count = self.names().count();
        match pattern.strip_prefix("*.") {
            Some(last) if !last.contains('.') => count > 1 && self.names().last().is_some_and(|n| fits_name((last, n))),
            _ => {
                let wanted = pattern.split('.').count();
                let deep_enough = count == wanted || count > wanted && pattern.ends_with('*');
                deep_enough && pattern.split('.').zip(self.names()).all(fits_name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_in_a_name_is_not_a_step() {
        assert_ne!(Key::of(&["a.b"]), Key::of(&["a", "b"]));
        assert_eq!(Key::of(&["a.b"]).shown(), "a.b");
        let mut key = Key::of(&["mounts"]);
        key.enter_place(0);
        assert!(key.is_place() && key != Key::of(&["mounts", "0"]));
        assert_eq!(key.shown(), "mounts[0]");
        key.enter("type");
        assert_eq!(
            (key.shown().as_str(), key.beside("source").shown().as_str()),
            ("mounts[0].type", "mounts[0].source")
        );
        assert_eq!((key.top(), key.names().last()), ("mounts", Some("type")));
    }

    #[test]
    fn a_pattern_covers_name_by_name() {
        for (pattern, names, expected) in [
            ("a", &["a"][..], true),
            ("a", &["a", "b"], false),
            ("a*", &["a", "b"], true),
            ("a.*", &["a", "b", "c"], true),
            ("a.*", &["a"], false),
            ("s.*.image", &["s", "x", "image"], true),
            ("s.*.image", &["s", "x.y", "image"], true),
            ("s.*.image", &["s", "x", "volumes", "image"], false),
            ("s.*.image", &["s", "x.image"], false),
            ("s.*.labels*", &["s", "x", "labels", "k"], true),
            ("*.name", &["a", "b", "name"], true),
            ("*.name", &["a", "b.name"], false),
            ("*.name", &["name"], false),
        ] {
            assert_eq!(Key::of(names).is_within(pattern), expected, "{pattern} {names:?}");
        }
    }
}
