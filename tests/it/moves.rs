//! The host moves whole directories while the command runs. What is inside keeps its times, and is told apart all the same.

use std::fs;
use std::path::Path;

use crate::common::{Engine, Sandbox, on, on_every_engine};
use crate::conflicts::{apply, edit_during, read, replace, with_git};
use crate::host::{git, sh};

on_every_engine!(
    a_directory_that_was_exchanged_is_not_written_to,
    a_directory_that_was_moved_into_a_deleted_one_stays,
    a_neighbour_that_came_is_no_conflict,
);
on!(native:
    a_file_that_was_moved_into_a_deleted_directory_stays,
    a_directory_that_was_moved_to_the_name_of_a_new_one_is_not_overwritten,
    a_moved_directory_that_was_written_to_afterwards_is_known,
    what_lies_deep_in_a_moved_directory_is_not_overwritten,
    a_moved_directory_does_not_make_way_for_a_file,
    what_was_committed_may_be_overwritten_wherever_it_was,
    neighbours_in_two_levels_are_no_conflict,
    a_commit_of_the_hosts_is_no_conflict,
    an_exchanged_copy_that_git_has_looked_at_is_not_written_to,
    an_exchanged_repository_is_not_written_to,
    a_resumed_session_knows_where_things_were,
    where_nothing_tells_it_is_a_conflict,
);

/// Runs a script of the host's in the repo.
fn in_repo(script: &str) -> impl FnOnce(&Path) + '_ {
    move |repo| drop(sh(&format!("cd '{}' && set -e; {script}", repo.display())))
}

#[track_caller]
fn refused(sandbox: &Sandbox, paths: &[&str]) {
    let mut output = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("nothing was applied");
    for path in paths {
        output = output.says(&format!("{path}: "));
    }
    drop(output);
    sandbox.check_repo();
}

/// `notes` is a directory beside the repo that is older than the session.
fn with_notes(sandbox: &Sandbox) {
    sh(&format!(
        "cd '{}/..' && mkdir -p notes/deep && echo old > notes/file && echo old > notes/deep/file",
        sandbox.repo().display()
    ));
}

fn a_directory_that_was_exchanged_is_not_written_to(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("d/file", "first\n");
    sandbox.write("other/file", "second\n");
    sandbox.write("other/gone", "second\n");
    sandbox.write("d/gone", "first\n");
    edit_during(&sandbox, "echo session > d/file; rm d/gone", in_repo("mv d d.old; mv other d"), "");
    refused(&sandbox, &["d/file", "d/gone"]);
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!((read(&sandbox, "d/file"), read(&sandbox, "d.old/file")), ("second\n".into(), "first\n".into()));
    apply(&sandbox, &["--conflict", "theirs"]).done();
    assert_eq!(read(&sandbox, "d/file"), "session\n");
    assert!(!sandbox.repo().join("d/gone").exists());
}

fn a_directory_that_was_moved_into_a_deleted_one_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_notes(&sandbox);
    edit_during(&sandbox, "rm -r src", in_repo("mv ../notes src/notes"), "");
    refused(&sandbox, &["src/notes/file", "src/notes/deep/file"]);
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!(
        (read(&sandbox, "src/notes/file"), read(&sandbox, "src/notes/deep/file")),
        ("old\n".into(), "old\n".into())
    );
    assert!(!sandbox.repo().join("src/main.c").exists(), "what the session saw is deleted");
}

fn a_neighbour_that_came_is_no_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("d/file", "first\n");
    sandbox.write("d/gone", "first\n");
    sandbox.write("d/neighbour", "first\n");
    sandbox.write("d/sub/file", "first\n");
    let script = "echo session > d/file; rm d/gone; echo session > d/sub/file; echo session > README.md";
    edit_during(&sandbox, script, in_repo("echo host > d/new; rm d/neighbour"), "echo late > d/late");
    apply(&sandbox, &[]).done();
    assert_eq!((read(&sandbox, "d/file"), read(&sandbox, "d/sub/file")), ("session\n".into(), "session\n".into()));
    assert_eq!((read(&sandbox, "d/new"), read(&sandbox, "d/late")), ("host\n".into(), "late\n".into()));
    assert!(!sandbox.repo().join("d/gone").exists() && !sandbox.repo().join("d/neighbour").exists());
}

