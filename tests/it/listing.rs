//! `ls` and `show`: what a person sees of their sessions.

use std::fs;
use std::time::Instant;

use super::host::git_init;
use crate::common::{Engine, Sandbox, on, on_every_engine};
use crate::session::{background, session, show};

on_every_engine!(a_session_is_listed_with_what_it_changed);
on!(native:
    numbers_go_when_they_may_be_wrong_and_come_back_when_counted,
    several_sessions_of_one_repo_live_side_by_side,
    an_empty_list_says_what_to_do_next,
    a_thousand_sessions_are_listed_at_once,
    show_says_what_comes_next,
);

/// Cells of a line of the table by the heads above them.
fn cell(table: &str, name: &str, column: &str) -> String {
    let (head, rows) = table.split_once('\n').unwrap();
    let row = rows.lines().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{table}"));
    let start = head.find(column).unwrap();
    let end = head[start..].find("  ").and_then(|gap| {
        let rest = &head[start + gap..];
        rest.find(|c: char| c != ' ').map(|next| start + gap + next)
    });
    row.chars().skip(start).take(end.map_or(usize::MAX, |end| end - start)).collect::<String>().trim().to_owned()
}

fn ls(sandbox: &Sandbox) -> String {
    sandbox.cowbox(&["ls"]).output().ok().stdout()
}

fn a_session_is_listed_with_what_it_changed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "*.bak\n");
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    git_init(sandbox.repo());
    session(&sandbox, "one", "seq 10 > numbers; rm README.md; mkdir new; echo x > new/y; seq 1000 > x.bak");
    let table = ls(&sandbox);
    assert_eq!(cell(&table, "one", "STATE"), "stopped");
    assert_eq!(cell(&table, "one", "ENGINE"), engine.to_string());
    assert_eq!((cell(&table, "one", "FILES"), cell(&table, "one", "LINES")), ("3".into(), "+11 -1".into()));
    assert_eq!(cell(&table, "one", "SIZE"), "3.9 kB");
    assert!(cell(&table, "one", "COMMAND").starts_with("sh -c seq 10 > numbers"));
    let json = show(&sandbox, "one");
    assert_eq!(json["changes"], serde_json::json!({ "files": 3, "insertions": 11, "deletions": 1 }));
    assert_eq!(json["size"], 3916);
    let listed = sandbox.cowbox(&["ls", "--json"]).output().ok().json();
    assert_eq!(listed["sessions"][0], json);
}

fn numbers_go_when_they_may_be_wrong_and_come_back_when_counted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "one", "echo x > a; echo y > b");
    assert_eq!(cell(&ls(&sandbox), "one", "LINES"), "+2 -0");
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "--", "a"]).output().done());
    assert_eq!(cell(&ls(&sandbox), "one", "LINES"), "applied");
    assert_eq!(show(&sandbox, "one")["changes"], serde_json::Value::Null);
    // Of some paths nothing is noted.
    sandbox.cowbox(&["diff", "--stat", "--", "nothing"]).output().done();
    assert_eq!(cell(&ls(&sandbox), "one", "LINES"), "applied");
    sandbox.cowbox(&["diff", "--stat"]).output().done();
    assert_eq!(
        (cell(&ls(&sandbox), "one", "FILES"), cell(&ls(&sandbox), "one", "LINES")),
        ("1".into(), "+1 -0".into())
    );
    // More than is compared when a run ends.
    session(&sandbox, "many", "mkdir many; cd many; for n in $(seq 600); do echo $n > $n; done");
    let table = ls(&sandbox);
    assert_eq!((cell(&table, "many", "FILES"), cell(&table, "many", "LINES")), ("600".into(), "-".into()));
}

