//! `run --on-exit apply`, and what was reviewed is what is applied.

use std::fs;

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};

on_every_engine!(
    changes_are_applied_at_the_end,
    conflicts_are_kept_and_said_by_the_exit_code,
    the_commands_own_code_wins,
    a_timeout_keeps_the_changes,
    a_signal_keeps_the_changes,
    what_changed_after_the_review_is_not_applied,
    a_part_can_be_applied_in_between,
);
on!(native:
    in_the_background_it_is_refused,
    what_was_never_reviewed_is_applied,
    attributes_of_a_directory_are_part_of_what_was_reviewed,
    an_edit_of_the_host_does_not_undo_a_review,
    an_ignore_file_that_landed_brings_in_nothing_unseen,
);
on!(docker: files_of_root_are_still_what_was_reviewed);

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

fn changes_are_applied_at_the_end(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut said = None;
    sandbox.change_repo(|_| {
        said = Some(sandbox.shell(&["--on-exit", "apply"], "echo x > added; echo y > README.md; rm build.sh").output());
    });
    snapshot!(said.unwrap(), @r"
    exit: 0
    --- stderr
    cowbox: [ENGINE] · session api-[NAME]
    cowbox: build.sh: `build.sh` is deleted, and git holds no copy of it (untracked-deleted)
    cowbox: 3 changes applied · take it back with `cowbox undo api-[NAME]`
    ");
    assert_eq!((read(&sandbox, "added"), read(&sandbox, "README.md")), ("x\n".into(), "y\n".into()));
    assert!(!sandbox.repo().join("build.sh").exists());
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "README.md"), "# api\n");
    assert!(!sandbox.repo().join("added").exists() && sandbox.repo().join("build.sh").exists());
}

/// Starts a command that changes README.md, has the host change it too, and lets the command end.
fn both_change(sandbox: &Sandbox, end: &str) -> crate::common::Output {
    let script = format!("echo session > README.md; echo new > added; echo ready; read line; {end}");
    let mut running = sandbox.shell(&["--on-exit", "apply"], &script).spawn();
    running.expect("ready");
    sandbox.change_repo(|repo| fs::write(repo.join("README.md"), "host\n").unwrap());
    running.write("go on\n");
    running.wait()
}

fn conflicts_are_kept_and_said_by_the_exit_code(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = both_change(&sandbox, "exit 0").code(3).says("README.md: both").says("nothing was applied");
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["M  README.md", "A  added"]);
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "--conflict", "theirs"]).output().done());
    assert_eq!(read(&sandbox, "README.md"), "session\n");
}

fn the_commands_own_code_wins(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = both_change(&sandbox, "exit 7").code(7).says("nothing was applied");
    sandbox.check_repo();
    // And what can be applied is, whatever the command says of itself.
    sandbox.change_repo(|_| {
        let _ =
            sandbox.shell(&["--on-exit", "apply"], "echo x > other; exit 9").output().code(9).says("1 change applied");
    });
    assert_eq!(read(&sandbox, "other"), "x\n");
}

fn a_timeout_keeps_the_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "echo x > added; while :; do sleep 1; done";
    let _ = sandbox.shell(&["--on-exit", "apply", "--timeout", "3s"], script).output().code(124).says("1 change kept");
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn a_signal_keeps_the_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running =
        sandbox.shell(&["--on-exit", "apply"], "echo x > added; echo ready; while :; do sleep 1; done").spawn();
    running.expect("ready");
    running.signal(nix::sys::signal::Signal::SIGTERM);
    let _ = running.wait().code(143).says("1 change kept");
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn in_the_background_it_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    snapshot!(sandbox.shell(&["--on-exit", "apply", "--detach"], "echo x > added").output(), @r"
    exit: 125
    --- stderr
    cowbox: error: `--on-exit apply` and `--detach` do not go together: nobody would see what lands
    cowbox: hint: `cowbox apply` does it when the session has stopped
    ");
    sandbox.check_repo();
    assert!(sandbox.session_ids().is_empty());
}

