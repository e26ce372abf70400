//! `apply -p --plain`: one question after the other, for dumb terminals and for ears.

use std::fs;

use super::numbers;
use crate::common::{Engine, Output, Sandbox, on, snapshot};

on!(native:
    hunks_are_asked_for_one_by_one,
    the_rest_of_a_file_is_answered_at_once,
    a_hunk_is_split,
    quitting_applies_what_was_chosen,
    the_end_of_the_answers_applies_nothing,
    every_kind_of_change_has_its_question,
    the_reason_is_said_before_the_question,
    choosing_needs_a_terminal,
    a_dumb_terminal_is_enough,
);

fn plain(sandbox: &Sandbox, answers: &str) -> Output {
    let mut said = None;
    sandbox.change_repo(|_| said = Some(sandbox.cowbox(&["apply", "-p", "--plain"]).stdin(answers).output()));
    said.unwrap()
}

fn three_hunks() -> Sandbox {
    let sandbox = Sandbox::new(Engine::Native);
    sandbox.write("list", numbers(&[]));
    sandbox.shell(&["--name", "it"], "sed -i 's/^3$/three/; s/^15$/fifteen/; s/^27$/x/' list").output().done();
    sandbox
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

fn hunks_are_asked_for_one_by_one(_: Engine) {
    let sandbox = three_hunks();
    snapshot!(plain(&sandbox, "n\n?\ny\nn\n"), @r"
    exit: 0
    --- stderr
    M list (89 B +3 -3)
    @@ -1,6 +1,6 @@
     1
     2
    -3
    +three
     4
     5
     6
    (1/3) Apply this hunk [y,n,q,a,d,?]? @@ -12,7 +12,7 @@
     12
     13
     14
    -15
    +fifteen
     16
     17
     18
    (2/3) Apply this hunk [y,n,q,a,d,?]? y - apply this
    n - leave this in the session
    q - leave this and all that follows
    a - apply this and all that follows in this file
    d - leave this and all that follows in this file
    s - split this into smaller parts
    ? - say this again
    (2/3) Apply this hunk [y,n,q,a,d,?]? @@ -24,7 +24,7 @@
     24
     25
     26
    -27
    +x
     28
     29
     30
    (3/3) Apply this hunk [y,n,q,a,d,?]? cowbox: 1 change applied, 1 of them in part · take it back with `cowbox undo it`
    ");
    assert_eq!(read(&sandbox, "list"), numbers(&[(15, "fifteen")]));
    let _ = plain(&sandbox, "y\ny\n").ok();
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three"), (15, "fifteen"), (27, "x")]));
}

fn the_rest_of_a_file_is_answered_at_once(_: Engine) {
    let sandbox = three_hunks();
    let _ = plain(&sandbox, "n\na\n").ok();
    assert_eq!(read(&sandbox, "list"), numbers(&[(15, "fifteen"), (27, "x")]));
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    let _ = plain(&sandbox, "y\nd\n").ok();
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three")]));
}

fn a_hunk_is_split(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("list", "1\n2\n3\n4\n5\n");
    sandbox.shell(&["--name", "it"], "printf 'one\\n2\\n3\\nfour\\n5\\nsix\\n' > list").output().done();
    snapshot!(plain(&sandbox, "s\ny\ns\nn\ny\n"), @r"
    exit: 0
    --- stderr
    M list (19 B +3 -2)
    @@ -1,5 +1,6 @@
    -1
    +one
     2
     3
    -4
    +four
     5
    +six
    (1/1) Apply this hunk [y,n,q,a,d,s,?]? @@ -1,5 +1,6 @@
    -1
    +one
     2
     3
    (1/3) Apply this hunk [y,n,q,a,d,?]? @@ -1,5 +1,6 @@
     2
     3
    -4
    +four
     5
    (2/3) Apply this hunk [y,n,q,a,d,?]? this cannot be split
    (2/3) Apply this hunk [y,n,q,a,d,?]? @@ -1,5 +1,6 @@
     5
    +six
    (3/3) Apply this hunk [y,n,q,a,d,?]? cowbox: 1 change applied, 1 of them in part · take it back with `cowbox undo it`
    ");
    assert_eq!(read(&sandbox, "list"), "one\n2\n3\n4\n5\nsix\n");
}

fn quitting_applies_what_was_chosen(_: Engine) {
    let sandbox = three_hunks();
    let _ = plain(&sandbox, "y\nq\n").ok();
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three")]));
}

fn the_end_of_the_answers_applies_nothing(_: Engine) {
    let sandbox = three_hunks();
    let _ = plain(&sandbox, "y\ny\n").code(130).says("nothing was applied");
    assert_eq!(read(&sandbox, "list"), numbers(&[]));
}

fn every_kind_of_change_has_its_question(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("mode", "x\n");
    sandbox.write("moved", "a file that moves\n");
    sandbox.write("binary", b"\0\x01");
    let script = "chmod 755 mode; mv moved to; printf '\\0\\2' > binary; rm src/main.c; ln -s src new-link; mkdir empty; \
        printf '\\377\\n' > latin";
    sandbox.shell(&["--name", "it"], script).output().done();
    snapshot!(plain(&sandbox, "y\ny\ny\ny\ny\nn\ny\n"), @r"
    exit: 0
    --- stderr
    M binary (2 B binary)
    Apply this change [y,n,q,a,d,?]? A empty (directory)
    Apply this addition [y,n,q,a,d,?]? A latin (2 B +1 -0)
    @@ -0,0 +1 @@
    +\xff
    (1/1) Apply this hunk [y,n,q,a,d,?]? M mode (2 B mode 0644 -> 0755)
    ! new-executable: `mode` can be executed and could not before
    Apply this change of permission bits [y,n,q,a,d,?]? A new-link (link +1 -0)
    Apply this addition [y,n,q,a,d,?]? D src/main.c (29 B +0 -1)
    ! untracked-deleted: `main.c` is deleted, and git holds no copy of it
    Apply this deletion [y,n,q,a,d,?]? R to (was moved) (18 B)
    Apply this rename [y,n,q,a,d,?]? cowbox: mode: `mode` can be executed and could not before (new-executable)
    cowbox: 6 changes applied · take it back with `cowbox undo it`
    ");
}

fn the_reason_is_said_before_the_question(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "echo 'echo hi' > .envrc; mkfifo pipe").output().done();
    snapshot!(plain(&sandbox, "y\n"), @r"
    exit: 0
    --- stderr
    A .envrc (8 B +1 -0)
    ! shell-autoload: `.envrc` is run by direnv when you enter the folder
    @@ -0,0 +1 @@
    +echo hi
    (1/1) Apply this hunk [y,n,q,a,d,?]? A pipe (special file)
    ! special-file: `pipe` is a fifo (never applied)
    cowbox: 1 change applied · take it back with `cowbox undo it`
    ");
    assert!(sandbox.repo().join(".envrc").exists());
}

fn a_dumb_terminal_is_enough(_: Engine) {
    let sandbox = three_hunks();
    sandbox.change_repo(|_| {
        let mut terminal = sandbox.cowbox(&["apply", "-p"]).env("TERM", "dumb").terminal(40, 100);
        terminal.expect("(1/3) Apply this hunk");
        terminal.enter("y");
        terminal.expect("(2/3)");
        terminal.send("\x03");
        assert_eq!(terminal.wait(), 130, "{}", terminal.screen());
        assert!(!terminal.screen().contains('\x1b'));
    });
    assert_eq!(read(&sandbox, "list"), numbers(&[]));
}

fn choosing_needs_a_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > one").done();
    let _ = sandbox.cowbox(&["apply", "-p"]).output().code(4).says("needs a terminal").says("--plain");
    sandbox.check_repo();
}
