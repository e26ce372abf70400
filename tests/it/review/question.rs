//! The end of a run on a terminal: the glance, and the keys of the one question.

use std::fs;

use super::{run, screen};
use crate::common::{Engine, Sandbox, on, on_every_engine};

on_every_engine!(
    everything_is_applied_by_one_key,
    keeping_loses_nothing,
    discarding_asks_again,
    a_shell_goes_on_in_the_session_and_comes_back_to_the_question,
);
on!(native:
    the_flagged_come_first_with_their_reason,
    arrows_and_enter_choose_too,
    the_diff_is_shown_and_the_question_asked_again,
    nothing_changed_is_said_and_nothing_is_left,
    ignored_files_alone_are_discarded_without_another_question,
    a_refused_apply_comes_back_to_the_question,
    names_from_the_session_are_escaped,
    many_changes_are_counted,
    the_review_can_be_had_later,
    without_a_terminal_there_is_no_review,
    with_no_input_nothing_is_asked,
    the_commands_own_exit_code_stays,
    colours_only_where_they_are_wanted,
    a_dumb_terminal_is_asked_line_by_line,
    what_was_typed_before_the_question_is_no_answer,
);

fn everything_is_applied_by_one_key(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let mut terminal = run(&sandbox, "echo x > added; echo y >> README.md; rm src/main.c");
        screen!(terminal, @r"
        cowbox: [ENGINE] · session it
        cowbox: 3 files changed, +2 -1 · session it
         ! D src/main.c  +0 -1
             `main.c` is deleted, and git holds no copy of it (untracked-deleted)
           M README.md  +1 -0
           A added  +1 -0
        What now?
        > a  apply all
          f  choose files
          h  choose hunks
          v  view the diff
          s  open a shell to look
          k  keep for later
          d  discard
        ");
        terminal.send("a");
        terminal.until_shown("3 changes applied");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
        assert_eq!(fs::read_to_string(repo.join("added")).unwrap(), "x\n");
        assert!(terminal.now().cursor);
    });
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert!(!sandbox.repo().join("added").exists());
}

fn keeping_loses_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
    screen!(terminal, @r"
    cowbox: [ENGINE] · session it
    cowbox: 1 file changed, +1 -0 · session it
       A added  +1 -0
    What now? keep for later
    cowbox: kept · go on with `cowbox review it`, `cowbox apply it` or `cowbox discard it`
    ");
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn discarding_asks_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    terminal.send("d");
    terminal.until_shown("y  yes");
    screen!(terminal, @r"
    cowbox: [ENGINE] · session it
    cowbox: 1 file changed, +1 -0 · session it
       A added  +1 -0
    What now? discard
    Throw the changes of session it away?
    > n  no, go back
      y  yes, discard them
    ");
    terminal.send("n");
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    assert_eq!(sandbox.changes(), ["A  added"]);
    terminal.send("d");
    terminal.until("the second question", |screen| screen.text().ends_with("y  yes, discard them"));
    terminal.send("y");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("session it is discarded"));
    let _ = sandbox.cowbox(&["diff", "it"]).output().code(1).says("is discarded");
}

fn a_shell_goes_on_in_the_session_and_comes_back_to_the_question(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let mut terminal = run(&sandbox, "echo x > added; chmod 000 added; exit 5");
        terminal.send("s");
        terminal.until_shown("leave it to come back");
        terminal.enter("chmod 644 added; echo more > second; echo done-$((40 + 2)); exit 3");
        terminal.expect("done-42");
        terminal.until_shown("2 files changed");
        terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
        terminal.send("a");
        assert_eq!(terminal.wait(), 5, "{}", terminal.screen());
        assert_eq!(fs::read_to_string(repo.join("second")).unwrap(), "more\n");
        assert_eq!(fs::read_to_string(repo.join("added")).unwrap(), "x\n");
    });
}

