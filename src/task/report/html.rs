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
    let rows: String = summary.runs.iter().map(|run| row(run, longest)).collect();
    let not_run = match summary.not_run {
        0 => String::new(),
        count => format!("<p class=\"note\">{count} were not run.</p>"),
    };
    let checks: String = summary.checks.iter().filter(|check| !check.is_good()).map(differing).collect();
    let checks = match checks.as_str() {
        "" => String::new(),
        rows => format!(
            "<h2>Not the same as the first run</h2>\n<table><thead><tr><th>task</th><th>what</th><th>first</th>\
             <th>this one</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
        ),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>cowbox: {runs} runs</title><style>{STYLE}</style></head><body>\n\
         <h1>{runs} runs in {time}</h1>\n<dl class=\"outcomes\">\n{bars}</dl>\n{not_run}\n\
         <table><thead><tr><th>task</th><th>outcome</th><th>duration</th><th>reason</th></tr></thead><tbody>\n{rows}</tbody></table>\n\
         {checks}</body></html>\n",
        runs = summary.runs.len(),
        time = seconds(summary.duration_ms),
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
    let repeat = if run.repeat > 1 { format!(" #{}", run.repeat) } else { String::new() };
    let suite = run.suite.as_deref().map(|suite| format!("<small>{}</small> ", escape(suite))).unwrap_or_default();
    format!(
        "<tr><td>{suite}<a href=\"{}/run.json\">{}{repeat}</a></td><td><b class=\"{outcome}\">{outcome}</b></td>\
         <td><span class=\"bar {outcome}\" style=\"width:{width:.1}%\"></span> {}</td><td>{}</td></tr>\n",
        escape(&run.dir),
        escape(&run.task),
        seconds(run.duration_ms),
        escape(run.reason.as_deref().unwrap_or_default()),
        outcome = run.outcome,
    )
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
        assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("https://"));
    }
}
