//! `${…}` in the strings of a config.
//!
//! One pass, results are not read again, keys are left alone. What is only known in the container
//! (`${containerEnv:…}`) stays as it is until then.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::ui::sanitize;

/// Variables of the host that tell nothing worth hiding. `USERPROFILE` is there because configs
/// name it beside `HOME` for Windows.
const HARMLESS: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TZ",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "COLORTERM",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "USERPROFILE",
];

/// What the tokens stand for. Remembers which variables it did not give away.
pub(super) struct Values<'a> {
    /// The host's variables.
    pub(super) env: &'a BTreeMap<String, String>,
    /// Variables that the user passes, and the config declares as secrets.
    pub(super) secrets: BTreeMap<String, String>,
    /// `localWorkspaceFolder`
    pub(super) local_folder: String,
    /// `containerWorkspaceFolder`, when it is known.
    pub(super) container_folder: Option<String>,
    /// `devcontainerId`
    pub(super) id: String,
    /// Names that were asked for and not given.
    pub(super) withheld: RefCell<BTreeSet<String>>,
}

/// A text with its tokens replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    /// A value of the host's environment is in it.
    pub(super) from_host: bool,
}

impl Values<'_> {
    /// Replaces what is known before the container is.
    pub(super) fn text(&self, raw: &str) -> Result<String> {
        self.replace(raw, false).map(|found| found.text)
    }

    /// As [`Values::text`], and says whether the host's environment is in it.
    pub(super) fn traced(&self, raw: &str) -> Result<Text> {
        self.replace(raw, false)
    }

    /// For a person: secrets stay tokens.
    pub(super) fn shown(&self, raw: &str) -> Result<String> {
        self.replace(raw, true).map(|found| found.text)
    }

    pub(super) fn list(&self, raw: &[String]) -> Result<Vec<String>> {
        raw.iter().map(|text| self.text(text)).collect()
    }

    /// All strings in a value, at any depth.
    pub(super) fn json(&self, raw: &Value) -> Result<Value> {
        Ok(match raw {
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(list) => Value::Array(list.iter().map(|v| self.json(v)).collect::<Result<_>>()?),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(k, v)| Ok((k.clone(), self.json(v)?))).collect::<Result<_>>()?)
            }
            other => other.clone(),
        })
    }

    fn replace(&self, raw: &str, hide: bool) -> Result<Text> {
        let mut from_host = false;
        let text = tokens(raw, |token| {
            let (variable, argument) = split(token);
            match variable {
                "localEnv" | "env" => {
                    let (name, default) = argument.map(split).ok_or_else(|| nameless(token))?;
                    let secret = self.secrets.get(name);
                    if hide && secret.is_some() {
                        return Ok(None);
                    }
                    let value = secret.or_else(|| self.harmless(name));
                    from_host |= value.is_some();
                    Ok(Some(value.map_or(default.unwrap_or_default(), String::as_str).to_owned()))
                }
                "localWorkspaceFolder" => Ok(Some(self.local_folder.clone())),
                "localWorkspaceFolderBasename" => Ok(Some(basename(&self.local_folder).to_owned())),
                "containerWorkspaceFolder" => Ok(self.container_folder.clone()),
                "containerWorkspaceFolderBasename" => {
                    Ok(self.container_folder.as_deref().map(|f| basename(f).to_owned()))
                }
                "devcontainerId" => Ok(Some(self.id.clone())),
                "containerEnv" if argument.is_none() => Err(nameless(token)),
                _ => Ok(None),
            }
        })?;
        Ok(Text { text, from_host })
    }

    /// A variable of the host, if it may be known. Others are not even looked at.
    fn harmless(&self, name: &str) -> Option<&String> {
        if is_harmless(name) {
            return self.env.get(name);
        }
        if !name.is_empty() {
            self.withheld.borrow_mut().insert(name.to_owned());
        }
        None
    }
}

/// Whether a file of the repo may know a variable of the host.
pub fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Replaces `${containerEnv:NAME}` and `${containerEnv:NAME:default}`, once the container's variables are known.
pub fn substitute_container_env(text: &str, env: &BTreeMap<String, String>) -> String {
    let Ok(text) = tokens(text, |token| {
        Ok::<_, std::convert::Infallible>(match split(token) {
            ("containerEnv", Some(argument)) => {
                let (name, default) = split(argument);
                Some(env.get(name).map_or(default.unwrap_or_default(), String::as_str).to_owned())
            }
            _ => None,
        })
    });
    text
}

/// Calls `value` for what stands in each `${…}`; where it knows none, the token stays.
fn tokens<E>(raw: &str, mut value: impl FnMut(&str) -> Result<Option<String>, E>) -> Result<String, E> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(start) = rest.find("${") {
        let inner = &rest[start + 2..];
        // A token ends at the first brace, and does not reach over a line's end.
        let Some(end) = inner.find(['}', '\n', '\r', '\u{2028}', '\u{2029}']) else { break };
        if !inner[end..].starts_with('}') {
            // Nor does any other that starts in this line.
            out.push_str(&rest[..start + 2 + end]);
            rest = &inner[end..];
            continue;
        }
        out.push_str(&rest[..start]);
        match value(&inner[..end])? {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[start..start + 2 + end + 1]),
        }
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// At the first colon: a default may hold more of them.
fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(first, rest)| (first, Some(rest)))
}