fn a_file_that_was_moved_into_a_deleted_directory_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_notes(&sandbox);
    edit_during(&sandbox, "rm -r src", in_repo("mv ../notes/file src/file; ln ../notes/deep/file src/deep/linked"), "");
    refused(&sandbox, &["src/file", "src/deep/linked"]);
}

fn a_directory_that_was_moved_to_the_name_of_a_new_one_is_not_overwritten(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_notes(&sandbox);
    let script = "mkdir -p new/deep; echo session > new/file; echo session > new/deep/file; echo session > new/more";
    edit_during(&sandbox, script, in_repo("mv ../notes new"), "");
    refused(&sandbox, &["new/file", "new/deep/file"]);
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!((read(&sandbox, "new/file"), read(&sandbox, "new/more")), ("old\n".into(), "session\n".into()));
}

fn a_moved_directory_that_was_written_to_afterwards_is_known(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("d/file", "first\n");
    sandbox.write("other/file", "second\n");
    let swap = "mv d d.old; mv other d; echo host > d/new; chmod 711 d; touch -d 2001-01-01 d .";
    edit_during(&sandbox, "echo session > d/file", in_repo(swap), "");
    refused(&sandbox, &["d/file"]);
}

fn what_lies_deep_in_a_moved_directory_is_not_overwritten(engine: Engine) {
    let sandbox = with_git(engine);
    for (dir, text) in [("src", "first\n"), ("other", "second\n")] {
        sandbox.write(format!("{dir}/a/b/new"), text);
    }
    let swap = "mv src src.old; mv other src";
    edit_during(&sandbox, "echo session > src/a/b/new; chmod 700 src/a", in_repo(swap), "");
    refused(&sandbox, &["src/a/b/new"]);
}

fn a_moved_directory_does_not_make_way_for_a_file(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_notes(&sandbox);
    let script = "rm -r src; echo session > src; rm README.md; mkdir README.md";
    edit_during(&sandbox, script, in_repo("mv ../notes src/deep/notes"), "");
    refused(&sandbox, &["src/deep/notes/file"]);
    let _ = apply(&sandbox, &["--conflict", "ours"]).ok();
    assert_eq!(read(&sandbox, "src/deep/notes/file"), "old\n");
    assert!(sandbox.repo().join("src/main.c").exists(), "its directory stays, and what replaces it stays away");
}

fn what_was_committed_may_be_overwritten_wherever_it_was(engine: Engine) {
    let sandbox = with_git(engine);
    // A copy of what is checked out takes its place.
    sh(&format!(
        "cd '{}' && cp -a src ../copy && ln -s main.c ../copy/link && echo x > ../copy/own",
        sandbox.repo().display()
    ));
    let script = "echo session > src/main.c; rm src/deep/er/leaf; echo session > src/own";
    edit_during(&sandbox, script, in_repo("mv src ../old; mv ../copy src"), "");
    refused(&sandbox, &["src/own"]);
    apply(&sandbox, &["--", "src/main.c", "src/deep"]).done();
    assert_eq!(read(&sandbox, "src/main.c"), "session\n");
}

/// A repo with a file of each kind, two levels down.
fn with_three_kinds(engine: Engine) -> Sandbox {
    let sandbox = with_git(engine);
    for path in ["src/deep/clean", "src/deep/edited", "src/deep/gone"] {
        sandbox.write(path, "first\n");
    }
    git(sandbox.repo(), &["add", "--all"]);
    git(sandbox.repo(), &["commit", "-qm", "three"]);
    sandbox.write("src/deep/edited", "first\nedited\n");
    sandbox.write("src/deep/gone", "first\nedited\n");
    sandbox.write("src/deep/new", "new\n");
    sandbox.write("loose/new", "new\n");
    sandbox
}

const THREE: &str =
    "echo session >> loose/new; cd src/deep; for f in clean edited new; do echo session >> $f; done; rm gone";

