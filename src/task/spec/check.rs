//! What types alone cannot say: fields that go together, and words that are names or paths.

use std::path::{Component, Path};

use serde::{Deserialize, Deserializer, de};

use super::{Agent, Command, Compat, Environment, Expect, Repo, Run};
use crate::policy::mounts;
use crate::session::id::is_valid_name;

/// A part of a task that can be wrong as a whole.
pub(super) trait Check {
    /// What is wrong with it.
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

/// The name of a task.
pub(super) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if is_valid_name(&name) {
        return Ok(name);
    }
    let rule = "letters, digits, `-`, `_` and `.`, at most 64, beginning with a letter or digit";
    Err(de::Error::custom(format!("`{name}` cannot be a name: {rule}")))
}

impl Check for Repo {
    fn check(&self) -> Result<(), String> {
        match (&self.url, &self.path) {
            (Some(_), Some(_)) => return Err("`url` and `path` exclude each other".into()),
            (None, None) => return Err("it needs `url` or `path`".into()),
            (Some(url), None) if url.starts_with('-') || url.chars().any(char::is_control) => {
                return Err("`url` is none".into());
            }
            (Some(_), None) if self.commit.is_none() && self.reference.is_none() => {
                return Err("with `url` it needs `commit` or `ref`".into());
            }
            _ => {}
        }
        if self.commit.is_some() && self.reference.is_some() {
            return Err("`commit` and `ref` exclude each other".into());
        }
        if self.commit.as_deref().is_some_and(|id| !is_commit(id)) {
            return Err("`commit` must be the full id of a commit; names go into `ref`".into());
        }
        let odd = |name: &str| name.is_empty() || name.starts_with('-') || name.contains([':', '^', '~', ' ', '\\']);
        if self.reference.as_deref().is_some_and(|name| odd(name) || name.chars().any(char::is_control)) {
            return Err("`ref` must be the name of a branch or a tag".into());
        }
        if self.commit.is_none() && self.reference.is_none() {
            let given = [("submodules", self.submodules), ("patches", !self.patches.is_empty())];
            if let Some((name, _)) = given.into_iter().find(|(_, given)| *given) {
                return Err(format!("`{name}` needs `commit` or `ref`: a directory is taken as it is"));
            }
        }
        Ok(())
    }
}

impl Check for Environment {
    fn check(&self) -> Result<(), String> {
        let sources = [self.image.is_some(), self.containerfile.is_some(), self.devcontainer.is_some()];
        if sources.into_iter().filter(|given| *given).count() > 1 {
            return Err("`image`, `containerfile` and `devcontainer` exclude each other".into());
        }
        if self.devcontainer.as_deref().is_some_and(|path| !is_inside(path)) {
            return Err("`devcontainer` must be a path inside the repo".into());
        }
        if self.workdir.as_deref().is_some_and(|path| !is_inside(path)) {
            return Err("`workdir` must be a path inside the workspace".into());
        }
        // One that the engine knows by its name: a path would be a program of the task's.
        if self.runtime.as_deref().is_some_and(|name| name.contains('/') || name.starts_with('-')) {
            return Err("`runtime` must be a name that the engine knows".into());
        }
        for name in self.env.keys().chain(&self.env_from_host) {
            is_variable(name)?;
        }
        for mount in &self.mounts {
            let read = mounts::parse(mount.as_ref()).map_err(|why| format!("mount `{mount}`: {why}"))?;
            if read.access == mounts::Access::Rw {
                return Err(format!("mount `{mount}`: what a task writes cannot reach the host; use `cow`"));
            }
        }
        match self.resources.cpus {
            Some(cpus) if !(cpus.is_finite() && cpus > 0.0) => Err("`resources.cpus` must be more than 0".into()),
            _ if self.resources.pids == Some(0) => Err("`resources.pids` must be more than 0".into()),
            _ => Ok(()),
        }
    }
}

impl Check for Vec<Compat> {
    fn check(&self) -> Result<(), String> {
        for fix in self {
            if let Compat::Own(own) = fix
                && own.patch.is_some() == own.script.is_some()
            {
                return Err(format!("`{}` needs `patch` or `script`, and one of them", own.name));
            }
        }
        Ok(())
    }
}

impl Check for Vec<Command> {
    fn check(&self) -> Result<(), String> {
        self.iter().try_for_each(Check::check)
    }
}

impl Check for Command {
    fn check(&self) -> Result<(), String> {
        let empty = match self {
            Command::Shell(text) => text.trim().is_empty(),
            Command::Argv(words) => words.first().is_none_or(String::is_empty),
        };
        if empty { Err("a command cannot be empty".into()) } else { Ok(()) }
    }
}

impl Check for Option<Agent> {
    fn check(&self) -> Result<(), String> {
        match self {
            Some(Agent { command: None, profile: None, .. }) => Err("it needs `command` or `profile`".into()),
            Some(Agent { command: Some(command), .. }) => command.check(),
            _ => Ok(()),
        }
    }
}

impl Check for Run {
    fn check(&self) -> Result<(), String> {
        self.env.keys().try_for_each(|name| is_variable(name))?;
        self.command.check()
    }
}

impl Check for Expect {
    fn check(&self) -> Result<(), String> {
        if self.exit.is_some() && self.fail {
            return Err("`exit` and `fail` exclude each other".into());
        }
        let report = self.tests.as_ref().map(|tests| &tests.report);
        for path in self.files.iter().map(|file| &file.path).chain(report) {
            if !is_inside(path) {
                return Err(format!("`{}` must be a path inside the workspace", path.display()));
            }
        }
        Ok(())
    }
}

/// What is kept must lie in the workspace.
pub(super) fn artifacts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let globs = Vec::<String>::deserialize(from)?;
    for glob in &globs {
        let good = is_inside(Path::new(glob)) && globset::Glob::new(glob).is_ok();
        if !good {
            return Err(de::Error::custom(format!("`{glob}` must be a path or a glob inside the workspace")));
        }
    }
    Ok(globs)
}

fn is_inside(path: &Path) -> bool {
    !path.as_os_str().is_empty()
        && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn is_variable(name: &str) -> Result<(), String> {
    let good = !name.is_empty() && !name.contains(['=', '\0']);
    if good { Ok(()) } else { Err(format!("`{name}` cannot be the name of a variable")) }
}
