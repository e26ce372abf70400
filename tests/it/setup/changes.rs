//! What the setup did is not the session's work: no part of the review, and a difference to it is only that.

use std::fs;

use crate::common::{Engine, Sandbox, on_every_engine, snapshot};
use crate::conflicts::{apply, nine, nine_with, read, replace, with_git};

on_every_engine!(
    what_the_setup_did_is_no_change,
    tracked_files_that_it_changed_are_said_and_shown,
    a_change_to_a_file_of_the_setup_is_only_the_difference,
    a_tracked_file_that_both_changed_gets_only_the_sessions_part,
    the_hosts_edit_since_then_is_merged_too,
    what_the_setup_made_and_the_session_deleted_is_no_change,
);

/// A repo under git with a file `nine`, and this script.
fn with_setup(engine: Engine, script: &str) -> Sandbox {
    let sandbox = with_git(engine);
    sandbox.write("setup.sh", script);
    sandbox
}

fn what_the_setup_did_is_no_change(engine: Engine) {
    let script = "mkdir -p deps/a; echo x > deps/a/b; ln -s b deps/a/l; echo y >> nine; rm build.sh; chmod 700 src\n";
    let sandbox = with_setup(engine, script);
    sandbox.sh("cat deps/a/l && ! test -e build.sh && tail -n 1 nine").ok().prints("x\ny\n").done();
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["changes"].as_array().unwrap().len(), 0);
    // Only what the session does besides counts.
    sandbox.sh("echo mine > deps/mine; echo z > src/new; cat deps/a/b > /dev/null").done();
    assert_eq!(sandbox.changes(), ["A  deps/mine", "A  src/new"]);
    apply(&sandbox, &[]).done();
    assert!(!sandbox.repo().join("deps/a").exists() && sandbox.repo().join("build.sh").exists());
    assert_eq!((read(&sandbox, "deps/mine").as_str(), read(&sandbox, "nine")), ("mine\n", nine()));
}

fn tracked_files_that_it_changed_are_said_and_shown(engine: Engine) {
    let sandbox = with_setup(engine, "sed -i 's/line 2/setup/' nine; rm build.sh; echo x > untracked\n");
    let output = sandbox.sh("true").ok();
    let line =
        "cowbox: the setup changed files that git knows: build.sh and 1 more · `cowbox diff --setup` shows them\n";
    let output = output.says(line);
    assert!(output.stderr().contains("no changes"), "{}", output.stderr());
    snapshot!(sandbox.cowbox(&["diff", "--setup", "--name-status"]).output(), @r"
    exit: 0
    --- stdout
    D  build.sh
    M  nine
    A  untracked
    ");
    let patch = sandbox.cowbox(&["diff", "--setup", "--", "nine"]).output().ok().stdout();
    assert!(patch.contains("-line 2\n+setup\n"), "{patch}");
    let without = sandbox.shell(&["--setup", "none"], "true").output().ok();
    assert!(!without.stderr().contains("git knows"));
    let _ = sandbox.cowbox(&["diff", "--setup"]).output().code(1).says("nothing was prepared for session");
}

fn a_change_to_a_file_of_the_setup_is_only_the_difference(engine: Engine) {
    let sandbox = with_setup(engine, "cp nine made; chmod 755 made\n");
    sandbox.sh("sed -i 's/line 2/session/' made").done();
    assert_eq!(sandbox.changes().len(), 1);
    let patch = sandbox.cowbox(&["diff"]).output().ok().stdout();
    assert!(patch.contains("-line 2\n+session\n") && !patch.contains("+line 3"), "{patch}");
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!((&json["changes"][0]["insertions"], &json["changes"][0]["deletions"]), (&1.into(), &1.into()));
    apply(&sandbox, &[]).done();
    assert_eq!(read(&sandbox, "made"), nine_with(2, "session"));
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert!(!sandbox.repo().join("made").exists());
    assert_eq!(sandbox.changes().len(), 1);
}

fn a_tracked_file_that_both_changed_gets_only_the_sessions_part(engine: Engine) {
    let sandbox = with_setup(engine, "sed -i 's/line 2/setup/' nine\n");
    sandbox.sh("sed -i 's/line 8/session/' nine").done();
    assert_eq!(sandbox.changes(), ["M  nine"]);
    let patch = sandbox.cowbox(&["diff"]).output().ok().stdout();
    assert!(patch.contains("-line 8\n+session\n") && !patch.contains("+setup"), "{patch}");
    apply(&sandbox, &[]).done();
    assert_eq!(read(&sandbox, "nine"), nine_with(8, "session"));
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "nine"), nine());
}

fn the_hosts_edit_since_then_is_merged_too(engine: Engine) {
    let sandbox = with_setup(engine, "sed -i 's/line 2/setup/' nine\n");
    sandbox.sh("sed -i 's/line 8/session/' nine").done();
    sandbox.change_repo(|repo| replace(repo, "nine", &nine_with(5, "host")));
    apply(&sandbox, &[]).done();
    assert_eq!(read(&sandbox, "nine"), nine_with(5, "host").replace("line 8\n", "session\n"));
}

fn what_the_setup_made_and_the_session_deleted_is_no_change(engine: Engine) {
    let sandbox = with_setup(engine, "mkdir d; echo x > d/made; echo y > alone\n");
    sandbox.sh("rm -r d alone; mkdir d; echo z > d/other").done();
    assert_eq!(sandbox.changes(), ["A  d/other"]);
    apply(&sandbox, &[]).done();
    assert_eq!(fs::read_dir(sandbox.repo().join("d")).unwrap().count(), 1);
}
