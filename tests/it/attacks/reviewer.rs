//! The reviewer is the victim: programs that git would start, named in every place that a session can write.

use std::fs;
use std::process::Command;

use super::{Arena, git};
use crate::common::{Engine, on};

on!(native: case_03_the_reviewer_runs_nothing, case_03_the_pager_and_the_editor_are_not_the_sessions);

/// Binds every file to a driver and names the program wherever git takes one from. Run in a repository.
fn plant(fire: &str) -> String {
    format!(
        r#"set -e
F={fire}
mkdir -p .git/hooks .git/evil .git/info
cat >> .git/config <<E
[core]
	fsmonitor = $F
	pager = $F
	editor = $F
	sshCommand = $F
	hooksPath = $PWD/.git/evil
	alternateRefsCommand = $F
	attributesFile = $PWD/.gitattributes
[diff]
	external = $F
[diff "x"]
	textconv = $F
	command = $F
[filter "x"]
	clean = $F
	smudge = $F
	process = $F
	required
[merge "x"]
	driver = $F
[pager]
	diff = $F
	log = $F
	status = $F
[alias]
	st = !$F
	pack-objects = !$F
[interactive]
	diffFilter = $F
[gpg]
	program = $F
[uploadpack]
	packObjectsHook = $F
E
for hook in pre-commit post-checkout post-index-change reference-transaction post-merge pre-auto-gc update; do
    for dir in hooks evil; do printf '#!/bin/sh\n%s %s\n' $F $hook > .git/$dir/$hook; chmod +x .git/$dir/$hook; done
done
printf '* filter=x diff=x merge=x\n*.txt filter=host diff=host\n' > .gitattributes
printf '* filter=x diff=x merge=x\n' > .git/info/attributes
"#
    )
}

/// The user's own drivers, which only the session's attributes bind to a file.
fn own_drivers(arena: &Arena) -> String {
    let fire = arena.fire();
    let text = format!(
        "[filter \"host\"]\n\tclean = {fire}\n\tsmudge = {fire}\n\tprocess = {fire}\n\trequired = true\n\
         [diff \"host\"]\n\ttextconv = {fire}\n\tcommand = {fire}\n"
    );
    let config = fs::read_to_string(arena.repo().join(".git/config")).unwrap();
    fs::write(arena.repo().join(".git/config"), config + &text).unwrap();
    let global = arena.root().join("gitconfig");
    fs::write(&global, text).unwrap();
    global.to_str().unwrap().to_owned()
}

fn planted(engine: Engine) -> (Arena, String) {
    let arena = Arena::with_git(engine);
    arena.write("notes.txt", "a\n");
    let global = own_drivers(&arena);
    // That the traps are live is shown on a copy, with git itself.
    let copy = arena.root().join("copy");
    assert!(Command::new("cp").arg("-a").args([arena.repo(), &copy]).status().unwrap().success());
    let planted = Command::new("sh").args(["-c", &plant(&arena.fire())]).current_dir(&copy).status().unwrap();
    assert!(planted.success());
    fs::write(copy.join("notes.txt"), "b\n").unwrap();
    let _ = Command::new("git").args(["status"]).current_dir(&copy).output().unwrap();
    assert!(arena.fired().contains("fire"), "the trap does not work");
    fs::remove_dir_all(copy).unwrap();
    (arena, global)
}

const COMMIT: &str = "echo more >> README.md; echo new > new.txt; git add README.md new.txt
    git -c user.name=a -c user.email=a@a commit -q -m second; ";

fn case_03_the_reviewer_runs_nothing(engine: Engine) {
    let (arena, global) = planted(engine);
    let edits = "echo b > notes.txt; rm build.sh; chmod +x src/main.c; ln -s README.md more.txt";
    arena.sh(&format!("{COMMIT}{}{edits}", plant(&arena.fire()))).done();
    arena.check_outside();
    let reads: &[&[&str]] = &[
        &["diff"],
        &["diff", "--stat"],
        &["diff", "--name-status"],
        &["diff", "--json"],
        &["diff", "-z"],
        &["diff", "--color", "always"],
        &["diff", "--", "notes.txt"],
        &["ls"],
        &["ls", "--json"],
        &["show"],
        &["show", "--json"],
        &["apply", "--dry-run"],
    ];
    for args in reads {
        let output = arena.cowbox(args).env("GIT_CONFIG_GLOBAL", &global).env_remove("GIT_CONFIG_NOSYSTEM").output();
        assert!(matches!(output.exit_code(), 0 | 4), "{args:?}: {}", output.stderr());
        arena.check_outside();
    }
    let before = arena.git(&["-c", "core.fsmonitor=false", "for-each-ref"]);
    for args in [
        &["apply", "-y"][..],
        &["undo", "-y"],
        &["apply", "-y", "--include-ignored", "--allow", "all"],
        &["undo", "-y"],
        &["apply", "-y", "--commits"],
    ] {
        let mut code = 0;
        arena.change_repo(|_| {
            let cowbox = arena.cowbox(args).env("GIT_CONFIG_GLOBAL", &global).env_remove("GIT_CONFIG_NOSYSTEM");
            code = cowbox.output().exit_code();
        });
        assert!(matches!(code, 0 | 4), "{args:?}: {code}");
        arena.check_outside();
    }
    let after = git(arena.repo(), &["for-each-ref"]);
    assert!(after.starts_with(before.split(' ').next().unwrap()) || after.contains("cowbox/"), "{after}");
    arena.cowbox(&["discard", "-y"]).output().done();
    assert!(!arena.has(".gitattributes"));
}

fn case_03_the_pager_and_the_editor_are_not_the_sessions(engine: Engine) {
    let (arena, global) = planted(engine);
    arena.sh(&format!("{}echo b > notes.txt", plant(&arena.fire()))).done();
    for args in [&["diff"][..], &["diff", "--stat"], &["diff", "--color", "always"], &["diff", "--name-status"]] {
        for pager in [None, Some("less"), Some("less -R | cat")] {
            let mut cowbox = arena.cowbox(args).env("TERM", "xterm").env("GIT_CONFIG_GLOBAL", &global);
            cowbox = pager.into_iter().fold(cowbox, |cowbox, pager| cowbox.env("PAGER", pager));
            // So high that nothing waits for a key.
            let mut terminal = cowbox.terminal(500, 120);
            terminal.expect("notes.txt");
            assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
            arena.check_outside();
        }
    }
}
