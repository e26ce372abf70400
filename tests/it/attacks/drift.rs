//! Somebody changes something between look and act. Cases 9, 10 and 11.

use std::fs;
use std::os::unix::fs::symlink;

use super::Arena;
use crate::common::{Engine, on, on_every_engine};

on_every_engine!(case_10_the_upper_changes_after_the_review);
on!(native:
    case_09_the_session_is_swapped_while_a_question_is_open,
    case_09_the_host_is_swapped_while_a_question_is_open,
    case_11_the_host_changes_meanwhile,
    case_11_ours_keeps_what_the_host_has,
);

/// An apply that waits at its question, with what happens meanwhile; gives its exit code and the screen.
fn while_asked(arena: &Arena, meanwhile: impl FnOnce(&Arena)) -> (i32, String) {
    let mut answer = (0, String::new());
    arena.change_repo(|_| {
        let mut terminal = arena.cowbox(&["apply"]).env("TERM", "xterm").terminal(24, 200);
        terminal.expect("all the same?");
        meanwhile(arena);
        terminal.send("y");
        answer = (terminal.wait(), terminal.screen());
    });
    answer
}

fn case_09_the_session_is_swapped_while_a_question_is_open(engine: Engine) {
    type Swap = fn(&Arena);
    let swaps: [(&str, Swap); 4] = [
        ("content", |arena| fs::write(arena.upper().join("new"), "evil").unwrap()),
        ("link", |arena| {
            fs::remove_file(arena.upper().join("new")).unwrap();
            symlink(arena.outside().join("canary"), arena.upper().join("new")).unwrap();
        }),
        ("pipe", |arena| {
            fs::remove_file(arena.upper().join("new")).unwrap();
            nix::unistd::mkfifo(&arena.upper().join("new"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }),
        ("target", |arena| {
            fs::remove_file(arena.upper().join("way")).unwrap();
            symlink("build.sh", arena.upper().join("way")).unwrap();
        }),
    ];
    for (what, swap) in swaps {
        let arena = Arena::new(engine);
        arena.sh("echo fine > new; ln -s src way; echo x > .envrc").done();
        let before = arena.repo().read_dir().unwrap().count();
        let (code, screen) = while_asked(&arena, swap);
        assert_ne!(code, 0, "{what}: {screen}");
        assert!(!arena.has("new") && !arena.has("way") && !arena.has(".envrc"), "{what}: {screen}");
        assert_eq!(arena.repo().read_dir().unwrap().count(), before, "{what}: something is left");
    }
}

fn case_09_the_host_is_swapped_while_a_question_is_open(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo evil > src/deep/er/canary; echo evil > README.md; echo x > .envrc").done();
    let (code, screen) = while_asked(&arena, |arena| {
        fs::rename(arena.repo().join("src/deep"), arena.repo().join("away")).unwrap();
        symlink(arena.outside(), arena.repo().join("src/deep")).unwrap();
        fs::create_dir(arena.repo().join("away/er/later")).unwrap();
    });
    arena.check_outside();
    assert!(!arena.has(".envrc") || code == 0, "{screen}");
    assert!(arena.repo().join("src/deep").symlink_metadata().unwrap().is_symlink(), "{screen}");
    assert!(!arena.has("away/er/canary"), "{screen}");

    let arena = Arena::new(engine);
    arena.sh("echo session > README.md; echo x > .envrc").done();
    let (code, screen) = while_asked(&arena, |arena| fs::write(arena.repo().join("README.md"), "host\n").unwrap());
    assert_eq!(code, 3, "{screen}");
    assert_eq!((arena.read("README.md"), arena.has(".envrc")), ("host\n".into(), false));
}

fn case_10_the_upper_changes_after_the_review(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo one > new; echo two > other").done();
    let _ = arena.cowbox(&["diff"]).output().ok();
    fs::write(arena.upper().join("new"), "ONE\n").unwrap();
    let _ = arena.apply(&["--allow", "all", "--conflict", "theirs"]).code(1).says("since it was last looked at");
    assert!(!arena.has("new") && !arena.has("other"));
    let _ = arena.cowbox(&["diff"]).output().ok();
    fs::write(arena.upper().join("third"), "x\n").unwrap();
    let _ = arena.apply(&[]).code(1);
    let _ = arena.cowbox(&["diff"]).output().ok();
    arena.apply(&[]).done();
    assert_eq!((arena.read("new"), arena.has("third")), ("ONE\n".into(), true));
}

fn case_11_the_host_changes_meanwhile(engine: Engine) {
    let arena = Arena::new(engine);
    arena.sh("echo session > README.md; echo x > new; rm src/main.c").done();
    arena.change_repo(|repo| {
        fs::write(repo.join("README.md"), "host\n").unwrap();
        fs::write(repo.join("src/main.c"), "host\n").unwrap();
    });
    let _ = arena.apply(&["--allow", "all"]).code(3);
    assert_eq!((arena.read("README.md"), arena.read("src/main.c")), ("host\n".into(), "host\n".into()));
    assert!(!arena.has("new"), "nothing of it is applied");
}

/// The host made a file where the session made a folder: with `ours` it stays, and nothing lands in its place.
fn case_11_ours_keeps_what_the_host_has(engine: Engine) {
    let arena = Arena::new(engine);
    arena.write("conf", "old\n");
    arena.sh("rm conf; mkdir conf; echo x > conf/inner; echo x > plain").done();
    arena.change_repo(|repo| fs::write(repo.join("conf"), "an edit of the host's\n").unwrap());
    let _ = arena.apply(&[]).code(3);
    let _ = arena.apply(&["--", "conf/inner"]).says("changed what it is");
    assert_eq!(arena.read("conf"), "an edit of the host's\n");
    let _ = arena.apply(&["--conflict", "ours"]);
    assert_eq!((arena.read("conf"), arena.has("plain")), ("an edit of the host's\n".into(), true));
}
