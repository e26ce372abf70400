//! What a task expects of the files that its command leaves. They come from the sandbox: no link is followed out of the
//! workspace, and nothing is read without a bound.

use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::links::{self, Place};
use super::report::{Case, Verdict, read_junit};
use super::spec::{Expect, ExpectedFile, Tests};
use crate::changes::sides::{Leaf, Reader};
use crate::error::show;
use crate::layer::entry::Kind;
use crate::ui::sanitize;

/// What is read of a file.
const MOST: u64 = 64 << 20;

/// What a write changes of a file, and nothing else does: neither a rename nor another name for it. Its time can be
/// set to anything, but not kept by whoever writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    size: u64,
    mtime: i64,
}

/// The report of the tests as it is now; `None` if there is none.
pub fn report(reader: &Reader, expect: &Expect) -> io::Result<Option<Seen>> {
    let Some(tests) = &expect.tests else { return Ok(None) };
    Ok(reader.leaf(&plain(&tests.report))?.filter(is_file).map(|leaf| Seen::from(&leaf)))
}

impl From<&Leaf> for Seen {
    fn from(leaf: &Leaf) -> Self {
        Self { size: leaf.found.id.size, mtime: leaf.found.id.mtime }
    }
}

fn is_file(leaf: &Leaf) -> bool {
    leaf.found.meta.kind == Kind::File
}

/// What is not as it should be, in words. `before` is the report that was there before the command: it says nothing
/// about what that did.
pub fn check(reader: &Reader, expect: &Expect, before: Option<Seen>) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in &expect.files {
        wrong.extend(check_file(reader, file)?);
    }
    if let Some(tests) = &expect.tests {
        wrong.extend(check_tests(reader, tests, before)?);
    }
    Ok(wrong)
}

fn check_file(reader: &Reader, file: &ExpectedFile) -> io::Result<Option<String>> {
    let path = plain(&file.path);
    let name = show(&path);
    let place = links::find(reader, &path, &mut 0)?;
    Ok(match (&place, file.exists, &file.contains) {
        (Place::Behind, ..) => Some(format!("{name} is behind a link that leads out of the workspace, or too far")),
        (Place::Absent, true, _) => Some(format!("{name} is not there")),
        (Place::Absent, false, _) => None,
        (_, false, _) => Some(format!("{name} is there, and must not be")),
        (Place::Dangling, true, _) => Some(format!("{name} is a link that leads nowhere")),
        (Place::Away, true, Some(_)) => Some(format!("{name} is a link that leads out of the workspace")),
        (Place::At(real), true, Some(text)) => match read(reader, real)? {
            Some(content) if holds(&content, text.as_bytes()) => None,
            Some(_) => Some(format!("{name} does not contain `{}`", sanitize::text(text))),
            None => Some(format!("{name} is no file")),
        },
        (Place::Away | Place::At(_), true, None) => None,
    })
}

fn check_tests(reader: &Reader, tests: &Tests, before: Option<Seen>) -> io::Result<Vec<String>> {
    let path = plain(&tests.report);
    let wrong = |why: &str| Ok(vec![format!("the report {} {why}", show(&path))]);
    let leaf = match reader.leaf(&path)? {
        Some(leaf) if is_file(&leaf) => leaf,
        // A link can be made to mean something else that was there before, and then it looks as if it was written.
        _ => {
            return wrong(match links::find(reader, &path, &mut 0)? {
                Place::Absent => "is not there",
                Place::At(real) if real == path => "is no file",
                _ => "must be a file: no link, and behind none",
            });
        }
    };
    if before == Some(Seen::from(&leaf)) {
        return wrong("was not written by the command");
    }
    if leaf.found.meta.size > MOST {
        return wrong(&format!("is larger than {} MiB", MOST >> 20));
    }
    let content = read(reader, &path)?.unwrap_or_default();
    let cases = match read_junit(&content) {
        Ok(cases) => cases,
        Err(why) => return wrong(&why.to_string()),
    };
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
    let leaf = reader.leaf(path)?.filter(is_file);
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
    fn files_and_tests_are_looked_at_and_no_link_is_followed_out() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("out"), "all is well\n").unwrap();
        for (target, link) in [("/etc/passwd", "link"), ("out", "near"), ("nowhere", "dangling"), ("/", "root")] {
            std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
        }
        let report = "<testsuite><testcase classname='a' name='good'/>\
            <testcase classname='a' name='bad'><failure/></testcase></testsuite>";
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
        let files = vec![
            file("out", true, Some("is well")),
            file("none", false, None),
            file("link", true, None),
            file("near", true, Some("is well")),
        ];
        let good = Expect { files, tests: Some(tests(&["a.good"], &["bad"])), ..Expect::default() };
        assert_eq!(check(&reader, &good, None).unwrap(), Vec::<String>::new());
        let files = vec![
            file("out", true, Some("ill")),
            file("out", false, None),
            file("link", true, Some("root")),
            file("dangling", true, None),
            file("dangling", false, None),
            file("root/etc/passwd", true, None),
        ];
        let bad = Expect { files, tests: Some(tests(&["bad", "none"], &["good"])), ..Expect::default() };
        let said = check(&reader, &bad, None).unwrap();
        assert_eq!(
            said,
            [
                "out does not contain `ill`",
                "out is there, and must not be",
                "link is a link that leads out of the workspace",
                "dangling is a link that leads nowhere",
                "dangling is there, and must not be",
                "root/etc/passwd is behind a link that leads out of the workspace, or too far",
                "the test bad did not pass",
                "the test none is not in the report",
                "the test good did not fail",
            ]
        );
    }

    #[test]
    fn a_report_is_whole_and_of_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.xml");
        let tests = Tests { report: "r.xml".into(), pass: vec!["a".to_owned()], fail: Vec::new() };
        let expect = Expect { tests: Some(tests), ..Expect::default() };
        let root = || Reader::new(Dir::root(&[(dir.path(), Encoding::Plain)]).unwrap());
        let seen = || report(&root(), &expect).unwrap();
        let said = |before: Option<Seen>| check(&root(), &expect, before).unwrap().join("; ");
        assert_eq!((seen(), said(None).as_str()), (None, "the report r.xml is not there"));
        let good = "<testsuite><testcase name='a'/></testsuite>";
        fs::write(&path, good).unwrap();
        let before = seen();
        assert_eq!(
            (said(None).as_str(), said(before).as_str()),
            ("", "the report r.xml was not written by the command")
        );
        // Another name, and its end, are no write; nor is a change of permissions.
        fs::hard_link(&path, dir.path().join("other")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(said(before), "the report r.xml was not written by the command");
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, good).unwrap();
        assert_eq!(said(before), "", "the same again is a write");
        fs::write(&path, &good[..20]).unwrap();
        assert_eq!(said(before), "the report r.xml is not well-formed XML (line 1)");
        fs::rename(&path, dir.path().join("real.xml")).unwrap();
        std::os::unix::fs::symlink("real.xml", &path).unwrap();
        assert_eq!(said(before), "the report r.xml must be a file: no link, and behind none");
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(MOST + 1).unwrap();
        assert_eq!(said(before), "the report r.xml is larger than 64 MiB");
    }
}