fn the_flagged_come_first_with_their_reason(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "echo a > aaa; echo 'all: ;' > Makefile; echo 'echo hi' > .envrc; mkfifo pipe; echo y > zzz";
    let mut terminal = run(&sandbox, script);
    screen!(terminal, @r"
    cowbox: [ENGINE] · session it
    cowbox: 5 files changed, +4 -0 · session it
     ! A pipe
         `pipe` is a fifo (special-file, never applied)
     ! A .envrc  +1 -0
         `.envrc` is run by direnv when you enter the folder (shell-autoload, applied only if you say so
    )
     ! A Makefile  +1 -0
         `Makefile` is run by make (build-entry)
       A aaa  +1 -0
       A zzz  +1 -0
    What now?
    > a  apply all
      f  choose files
      h  choose hunks
      v  view the diff
      s  open a shell to look
      k  keep for later
      d  discard
    ");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
}

fn arrows_and_enter_choose_too(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo x > added");
    terminal.until_shown("> a  apply all");
    terminal.send("\x1b[A");
    terminal.until_shown("> d  discard");
    terminal.send("\x1bOA");
    terminal.until_shown("> k  keep");
    terminal.send("\x1b[B\x1b[B\x1b[B");
    terminal.until_shown("> f  choose files");
    terminal.send("x\x1b[F\x1b[A\r");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("kept · go on with"), "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn the_diff_is_shown_and_the_question_asked_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox
        .shell(&["--name", "it"], "echo x > added")
        .env("TERM", "xterm")
        .env("COWBOX_PAGER", "cat")
        .terminal(60, 100);
    terminal.until_shown("d  discard");
    terminal.send("v");
    terminal.until_shown("+++ b/added");
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
}

fn nothing_changed_is_said_and_nothing_is_left(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&["--name", "it"], "cat README.md; exit 4").terminal(40, 100);
    assert_eq!(terminal.wait(), 4);
    screen!(terminal, @r"
    cowbox: [ENGINE] · session it
    # api
    cowbox: no changes · session it is discarded
    ");
    let _ = sandbox.cowbox(&["diff", "it"]).output().code(1).says("is discarded");
}

fn ignored_files_alone_are_discarded_without_another_question(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "out/\n");
    let mut terminal = run(&sandbox, "mkdir out; echo x > out/a; echo x > out/b");
    screen!(terminal, @r"
    cowbox: [ENGINE] · session it
    cowbox: nothing changed that git does not ignore · session it
    cowbox: not listed: 3 ignored by git
    What now?
      a  apply all
      f  choose files
      h  choose hunks
      v  view the diff
      s  open a shell to look
    > k  keep for later
      d  discard
    ");
    terminal.send("d");
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("session it is discarded"));
}

fn a_refused_apply_comes_back_to_the_question(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "echo session > README.md; echo x > added");
    sandbox.change_repo(|repo| fs::write(repo.join("README.md"), "host\n").unwrap());
    terminal.send("a");
    terminal.until_shown("nothing was applied");
    terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
    terminal.until_shown("in conflict with the host");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["M  README.md", "A  added"]);
}

fn names_from_the_session_are_escaped(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "printf x > \"$(printf 'a\\033]0;x\\007\\303\\050\\342\\200\\256b')\"");
    terminal.send("f");
    terminal.until("the picker", |screen| screen.is_full());
    terminal.until_shown("1 of 1 chosen");
    terminal.send("q");
    terminal.until("the question again", |screen| !screen.is_full() && screen.text().ends_with("d  discard"));
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
    let screen = terminal.screen();
    assert!(!screen.contains("\x1b]0;") && !screen.contains('\u{202e}'), "{screen:?}");
}

fn many_changes_are_counted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = run(&sandbox, "for n in $(seq 10 99); do echo x > f$n; done");
    screen!(terminal, @r"
    cowbox: [ENGINE] · session it
    cowbox: 90 files changed, +90 -0 · session it
       A f10  +1 -0
       A f11  +1 -0
       A f12  +1 -0
       A f13  +1 -0
       A f14  +1 -0
       A f15  +1 -0
       A f16  +1 -0
       A f17  +1 -0
       A f18  +1 -0
       A f19  +1 -0
       A f20  +1 -0
       A f21  +1 -0
       A f22  +1 -0
       A f23  +1 -0
       A f24  +1 -0
       … and 75 more
    What now?
    > a  apply all
      f  choose files
      h  choose hunks
      v  view the diff
      s  open a shell to look
      k  keep for later
      d  discard
    ");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
}

