//! The summary as text.

use super::{Entry, Summary};
use crate::task::outcome::Outcome;
use crate::ui::sanitize;

/// What is said of a run that is not the same as the first.
pub(super) const DIFFERS: &str = "not-the-same";

/// So much of a reason stands on a line; all of it is in the record.
const LONGEST: usize = 300;
/// Where the second column begins.
const INDENT: &str = "                           ";

/// One run in a line.
pub fn line(run: &Entry) -> String {
    let reason = run.reason.as_deref().map(|why| format!(" · {}", short(why))).unwrap_or_default();
    format!("{:<16} {:>8}  {}{reason}", run.outcome.to_string(), seconds(run.duration_ms), run.called())
}

fn short(text: &str) -> String {
    let mut letters = text.chars();
    let part: String = letters.by_ref().take(LONGEST).collect();
    sanitize::text(&part) + if letters.next().is_some() { "…" } else { "" }
}

/// All of them, and their number. Those that did not end well come last, where one looks, with the place of their logs;
/// `place` is that of the batch.
pub fn table(summary: &Summary, place: &str) -> String {
    let (good, bad) = summary.apart();
    let below = |text: &str| format!("{INDENT}{}\n", sanitize::text(text));
    let mut out: String = good.iter().map(|run| line(run) + "\n").collect();
    for run in bad {
        out.push_str(&format!("{}\n", line(run)));
        match run.logs.as_slice() {
            [] if run.dir.is_empty() => {}
            [] => out.push_str(&below(&format!("{place}{}", run.dir))),
            logs => out.extend(logs.iter().map(|log| below(&format!("{place}{log}")))),
        }
    }
    for check in summary.checks.iter().filter(|check| !check.is_good()) {
        out.push_str(&format!("{DIFFERS:<16} {:>8}  {} #{}\n", "", check.task, check.repeat));
        let of = |run: &&Entry| (&run.task, run.repeat) == (&check.task, check.repeat);
        out.extend(check.lines().iter().map(|line| below(line)));
        out.extend(summary.runs.iter().find(of).map(|run| below(&format!("{place}{}", run.dir))));
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
    fn the_table_has_a_line_for_each_and_ends_with_what_needs_a_look() {
        let text = table(&sample(), "runs/");
        let wanted = "passed               1.2s  good
failed               0.3s  bad · the command ended with 1 instead of 0 <script>alert(1)</script>
                           runs/20260101T000000Z__bad/logs/run.stderr
timeout              2.1s  slow · run took longer than 2s
                           runs/20260101T000000Z__slow/logs/run.stderr
infra-error          0.0s  gone · there is no commit \\u{1b}[31m x
                           runs/20260101T000000Z__gone/logs/run.stderr
not-the-same               good #1
                           exit of run: <1>\\u{1b} → 2
                           runs/20260101T000000Z__good
1 passed, 1 failed, 1 timeout, 1 infra-error, 1 not run, 1 not-the-same in 3.7s
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn nothing_takes_more_than_its_room() {
        let mut summary = sample();
        summary.runs[1].reason = Some("\u{1b}é".repeat(10_000));
        summary.runs[1].logs = Vec::new();
        summary.checks[0].differences = vec![summary.checks[0].differences[0].clone(); 1000];
        let text = table(&summary, "");
        assert!(text.len() < 5000 && text.contains("and 990 more\n"), "{text}");
        assert!(text.contains("…\n                           20260101T000000Z__bad\n"), "{text}");
    }

    #[test]
    fn times_are_short() {
        let said = [20, 99_900, 125_000, 3_723_000].map(seconds);
        assert_eq!(said, ["0.0s", "99.9s", "2m 05s", "1h 02m"]);
    }
}
