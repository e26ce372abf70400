//! Ranges of versions, in the dialects of npm, pip, poetry, composer, bundler and mix as far as they agree.

use std::cmp::Ordering;

const LONGEST: usize = 200;
const MOST_PARTS: usize = 4;

type Numbers = Vec<u32>;

/// What counts as one version of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Node: 18, 20.
    Major,
    /// Python: 3.11, 3.12.
    Minor,
}

/// From `lower` up to, and without, `upper`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Span {
    lower: Option<Numbers>,
    upper: Option<Numbers>,
}

/// The version to get for a range, and whether it is a floor. A range with a ceiling gives the newest version below
/// it: a newer one would be refused, and a floor alone could not say that.
pub(super) fn newest(text: &str, unit: Unit) -> Option<(String, bool)> {
    if text.len() > LONGEST {
        return None;
    }
    let spans: Option<Vec<Span>> = text.split('|').filter(|part| !part.trim().is_empty()).map(span).collect();
    let span = spans?.into_iter().max_by(|a, b| a.lower.cmp(&b.lower))?;
    match (span.lower, span.upper) {
        (Some(lower), Some(upper)) if upper == bump(&lower) && lower.len() > unit.parts() => {
            Some((show(&lower), false))
        }
        (lower, Some(upper)) => match unit.below(&upper) {
            Some(version) => Some((show(&version), false)),
            None => Some((show(&lower?), true)),
        },
        (Some(lower), None) => Some((show(&lower), true)),
        (None, None) => None,
    }
}

impl Unit {
    fn parts(self) -> usize {
        match self {
            Unit::Major => 1,
            Unit::Minor => 2,
        }
    }

    /// The newest version below a ceiling; none where that cannot be told: below 4.0 may be 3.14 or 3.15.
    fn below(self, upper: &[u32]) -> Option<Numbers> {
        let parts = self.parts();
        let mut version: Numbers = upper.iter().copied().chain([0; MOST_PARTS]).take(parts).collect();
        let whole = upper.iter().skip(parts).all(|part| *part == 0);
        if whole {
            let last = version.last_mut()?;
            *last = last.checked_sub(1)?;
        }
        Some(version)
    }
}

/// Comparators that all hold: `>=3.9,<4`, `>=18 <21`, `18 - 20`.
fn span(text: &str) -> Option<Span> {
    let text = match text.split_once(" - ") {
        Some((from, to)) => format!(">={from} <={to}"),
        None => text.to_owned(),
    };
    let mut span = Span::default();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (operator, after) = take(rest, |c| "<>=!~^".contains(c));
        let (version, after) = take(after.trim_start(), |c| c.is_ascii_alphanumeric() || ".*+-".contains(c));
        let numbers = numbers(version)?;
        if !numbers.is_empty() {
            span.narrow(operator, numbers)?;
        }
        rest = after.trim_start_matches([' ', '\t', ',']);
    }
    Some(span)
}

fn take(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !fits(c)).unwrap_or(text.len()))
}

/// The numbers of a version, up to a wildcard or a suffix.
fn numbers(text: &str) -> Option<Numbers> {
    let text = text.strip_prefix('v').unwrap_or(text);
    if text.is_empty() || text.split('.').count() > MOST_PARTS {
        return None;
    }
    let mut numbers = Vec::new();
    for part in text.split('.') {
        if ["*", "x", "X"].contains(&part) {
            break;
        }
        let (digits, suffix) = take(part, |c| c.is_ascii_digit());
        numbers.push(digits.parse().ok().filter(|number| *number < 100_000)?);
        if !suffix.is_empty() {
            break;
        }
    }
    Some(numbers)
}

