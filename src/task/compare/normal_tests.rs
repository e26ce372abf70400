use super::super::names::Names;
use super::normalised;

/// Two runs that did the same, as their tools told it.
const SAME: &[(&str, &str)] = &[
    // pytest
    (
        "======================== 2 passed, 1 skipped in 0.03s =========================",
        "======================= 2 passed, 1 skipped in 10.03s =========================",
    ),
    ("== 2 passed in 59.98s ==", "== 2 passed in 61.23s (0:01:01) =="),
    ("0.05s call     tests/test_a.py::test_x", "10.05s call     tests/test_a.py::test_x"),
    ("\u{1b}[32m\u{1b}[1m2 passed\u{1b}[0m\u{1b}[32m in 0.03s\u{1b}[0m", "2 passed in 1.03s"),
    // unittest
    ("Ran 3 tests in 0.001s", "Ran 3 tests in 12.345s"),
    ("<Foo object at 0x7f12ab34>", "<Foo object at 0x7fffab34cd10>"),
    ("took 9.5367431640625e-07 seconds", "took 1.2 seconds"),
    ("elapsed 0:00:01.234567", "elapsed 0:00:02"),
    // cargo
    (
        "test result: ok. 3 passed; 0 failed; finished in 0.00s",
        "test result: ok. 3 passed; 0 failed; finished in 1.42s",
    ),
    (
        "     Running unittests src/lib.rs (target/debug/deps/foo-0123456789abcdef)",
        "     Running unittests src/lib.rs (target/debug/deps/foo-fedcba9876543210)",
    ),
    (
        "    Finished `test` profile [unoptimized] target(s) in 0.02s",
        "    Finished `test` profile [unoptimized] target(s) in 1m 02s",
    ),
    ("        PASS [   0.005s] foo tests::a", "        PASS [  10.005s] foo tests::a"),
    ("thread 'main' (123) panicked at src/a.rs:4:5:", "thread 'main' (45678) panicked at src/a.rs:4:5:"),
    // node
    ("# duration_ms 12.34", "# duration_ms 1234.5"),
    ("  duration_ms: 0.5", "  duration_ms: 12"),
    ("ℹ duration_ms 58.178708", "ℹ duration_ms 6.2"),
    ("✔ adds (0.61ms)", "✔ adds (1.2ms)"),
    // jest, vitest, mocha: what was quick has no time at all
    ("Time:        0.5 s", "Time:        1.234 s, estimated 2 s"),
    ("PASS ./a.test.js", "PASS ./a.test.js (5.123 s)"),
    ("    ✓ adds", "    ✓ adds (2 ms)"),
    (" ✓ a.test.ts", " ✓ a.test.ts 305ms"),
    ("  2 passing (12ms)", "  2 passing (1s)"),
    // Go
    ("ok  \tpkg\t0.012s", "ok  \tpkg\t(cached)"),
    ("ok  \tpkg\t0.012s\tcoverage: 80.0% of statements", "ok  \tpkg\t1.5s\tcoverage: 80.0% of statements"),
    ("--- PASS: TestX (0.00s)", "--- PASS: TestX (1.25s)"),
    (r#"{"Time":"2026-01-31T12:34:56.7Z","Elapsed":0.01}"#, r#"{"Time":"2027-02-01T01:02:03.4+01:00","Elapsed":2}"#),
    ("goroutine 18 [running]:", "goroutine 7 [running]:"),
    // others
    ("[INFO] Total time:  1.234 s", "[INFO] Total time:  01:05 min"),
    ("BUILD SUCCESSFUL in 1s", "BUILD SUCCESSFUL in 1m 2s"),
    ("Time: 00:00.012, Memory: 6.00 MB", "Time: 00:01.500, Memory: 8.00 MB"),
    ("Finished in 0.001s, 1234.5 runs/s, 2345.6 assertions/s.", "Finished in 0.9s, 1.5 runs/s, 2.6 assertions/s."),
    ("Run options: --seed 12345", "Run options: --seed 54321"),
    ("1/3 Test #1: a ...   Passed    0.01 sec", "1/3 Test #1: a ...   Passed   12.01 sec"),
    ("  Passed x [< 1 ms]", "  Passed x [12 ms]"),
    ("real\t0m0.003s", "real\t1m2.5s"),
    ("real 0.00", "real 1.25"),
    ("downloaded at 12.3MB/s", "downloaded at 1.0 MB/s"),
    ("Sat Jan 31 12:34:56 UTC 2026", "Sun Feb  1 01:02:03 UTC 2026"),
    ("Date: Sat, 31 Jan 2026 12:34:56 GMT", "Date: Sun, 01 Feb 2026 00:00:01 +0000"),
    ("completed Jan 31, 2026", "completed February 1, 2026"),
    ("[12:34:56] x 2026-01-31 y", "[12:34:57.123] x 2026-02-01 y"),
    ("server pid 123 on 127.0.0.1:45123", "server pid 7 on 127.0.0.1:33333"),
    ("in /tmp/pytest-of-me/x and a/.tmpAbC123/y", "in /tmp/tmp_x1/x and a/.tmpZzZ999/y"),
    ("on 4f3a9b2c1d0e", "on 0123456789ab"),
    ("id 4c1d5a1e-1111-2222-3333-0123456789ab", "id 00000000-1111-2222-3333-0123456789ab"),
    // cowbox
    (
        "cannot write /home/a/runs/20261117T190000Z__01KA9YMZZ0ABCDEFGHJKMNPQRS/logs: no space",
        "cannot write /srv/b/20261118T000000Z__01KA9YN000ABCDEFGHJKMNPQRT/logs: no space",
    ),
    (
        "in /a/prepared/919641a45978514f12fe6498f6f70452-q98q98f480x7.failed/logs/01-setup.log",
        "in /a/prepared/919641a45978514f12fe6498f6f70452-ps9btjw1gy2g.failed/logs/01-setup.log",
    ),
    ("no container cowbox-01ka9ymzz0abcdefghjkmnpqrs", "no container cowbox-01ka9yn000abcdefghjkmnpqrt"),
    ("session 01KA9YMZZ0ABCDEFGHJKMNPQRS is gone", "session 01KA9YN000ABCDEFGHJKMNPQRT is gone"),
];

/// Two runs that did not.
const OTHER: &[(&str, &str)] = &[
    ("== 3 passed in 0.03s ==", "== 2 passed in 0.03s =="),
    ("== 2 passed in 0.03s ==", "== 2 failed in 0.03s =="),
    ("Ran 3 tests in 0.001s", "Ran 4 tests in 0.001s"),
    ("# pass 3", "# pass 2"),
    ("exit code 1", "exit code 2"),
    ("src/a.rs:12:34: error", "src/a.rs:12:35: error"),
    ("a.py:12: in f", "a.py:13: in f"),
    ("coverage: 80.0% of statements", "coverage: 81.0% of statements"),
    ("ok  \tpkg\t0.012s", "FAIL\tpkg\t0.012s"),
    ("--- PASS: TestX (0.00s)", "--- FAIL: TestX (0.00s)"),
    ("✓ adds (2 ms)", "✕ adds (2 ms)"),
    ("listening on 127.0.0.1:8080", "listening on 127.0.0.1:8081"),
    ("sha256:0123456789abcdef", "sha256:0123456789abcde0"),
    ("result 0123456789abcdef", "result 0123456789abcde0"),
    ("v1.2.3", "v1.2.4"),
    (
        "in /prepared/919641a45978514f12fe6498f6f70452-q98q98f480x7",
        "in /prepared/019641a45978514f12fe6498f6f70452-q98q98f480x7",
    ),
    ("feature-q98q98f480x7", "feature-ps9btjw1gy2g"),
    ("expected 10 got 3", "expected 10 got 4"),
    ("in 3 m of rope", "in 4 m of rope"),
    ("1,234 rows", "1,235 rows"),
    ("/tmp/workspace/a.py", "/tmp/workspace/b.py"),
    ("x = 0x1f", "x = 0x20"),
    ("May 3 people", "May 4 people"),
    ("", "\n"),
];

#[test]
fn two_runs_that_did_the_same_are_the_same() {
    for (one, other) in SAME {
        assert_eq!(normalised(one), normalised(other), "{one}");
        let (many, more) = (format!("a\n{one}\nb\n"), format!("a\n{other}\nb\n"));
        assert_eq!(normalised(&many), normalised(&more), "{one}");
        let (many, more) = (format!("{one}\r\n"), format!("{other}\r\n"));
        assert_eq!(normalised(&many), normalised(&more), "{one}");
    }
}

#[test]
fn what_counts_something_is_not() {
    for (one, other) in OTHER {
        assert_ne!(normalised(one), normalised(other), "{one}");
    }
}

#[test]
fn a_person_can_read_what_is_left() {
    let all = [
        ("== 2 passed in 0.03s ==", "== 2 passed in <duration> =="),
        ("took 12 ms, 3 seconds, 1m", "took <duration>, <duration>, <duration>"),
        ("at 2026-01-31T12:34:56.789Z and 2026-01-31 ok", "at <time> and <time> ok"),
        ("run 01JABCDEFGHJKMNPQRSTVWXYZ0 of 4c1d5a1e-1111-2222-3333-0123456789ab", "run <id> of <id>"),
        ("host 4f3a9b2c1d0e, file /tmp/pytest-of-me/x", "host <id>, file /tmp/<name>/x"),
        ("/tmp/workspace/a.py:12: 3 failed, 7 passed", "/tmp/workspace/a.py:12: 3 failed, 7 passed"),
        ("v1.2.3 port 8080 x86_64 10ms2 abc12s deadbeef", "v1.2.3 port 8080 x86_64 10ms2 abc12s deadbeef"),
        ("read '/a/20261117T190000Z__01KA9YMZZ0ABCDEFGHJKMNPQRS/x'", "read '<run>/x'"),
    ];
    for (text, wanted) in all {
        assert_eq!(normalised(text), wanted);
    }
}

#[test]
fn what_cowbox_says_of_a_run_has_none_of_its_names() {
    let names = |dir: &'static str| Names { dir: dir.as_ref(), task: "Fix_Parser" };
    let one = names("/a b/runs/mine").out_of("session fix-parser-7k3q: cannot read /a b/runs/mine/work/x");
    let other = names("/c").out_of("session fix-parser-zz00: cannot read /c/work/x");
    assert_eq!((one.as_str(), &one), ("session <session>: cannot read <run>/work/x", &other));
    let text = "fix-parser-test2 prefix-parser-7k3q fix-parser- / fix-parser";
    assert_eq!(names("/").out_of(text), text);
}

#[test]
fn whatever_comes_it_ends() {
    let text =
        "2026-01-3é 0x 12:3 /tmp/ 01JABCDEFGHJKMNPQRSTVWXYZ 4c1d5a1e- 20261117T190000Z__ \u{1b}[ Sat Jan 1m2 pid= (0:0";
    for (at, _) in text.char_indices() {
        normalised(&text[at..]);
        normalised(&text[..at]);
    }
    let ulid = "01KA9YMZZ0ABCDEFGHJKMNPQRS";
    let (hash, run) = ("x-0123456789abcdef-", format!("20261117T190000Z__{ulid}-"));
    for part in [
        "1s", "1s ", "1,234,", "2026 ", "Jan ", "pid ", "1:", "12:34:", "e1e", "\u{1b}[", "=", "<", hash, &run, "1 a",
        "é",
    ] {
        // Who looks back or ahead at all of it each time is still here tomorrow.
        normalised(&part.repeat(100_000 / part.len()));
    }
}
