//! JUnit XML: the batch for CI, and the reports of test tools for `expect.tests`.

use super::text::DIFFERS;
use super::{Entry, Summary};
use crate::task::outcome::Outcome;
use crate::ui::sanitize;

/// More tests than any task has.
const MOST_CASES: usize = 200_000;

/// How a test case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passed.
    Pass,
    /// It failed, or could not be run.
    Fail,
    /// It was left out.
    Skip,
}

/// A test case of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its class or file; may be empty.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
}

impl Case {
    /// Whether a task means this one: by its name, or with its class before it.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || name.strip_suffix(&self.name).is_some_and(|class| class == format!("{}.", self.class))
    }
}

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
        let repeat = if run.repeat > 1 { format!(" #{}", run.repeat) } else { String::new() };
        let class = run.suite.as_deref().unwrap_or("cowbox");
        out.push_str(&format!(
            "<testcase classname=\"{}\" name=\"{}{repeat}\" time=\"{}\">",
            escape(class),
            escape(&run.task),
            time(run.duration_ms)
        ));
        let reason = escape(run.reason.as_deref().unwrap_or_default());
        if run.outcome == Outcome::InfraError {
            out.push_str(&format!("<error type=\"infra-error\" message=\"{reason}\"/>"));
        } else if bad(run.outcome) {
            out.push_str(&format!("<failure type=\"{}\" message=\"{reason}\"/>", run.outcome));
        } else if let Some(check) = summary.differs(run) {
            out.push_str(&format!("<failure type=\"{DIFFERS}\" message=\"{}\"/>", escape(&check.names())));
        }
        out.push_str(&format!("<system-out>{}</system-out></testcase>\n", escape(&run.dir)));
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// For text and attributes; what XML cannot hold at all is shown by its name.
fn escape(text: &str) -> String {
    let text = sanitize::text(text);
    // Those two are no characters for XML, and no text has them.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Reads the cases of a report. It comes from the sandbox: whatever is in it, this ends and gives what it found, which
/// is at most [`MOST_CASES`]. Text, comments and `CDATA` are what a test printed: no tag in there counts.
pub fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut is_open = false;
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let skipped = [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>")].into_iter();
        if let Some((begin, end)) = skipped.into_iter().find(|(begin, _)| rest.starts_with(begin)) {
            let Some(at) = rest[begin.len()..].find(end) else { break };
            rest = &rest[begin.len() + at + end.len()..];
            continue;
        }
        let Some(end) = tag_end(rest) else { break };
        let tag = &rest[1..end];
        rest = &rest[end..];
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
        let is_full = cases.len() == MOST_CASES;
        match (name, cases.last_mut()) {
            ("testcase", _) if is_full => break,
            ("testcase", _) => {
                is_open = !tag.ends_with('/');
                let (class, name) = (attribute(tag, "classname"), attribute(tag, "name"));
                cases.push(Case { class, name, verdict: Verdict::Pass });
            }
            ("failure" | "error", Some(case)) if is_open => case.verdict = Verdict::Fail,
            ("skipped", Some(case)) if is_open && case.verdict == Verdict::Pass => case.verdict = Verdict::Skip,
            _ => is_open &= !tag.starts_with("/testcase"),
        }
    }
    cases
}

/// Where a tag ends: the first `>` that is not in quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    None
}

fn attribute(tag: &str, name: &str) -> String {
    let mut rest = tag;
    while let Some(at) = rest.find(&format!("{name}=")) {
        let before = rest[..at].chars().next_back();
        let value = &rest[at + name.len() + 1..];
        rest = value;
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        if before.is_none_or(char::is_whitespace) {
            let inner = value[1..].split(quote).next().unwrap_or_default();
            return unescape(inner);
        }
    }
    String::new()
}

fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn failures_and_errors_are_told_apart_and_nothing_breaks_out() {
        let xml = write(&sample());
        assert!(xml.contains("tests=\"4\" failures=\"3\" errors=\"1\" time=\"3.700\""), "{xml}");
        assert!(xml.contains("<failure type=\"timeout\" message=\"run took longer than 2s\"/>"));
        assert!(xml.contains("<error type=\"infra-error\""));
        assert!(xml.contains("<failure type=\"not-the-same\" message=\"exit of run\"/>"));
        assert!(!xml.contains("<script>") && !xml.contains('\u{1b}'));
        let cases = read(&xml);
        let verdicts: Vec<(&str, Verdict)> = cases.iter().map(|case| (case.name.as_str(), case.verdict)).collect();
        use Verdict::Fail;
        assert_eq!(verdicts, [("good", Fail), ("bad", Fail), ("slow", Fail), ("gone", Fail)]);
    }

    #[test]
    fn what_a_test_prints_is_no_verdict() {
        let case = |body: &str| read(&format!("<x><testcase name='a'>{body}</testcase></x>"));
        for body in [
            "<system-out><![CDATA[<failure/></testcase><testcase name='b'>]]></system-out>",
            "<!-- <failure/> <testcase name='b'/> -->",
            "<errors/><failures count='0'/><properties/>",
        ] {
            let cases = case(body);
            assert_eq!((cases.len(), cases[0].verdict), (1, Verdict::Pass), "{body}");
        }
        let after = case("<system-out><![CDATA[</testcase>]]></system-out><failure/>");
        assert_eq!((after.len(), after[0].verdict), (1, Verdict::Fail));
        assert_eq!(case("<skipped/><error/>")[0].verdict, Verdict::Fail);
        assert_eq!(read(&"<testcase/>".repeat(MOST_CASES + 10)).len(), MOST_CASES);
        assert_eq!(escape("a\u{fffe}\u{ffff}<"), "a\u{fffd}\u{fffd}&lt;");
    }

    #[test]
    fn reports_of_other_tools_are_read() {
        let pytest = "<testsuites><testsuite name=\"pytest\"><testcase classname=\"tests.test_a\" name=\"test_x[a&gt;b]\" time=\"0\" />\
            <testcase time='1' name='test_y' classname='tests.test_a'><failure message=\"a > b\">x</failure></testcase>\
            <testcase name=\"z\"><skipped/></testcase></testsuite></testsuites>";
        let cases = read(pytest);
        assert_eq!(cases[0], Case { class: "tests.test_a".into(), name: "test_x[a>b]".into(), verdict: Verdict::Pass });
        assert_eq!((cases[1].verdict, cases[2].verdict), (Verdict::Fail, Verdict::Skip));
        assert!(cases[1].is_called("test_y") && cases[1].is_called("tests.test_a.test_y"));
        assert!(!cases[1].is_called("b.test_y") && !cases[1].is_called("y"));
        for cut in 0..pytest.len() {
            read(&pytest[..cut]);
        }
    }
}