fn several_sessions_of_one_repo_live_side_by_side(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    background(&sandbox, "first");
    background(&sandbox, "second");
    session(&sandbox, "third", "test ! -e marker && echo mine > third");
    let table = ls(&sandbox);
    let states: Vec<String> = ["first", "second", "third"].iter().map(|name| cell(&table, name, "STATE")).collect();
    assert_eq!(states, ["running", "running", "stopped"]);
    for (name, text) in [("first", "1"), ("second", "2")] {
        sandbox.cowbox(&["exec", name, "--", "sh", "-c", &format!("echo {text} > own-{text}")]).output().done();
        sandbox.cowbox(&["stop", name]).output().done();
    }
    let names = |name: &str| sandbox.cowbox(&["diff", "--name-status", name]).output().ok().stdout();
    assert_eq!(names("first"), "A  marker\nA  own-1\n");
    assert_eq!(names("second"), "A  marker\nA  own-2\n");
    assert_eq!(names("third"), "A  third\n");
    sandbox.change_repo(|_| {
        sandbox.cowbox(&["apply", "-y", "first", "--", "own-1"]).output().done();
        sandbox.cowbox(&["apply", "-y", "third"]).output().done();
    });
    assert!(sandbox.repo().join("own-1").exists() && sandbox.repo().join("third").exists());
    assert_eq!(names("second"), "A  marker\nA  own-2\n");
}

fn an_empty_list_says_what_to_do_next(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.cowbox(&["ls"]).output().ok().says("no sessions of this repository; start one with `cowbox run`\n");
    let _ = sandbox.cowbox(&["ls", "--all"]).output().ok().says("no sessions; start one with `cowbox run`\n");
    session(&sandbox, "one", "true");
    let other = sandbox.home().join("other");
    fs::create_dir(&other).unwrap();
    let there = sandbox.cowbox(&["ls", "-C", other.to_str().unwrap()]).output().ok();
    let _ = there.says("or see 1 of others with `cowbox ls --all`");
    let _ =
        sandbox.cowbox(&["show", "-C", other.to_str().unwrap()]).output().code(1).says("start one with `cowbox run`");
}

fn a_thousand_sessions_are_listed_at_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let id = session(&sandbox, "one", "echo x > new");
    let dir = sandbox.session_dir(&id);
    let (record, tally) = (sandbox.record(&id).unwrap(), fs::read(dir.join("tally.json")).unwrap());
    let copies: Vec<_> =
        (0..1000).map(|n| (n, format!("{}{n:04}", &id[..22]))).filter(|(_, copy)| *copy != id).collect();
    for (n, copy) in &copies {
        let mut record = record.clone();
        record["id"] = copy.as_str().into();
        record["name"] = format!("copy-{n}").into();
        fs::create_dir(sandbox.session_dir(copy)).unwrap();
        fs::write(sandbox.session_dir(copy).join("session.json"), record.to_string()).unwrap();
        fs::write(sandbox.session_dir(copy).join("tally.json"), &tally).unwrap();
    }
    let start = Instant::now();
    let table = ls(&sandbox);
    let took = start.elapsed();
    assert_eq!(table.lines().count(), copies.len() + 2);
    // Far more than it takes, and far less than looking into each of them would.
    assert!(took.as_millis() < 3000, "{took:?}");
    copies.iter().for_each(|(_, copy)| fs::remove_dir_all(sandbox.session_dir(copy)).unwrap());
}

fn show_says_what_comes_next(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--name", "done"], "echo x > new; exit 3").output().code(3);
    let shown = sandbox.cowbox(&["show", "done"]).output().ok().says("next: `cowbox diff done`, `cowbox apply done`");
    for line in ["exit       3\n", "changes    1 file, +1 -0\n", "size       2 B\n"] {
        assert!(shown.stdout().contains(line), "{}", shown.stdout());
    }
    background(&sandbox, "live");
    let _ = sandbox.cowbox(&["show", "live"]).output().ok().says("`cowbox shell live`").says("`cowbox stop live`");
    sandbox.cowbox(&["stop", "live"]).output().done();
}
