//! JUnit XML: the batch for CI.

use super::text::DIFFERS;
use super::{Entry, Summary};
use crate::task::outcome::Outcome;
use crate::ui::sanitize;

/// Writes the batch.
pub(super) fn write(summary: &Summary) -> String {
    let bad = |outcome: Outcome| !outcome.is_good() && outcome != Outcome::InfraError;
    let differs = |run: &Entry| run.outcome.is_good() && summary.differs(run).is_some();
    let failures = summary.runs.iter().filter(|run| bad(run.outcome) || differs(run)).count();
    let errors = summary.runs.iter().filter(|run| run.outcome == Outcome::InfraError).count();
    let time = |ms: u64| format!("{}.{:03}", ms / 1000, ms % 1000);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{0}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{1}\">\n\
         <testsuite name=\"cowbox\" tests=\"{0}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{1}\">\n",
        summary.runs.len(),
        time(summary.duration_ms)
    );
    for run in &summary.runs {
        let class = run.suite.as_deref().unwrap_or("cowbox");
        out.push_str(&format!(
            "<testcase classname=\"{}\" name=\"{}\" time=\"{}\">",
            escape(class),
            escape(&run.called()),
            time(run.duration_ms)
        ));
        let reason = run.reason.as_deref().unwrap_or_default();
        if run.outcome == Outcome::InfraError {
            out.push_str(&verdict("error", "infra-error", reason, &[], run));
        } else if bad(run.outcome) {
            out.push_str(&verdict("failure", &run.outcome.to_string(), reason, &[], run));
        } else if let Some(check) = summary.differs(run) {
            out.push_str(&verdict("failure", DIFFERS, &check.names(), &check.lines(), run));
        }
        out.push_str(&format!("<system-out>{}</system-out></testcase>\n", escape(&run.dir)));
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// Why a run is none to be pleased with, and where there is more: servers show one or the other.
fn verdict(element: &str, kind: &str, reason: &str, lines: &[String], run: &Entry) -> String {
    let logs = if run.logs.is_empty() { std::slice::from_ref(&run.dir) } else { &run.logs };
    let body: Vec<String> =
        [reason].into_iter().chain(lines.iter().chain(logs).map(String::as_str)).map(escape).collect();
    format!("<{element} type=\"{kind}\" message=\"{}\">{}</{element}>", escape(reason), body.join("\n"))
}

/// For text and attributes; what XML cannot hold at all is shown by its name.
fn escape(text: &str) -> String {
    let text = sanitize::text(text);
    // Those two are no characters for XML, and no text has them.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::{Verdict, sample};
    use super::*;

    #[test]
    fn failures_and_errors_are_told_apart_and_nothing_breaks_out() {
        let xml = write(&sample());
        assert!(xml.contains("tests=\"4\" failures=\"3\" errors=\"1\" time=\"3.700\""), "{xml}");
        assert!(xml.contains(
            "<failure type=\"timeout\" message=\"run took longer than 2s\">run took longer than 2s\n\
             20260101T000000Z__slow/logs/run.stderr</failure>"
        ));
        assert!(xml.contains("<error type=\"infra-error\""));
        assert!(xml.contains(
            "<failure type=\"not-the-same\" message=\"exit of run\">exit of run\n\
             exit of run: &lt;1&gt;\\u{1b} → 2\n20260101T000000Z__good/logs/run.stderr</failure>"
        ));
        assert!(!xml.contains("<script>") && !xml.contains('\u{1b}'));
        let cases = super::super::read_junit(xml.as_bytes()).unwrap();
        use Verdict::Fail;
        let verdicts: Vec<(&str, Verdict)> = cases.iter().map(|case| (case.name.as_str(), case.verdict)).collect();
        assert_eq!(verdicts, [("good", Fail), ("bad", Fail), ("slow", Fail), ("gone", Fail)]);
    }

    #[test]
    fn no_character_breaks_the_document() {
        assert_eq!(escape("a\u{fffe}\u{ffff}<"), "a\u{fffd}\u{fffd}&lt;");
    }
}