#[track_caller]
fn three_have_landed(sandbox: &Sandbox) {
    apply(sandbox, &[]).done();
    for path in ["src/deep/clean", "src/deep/edited", "src/deep/new", "loose/new"] {
        let text = read(sandbox, path);
        assert!(text.ends_with("session\n"), "{path}: {text}");
    }
    assert!(!sandbox.repo().join("src/deep/gone").exists());
}

fn neighbours_in_two_levels_are_no_conflict(engine: Engine) {
    let sandbox = with_three_kinds(engine);
    edit_during(
        &sandbox,
        THREE,
        |repo| {
            // As editors save.
            for path in ["README.md", "src/main.c", "src/deep/other", "loose/other"] {
                replace(repo, path, "host\n");
                fs::rename(repo.join(path), repo.join("saved")).unwrap();
                fs::rename(repo.join("saved"), repo.join(path)).unwrap();
            }
        },
        "",
    );
    three_have_landed(&sandbox);
}

fn a_commit_of_the_hosts_is_no_conflict(engine: Engine) {
    let sandbox = with_three_kinds(engine);
    edit_during(
        &sandbox,
        THREE,
        |repo| {
            for path in ["README.md", "src/main.c", "src/deep/other"] {
                replace(repo, path, "host\n");
            }
            fs::write(repo.join("src/deep/hosts"), "host\n").unwrap();
            fs::write(repo.join("src/hosts"), "host\n").unwrap();
            git(repo, &["add", "README.md", "src/main.c", "src/hosts"]);
            git(repo, &["commit", "-qm", "host"]);
        },
        "",
    );
    three_have_landed(&sandbox);
}

fn an_exchanged_copy_that_git_has_looked_at_is_not_written_to(engine: Engine) {
    let sandbox = with_three_kinds(engine);
    sh(&format!("cd '{}' && cp -a src ../copy && echo other > ../copy/deep/new", sandbox.repo().display()));
    edit_during(
        &sandbox,
        THREE,
        |repo| {
            in_repo("mv src ../old; mv ../copy src")(repo);
            git(repo, &["status"]);
        },
        "",
    );
    refused(&sandbox, &["src/deep/new", "src/deep/edited", "src/deep/gone"]);
}

fn an_exchanged_repository_is_not_written_to(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sh(&format!(
        "cd '{0}/..' && cp -a '{0}' other && echo other > other/README.md && echo other > other/src/main.c",
        sandbox.repo().display()
    ));
    let script = "echo session > README.md; echo session > src/main.c";
    edit_during(
        &sandbox,
        script,
        |repo| drop(sh(&format!("cd '{0}/..' && mv '{0}' old && mv other '{0}'", repo.display()))),
        "",
    );
    refused(&sandbox, &["README.md", "src/main.c"]);
}

fn a_resumed_session_knows_where_things_were(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("d/e/file", "first\n");
    sandbox.write("d/e/gone", "first\n");
    sandbox.write("other/e/gone", "second\n");
    sandbox.shell(&["--name", "it"], "echo session > d/e/file").output().done();
    let mut running = sandbox
        .cowbox(&[
            "run",
            "--resume",
            "it",
            "--",
            "sh",
            "-c",
            "echo second > d/e/file; rm d/e/gone; echo ready; read line",
        ])
        .spawn();
    running.expect("ready");
    sandbox.change_repo(in_repo("echo host > d/new; echo host > d/e/new"));
    running.write("go on\n");
    running.wait().done();
    assert_eq!(sandbox.changes(), ["M  d/e/file", "D  d/e/gone"]);
    sandbox.change_repo(in_repo("mv d d.old; mv other d"));
    refused(&sandbox, &["d/e/gone"]);
    sandbox.change_repo(in_repo("mv d other; mv d.old d"));
    apply(&sandbox, &[]).done();
    assert!(!sandbox.repo().join("d/e/gone").exists());
}

fn where_nothing_tells_it_is_a_conflict(engine: Engine) {
    let sandbox = with_git(engine);
    sandbox.write("new/deep/file", "first\n");
    // As a move would look: files came and went in two levels, and git knows none of them.
    edit_during(&sandbox, "echo session > new/deep/file", in_repo("touch new/x new/deep/y"), "");
    refused(&sandbox, &["new/deep/file"]);
}
