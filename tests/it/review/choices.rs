//! Choosing files in the picker.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{run, screen};
use crate::common::{Engine, Sandbox, Terminal, on, on_every_engine};

on_every_engine!(some_files_land_and_the_rest_is_asked_about_again);
on!(native:
    folders_fold_and_are_chosen_as_a_whole,
    the_flagged_must_be_chosen_by_themselves,
    what_cannot_be_applied_cannot_be_chosen,
    every_kind_of_change_is_listed,
    leaving_the_picker_applies_nothing,
    keys_move_about,
    folders_go_with_the_last_file_in_them,
);

fn picker(terminal: &mut Terminal, key: &str) {
    terminal.send(key);
    terminal.until("the picker", |screen| screen.is_full() && screen.text().contains("? help"));
}

fn some_files_land_and_the_rest_is_asked_about_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let mut terminal = run(&sandbox, "echo 1 > one; echo 2 > two; echo 3 > three");
        picker(&mut terminal, "f");
        screen!(terminal, @r"
        session it · 3 of 3 chosen
        >[x] A one  2 B +1 -0
         [x] A three  2 B +1 -0
         [x] A two  2 B +1 -0

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        // From `one` to `three`, which stays.
        terminal.send("\x1b[B ");
        terminal.until_shown("2 of 3 chosen");
        terminal.send("\r");
        terminal.until("the rest", |screen| {
            screen.text().contains("1 file changed") && screen.text().ends_with("d  discard")
        });
        assert!(terminal.screen().contains("2 changes applied"), "{}", terminal.screen());
        terminal.send("k");
        assert_eq!(terminal.wait(), 0);
        assert!(repo.join("one").exists() && repo.join("two").exists() && !repo.join("three").exists());
    });
    assert_eq!(sandbox.changes(), ["A  three"]);
}

fn folders_fold_and_are_chosen_as_a_whole(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let mut terminal =
            run(&sandbox, "mkdir -p a/b; echo 1 > a/b/one; echo 2 > a/b/two; echo 3 > a/three; echo 4 > z");
        picker(&mut terminal, "f");
        screen!(terminal, @r"
        session it · 4 of 4 chosen
        >[x] v a/
           [x] v b/
             [x] A one  2 B +1 -0
             [x] A two  2 B +1 -0
           [x] A three  2 B +1 -0
         [x] A z  2 B +1 -0

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        // `a/b` folds, and is not chosen any more.
        terminal.send("\x1b[B\x1b[D");
        terminal.until("a folded folder", |screen| !screen.text().contains("one"));
        terminal.send(" ");
        terminal.until_shown("2 of 4 chosen");
        screen!(terminal, @r"
        session it · 2 of 4 chosen
         [~] v a/
        >  [ ] > b/
           [x] A three  2 B +1 -0
         [x] A z  2 B +1 -0

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        // From a file back to its folder: all of that, and nothing of it.
        terminal.send("\x1b[B\x1b[D ");
        terminal.until_shown("4 of 4 chosen");
        terminal.send(" ");
        terminal.until_shown("1 of 4 chosen");
        terminal.send("a");
        terminal.until_shown("4 of 4 chosen");
        terminal.send("a");
        terminal.until_shown("0 of 4 chosen");
        terminal.send("G ");
        terminal.until_shown("1 of 4 chosen");
        terminal.send("\r");
        terminal.until_shown("1 change applied");
        terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
        terminal.send("\x03");
        assert_eq!(terminal.wait(), 0);
        assert!(repo.join("z").exists() && !repo.join("a").exists());
    });
}

fn the_flagged_must_be_chosen_by_themselves(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let mut terminal = run(&sandbox, "echo 'echo hi' > .envrc; echo x > plain; echo 'all: ;' > Makefile");
        picker(&mut terminal, "f");
        screen!(terminal, @r"
        session it · 1 of 3 chosen · 2 flagged
        >[ ] A .envrc  8 B +1 -0  ! shell-autoload: `.envrc` is run by direnv when you enter the folder
         [ ] A Makefile  7 B +1 -0  ! build-entry: `Makefile` is run by make
         [x] A plain  2 B +1 -0

        ! shell-autoload: `.envrc` is run by direnv when you enter the folder
        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        terminal.send("aa");
        terminal.until_shown("1 of 3 chosen");
        // .envrc is the first row: choosing it is saying yes to it.
        terminal.send("g ");
        terminal.until_shown("2 of 3 chosen");
        terminal.send("\r");
        terminal.until_shown("2 changes applied");
        terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
        terminal.send("k");
        assert_eq!(terminal.wait(), 0);
        assert!(repo.join(".envrc").exists() && repo.join("plain").exists() && !repo.join("Makefile").exists());
    });
}

