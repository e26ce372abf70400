//! The test cases of a JUnit report. It comes from the sandbox: what is not well-formed XML is no report, and neither
//! size nor nesting can take more than a bound.

use std::borrow::Cow;
use std::fmt;

use super::xml::{self, Event, Fault, Reader};

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
    fn new(attributes: &[(&str, Cow<'_, str>)]) -> Self {
        let value = |wanted: &str| {
            let found = attributes.iter().find(|(name, _)| local(name) == wanted);
            found.map(|(_, value)| value.clone().into_owned()).unwrap_or_default()
        };
        // Of tools that list what they did not run.
        let is_left_out = matches!(&*value("status"), "notrun" | "disabled" | "skipped");
        let verdict = if is_left_out { Verdict::Skip } else { Verdict::Pass };
        Self { class: value("classname"), name: value("name"), verdict }
    }

    /// One of its elements says how it ended. A failure stays one.
    fn say(&mut self, verdict: Verdict) {
        if self.verdict != Verdict::Fail {
            self.verdict = verdict;
        }
    }

    /// Whether a task means this one: by its name, or with its class before it.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || name.strip_suffix(&self.name).is_some_and(|class| class == format!("{}.", self.class))
    }
}

/// Why something is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoReport(Fault);

impl fmt::Display for NoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Fault::Malformed(line) => write!(f, "is not well-formed XML (line {line})"),
            Fault::Doctype => f.write_str("has a DOCTYPE, which is not read"),
            Fault::Encoding => f.write_str("is in an encoding that is not read"),
            Fault::TooMuch => f.write_str("is too deep, or has too many tests or attributes"),
        }
    }
}

/// Reads all of them. Only a test case of a suite is one, and only its own elements say how it ended: whatever else
/// there is, tests may have printed.
pub fn read(content: &[u8]) -> Result<Vec<Case>, NoReport> {
    cases(content).map_err(NoReport)
}

fn cases(content: &[u8]) -> Result<Vec<Case>, Fault> {
    let text = xml::decode(content)?;
    let mut reader = Reader::new(&text)?;
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Vec<Element> = Vec::new();
    loop {
        let (name, attributes) = match reader.next()? {
            Event::Over => return Ok(cases),
            Event::End => {
                open.pop();
                continue;
            }
            Event::Start { name, attributes } => (name, attributes),
        };
        let element = Element::of(local(name), open.last());
        open.push(element);
        match element {
            Element::Case if cases.len() == MOST_CASES => return Err(Fault::TooMuch),
            Element::Case => cases.push(Case::new(&attributes)),
            Element::Said(verdict) => cases.last_mut().into_iter().for_each(|case| case.say(verdict)),
            Element::Suite | Element::Other => {}
        }
    }
}

/// A name without its namespace: that says nothing here.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// What an element of a report is, by its name and by what it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Suite,
    Case,
    Said(Verdict),
    Other,
}

impl Element {
    fn of(name: &str, parent: Option<&Element>) -> Self {
        match (name, parent) {
            ("testsuites" | "testsuite", None | Some(Element::Suite)) => Element::Suite,
            ("testcase", Some(Element::Suite)) => Element::Case,
            ("failure" | "error", Some(Element::Case)) => Element::Said(Verdict::Fail),
            ("skipped", Some(Element::Case)) => Element::Said(Verdict::Skip),
            _ => Element::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(text: &str) -> Vec<(String, Verdict)> {
        read(text.as_bytes()).unwrap().into_iter().map(|case| (case.name, case.verdict)).collect()
    }

    fn case(body: &str) -> Vec<Verdict> {
        let text = format!("<testsuite><testcase name='a'>{body}</testcase></testsuite>");
        verdicts(&text).into_iter().map(|(_, verdict)| verdict).collect()
    }

    #[test]
    fn what_a_test_prints_is_no_verdict() {
        for body in [
            "<system-out><![CDATA[<failure/></testcase><testcase name='b'>]]></system-out>",
            "<system-out>&lt;failure/&gt;</system-out>",
            "<system-out><failure/><testcase name='b'/><testsuite><testcase name='c'/></testsuite></system-out>",
            "<!-- <failure/> <testcase name='b'/> -->",
            "<errors/><failures count='0'/><properties/>",
        ] {
            assert_eq!(case(body), [Verdict::Pass], "{body}");
        }
        assert_eq!(case("<system-out><![CDATA[</testcase>]]></system-out><failure/>"), [Verdict::Fail]);
        assert_eq!(
            (case("<skipped/><error/>"), case("<error/><skipped/>")),
            (vec![Verdict::Fail], vec![Verdict::Fail])
        );
    }

    #[test]
    fn reports_of_other_tools_are_read() {
        let pytest = "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite name=\"pytest\">\
            <testcase classname=\"tests.test_a\" name=\"test_x[a&gt;b]\" time=\"0\" />\
            <testcase time='1' name='test_y' classname='tests.test_a'><failure message=\"a > b\">x</failure></testcase>\
            <testcase name=\"z\"><skipped/></testcase></testsuite></testsuites>\n";
        let cases = read(pytest.as_bytes()).unwrap();
        assert_eq!(cases[0], Case { class: "tests.test_a".into(), name: "test_x[a>b]".into(), verdict: Verdict::Pass });
        assert_eq!((cases[1].verdict, cases[2].verdict), (Verdict::Fail, Verdict::Skip));
        assert!(cases[1].is_called("test_y") && cases[1].is_called("tests.test_a.test_y"));
        assert!(!cases[1].is_called("b.test_y") && !cases[1].is_called("y"));
        for cut in 0..pytest.len() - 1 {
            assert!(read(&pytest.as_bytes()[..cut]).is_err(), "cut at {cut}");
        }
        // node, whose cases lie beside suites; Maven, with namespaces; GoogleTest, which lists what it did not run.
        let others = "<testsuites xmlns='urn:x' xmlns:xsi='urn:y'><testcase name='a'/>\
            <x:testsuite xmlns:x='urn:z' xsi:noNamespaceSchemaLocation='s.xsd'><testsuite>\
            <x:testcase name='b&#65;&#x42;&quot;&apos;'><x:failure/></x:testcase>\
            <testcase status='notrun' name='c'/></testsuite></x:testsuite></testsuites>";
        let wanted = [("a", Verdict::Pass), ("bAB\"'", Verdict::Fail), ("c", Verdict::Skip)];
        assert_eq!(verdicts(others), wanted.map(|(name, verdict)| (name.to_owned(), verdict)));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let said = |content: &str| read(content.as_bytes()).unwrap_err().to_string();
        assert_eq!(said("<testsuite>\n<testcase></testsuite>"), "is not well-formed XML (line 2)");
        assert_eq!(said("all tests pass"), "is not well-formed XML (line 1)");
        assert_eq!(said("<!DOCTYPE x><testsuite/>"), "has a DOCTYPE, which is not read");
        let many = format!("<testsuite>{}</testsuite>", "<testcase/>".repeat(MOST_CASES + 1));
        assert_eq!(said(&many), "is too deep, or has too many tests or attributes");
    }
}