impl Span {
    fn narrow(&mut self, operator: &str, version: Numbers) -> Option<()> {
        let (lower, upper) = match operator {
            "" | "=" | "==" | "===" => (Some(version.clone()), Some(bump(&version))),
            ">=" | ">" => (Some(version), None),
            "<" => (None, Some(version)),
            "<=" => (None, Some(bump(&version))),
            "^" => (Some(version.clone()), Some(bump(&version[..version.len().min(1 + usize::from(version[0] == 0))]))),
            "~" => (Some(version.clone()), Some(bump(&version[..version.len().min(2)]))),
            "~=" | "~>" => (Some(version.clone()), Some(bump(&version[..(version.len() - 1).max(1)]))),
            "!=" => (None, None),
            _ => return None,
        };
        if let Some(lower) = lower.filter(|lower| self.lower.as_ref().is_none_or(|old| order(lower, old).is_gt())) {
            self.lower = Some(lower);
        }
        if let Some(upper) = upper.filter(|upper| self.upper.as_ref().is_none_or(|old| order(upper, old).is_lt())) {
            self.upper = Some(upper);
        }
        Some(())
    }
}

/// 3.9 and 3.9.0 are the same.
fn order(a: &[u32], b: &[u32]) -> Ordering {
    let padded = |numbers: &[u32]| numbers.iter().copied().chain([0; MOST_PARTS]).take(MOST_PARTS).collect::<Numbers>();
    padded(a).cmp(&padded(b))
}

/// The first version that is not one of these any more.
fn bump(version: &[u32]) -> Numbers {
    let mut next = version.to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    next
}

fn show(version: &[u32]) -> String {
    version.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, unit: Unit) -> Option<(String, bool)> {
        newest(text, unit)
    }

    fn floor(version: &str) -> Option<(String, bool)> {
        Some((version.to_owned(), true))
    }

    fn pin(version: &str) -> Option<(String, bool)> {
        Some((version.to_owned(), false))
    }

    #[test]
    fn what_is_open_above_is_a_floor() {
        assert_eq!(of(">=3.9", Unit::Minor), floor("3.9"));
        assert_eq!(of(">=3.9,<4", Unit::Minor), floor("3.9"));
        assert_eq!(of(">= 3.9.2, < 4.0, !=3.10.*", Unit::Minor), floor("3.9.2"));
        assert_eq!(of("^3.11", Unit::Minor), floor("3.11"));
        assert_eq!(of("~> 3.2", Unit::Minor), floor("3.2"));
        assert_eq!(of("^7.4 || ^8.1", Unit::Minor), floor("8.1"));
        assert_eq!(of(">=18", Unit::Major), floor("18"));
        assert_eq!(of(">=v18.17.0", Unit::Major), floor("18.17.0"));
    }

    #[test]
    fn a_ceiling_gives_the_newest_version_below_it() {
        assert_eq!(of(">=3.9,<3.12", Unit::Minor), pin("3.11"));
        assert_eq!(of(">=3.9,<=3.12", Unit::Minor), pin("3.12"));
        assert_eq!(of("<3.12.4", Unit::Minor), pin("3.12"));
        assert_eq!(of("==3.11.*", Unit::Minor), pin("3.11"));
        assert_eq!(of("~=3.11.2", Unit::Minor), pin("3.11"));
        assert_eq!(of("~> 3.2.1", Unit::Minor), pin("3.2"));
        assert_eq!(of("3.2.2", Unit::Minor), pin("3.2.2"));
        assert_eq!(of("^18.17 || ^20", Unit::Major), pin("20"));
        assert_eq!(of(">=18 <21", Unit::Major), pin("20"));
        assert_eq!(of("18.x", Unit::Major), pin("18"));
        assert_eq!(of("18 - 20", Unit::Major), pin("20"));
        assert_eq!(of("18.17.0", Unit::Major), pin("18.17.0"));
        assert_eq!(of("~18.17", Unit::Major), pin("18.17"));
    }

    #[test]
    fn what_says_nothing_or_is_no_range_is_none() {
        let long = ">=1,".repeat(100);
        for text in
            ["", "*", "x", "abc", ">=", "3;id", "$(id)", "1.2.3.4.5", "99999999999", "<0", "≥3", "|", "!!3", &long]
        {
            assert_eq!(of(text, Unit::Minor), None, "{text}");
            assert_eq!(of(text, Unit::Major), None, "{text}");
        }
    }
}