fn what_changed_after_the_review_is_not_applied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "echo reviewed > added").output().done();
    sandbox.cowbox(&["diff"]).output().done();
    sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo changed. > added"]).output().done();
    snapshot!(sandbox.cowbox(&["apply", "-y"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: session it has changed since it was last looked at; nothing was applied
    cowbox: hint: look again with `cowbox diff it`
    ");
    sandbox.check_repo();
    // Whatever the change is: a deletion, a mode, another name.
    for change in
        ["rm added", "echo x > added", "chmod 700 added", "mv added other", "rm README.md", "rm -r src; mkdir src"]
    {
        sandbox.cowbox(&["diff", "--stat"]).output().done();
        sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", change]).output().done();
        let output = sandbox.cowbox(&["apply", "-y"]).output();
        assert_eq!(output.exit_code(), 1, "{change}: {}", output.stderr());
        sandbox.check_repo();
    }
    sandbox.cowbox(&["diff"]).output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "other"), "x\n");
}

fn a_part_can_be_applied_in_between(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo a > a; echo b > b; echo c > c; rm -r src").done();
    sandbox.cowbox(&["diff"]).output().done();
    for part in ["a", "src", "b"] {
        sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "--", part]).output().done());
    }
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(
        (read(&sandbox, "a"), read(&sandbox, "b"), read(&sandbox, "c")),
        ("a\n".into(), "b\n".into(), "c\n".into())
    );
    // Running without changing anything is no change either.
    let name = sandbox.only_record()["name"].as_str().unwrap().to_owned();
    sandbox.cowbox(&["run", "--resume", &name, "--", "cat", "a"]).output().prints("a\n").done();
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing of session");
}

fn what_was_never_reviewed_is_applied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "echo x > added").output().done();
    sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo y > added"]).output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "added"), "y\n");
}

fn attributes_of_a_directory_are_part_of_what_was_reviewed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "mkdir new; echo x > new/x; echo x > src/x").output().done();
    for path in ["new", "src", "."] {
        sandbox.cowbox(&["diff", "--stat"]).output().done();
        let change = format!("setfattr -n user.later -v 1 {path}");
        sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", &change]).output().done();
        let _ = sandbox.cowbox(&["apply", "-y"]).output().code(1).says("has changed since it was last looked at");
        sandbox.check_repo();
    }
}

/// What the session wrote is still what was seen; beside it there is only what the user wrote.
fn an_edit_of_the_host_does_not_undo_a_review(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("list", "one\ntwo\nthree\nfour\nfive\n");
    sandbox.sh("sed -i s/five/FIVE/ list; echo x > new").done();
    sandbox.cowbox(&["diff"]).output().done();
    sandbox.change_repo(|repo| fs::write(repo.join("list"), "ONE\ntwo\nthree\nfour\nfive\n").unwrap());
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), "ONE\ntwo\nthree\nfour\nFIVE\n");
}

fn files_of_root_are_still_what_was_reviewed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "mkdir -p dir; echo x > dir/closed; chmod 600 dir/closed; chmod 700 dir; echo y > README.md";
    sandbox.shell(&["--user", "root"], script).output().done();
    sandbox.cowbox(&["diff"]).output().done();
    sandbox.cowbox(&["diff", "--json"]).output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "--", "README.md"]).output().done());
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "dir/closed"), "x\n");
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().uid();
    assert_eq!((owner("dir"), owner("dir/closed")), (owner("."), owner(".")));
}

fn an_ignore_file_that_landed_brings_in_nothing_unseen(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "build/\n");
    sandbox.sh("echo > .gitignore; mkdir build; echo evil > build/payload; echo x > plain").done();
    sandbox.cowbox(&["diff"]).output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "--", ".gitignore"]).output().done());
    let refused = sandbox.cowbox(&["apply", "-y"]).output().code(1);
    let _ = refused.says("git ignored build").says("nothing was applied").says("cowbox diff");
    sandbox.check_repo();
    // Seen, it is a change like any other.
    sandbox.cowbox(&["diff"]).output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert!(sandbox.repo().join("build/payload").exists() && sandbox.repo().join("plain").exists());
}
