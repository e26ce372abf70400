//! Documents made to crash, hang or fill the memory of their reader. All end quickly, and in the risk of their name.

use std::time::Duration;

use super::super::FAMILIES;
use super::super::rule::Judge;
use super::*;

/// Far more than a debug build needs; far less than a bomb takes.
const SOON: Duration = Duration::from_secs(20);

/// Time that this thread was on a processor: how busy the machine is does not count.
fn spent() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// One path for every rule that reads content.
fn readers() -> Vec<String> {
    let rules = FAMILIES.iter().flat_map(|family| family.iter());
    let paths = rules.filter(|rule| matches!(rule.judge, Judge::Keys(..) | Judge::Own(..)));
    paths.map(|rule| rule.pattern.replace("**", "x").replace('*', "x")).collect()
}

fn ends(what: &str, paths: &[&str], bytes: &[u8], expect_risk: bool) {
    for path in paths {
        let start = spent();
        let risks = assess(&added(path), None, Some(bytes));
        let spent = spent() - start;
        assert!(spent < SOON, "{what} as {path}: {spent:?}");
        assert!(!expect_risk || !risks.is_empty(), "{what} as {path}: no risk");
        assert!(risks.iter().all(|risk| risk.reason.len() < 2000), "{what} as {path}: a long reason");
    }
}

const JSON: &[&str] =
    &["package.json", ".mcp.json", "package-lock.json", ".vscode/settings.json", ".devcontainer.json"];
const TOML: &[&str] = &["pyproject.toml", "Cargo.lock", ".cowbox.toml"];
const YAML: &[&str] = &[".yarnrc.yml", "pnpm-lock.yaml"];

#[test]
fn nesting() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        ends("nested", JSON, open.repeat(10_000).as_bytes(), true);
        ends("nested in quotes", JSON, format!("{{\"a\":[\"]\",{}", open.repeat(400)).as_bytes(), true);
    }
    let closed = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    ends("nested", JSON, closed.as_bytes(), true);
    ends("nested", TOML, format!("a = {closed}").as_bytes(), true);
    ends("tables", TOML, "a.".repeat(10_000).as_bytes(), true);
    ends("tables", TOML, format!("[{}a]", "a.".repeat(10_000)).as_bytes(), true);
    ends("nested", YAML, closed.as_bytes(), true);
    ends("nested", YAML, "- ".repeat(10_000).as_bytes(), true);
    ends("nested", YAML, "? ".repeat(10_000).as_bytes(), true);
    // As deep as the parser goes at all: the stack of a thread must do.
    let deep = format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500));
    ends("deep", JSON, deep.as_bytes(), false);
}

#[test]
fn aliases() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..30 {
        let list = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(&format!("a{i}: &a{i} [{list}]\n"));
    }
    ends("alias bomb", YAML, bomb.as_bytes(), true);
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 900].join(", "));
    ends("long alias", YAML, long.as_bytes(), true);
    ends("alias of itself", YAML, b"a: &a [*a]", true);
}

#[test]
fn size() {
    let huge = format!("{{\"scripts\": \"{}\"}}", "x".repeat(20 << 20));
    ends("20 MB", JSON, huge.as_bytes(), true);
    ends("20 MB", TOML, format!("a = \"{}\"", "x".repeat(20 << 20)).as_bytes(), true);
    ends("20 MB", YAML, format!("a: {}", "x".repeat(20 << 20)).as_bytes(), true);
    let many = format!("{{\"scripts\": [{}1]}}", "1,".repeat(7 << 20));
    ends("many", JSON, many.as_bytes(), true);
    let key = format!("{{\"{}\": [{}1]}}", "x".repeat(1 << 20), "1,".repeat(400_000));
    ends("a long key", JSON, key.as_bytes(), false);
    ends("a long key", &["package.json", ".mcp.json"], key.as_bytes(), true);
}

#[test]
fn many_keys() {
    let keys: String = (0..40_000).map(|i| format!("\"k{i}\": 1,")).collect();
    ends("keys", JSON, format!("{{\"scripts\": {{{keys}}}}}").as_bytes(), false);
    let keys: String = (0..30_000).map(|i| format!("k{i} = 1\n")).collect();
    ends("keys", TOML, keys.as_bytes(), false);
    let keys: String = (0..15_000).map(|i| format!("k{i}: 1\n")).collect();
    ends("keys", YAML, keys.as_bytes(), false);
}

#[test]
fn as_many_values_as_are_read_at_all() {
    let list = "1,".repeat(999_000);
    ends("values", &["package.json", "package-lock.json"], format!("[{list}1]").as_bytes(), false);
    ends("values", &["Cargo.lock"], format!("a = [{list}1]").as_bytes(), false);
    ends("values", &["pnpm-lock.yaml"], "- 1\n".repeat(1 << 20).as_bytes(), true);
    ends("words", &["Cargo.lock"], "a ".repeat(2 << 20).as_bytes(), true);
}

#[test]
fn bytes_that_are_no_text() {
    for path in readers() {
        let risks = assess(&added(&path), None, Some(b"\xff\xfe{\"a\": \x00\x80"));
        let lines = assess(&added(&path), None, Some(b"[\xff = \x80\n=\n[[\n"));
        assert!(risks.iter().chain(&lines).all(|risk| risk.reason.len() < 500), "{path}");
    }
    ends("not UTF-8", JSON, b"{\"a\": \"\xff\"}", true);
    ends("not UTF-8", TOML, b"a = \"\xff\"", true);
    ends("not UTF-8", YAML, b"a: \xff", true);
}

#[test]
fn every_reader_takes_long_lines_and_many_lines() {
    let line = "x=".repeat(1 << 15);
    let lines = "a b c\n  resolved \"x\"\n* filter=x\n[s \"\n".repeat(2_000);
    let header = format!("{}:\n{}", "x".repeat(1 << 18), "  resolved \"x\"\n".repeat(20_000));
    for path in readers() {
        for text in [&line, &lines, &header] {
            ends("lines", &[&path], text.as_bytes(), false);
        }
    }
}

#[test]
fn repeated_keys_all_count() {
    let twice = r#"{"scripts": {"a": "evil"}, "scripts": {"a": "b"}}"#;
    let once = r#"{"scripts": {"a": "b"}}"#;
    assert_eq!(codes(&edit("package.json", once, twice)), ["build-entry"]);
    assert_eq!(codes(&edit(".yarnrc.yml", "a: 1", "a: 1\na: 2")), ["build-entry"]);
    assert_eq!(codes(&edit(".cowbox.toml", "a = 1", "a = 1\na = 2")), ["cowbox-policy"]);
}

#[test]
fn a_file_too_large_to_be_read_gets_the_risk_of_its_name() {
    for path in readers() {
        assert!(!assess(&added(&path), None, None).is_empty(), "{path}");
        assert!(needs_content(&added(&path)), "{path}");
    }
}
