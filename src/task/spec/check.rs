//! What types alone cannot say: fields that go together.

use serde::{Deserialize, Deserializer, de};

use super::{Agent, Environment, Expect, OwnFix, Repo};

/// A part of a task that can be wrong as a whole.
pub(super) trait Check {
    /// What is wrong with it, as it is said after its name: `needs …`.
    fn check(&self) -> Result<(), String>;
}

/// For `deserialize_with`: so a failed check has the place of the part in the file.
pub(super) fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de> + Check>(from: D) -> Result<T, D::Error> {
    let value = T::deserialize(from)?;
    value.check().map_err(de::Error::custom)?;
    Ok(value)
}

/// Whether a text is the full id of a commit.
pub fn is_commit(id: &str) -> bool {
    is_hex(id, 40) || is_hex(id, 64)
}

/// Whether a text is a number of so many digits, as hashes are written.
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit())
}

impl<T: Check> Check for Option<T> {
    fn check(&self) -> Result<(), String> {
        self.as_ref().map_or(Ok(()), Check::check)
    }
}

impl Check for Repo {
    fn check(&self) -> Result<(), String> {
        let held = self.commit.is_some() || self.reference.is_some();
        match (&self.url, &self.path) {
            (Some(_), Some(_)) => return Err("cannot have both `url` and `path`".into()),
            (None, None) => return Err("needs `url` or `path`".into()),
            (Some(_), None) if !held => return Err("needs `commit` or `ref` with `url`".into()),
            _ => {}
        }
        if self.commit.is_some() && self.reference.is_some() {
            return Err("cannot have both `commit` and `ref`".into());
        }
        let given = [("submodules", self.submodules), ("patches", !self.patches.is_empty())];
        match given.into_iter().find(|(_, given)| *given && !held) {
            Some((name, _)) => Err(format!("needs `commit` or `ref` with `{name}`: a directory is taken as it is")),
            None => Ok(()),
        }
    }
}

impl Check for Environment {
    fn check(&self) -> Result<(), String> {
        let sources = [self.image.is_some(), self.containerfile.is_some(), self.devcontainer.is_some()];
        match sources.into_iter().filter(|given| *given).count() {
            0 | 1 => Ok(()),
            _ => Err("can have only one of `image`, `containerfile` and `devcontainer`".into()),
        }
    }
}

impl Check for OwnFix {
    fn check(&self) -> Result<(), String> {
        match (&self.patch, &self.script) {
            (None, None) => Err("needs `patch` or `script`".into()),
            (Some(_), Some(_)) => Err("cannot have both `patch` and `script`".into()),
            _ => Ok(()),
        }
    }
}

impl Check for Agent {
    fn check(&self) -> Result<(), String> {
        match (&self.command, &self.profile) {
            (None, None) => Err("needs `command` or `profile`".into()),
            _ => Ok(()),
        }
    }
}

impl Check for Expect {
    fn check(&self) -> Result<(), String> {
        if self.exit.is_some() && self.fail {
            return Err("cannot have both `exit` and `fail`".into());
        }
        if let Some(at) = self.files.iter().position(|file| file.contains.is_some() && !file.exists) {
            return Err(format!("cannot have both `contains` and `exists: false` in `files[{at}]`"));
        }
        let mut tests = self.tests.iter().flat_map(|tests| tests.pass.iter().filter(|name| tests.fail.contains(name)));
        match tests.next() {
            Some(name) => Err(format!("cannot have the test `{name}` both pass and fail")),
            None => Ok(()),
        }
    }
}
