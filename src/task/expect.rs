//! What a task expects of the files that its command leaves. They come from the sandbox: no link is followed, and
//! nothing is read without a bound.

use std::io::{self, Read};
use std::path::Path;

use super::report::{Case, Verdict, read_junit};
use super::spec::{Expect, ExpectedFile, Tests};
use crate::changes::sides::Reader;
use crate::error::show;
use crate::layer::entry::Kind;
use crate::ui::sanitize;

/// What is read of a file.
const MOST: u64 = 64 << 20;

/// What is not as it should be, in words.
pub fn check(reader: &Reader, expect: &Expect) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in &expect.files {
        wrong.extend(check_file(reader, file)?);
    }
    if let Some(tests) = &expect.tests {
        wrong.extend(check_tests(reader, tests)?);
    }
    Ok(wrong)
}

fn check_file(reader: &Reader, file: &ExpectedFile) -> io::Result<Option<String>> {
    let path = plain(&file.path);
    let name = show(&path);
    let exists = reader.leaf(&path)?.is_some() || reader.dir(&path)?.is_some();
    Ok(match (&file.contains, exists, file.exists) {
        (_, false, true) => Some(format!("{name} is not there")),
        (_, true, false) => Some(format!("{name} is there, and must not be")),
        (Some(text), true, true) => match read(reader, &path)? {
            Some(content) if holds(&content, text.as_bytes()) => None,
            Some(_) => Some(format!("{name} does not contain `{}`", sanitize::text(text))),
            None => Some(format!("{name} is no file")),
        },
        _ => None,
    })
}

fn check_tests(reader: &Reader, tests: &Tests) -> io::Result<Vec<String>> {
    let path = plain(&tests.report);
    let Some(content) = read(reader, &path)? else {
        return Ok(vec![format!("the report {} is not there", show(&path))]);
    };
    let cases = read_junit(&String::from_utf8_lossy(&content));
    let check = |names: &[String], wanted: Verdict, word: &str| -> Vec<String> {
        let verdict = |name: &String| {
            let found: Vec<&Case> = cases.iter().filter(|case| case.is_called(name)).collect();
            let name = sanitize::text(name);
            match found.as_slice() {
                [] => Some(format!("the test {name} is not in the report")),
                all if all.iter().all(|case| case.verdict == wanted) => None,
                _ => Some(format!("the test {name} did not {word}")),
            }
        };
        names.iter().filter_map(verdict).collect()
    };
    let mut wrong = check(&tests.pass, Verdict::Pass, "pass");
    wrong.extend(check(&tests.fail, Verdict::Fail, "fail"));
    Ok(wrong)
}

/// The content of a regular file; `None` if there is none.
fn read(reader: &Reader, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let leaf = reader.leaf(path)?.filter(|leaf| leaf.found.meta.kind == Kind::File);
    let (Some(leaf), Some(name)) = (leaf, path.file_name()) else { return Ok(None) };
    let mut content = Vec::new();
    leaf.open(name)?.take(MOST).read_to_end(&mut content)?;
    Ok(Some(content))
}

fn holds(content: &[u8], text: &[u8]) -> bool {
    text.is_empty() || content.windows(text.len()).any(|part| part == text)
}

/// Without `.` in it.
pub fn plain(path: &Path) -> std::path::PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layer::Encoding;
    use crate::layer::stack::Dir;

    #[test]
    fn files_and_tests_are_looked_at_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("out"), "all is well\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let report = "<testcase classname='a' name='good'/><testcase classname='a' name='bad'><failure/></testcase>";
        fs::write(dir.path().join("r.xml"), report).unwrap();
        let reader = Reader::new(Dir::root(&[(dir.path(), Encoding::Plain)]).unwrap());
        let file = |path: &str, exists: bool, contains: Option<&str>| ExpectedFile {
            path: path.into(),
            exists,
            contains: contains.map(str::to_owned),
        };
        let tests = |pass: &[&str], fail: &[&str]| Tests {
            report: "./r.xml".into(),
            pass: pass.iter().map(|name| (*name).to_owned()).collect(),
            fail: fail.iter().map(|name| (*name).to_owned()).collect(),
        };
        let files = vec![file("out", true, Some("is well")), file("none", false, None), file("link", true, None)];
        let good = Expect { files, tests: Some(tests(&["a.good"], &["bad"])), ..Expect::default() };
        assert_eq!(check(&reader, &good).unwrap(), Vec::<String>::new());
        let files = vec![file("out", true, Some("ill")), file("out", false, None), file("link", true, Some("root"))];
        let bad = Expect { files, tests: Some(tests(&["bad", "none"], &["good"])), ..Expect::default() };
        let said = check(&reader, &bad).unwrap();
        assert_eq!(
            said,
            [
                "out does not contain `ill`",
                "out is there, and must not be",
                "link is no file",
                "the test bad did not pass",
                "the test none is not in the report",
                "the test good did not fail",
            ]
        );
    }
}
