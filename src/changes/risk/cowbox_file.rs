//! cowbox's own file in the repo. Such a file may only tighten, so losing a line of it can widen what the next session
//! may do as much as adding one.

use std::time::Duration;

use super::Risk;
use super::codes::{COWBOX_POLICY, COWBOX_SETTINGS};
use super::doc::Format;
use super::key::Key;
use super::keys::{How, Keys, describe};
use super::rule::{Judged, Rule, Sides};
use crate::policy::limits::{parse_cpus, parse_size};

/// The file, wherever a repo may start.
pub(super) const RULES: &[Rule] = &[Rule::own(".cowbox.toml", COWBOX_POLICY, judge)];

/// Gone, these give the session less than before.
const GIVES: &[&str] = &[
    "env",
    "mount",
    "mounts",
    "setup",
    "host",
    "hosts",
    "command",
    "commands",
    "privileged",
    "capabilities",
    "devices",
];
/// A number that limits: none, or a larger one, is wider.
const LIMITS: &[&str] = &["memory", "cpus", "pids", "timeout"];

fn judge(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Toml)?;
    // An old side that cannot be read may have forbidden anything.
    let unknown = match sides.old {
        Some(bytes) => Keys::read(Format::Toml, bytes).is_err(),
        None => sides.new.is_none(),
    };
    if unknown {
        return Ok(vec![Risk::of(COWBOX_POLICY, format!("`{}` was one that cannot be parsed", sides.name))]);
    }
    let changed = new.since(&old);
    let (tighter, wider): (Vec<_>, Vec<_>) =
        changed.into_iter().partition(|(key, how)| tightens(key, *how, &old, &new));
    let (code, found) = if wider.is_empty() { (COWBOX_SETTINGS, tighter) } else { (COWBOX_POLICY, wider) };
    Ok((!found.is_empty()).then(|| Risk::of(code, describe(&sides.name, &found))).into_iter().collect())
}

/// Only what is known to tighten does.
fn tightens(key: &Key, how: How, old: &Keys, new: &Keys) -> bool {
    let names: Vec<&str> = key.names().collect();
    let top = key.top();
    let name = if top == "limits" { names.get(1).copied().unwrap_or_default() } else { top };
    let only = |keys: &Keys, wanted: &str| {
        let values = keys.values(key);
        !values.is_empty() && values.iter().all(|value| value == wanted)
    };
    match (name, how) {
        ("network", How::Removed) => only(old, "full"),
        ("network", _) => only(new, "none"),
        ("native", How::Added) => names.get(1) == Some(&"mask-more"),
        (name, How::Added) => LIMITS.contains(&name),
        (name, How::Changed) => LIMITS.contains(&name) && lowers(name, old.values(key), new.values(key)),
        (name, How::Removed) => GIVES.contains(&name),
    }
}

fn lowers(limit: &str, old: &[String], new: &[String]) -> bool {
    let amount = |text: &String| match limit {
        "memory" => parse_size(text).ok().map(|bytes| bytes as f64),
        "timeout" => duration(text).map(|time| time.as_secs_f64()),
        _ => parse_cpus(text).ok(),
    };
    match (old, new) {
        ([old], [new]) => matches!((amount(old), amount(new)), (Some(old), Some(new)) if new <= old),
        _ => false,
    }
}

fn duration(text: &str) -> Option<Duration> {
    text.parse().map(Duration::from_secs).ok().or_else(|| humantime::parse_duration(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(old: &str, new: &str) -> Option<&'static str> {
        let sides = Sides { name: ".cowbox.toml".into(), old: Some(old.as_bytes()), new: Some(new.as_bytes()) };
        judge(&sides).unwrap().first().map(|risk| risk.code)
    }

    #[test]
    fn only_what_is_known_to_tighten_is_let_through() {
        let (wider, tighter) = (Some("cowbox-policy"), Some("cowbox-settings"));
        for (old, new, expected) in [
            ("", "network = \"none\"", tighter),
            ("network = \"none\"", "", wider),
            ("network = \"none\"", "network = \"full\"", wider),
            ("network = \"full\"", "", tighter),
            ("", "network = \"full\"", wider),
            ("", "[limits]\nmemory = \"2g\"", tighter),
            ("memory = \"2g\"", "memory = \"1g\"", tighter),
            ("memory = \"2g\"", "memory = \"4g\"", wider),
            ("memory = \"2g\"", "", wider),
            ("timeout = \"10m\"", "timeout = 60", tighter),
            ("timeout = 60", "timeout = \"10m\"", wider),
            ("pids = 100", "pids = \"many\"", wider),
            ("", "env = [\"HOME\"]", wider),
            ("env = [\"HOME\"]", "", tighter),
            ("", "mounts = [\"/:/host\"]", wider),
            ("", "image = \"evil\"", wider),
            ("", "whatever = 1", wider),
            ("", "[native]\nmask-more = [\".x\"]", tighter),
            ("[native]\nmask-more = [\".x\"]", "", wider),
            ("", "[native]\nmask = []", wider),
            ("network = \"none\"", "network = \"none\" # the same", None),
            ("network = \"none\"\nx", "network = \"none\"", wider),
            // A dot in a name is not a table: the limit is gone.
            ("[limits]\nmemory = \"2g\"", "\"limits.memory\" = \"2g\"", wider),
            ("", "\"limits.memory\" = \"2g\"", wider),
        ] {
            assert_eq!(code(old, new), expected, "{old} -> {new}");
        }
    }
}
