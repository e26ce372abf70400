//! One page with a chart of outcomes and durations. It needs no network and no script.

use super::text::seconds;
use super::{Check, Entry, Summary};
use crate::task::compare::Difference;
use crate::task::outcome::Outcome;
use crate::ui::sanitize;

const STYLE: &str = include_str!("report.css");

/// Writes it.
pub(super) fn write(summary: &Summary) -> String {
    let bars: String = Outcome::ALL.iter().map(|outcome| bar(summary, *outcome)).collect();
    let longest = summary.runs.iter().map(|run| run.duration_ms).max().unwrap_or(1).max(1);
    let (good, bad) = summary.apart();
    let runs = |title: &str, runs: &[&Entry]| {
        let rows: String = runs.iter().map(|run| row(run, longest)).collect();
        table(title, "runs", "<th>task</th><th>outcome</th><th>duration</th><th>reason</th>", &rows)
    };
    let not_run = match summary.not_run {
        0 => String::new(),
        count => format!("<p class=\"note\">{count} were not run.</p>"),
    };
    let checks: String = summary.checks.iter().filter(|check| !check.is_good()).map(differing).collect();
    let checks = table(
        "Not the same as the first run",
        "checks",
        "<th>task</th><th>what</th><th>first</th><th>this one</th>",
        &checks,
    );
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>cowbox: {count} runs</title><style>{STYLE}</style></head><body>\n\
         <h1>{count} runs in {time}</h1>\n<dl class=\"outcomes\">\n{bars}</dl>\n{not_run}\n\
         {bad}{checks}{good}</body></html>\n",
        count = summary.runs.len(),
        time = seconds(summary.duration_ms),
        bad = runs("Not as expected", &bad),
        good = runs("As expected", &good),
    )
}

/// Nothing where there are no rows.
fn table(title: &str, class: &str, head: &str, rows: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h2>{title}</h2>\n<table class=\"{class}\"><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}

fn bar(summary: &Summary, outcome: Outcome) -> String {
    let count = summary.counts.get(&outcome).copied().unwrap_or(0);
    if count == 0 {
        return String::new();
    }
    let width = count as f64 * 100.0 / summary.runs.len().max(1) as f64;
    format!("<dt>{outcome}</dt><dd><span class=\"bar {outcome}\" style=\"width:{width:.1}%\"></span> {count}</dd>\n")
}

fn row(run: &Entry, longest: u64) -> String {
    let width = run.duration_ms as f64 * 100.0 / longest as f64;
    let suite = run.suite.as_deref().map(|suite| format!("<small>{}</small> ", escape(suite))).unwrap_or_default();
    let logs: Vec<String> = run.logs.iter().map(|log| link(log, log.rsplit('/').next().unwrap_or(log))).collect();
    let reason = escape(run.reason.as_deref().unwrap_or_default());
    let told = [reason, logs.join(" ")].into_iter().filter(|text| !text.is_empty());
    format!(
        "<tr><td>{suite}{}</td><td><b class=\"{outcome}\">{outcome}</b></td>\
         <td><span class=\"bar {outcome}\" style=\"width:{width:.1}%\"></span> {}</td><td>{}</td></tr>\n",
        if run.dir.is_empty() { escape(&run.called()) } else { link(&format!("{}/run.json", run.dir), &run.called()) },
        seconds(run.duration_ms),
        told.collect::<Vec<_>>().join("<br>"),
        outcome = run.outcome,
    )
}

/// To a file beside the page, whatever it is called.
fn link(path: &str, text: &str) -> String {
    format!("<a href=\"./{}\">{}</a>", escape(path), escape(text))
}

fn differing(check: &Check) -> String {
    let row = |difference: &Difference| {
        let words =
            [&difference.what, &difference.before, &difference.after].map(|text| escape(text)).join("</td><td>");
        format!("<tr><td>{} #{}</td><td>{words}</td></tr>\n", escape(&check.task), check.repeat)
    };
    check.differences.iter().map(row).collect()
}

fn escape(text: &str) -> String {
    let text = sanitize::text(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_run_is_on_the_page_and_nothing_of_it_is_markup() {
        let page = write(&sample());
        for word in ["good", "bad", "slow", "gone", "1.2s", "infra-error", "1 were not run", "&lt;1&gt;"] {
            assert!(page.contains(word), "{word}");
        }
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
        assert!(page.contains("<a href=\"./20260101T000000Z__bad/logs/run.stderr\">run.stderr</a>"), "{page}");
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        let order =
            ["Not as expected", "__gone/run.json", "Not the same as", "As expected", "__good/run.json"].map(place);
        assert!(order.is_sorted(), "{order:?}");
        assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://"));
    }
}