fn what_cannot_be_applied_cannot_be_chosen(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "mkfifo pipe; echo session > README.md");
    sandbox.change_repo(|repo| fs::write(repo.join("README.md"), "host\n").unwrap());
    // Seen only when it is looked at again.
    terminal.send("a");
    terminal.until_shown("nothing was applied");
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    picker(&mut terminal, "f");
    terminal.send(" \x1b[B ");
    terminal.until_shown("0 of 2 chosen");
    screen!(terminal, @r"
    session it · 0 of 2 chosen · 1 flagged
     [-] M README.md  8 B +1 -1  ! in conflict with the host: `cowbox apply --conflict` decides
    >[-] A pipe  special file  ! special-file: `pipe` is a fifo (never applied)

    ! special-file: `pipe` is a fifo (never applied)
    space choose · arrows move, fold · a all · enter apply · q back · ? help
    ");
    terminal.send("\r");
    terminal.until_shown("nothing of session it to apply");
    terminal.until("the question again", |screen| !screen.is_full() && screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
    sandbox.check_repo();
}

fn every_kind_of_change_is_listed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("mode", "x\n");
    sandbox.write("moved", "a file that moves\n");
    sandbox.write("turned", "x\n");
    sandbox.write("binary", b"\0\x01");
    sandbox.change_repo(|repo| {
        let script = "chmod 755 mode; mv moved to; rm turned; ln -s README.md turned; printf '\\0\\2' > binary; \
            rm src/main.c; ln -s src new-link; mkdir empty; printf '\\377\\n' > latin; chmod 600 README.md; echo y >> README.md";
        let mut terminal = run(&sandbox, script);
        picker(&mut terminal, "h");
        screen!(terminal, @r"
        session it · 7 of 9 chosen · 2 flagged
        >[x] > M README.md  8 B +1 -0 mode 0644 -> 0600
         [x] M binary  2 B binary
         [x] A empty  directory
         [x] > A latin  2 B +1 -0
         [ ] M mode  2 B mode 0644 -> 0755  ! new-executable: `mode` can be executed and could not before
         [x] A new-link  link +1 -0
         [ ] v src/
           [ ] D main.c  29 B +0 -1  ! untracked-deleted: `main.c` is deleted, and git holds no copy of it
         [x] R to (was moved)  18 B
         [x] T turned  link +1 -1

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        // The flagged too, wherever they are.
        terminal.send("g");
        for _ in 0..11 {
            terminal.send("\x1b[B");
        }
        terminal.send("q");
        terminal.until("the question again", |screen| !screen.is_full() && screen.text().ends_with("d  discard"));
        terminal.send("a");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
        assert_eq!(fs::metadata(repo.join("mode")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read(repo.join("latin")).unwrap(), b"\xff\n");
        assert!(repo.join("empty").is_dir() && repo.join("to").exists() && !repo.join("moved").exists());
    });
}

fn leaving_the_picker_applies_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    for key in ["q", "\x1b", "\x03"] {
        picker(&mut terminal, "f");
        terminal.send(key);
        terminal.until("the question again", |screen| !screen.is_full() && screen.text().ends_with("d  discard"));
    }
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.now().cursor);
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn keys_move_about(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "for n in $(seq 100 199); do echo x > f$n; done");
    picker(&mut terminal, "f");
    let at = |terminal: &Terminal, name: &str| {
        terminal.until(name, |screen| screen.text().lines().any(|line| line.starts_with('>') && line.contains(name)));
    };
    at(&terminal, "f100");
    for (keys, name) in [
        ("\x1b[6~", "f137"),
        ("\x1b[5~", "f100"),
        ("\x1b[F", "f199"),
        ("k", "f198"),
        ("j", "f199"),
        ("\x1b[H", "f100"),
        ("G", "f199"),
        ("g", "f100"),
        ("\x0e\x0e\x10", "f101"),
    ] {
        terminal.send(keys);
        at(&terminal, name);
    }
    terminal.send("?");
    terminal.until_shown("choose, or no longer");
    screen!(terminal, @r"
    session it · 100 of 100 chosen
    space        choose, or no longer
    up, k        one up            down, j      one down
    page up      a page up         page down    a page down
    home, g      to the top        end, G       to the end
    right, l     unfold            left, h      fold, or go to the folder
    a            choose all that is not flagged, or nothing
    enter        apply what is chosen; the rest stays in the session
    q, escape    go back, and apply nothing

    [x] chosen   [~] in part   [ ] not chosen   [-] cannot be applied   ! flagged, choose it by itself

    space choose · arrows move, fold · a all · enter apply · q back · ? help
    ");
    terminal.send("xq");
    terminal.until("the question again", |screen| !screen.is_full() && screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
}

fn folders_go_with_the_last_file_in_them(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("old/a", "a\n");
    sandbox.write("old/b", "b\n");
    sandbox.change_repo(|repo| {
        let mut terminal = run(&sandbox, "rm -r old");
        picker(&mut terminal, "f");
        // Deleted files that git has no copy of are flagged: one of them is chosen.
        terminal.send("\x1b[B \r");
        terminal.until_shown("1 change applied");
        terminal.until("the question again", |screen| !screen.is_full() && screen.text().ends_with("d  discard"));
        assert!(!repo.join("old/a").exists() && repo.join("old/b").exists());
        picker(&mut terminal, "f");
        terminal.send("\x1b[B \r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
        assert!(!repo.join("old").exists());
    });
    assert_eq!(sandbox.changes(), Vec::<String>::new());
}