fn basename(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

fn nameless(token: &str) -> Error {
    let token = sanitize::text(token);
    Error::new(format!("`${{{token}}}` does not say which variable")).hint(format!("write `${{{token}:NAME}}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn replaced(raw: &str) -> String {
        let env = map(&[("HOME", "/home/u"), ("LANG", ""), ("SECRET", "s3cret"), ("TOKEN", "wrong")]);
        values(&env).text(raw).unwrap()
    }

    fn values(env: &BTreeMap<String, String>) -> Values<'_> {
        Values {
            env,
            secrets: map(&[("TOKEN", "t0ken")]),
            local_folder: "/home/u/my repo".into(),
            container_folder: Some("/workspaces/app".into()),
            id: "ID".into(),
            withheld: RefCell::default(),
        }
    }

    #[test]
    fn tokens_are_replaced_and_unknown_ones_stay() {
        let cases = [
            ("${localEnv:HOME}/x", "/home/u/x"),
            ("${env:HOME}", "/home/u"),
            ("$${localEnv:HOME}", "$/home/u"),
            ("${localEnv:}", ""),
            ("${localEnv:TZ}", ""),
            ("${localEnv:TZ:UTC}", "UTC"),
            ("${localEnv:LANG:C}", ""),
            ("${localEnv:TZ:https://x/y}", "https://x/y"),
            ("${localEnv:TZ:d:a:b}", "d:a:b"),
            ("${localEnv:TOKEN}", "t0ken"),
            ("${localWorkspaceFolder}|${localWorkspaceFolderBasename}", "/home/u/my repo|my repo"),
            ("${containerWorkspaceFolder}|${containerWorkspaceFolderBasename}", "/workspaces/app|app"),
            ("a${devcontainerId}b", "aIDb"),
            ("${containerEnv:PATH:x}", "${containerEnv:PATH:x}"),
            ("${unknown} ${templateOption:x} ${ localEnv:HOME }", "${unknown} ${templateOption:x} ${ localEnv:HOME }"),
            ("${localEnv:HO\nME} ${", "${localEnv:HO\nME} ${"),
            ("${a\n${env:HOME}", "${a\n/home/u"),
            ("$HOME ${} {}", "$HOME ${} {}"),
            ("${localEnv:TZ:${localEnv:HOME}}", "${localEnv:HOME}"),
        ];
        for (raw, expected) in cases {
            assert_eq!(replaced(raw), expected, "{raw}");
        }
    }

    #[test]
    fn a_variable_that_is_not_allowed_is_empty_and_remembered() {
        let env = map(&[("SECRET", "s3cret")]);
        let values = values(&env);
        assert_eq!(values.text("a${localEnv:SECRET}b${env:SECRET:d}").unwrap(), "abd");
        assert_eq!(values.withheld.borrow().iter().collect::<Vec<_>>(), ["SECRET"]);
    }

    #[test]
    fn a_variable_without_a_name_is_an_error() {
        let env = BTreeMap::new();
        for raw in ["${localEnv}", "${env}", "${containerEnv}"] {
            assert!(values(&env).text(raw).unwrap_err().message().contains("which variable"), "{raw}");
        }
    }

    #[test]
    fn what_came_from_the_host_is_known_and_secrets_are_not_shown() {
        let env = map(&[("HOME", "/home/u")]);
        let values = values(&env);
        assert!(values.traced("${localEnv:HOME}").unwrap().from_host);
        assert!(!values.traced("${localEnv:X:d}${localWorkspaceFolder}").unwrap().from_host);
        assert_eq!(values.shown("${localEnv:HOME}${localEnv:TOKEN}").unwrap(), "/home/u${localEnv:TOKEN}");
    }

    #[test]
    fn the_container_s_variables_come_last() {
        let env = map(&[("PATH", "/bin"), ("EMPTY", "")]);
        let text =
            "/x:${containerEnv:PATH} ${containerEnv:NO:a:b} ${containerEnv:EMPTY:d}${containerEnv:NO}|${containerEnv}";
        assert_eq!(substitute_container_env(text, &env), "/x:/bin a:b |${containerEnv}");
        assert_eq!(substitute_container_env("${localEnv:HOME}", &env), "${localEnv:HOME}");
    }

    #[test]
    fn strings_at_any_depth_are_replaced_and_keys_are_not() {
        let env = map(&[("HOME", "/h")]);
        let raw = serde_json::json!({ "${env:HOME}": ["${env:HOME}", { "a": "${env:HOME}" }, 1] });
        assert_eq!(values(&env).json(&raw).unwrap(), serde_json::json!({ "${env:HOME}": ["/h", { "a": "/h" }, 1] }));
    }
}