fn the_review_can_be_had_later(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "echo x > added").output().done();
    let review = || sandbox.cowbox(&["review"]).env("TERM", "xterm").terminal(40, 100);
    let mut terminal = review();
    terminal.until_shown("d  discard");
    terminal.send("\x03");
    assert_eq!(terminal.wait(), 130);
    let mut terminal = review();
    terminal.until_shown("d  discard");
    terminal.send("k");
    assert_eq!(terminal.wait(), 0);
    sandbox.change_repo(|_| {
        let mut terminal = review();
        terminal.until_shown("d  discard");
        terminal.send("a");
        assert_eq!(terminal.wait(), 0);
        assert!(terminal.screen().contains("no changes left · session it kept"), "{}", terminal.screen());
    });
    // What was applied can still be taken back.
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
}

fn without_a_terminal_there_is_no_review(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--on-exit", "ask"], "echo x > added").output().ok().says("1 change kept");
    let _ = sandbox.cowbox(&["review"]).output().code(4).says("needs a terminal");
}

fn with_no_input_nothing_is_asked(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut terminal = sandbox.shell(&["--no-input"], "echo x > added").terminal(40, 100);
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("1 change kept"), "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  added"]);
}

fn the_commands_own_exit_code_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (key, code) in [("k", 7), ("\x03", 8), ("d", 9)] {
        let script = format!("echo x > added; exit {code}");
        let mut terminal = sandbox.shell(&[], &script).env("TERM", "xterm").terminal(40, 100);
        terminal.until_shown("d  discard");
        terminal.send(key);
        if key == "d" {
            terminal.until_shown("y  yes");
            terminal.send("y");
        }
        assert_eq!(terminal.wait(), code, "{}", terminal.screen());
    }
}

fn colours_only_where_they_are_wanted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let shown = |set: &dyn Fn(crate::common::Cowbox) -> crate::common::Cowbox| {
        let run = sandbox.shell(&[], "echo 'all: ;' > Makefile; echo x > added").env("TERM", "xterm");
        let mut terminal = set(run).terminal(40, 100);
        terminal.until_shown("d  discard");
        terminal.send("h");
        terminal.until_shown("of 2 chosen");
        terminal.send("q");
        terminal.until("the question again", |screen| screen.text().ends_with("d  discard"));
        terminal.send("k");
        terminal.wait();
        terminal.screen()
    };
    assert!(shown(&|run| run).contains("\x1b[33m"));
    let plain = shown(&|run| run.env("NO_COLOR", "1"));
    assert!(!plain.contains("\x1b[33m") && !plain.contains("\x1b[32m") && !plain.contains("\x1b[1m"), "{plain:?}");
}

fn a_dumb_terminal_is_asked_line_by_line(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.change_repo(|repo| {
        let mut terminal =
            sandbox.shell(&["--name", "it"], "echo x > added; echo y > other").env("TERM", "dumb").terminal(40, 100);
        terminal.until_shown("d = discard");
        terminal.enter("nonsense");
        terminal.expect("d = discard");
        terminal.expect("d = discard");
        terminal.enter("f");
        terminal.expect("A added");
        terminal.enter("y");
        terminal.expect("A other");
        terminal.enter("n");
        terminal.expect("1 change applied");
        terminal.expect("d = discard");
        terminal.enter("keep for later");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
        assert!(!terminal.screen().contains('\x1b'), "{:?}", terminal.screen());
        assert!(repo.join("added").exists() && !repo.join("other").exists());
    });
    assert_eq!(sandbox.changes(), ["A  other"]);
}

fn what_was_typed_before_the_question_is_no_answer(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "echo x > added; echo ready; sleep 1";
    let mut terminal = sandbox.shell(&["--name", "it"], script).env("TERM", "xterm").terminal(40, 100);
    terminal.expect("ready");
    terminal.send("adya\r");
    terminal.until("the question", |screen| screen.text().ends_with("d  discard"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    sandbox.check_repo();
    terminal.send("k");
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    assert_eq!(sandbox.changes(), ["A  added"]);
}
