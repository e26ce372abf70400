//! Which variables the command gets: an allow-list plus what `--env` names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::error::{Error, Result};

/// Passed on when they are set; every `LC_*` too.
const ALLOWED: [&str; 5] = ["TERM", "LANG", "TZ", "COLORTERM", "NO_COLOR"];

/// Also passed on by the native engine, which runs the host's own programs.
const ALLOWED_NATIVE: [&str; 5] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL"];

/// Variables of the command. Values may be secrets: they never go to an argument list, a log or a record.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl Environment {
    /// The allow-list taken from `host`, then `--env` in order.
    pub fn build(host: impl Iterator<Item = (OsString, OsString)>, native: bool, given: &[OsString]) -> Result<Self> {
        let host: BTreeMap<OsString, OsString> = host.collect();
        let allowed = host.iter().filter(|(name, _)| is_allowed(name, native));
        let mut chosen: BTreeMap<OsString, OsString> = allowed.map(|(n, v)| (n.clone(), v.clone())).collect();
        chosen.extend(Self::given(host.into_iter(), given)?.0);
        Ok(Self(chosen))
    }

    /// Only what `given` names: `KEY=VALUE`, or `KEY` with what `host` says.
    pub fn given(host: impl Iterator<Item = (OsString, OsString)>, given: &[OsString]) -> Result<Self> {
        let host: BTreeMap<OsString, OsString> = if given.is_empty() { BTreeMap::new() } else { host.collect() };
        let mut chosen = BTreeMap::new();
        for entry in given {
            let bytes = entry.as_bytes();
            let (name, value) = match bytes.iter().position(|b| *b == b'=') {
                Some(at) => (&bytes[..at], Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
                None => (bytes, None),
            };
            // podman takes a `*` for a pattern and would pass on whatever fits.
            if name.is_empty() || name.iter().any(|b| b.is_ascii_control() || matches!(b, b'*' | b' ')) {
                return Err(Error::new(format!(
                    "`{}` is not the name of a variable",
                    crate::ui::sanitize::bytes(name)
                ))
                .hint("write --env KEY or --env KEY=VALUE"));
            }
            let name = OsStr::from_bytes(name).to_owned();
            // A name that is not set is not an error: `--env TOKEN` in a script that may lack it.
            if let Some(value) = value.or_else(|| host.get(&name).cloned()) {
                chosen.insert(name, value);
            }
        }
        Ok(Self(chosen))
    }

    /// Sets one more.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes one away.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(OsStr::new(name));
    }

    /// The same less some.
    pub fn without<'a>(&self, names: impl Iterator<Item = &'a OsString>) -> Self {
        let mut left = self.clone();
        names.for_each(|name| drop(left.0.remove(name)));
        left
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// For root over a repo of the caller's, in which git would not work: tells it that it may.
    pub fn trust_git(&mut self, workspace: &Path) {
        if self.get("GIT_CONFIG_COUNT").is_none() {
            self.set("GIT_CONFIG_COUNT", "1");
            self.set("GIT_CONFIG_KEY_0", "safe.directory");
            self.set("GIT_CONFIG_VALUE_0", workspace);
        }
    }

    /// The names alone: what may be recorded.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }
}

fn is_allowed(name: &OsStr, native: bool) -> bool {
    name.as_bytes().starts_with(b"LC_")
        || ALLOWED.iter().any(|a| name == *a)
        || native && ALLOWED_NATIVE.iter().any(|a| name == *a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(native: bool, given: &[&str]) -> Vec<(String, String)> {
        let host = [("TERM", "xterm"), ("LC_ALL", "C"), ("PATH", "/bin"), ("AWS_SECRET", "s"), ("FOO", "bar")];
        let host = host.iter().map(|(a, b)| (a.into(), b.into()));
        let given: Vec<OsString> = given.iter().map(Into::into).collect();
        let built = Environment::build(host, native, &given).unwrap();
        let text = |s: &OsStr| s.to_str().unwrap().to_owned();
        built.iter().map(|(a, b)| (text(a), text(b))).collect()
    }

    #[test]
    fn only_the_allow_list_and_what_was_named_gets_in() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(build(false, &[]), [pair("LC_ALL", "C"), pair("TERM", "xterm")]);
        assert_eq!(build(true, &[]), [pair("LC_ALL", "C"), pair("PATH", "/bin"), pair("TERM", "xterm")]);
        let given = build(false, &["FOO", "X=a=b", "TERM=dumb", "UNSET"]);
        assert_eq!(given, [pair("FOO", "bar"), pair("LC_ALL", "C"), pair("TERM", "dumb"), pair("X", "a=b")]);
    }

    #[test]
    fn a_debug_print_shows_no_value() {
        let env = Environment::build(std::iter::empty(), false, &["TOKEN=hunter2".into()]).unwrap();
        assert_eq!(format!("{env:?}"), r#"["TOKEN"]"#);
    }
}
