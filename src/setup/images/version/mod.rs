//! What a project asks for, as the install scripts understand it.
//!
//! Every ecosystem writes versions its own way. Here each becomes a list of intervals: `3.12` is everything
//! from 3.12 to below 3.13, `^18.2` from 18.2 to below 19, `~> 3.2` from 3.2 to below 4, a floor has no end.

use crate::error::{Error, Result, show};
use crate::setup::plan::Runtime;
use crate::ui::sanitize;

/// Longer than any that means something.
const LONGEST: usize = 200;

/// The names of Node's long-lived lines, oldest first; `lts/*` is the last.
const NODE_LTS: [(&str, u32); 7] =
    [("erbium", 12), ("fermium", 14), ("gallium", 16), ("hydrogen", 18), ("iron", 20), ("jod", 22), ("krypton", 24)];

type Numbers = Vec<u32>;

/// From `low` to below `high`; an empty `low` is no lower end.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    low: Numbers,
    high: Option<Numbers>,
}

/// `VERSION` for the script of a runtime: empty, a word, or intervals such as `3.12`, `>=3.8,<3.12`, `18|>=20`.
pub fn argument(runtime: &Runtime) -> Result<String> {
    let Some(text) = &runtime.version else { return Ok(String::new()) };
    parse(&runtime.name, text.trim(), runtime.floor).ok_or_else(|| {
        let shown: String = text.trim().chars().take(LONGEST).collect();
        let (name, from) = (sanitize::text(&runtime.name), show(&runtime.from));
        Error::new(format!("{from} asks for {name} `{}`, which is not a version", sanitize::text(&shown)))
            .hint("change it, or name an image that has what you need with `--image`")
    })
}

fn parse(name: &str, text: &str, floor: bool) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let text = text.to_ascii_lowercase();
    if matches!(text.as_str(), "" | "*" | "x" | "latest" | "current" | "system" | "default" | "any" | "node") {
        return Some(String::new());
    }
    if name == "node" && text.starts_with("lts") {
        return node_lts(&text);
    }
    let intervals: Option<Vec<Interval>> =
        text.split('|').filter(|t| !t.is_empty()).map(|t| all_of(name, t, floor)).collect();
    match intervals {
        Some(mut intervals) => {
            intervals.sort();
            Some(intervals.iter().map(write).collect::<Vec<_>>().join("|"))
        }
        // `nightly-2026-01-01`, `pypy3.10`: rustup and uv know what to do with it.
        None if matches!(name, "rust" | "python") && is_word(&text) => Some(text),
        None => None,
    }
}

fn node_lts(text: &str) -> Option<String> {
    let name = text.trim_start_matches("lts").trim_start_matches('/');
    let last = NODE_LTS.len() - 1;
    let line = match name {
        "" | "*" => NODE_LTS[last],
        // `lts/-1` is the one before the last.
        back if back.starts_with('-') => *NODE_LTS.get(last.checked_sub(back[1..].parse().ok()?)?)?,
        _ => *NODE_LTS.iter().find(|(n, _)| *n == name)?,
    };
    Some(line.1.to_string())
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+'))
}

/// `>=3.8, <3.12`, `^18`, `1.2 - 2.3`: what all of them allow.
fn all_of(name: &str, text: &str, floor: bool) -> Option<Interval> {
    let text = match text.split_once(" - ") {
        Some((from, to)) => format!(">={} <={}", from.trim(), to.trim()),
        None => text.to_owned(),
    };
    let mut whole: Option<Interval> = None;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let operator = &rest[..rest.find(|c| !"^~<>=!".contains(c))?];
        rest = rest[operator.len()..].trim_start();
        let end = rest.find(|c: char| c == ',' || c.is_whitespace() || "^~<>=!".contains(c)).unwrap_or(rest.len());
        let next = one(name, operator, &rest[..end], floor)?;
        rest = rest[end..].trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        whole = Some(match whole {
            Some(so_far) => so_far.and(next)?,
            None => next,
        });
    }
    whole
}

fn one(name: &str, operator: &str, text: &str, floor: bool) -> Option<Interval> {
    let (version, open) = numbers(name, text)?;
    if version.is_empty() {
        return Some(Interval::default());
    }
    let up_to = |high: Numbers| Some(Interval { low: version.clone(), high: Some(high) });
    match operator {
        // A floor is what the project was written for, not what it must be run with.
        "" if floor => Some(Interval { low: version, high: None }),
        "" | "=" | "==" | "===" => up_to(next(&version, version.len())),
        ">=" | ">" => Some(Interval { low: version, high: None }),
        "<" => Some(Interval { low: Vec::new(), high: Some(version) }),
        "<=" => Some(Interval { low: Vec::new(), high: Some(next(&version, version.len())) }),
        "!=" => Some(Interval::default()),
        "^" => {
            let first = version.iter().position(|n| *n != 0).unwrap_or(0);
            up_to(next(&version, first + 1))
        }
        // npm holds the second number fast, others all but the last.
        "~" if name == "node" => up_to(next(&version, if open { version.len() } else { version.len().min(2) })),
        "~" | "~>" | "~=" => up_to(next(&version, version.len().saturating_sub(1).max(1))),
        _ => None,
    }
}

/// The numbers of `v18.2`, `3.11.*`, `ruby-3.2.1`, `go1.22rc1`, `17.0.2-tem`; and whether it ended in a wildcard.
fn numbers(name: &str, text: &str) -> Option<(Numbers, bool)> {
    let prefixes: &[&str] = match name {
        "java" => {
            &["openjdk", "temurin", "adoptopenjdk", "corretto", "zulu", "liberica", "graalvm", "oracle", "jdk", "java"]
        }
        "dotnet" => &["netcoreapp", "netstandard", "net", "dotnet"],
        other => &[other],
    };
    let text = prefixes.iter().find_map(|p| text.strip_prefix(p)).map_or(text, |rest| rest.trim_start_matches('-'));
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut numbers = Numbers::new();
    for part in text.split('.') {
        if matches!(part, "*" | "x") {
            return Some((numbers, true));
        }
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        if digits == 0 || digits > 6 {
            return None;
        }
        numbers.push(part[..digits].parse().ok()?);
        // A release may have a suffix for its vendor or its build.
        match part[digits..].chars().next() {
            None => {}
            Some('-' | '+') => break,
            Some(_) if name == "go" => break,
            Some(_) => return None,
        }
    }
    if name == "java" {
        // What was 1.8 is 8, and no project needs a certain patch.
        let major = if numbers.first() == Some(&1) { numbers.get(1) } else { numbers.first() };
        numbers = vec![*major?];
    }
    (!numbers.is_empty() && numbers.len() <= 4).then_some((numbers, false))
}

/// The first version that does not begin with the first `keep` numbers.
fn next(version: &[u32], keep: usize) -> Numbers {
    let mut next: Numbers = version[..keep.clamp(1, version.len())].to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    next
}

impl Interval {
    /// What both allow.
    fn and(self, other: Self) -> Option<Self> {
        let low = self.low.max(other.low);
        let high = match (self.high, other.high) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        if high.as_ref().is_some_and(|high| *high <= low) { None } else { Some(Self { low, high }) }
    }
}

fn write(interval: &Interval) -> String {
    let text = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
    let Interval { low, high } = interval;
    match high {
        Some(high) if !low.is_empty() && next(low, low.len()) == *high => text(low),
        Some(high) if low.is_empty() => format!("<{}", text(high)),
        Some(high) => format!(">={},<{}", text(low), text(high)),
        None if low.is_empty() => String::new(),
        None => format!(">={}", text(low)),
    }
}

#[cfg(test)]
mod tests;
