//! The summary as text.

use super::{Entry, Summary};
use crate::task::outcome::Outcome;
use crate::ui::sanitize;

/// What is said of a run that is not the same as the first.
pub(super) const DIFFERS: &str = "not-the-same";

/// One run in a line.
pub fn line(run: &Entry) -> String {
    let repeat = if run.repeat > 1 { format!(" #{}", run.repeat) } else { String::new() };
    let reason = run.reason.as_deref().map(|why| format!(" · {}", sanitize::text(why))).unwrap_or_default();
    format!("{:<16} {:>8}  {}{repeat}{reason}", run.outcome.to_string(), seconds(run.duration_ms), run.task)
}

/// All of them, and their number.
pub fn table(summary: &Summary) -> String {
    let mut out: String = summary.runs.iter().map(|run| line(run) + "\n").collect();
    for check in summary.checks.iter().filter(|check| !check.is_good()) {
        let names = sanitize::text(&check.names());
        out.push_str(&format!("{DIFFERS:<16} {:>8}  {} #{} · {names}\n", "", check.task, check.repeat));
    }
    let counts =
        Outcome::ALL.iter().filter_map(|outcome| summary.counts.get(outcome).map(|count| format!("{count} {outcome}")));
    let mut words: Vec<String> = counts.collect();
    if summary.not_run > 0 {
        words.push(format!("{} not run", summary.not_run));
    }
    let differ = summary.checks.iter().filter(|check| !check.is_good()).count();
    if differ > 0 {
        words.push(format!("{differ} {DIFFERS}"));
    }
    if words.is_empty() {
        words.push("nothing was run".to_owned());
    }
    out.push_str(&format!("{} in {}\n", words.join(", "), seconds(summary.duration_ms)));
    out
}

/// Milliseconds for people.
pub fn seconds(ms: u64) -> String {
    match ms / 1000 {
        s if s >= 3600 => format!("{}h {:02}m", s / 3600, s / 60 % 60),
        s if s >= 100 => format!("{}m {:02}s", s / 60, s % 60),
        _ => format!("{:.1}s", ms as f64 / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_and_counts_them() {
        let text = table(&sample());
        assert!(text.starts_with("passed               1.2s  good\n"), "{text}");
        assert!(
            text.ends_with("1 passed, 1 failed, 1 timeout, 1 infra-error, 1 not run, 1 not-the-same in 3.7s\n"),
            "{text}"
        );
        assert!(text.contains("\nnot-the-same               good #1 · exit of run\n"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn times_are_short() {
        let said = [20, 99_900, 125_000, 3_723_000].map(seconds);
        assert_eq!(said, ["0.0s", "99.9s", "2m 05s", "1h 02m"]);
    }
}
