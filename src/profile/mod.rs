//! Profiles: what a known agent needs. They are data; who names one agrees to what it shows of the host.

mod shown;
pub mod start;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use shown::Shown;

use crate::error::{Error, Result};
use crate::near;
use crate::ui::sanitize;

/// The files in `profiles/`.
const BUILT_IN: [(&str, &str); 6] = [
    ("aider", include_str!("../../profiles/aider.toml")),
    ("claude", include_str!("../../profiles/claude.toml")),
    ("codex", include_str!("../../profiles/codex.toml")),
    ("gemini", include_str!("../../profiles/gemini.toml")),
    ("goose", include_str!("../../profiles/goose.toml")),
    ("opencode", include_str!("../../profiles/opencode.toml")),
];

/// The word for none of them.
pub const NONE: &str = "none";

/// A profile as it is written; what is left out is as in the built-in one of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Partial {
    about: Option<String>,
    command: Option<Vec<String>>,
    dirs: Option<Vec<String>>,
    files: Option<Vec<String>>,
    env: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
    runtimes: Option<Vec<String>>,
    install: Option<String>,
}

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It came with cowbox.
    BuiltIn,
    /// It is the user's own.
    Config,
    /// It came with cowbox, and the user changed it.
    Changed,
}

/// A profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What it is.
    pub about: String,
    /// What is started.
    pub command: Vec<String>,
    /// Directories that it finds in its home.
    pub dirs: Vec<Shown>,
    /// Files, likewise.
    pub files: Vec<Shown>,
    /// Names of variables.
    pub env: Vec<String>,
    /// Hosts that it talks to; nothing enforces them.
    pub hosts: Vec<String>,
    /// Languages that it needs of an image of ours.
    pub runtimes: Vec<String>,
    /// How it gets into the environment.
    pub install: Option<String>,
}

type Own = BTreeMap<String, Partial>;

/// Every name, sorted.
pub fn names(own: &Own) -> Vec<String> {
    let mut names: Vec<String> =
        BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).chain(own.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Every profile, by name.
pub fn all(own: &Own) -> Result<Vec<Profile>> {
    names(own).iter().map(|name| find(name, own)).collect()
}

/// One of them.
pub fn find(name: &str, own: &Own) -> Result<Profile> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
    let base: Option<Partial> = built_in
        .map(|text| toml::from_str(text))
        .transpose()
        .map_err(|e| Error::new(format!("the built-in profile {name} is broken: {e}")))?;
    match (base, own.get(name)) {
        (None, None) => Err(unknown(name, own)),
        (None, Some(own)) => own.clone().finish(name, Origin::Config),
        (Some(base), None) => base.finish(name, Origin::BuiltIn),
        (Some(base), Some(own)) => own.clone().over(base).finish(name, Origin::Changed),
    }
}

fn unknown(name: &str, own: &Own) -> Error {
    let names = names(own);
    let error = Error::new(format!("there is no profile `{}`", sanitize::text(name)));
    match near::closest(name, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("there are {}; your own go into config.toml as [profiles.NAME]", names.join(", "))),
    }
}

impl Partial {
    fn over(self, base: Partial) -> Partial {
        Partial {
            about: self.about.or(base.about),
            command: self.command.or(base.command),
            dirs: self.dirs.or(base.dirs),
            files: self.files.or(base.files),
            env: self.env.or(base.env),
            hosts: self.hosts.or(base.hosts),
            runtimes: self.runtimes.or(base.runtimes),
            install: self.install.or(base.install),
        }
    }

    fn finish(self, name: &str, origin: Origin) -> Result<Profile> {
        let wrong = |what: String| {
            Error::new(format!("profile `{}`: {what}", sanitize::text(name))).hint("correct it in your config.toml")
        };
        let command = self.command.unwrap_or_default();
        if name == NONE || !crate::session::id::is_valid_name(name) {
            return Err(wrong("that cannot be the name of one".to_owned()));
        }
        if command.first().is_none_or(String::is_empty) {
            return Err(wrong("it has no `command`".to_owned()));
        }
        let shown = |list: Option<Vec<String>>| -> Result<Vec<Shown>> {
            list.unwrap_or_default().iter().map(|text| Shown::parse(text).map_err(wrong)).collect()
        };
        Ok(Profile {
            name: name.to_owned(),
            origin,
            about: self.about.unwrap_or_default(),
            command,
            dirs: shown(self.dirs)?,
            files: shown(self.files)?,
            env: self.env.unwrap_or_default(),
            hosts: self.hosts.unwrap_or_default(),
            runtimes: self.runtimes.unwrap_or_default(),
            install: self.install.filter(|script| !script.trim().is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> Own {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn every_built_in_profile_is_whole() {
        for profile in all(&Own::new()).unwrap() {
            assert!(!profile.about.is_empty() && !profile.env.is_empty() && !profile.hosts.is_empty(), "{profile:?}");
            assert!(profile.install.is_some() && !profile.dirs.is_empty(), "{profile:?}");
            assert_eq!(profile.origin, Origin::BuiltIn);
        }
        let names: Vec<String> = names(&Own::new());
        assert_eq!(names, ["aider", "claude", "codex", "gemini", "goose", "opencode"]);
    }

    #[test]
    fn the_users_own_word_counts_key_by_key() {
        let own = own("[claude]\ninstall = \"\"\nenv = []\n[mine]\ncommand = [\"mine\"]\n");
        let claude = find("claude", &own).unwrap();
        assert_eq!((claude.install, claude.env.len(), claude.command), (None, 0, vec!["claude".to_owned()]));
        assert_eq!(claude.origin, Origin::Changed);
        assert_eq!(find("mine", &own).unwrap().origin, Origin::Config);
    }

    #[test]
    fn a_wrong_one_is_an_error_that_says_why() {
        let error = |name: &str, text: &str| find(name, &own(text)).unwrap_err();
        assert!(error("cluade", "").hints().iter().any(|hint| hint.contains("`claude`")));
        assert!(error("x", "[x]\nabout = \"y\"\n").message().contains("no `command`"));
        assert!(error("none", "[none]\ncommand = [\"y\"]\n").message().contains("name"));
        for dir in [".claude", "~/../x", "~/", "/a", "/a:/b", "~/a:b", "~/a b\\n"] {
            let text = format!("[x]\ncommand = [\"x\"]\ndirs = [\"{dir}\"]\n");
            assert!(error("x", &text).message().starts_with("profile `x`"), "{dir}");
        }
    }
}
