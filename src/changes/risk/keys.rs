//! A document as flat keys (`tasks[0].runOptions.runOn`), so that rules can name them and reasons can too.

use std::collections::BTreeMap;

use super::doc::{Doc, Format, Unparsed};
use super::glob::fits_any;
use super::key::Key;

/// A longer key is no real one, and would be stored once for each value below it.
const LONGEST_KEY: usize = 1024;
/// Keys of one document, and bytes of all keys and values. Far more than any file of settings has.
const MOST_KEYS: usize = 200_000;
const MOST_BYTES: usize = 64 << 20;
/// Keys named in one reason; the rest is counted.
const NAMED: usize = 4;

/// Which keys of a document matter. The patterns of risks have `*`, which also stands for dots: rather too much than too
/// little. Those of harmless keys are compared name by name, see [`Key::is_within`].
#[derive(Debug)]
pub(super) struct KeyRules {
    /// Added or changed, these are a risk,
    pub(super) risky: &'static [&'static str],
    /// unless they are among these.
    pub(super) harmless: &'static [&'static str],
    /// Taken away, these are a risk: they forbid something.
    pub(super) lost: &'static [&'static str],
}

impl KeyRules {
    /// Only these keys matter.
    pub(super) const fn only(risky: &'static [&'static str]) -> Self {
        Self { risky, harmless: &[], lost: &[] }
    }

    /// Every key matters but these.
    pub(super) const fn all_but(harmless: &'static [&'static str]) -> Self {
        Self { risky: &["*"], harmless, lost: &[] }
    }
}

/// Key to values. More than one value: the key was written more than once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys(BTreeMap<Key, Vec<String>>);

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Added,
    Changed,
    Removed,
}

impl Keys {
    /// Reads a document.
    pub(super) fn read(format: Format, bytes: &[u8]) -> Result<Self, Unparsed> {
        Self::of(&Doc::read(format, bytes)?)
    }

    /// Flattens what was read.
    pub(super) fn of(doc: &Doc) -> Result<Self, Unparsed> {
        let mut keys = Keys::default();
        keys.walk(doc, &mut Key::default(), &mut 0)?;
        Ok(keys)
    }

    fn walk(&mut self, doc: &Doc, key: &mut Key, bytes: &mut usize) -> Result<(), Unparsed> {
        if key.len() > LONGEST_KEY {
            return Err(Unparsed::Broken);
        }
        let length = key.len();
        for (index, value) in doc.items().iter().enumerate() {
            key.enter_place(index);
            self.walk(value, key, bytes)?;
            key.go_back(length);
        }
        for (name, value) in doc.entries() {
            key.enter(name);
            self.walk(value, key, bytes)?;
            key.go_back(length);
        }
        // An empty container is a value too: `"features": {"…": {}}`.
        let value = match doc {
            Doc::Scalar(text) => &**text,
            Doc::List(items) if items.is_empty() => "[]",
            Doc::Map(entries) if entries.is_empty() && length > 0 => "{}",
            _ => return Ok(()),
        };
        *bytes += key.len() + value.len();
        if *bytes > MOST_BYTES || self.0.len() >= MOST_KEYS {
            return Err(Unparsed::Broken);
        }
        self.put(key.clone(), value.to_owned());
        Ok(())
    }

    /// Adds a value.
    pub(super) fn put(&mut self, key: Key, value: String) {
        self.0.entry(key).or_default().push(value);
    }

    /// Every key with each of its values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &str)> {
        self.0.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value.as_str())))
    }

    /// Values of one key.
    pub(super) fn values(&self, key: &Key) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// What differs from `old`.
    pub(super) fn since<'a>(&'a self, old: &'a Keys) -> Vec<(&'a Key, How)> {
        let mut found = Vec::new();
        for (key, values) in &self.0 {
            match old.0.get(key) {
                None => found.push((key, How::Added)),
                Some(before) if before != values => found.push((key, How::Changed)),
                Some(_) => {}
            }
        }
        let gone = old.0.keys().filter(|key| !self.0.contains_key(*key));
        found.extend(gone.map(|key| (key, How::Removed)));
        found
    }
}

/// Those of the differences that the rules call a risk.
pub(super) fn risky<'a>(differences: &[(&'a Key, How)], rules: &KeyRules) -> Vec<(&'a Key, How)> {
    let matters = |key: &Key, how| match how {
        How::Removed => fits_any(rules.lost, &key.shown()),
        _ => fits_any(rules.risky, &key.shown()) && !rules.harmless.iter().any(|pattern| key.is_within(pattern)),
    };
    differences.iter().filter(|(key, how)| matters(key, *how)).copied().collect()
}

/// "`package.json`: `scripts.postinstall` added, `scripts.test` changed"
pub(super) fn describe(file: &str, differences: &[(&Key, How)]) -> String {
    let parts = differences.iter().map(|(key, how)| {
        let how = match how {
            How::Added => "added",
            How::Changed => "changed",
            How::Removed => "removed",
        };
        format!("`{}` {how}", short(&key.shown()))
    });
    listed(file, parts)
}

/// The first few, and how many more there are.
pub(super) fn listed(file: &str, parts: impl ExactSizeIterator<Item = String>) -> String {
    let more = parts.len().saturating_sub(NAMED);
    let mut text = format!("`{file}`: {}", parts.take(NAMED).collect::<Vec<_>>().join(", "));
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Long names are cut: they came from the session.
pub(super) fn short(name: &str) -> String {
    const LONGEST: usize = 80;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}
