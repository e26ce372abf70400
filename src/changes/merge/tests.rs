//! Against `git merge-file`: what is merged cleanly is what git makes of it, to the byte.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

/// Cases of the generated test.
const CASES: u64 = 800;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// `None`: git sees a conflict.
fn git(dir: &Path, base: &[u8], host: &[u8], session: &[u8]) -> Option<Vec<u8>> {
    for (name, bytes) in [("base", base), ("host", host), ("session", session)] {
        fs::write(dir.join(name), bytes).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "host", "base", "session"])
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let code = output.status.code().unwrap();
    assert!(code < 128, "{}", String::from_utf8_lossy(&output.stderr));
    (code == 0).then_some(output.stdout)
}

/// Few distinct lines, so that they repeat and edits meet.
fn text(random: &mut Random) -> Vec<String> {
    let words = 2 + random.below(12);
    (0..random.below(16)).map(|_| format!("line {}", random.below(words))).collect()
}

fn edited(random: &mut Random, lines: &[String], mark: &str) -> Vec<String> {
    let mut lines = lines.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(lines.len() + 1);
        match random.below(4) {
            0 => lines.insert(at, format!("{mark} {}", random.below(4))),
            1 => lines.insert(at, format!("line {}", random.below(6))),
            2 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = format!("{mark} {}", random.below(4)),
            _ => {}
        }
    }
    lines
}

fn bytes(random: &mut Random, lines: &[String], end: &str) -> Vec<u8> {
    let mut text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
    if random.below(6) == 0 {
        text.truncate(text.len().saturating_sub(end.len()));
    }
    text.into_bytes()
}

/// The lines that only this side wrote: nobody else can have taken them away.
fn own(text: &[u8], mark: &str) -> Vec<String> {
    let lines = text.split(|b| *b == b'\n').map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
    lines.filter(|line| line.starts_with(mark)).collect()
}

#[test]
fn what_is_merged_cleanly_is_what_git_makes_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (mut clean, mut careful) = (0, 0);
    let cases = std::env::var("COWBOX_MERGE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    for seed in 0..cases {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let end = if seed % 5 == 0 { "\r\n" } else { "\n" };
        let lines = text(&mut random);
        let (ours, theirs) = (edited(&mut random, &lines, "host"), edited(&mut random, &lines, "session"));
        let sides = [&lines, &ours, &theirs].map(|lines| bytes(&mut random, lines, end));
        let [base, host, session] = &sides;
        let show = || sides.each_ref().map(|side| String::from_utf8_lossy(side).into_owned()).join("\n-----\n");
        let git = git(dir.path(), base, host, session);
        let result = match three_way(base, host, session, "x") {
            Merged::Clean(merged) => {
                let git = git.unwrap_or_else(|| panic!("seed {seed}: git sees a conflict\n{}", show()));
                let (git, ours) = (String::from_utf8_lossy(&git), String::from_utf8_lossy(&merged));
                assert_eq!(git, ours, "seed {seed}\n{}", show());
                clean += 1;
                merged
            }
            Merged::Conflict(both) => {
                careful += u64::from(git.is_some());
                both
            }
            Merged::Binary => panic!("seed {seed}: all of it is text"),
        };
        assert_eq!(own(&result, "host"), own(host, "host"), "seed {seed}: lines of the host");
        assert_eq!(own(&result, "session"), own(session, "session"), "seed {seed}: lines of the session");
    }
    // Both must happen often, or nothing was tested; being more careful than git must be rare.
    assert!(clean > cases / 4 && clean < cases * 3 / 4, "{clean} of {cases} were clean");
    assert!(careful < cases / 20, "{careful} of {cases} are conflicts to us alone");
}

#[test]
fn changes_that_touch_are_in_conflict() {
    let merge = |host: &str, session: &str| three_way(b"a\nb\nc\nd\n", host.as_bytes(), session.as_bytes(), "s");
    // Neighbouring lines.
    assert!(matches!(merge("A\nb\nc\nd\n", "a\nB\nc\nd\n"), Merged::Conflict(_)));
    // One deletes what the other writes behind.
    assert!(matches!(merge("a\nc\nd\n", "a\nb\nnew\nc\nd\n"), Merged::Conflict(_)));
    // Both write at the end.
    let both = "a\nb\nc\nd\n<<<<<<< host\nmine\n=======\ntheirs\n>>>>>>> session s\n";
    assert_eq!(merge("a\nb\nc\nd\nmine\n", "a\nb\nc\nd\ntheirs\n"), Merged::Conflict(both.into()));
    // One line between is enough, and the same change is one.
    assert_eq!(merge("A\nb\nc\nd\n", "a\nb\nC\nd\n"), Merged::Clean(b"A\nb\nC\nd\n".to_vec()));
    assert_eq!(merge("A\nb\nc\nD\n", "A\nb\nc\nd\n"), Merged::Clean(b"A\nb\nc\nD\n".to_vec()));
}

#[test]
fn ends_of_lines_and_of_files_stay_as_they_are() {
    let merge =
        |base: &str, host: &str, session: &str| three_way(base.as_bytes(), host.as_bytes(), session.as_bytes(), "s");
    assert_eq!(merge("a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nC"), Merged::Clean(b"A\r\nb\r\nC".to_vec()));
    assert_eq!(merge("a\nb\nc", "a\nb\nc\n", "A\nb\nc"), Merged::Clean(b"A\nb\nc\n".to_vec()));
    assert_eq!(merge("", "a\n", ""), Merged::Clean(b"a\n".to_vec()));
    let both = "<<<<<<< host\r\nx\r\n=======\r\ny\r\n>>>>>>> session s\r\n";
    assert_eq!(merge("", "x\r\n", "y"), Merged::Conflict(both.into()));
    assert_eq!(merge("a\0b", "a\0c", "a\0d"), Merged::Binary);
}

#[test]
fn a_commit_is_a_base_only_where_nothing_speaks_against_it() {
    let text = |changed: &[(usize, &str)]| {
        let line = |n: usize| changed.iter().find(|c| c.0 == n).map_or_else(|| format!("line {n}"), |c| c.1.to_owned());
        (1..=9).map(|n| line(n) + "\n").collect::<String>().into_bytes()
    };
    let base = Kept::Committed(text(&[]));
    let merged =
        |host: &[(usize, &str)], session: &[(usize, &str)]| merge(Some(&base), &text(host), &text(session), "s");
    assert_eq!(merged(&[(2, "host")], &[(8, "session")]), Merged::Clean(text(&[(2, "host"), (8, "session")])));
    // Taken back by one side, or in both.
    assert!(matches!(merged(&[], &[(8, "session")]), Merged::Conflict(_)));
    assert!(matches!(merged(&[(2, "host")], &[]), Merged::Conflict(_)));
    assert!(matches!(merged(&[(5, "edit"), (2, "host")], &[(5, "edit"), (8, "session")]), Merged::Conflict(_)));
    // Of what was seen there is no doubt; of what was not there is nothing to merge.
    let seen = Kept::Seen(text(&[]));
    assert_eq!(merge(Some(&seen), &text(&[]), &text(&[(8, "x")]), "s"), Merged::Clean(text(&[(8, "x")])));
    assert_eq!(
        merge(None, b"", b"x\n", "s"),
        Merged::Conflict(b"<<<<<<< host\n=======\nx\n>>>>>>> session s\n".to_vec())
    );
}
