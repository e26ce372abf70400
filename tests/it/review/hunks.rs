//! Choosing hunks and lines: what is not chosen stays, and the next look shows just that.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

use super::{numbers, screen};
use crate::common::{Engine, Sandbox, Terminal, on, on_every_engine};

on_every_engine!(a_hunk_lands_and_the_rest_follows);
on!(native:
    single_lines_land,
    an_edit_of_the_host_in_between_is_merged,
    a_part_is_taken_back_by_undo,
    a_part_of_a_new_file_lands,
    permission_bits_are_chosen_beside_the_lines,
    attributes_of_the_host_stay_until_all_is_chosen,
    a_session_goes_on_after_a_part,
    what_the_host_changed_while_it_was_chosen_from_is_refused,
    bytes_of_any_kind_are_chosen_by_lines,
    lines_are_escaped,
    paths_limit_what_is_shown,
    a_part_that_is_killed_anywhere_is_completed_or_rolled_back,
);

fn apply(sandbox: &Sandbox, more: &[&str]) -> Terminal {
    let mut args = vec!["apply", "-p"];
    args.extend(more);
    let terminal = sandbox.cowbox(&args).env("TERM", "xterm").terminal(40, 100);
    terminal.until("the picker", |screen| screen.is_full() && screen.text().contains("? help"));
    terminal
}

/// A session that changed lines 3 and 20 of `list`.
fn two_hunks(sandbox: &Sandbox) {
    sandbox.write("list", numbers(&[]));
    sandbox.shell(&["--name", "it"], "sed -i 's/^3$/three/; s/^20$/twenty/' list").output().done();
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

/// Takes the second hunk out of the choice and applies.
fn apply_the_first(sandbox: &Sandbox) {
    sandbox.change_repo(|_| {
        let mut terminal = apply(sandbox, &[]);
        // The file, its first hunk with seven lines, its second one.
        for _ in 0..9 {
            terminal.send("\x1b[B");
        }
        terminal.send(" ");
        terminal.until_shown("[ ] @@ -17,7 +17,7 @@");
        terminal.send("\r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    });
    assert_eq!(read(sandbox, "list"), numbers(&[(3, "three")]));
}

fn a_hunk_lands_and_the_rest_follows(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    two_hunks(&sandbox);
    sandbox.change_repo(|_| {
        let mut terminal = apply(&sandbox, &[]);
        screen!(terminal, @r"
        session it · 1 of 1 chosen
        >[x] v M list  89 B +2 -2
           [x] @@ -1,6 +1,6 @@
                  1
                  2
             [x] -3
             [x] +three
                  4
                  5
                  6
           [x] @@ -17,7 +17,7 @@
                  17
                  18
                  19
             [x] -20
             [x] +twenty
                  21
                  22
                  23

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        for _ in 0..9 {
            terminal.send("\x1b[B");
        }
        terminal.send(" ");
        terminal.until_shown("[~] v M list");
        screen!(terminal, @r"
        session it · 1 of 1 chosen
         [~] v M list  89 B +2 -2
           [x] @@ -1,6 +1,6 @@
                  1
                  2
             [x] -3
             [x] +three
                  4
                  5
                  6
        >  [ ] @@ -17,7 +17,7 @@
                  17
                  18
                  19
             [ ] -20
             [ ] +twenty
                  21
                  22
                  23

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        terminal.send("\r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
        assert!(terminal.screen().contains("1 change applied, 1 of them in part"), "{}", terminal.screen());
    });
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three")]));
    let rest = sandbox.cowbox(&["diff"]).output().ok();
    assert!(rest.stdout().contains("+twenty") && !rest.stdout().contains("three\n-"), "{}", rest.stdout());
    assert!(!rest.stdout().contains("+three"), "{}", rest.stdout());
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three"), (20, "twenty")]));
    assert_eq!(sandbox.changes(), Vec::<String>::new());
}

fn single_lines_land(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("list", "a\nb\nc\n");
    sandbox.sh("printf 'a\\nB\\nC\\nc\\nd\\n' > list").done();
    sandbox.change_repo(|_| {
        let mut terminal = apply(&sandbox, &[]);
        // Nothing of it, then `+C` and `+d` alone.
        terminal.send(" ");
        terminal.until_shown("0 of 1 chosen");
        screen!(terminal, @r"
        session api-[NAME] · 0 of 1 chosen
        >[ ] v M list  10 B +3 -1
           [ ] @@ -1,3 +1,5 @@
                  a
             [ ] -b
             [ ] +B
             [ ] +C
                  c
             [ ] +d

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        terminal.send("\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B \x1b[B\x1b[B ");
        terminal.until_shown("[x] +d");
        screen!(terminal, @r"
        session api-[NAME] · 1 of 1 chosen
         [~] v M list  10 B +3 -1
           [~] @@ -1,3 +1,5 @@
                  a
             [ ] -b
             [ ] +B
             [x] +C
                  c
        >    [x] +d

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        terminal.send("\r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    });
    assert_eq!(read(&sandbox, "list"), "a\nb\nC\nc\nd\n");
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), "a\nB\nC\nc\nd\n");
}

fn an_edit_of_the_host_in_between_is_merged(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    two_hunks(&sandbox);
    apply_the_first(&sandbox);
    let edited = numbers(&[(3, "three"), (28, "of the host")]);
    sandbox.change_repo(|repo| fs::write(repo.join("list"), edited).unwrap());
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three"), (20, "twenty"), (28, "of the host")]));
}

fn a_part_is_taken_back_by_undo(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    two_hunks(&sandbox);
    apply_the_first(&sandbox);
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[]));
    // Everything is there to be applied again, and after two applies two are taken back.
    apply_the_first(&sandbox);
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three")]));
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[]));
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three"), (20, "twenty")]));
}

fn a_part_of_a_new_file_lands(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("mkdir new; printf 'one\\ntwo\\nthree' > new/file").done();
    sandbox.change_repo(|_| {
        let mut terminal = apply(&sandbox, &[]);
        // Folder, file, hunk, `+one`: not that one.
        terminal.send("\x1b[B\x1b[B\x1b[B ");
        terminal.until_shown("[ ] +one");
        terminal.send("\r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    });
    assert_eq!(read(&sandbox, "new/file"), "two\nthree");
    assert_eq!(sandbox.changes(), ["M  new/file"]);
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "new/file"), "one\ntwo\nthree");
    for _ in 0..2 {
        sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    }
    assert!(!sandbox.repo().join("new").exists());
}

fn permission_bits_are_chosen_beside_the_lines(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    two_hunks(&sandbox);
    sandbox.cowbox(&["run", "--resume", "it", "--", "chmod", "600", "list"]).output().done();
    let mode = || fs::metadata(sandbox.repo().join("list")).unwrap().permissions().mode() & 0o777;
    let before = mode();
    sandbox.change_repo(|_| {
        let mut terminal = apply(&sandbox, &[]);
        screen!(terminal, @r"
        session it · 1 of 1 chosen
        >[x] v M list  89 B +2 -2 mode 0644 -> 0600
           [x] mode 0644 -> 0600
           [x] @@ -1,6 +1,6 @@
                  1
                  2
             [x] -3
             [x] +three
                  4
                  5
                  6
           [x] @@ -17,7 +17,7 @@
                  17
                  18
                  19
             [x] -20
             [x] +twenty
                  21
                  22
                  23

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        terminal.send("\x1b[B ");
        terminal.until_shown("[ ] mode");
        terminal.send("\r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    });
    assert_eq!((read(&sandbox, "list"), mode()), (numbers(&[(3, "three"), (20, "twenty")]), before));
    assert_eq!(sandbox.changes(), ["M  list"]);
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(mode(), 0o600);
}

fn attributes_of_the_host_stay_until_all_is_chosen(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("list", numbers(&[]));
    let set = |value: &str| {
        let done = std::process::Command::new("setfattr")
            .args(["-n", "user.whose", "-v", value])
            .arg(sandbox.repo().join("list"))
            .status()
            .unwrap();
        assert!(done.success());
    };
    set("host");
    let script = "sed -i 's/^3$/three/; s/^20$/twenty/' list; setfattr -n user.whose -v session list";
    sandbox.sh(script).done();
    let whose = || {
        let said = std::process::Command::new("getfattr")
            .args(["--only-values", "-n", "user.whose"])
            .arg(sandbox.repo().join("list"))
            .output()
            .unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    apply_the_first(&sandbox);
    assert_eq!(whose(), "host");
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(whose(), "session");
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three"), (20, "twenty")]));
}

fn a_session_goes_on_after_a_part(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    two_hunks(&sandbox);
    apply_the_first(&sandbox);
    sandbox.cowbox(&["run", "--resume", "it", "--", "sed", "-i", "s/^30$/thirty/", "list"]).output().done();
    sandbox.cowbox(&["diff"]).output().ok().stdout();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert_eq!(read(&sandbox, "list"), numbers(&[(3, "three"), (20, "twenty"), (30, "thirty")]));
}

fn what_the_host_changed_while_it_was_chosen_from_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    two_hunks(&sandbox);
    sandbox.change_repo(|repo| {
        let mut terminal = apply(&sandbox, &[]);
        terminal.send("\x1b[B ");
        terminal.until_shown("[ ] @@ -1,6 +1,6 @@");
        fs::write(repo.join("list"), numbers(&[(28, "of the host")])).unwrap();
        terminal.send("\r");
        assert_eq!(terminal.wait(), 3, "{}", terminal.screen());
        assert!(terminal.screen().contains("has changed since it was chosen from"), "{}", terminal.screen());
    });
    assert_eq!(read(&sandbox, "list"), numbers(&[(28, "of the host")]));
}

fn bytes_of_any_kind_are_chosen_by_lines(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("latin", b"caf\xe9\r\nend\r\n");
    sandbox.sh("printf 'caf\\351!\\r\\nend\\r\\n\\376\\n' > latin").done();
    sandbox.change_repo(|repo| {
        let mut terminal = apply(&sandbox, &[]);
        screen!(terminal, @r"
        session api-[NAME] · 1 of 1 chosen
        >[x] v M latin  14 B +2 -1
           [x] @@ -1,2 +1,3 @@
             [x] -caf\xe9\r
             [x] +caf\xe9!\r
                  end\r
             [x] +\xfe

        space choose · arrows move, fold · a all · enter apply · q back · ? help
        ");
        terminal.send("G ");
        terminal.until_shown("[ ] +\\xfe");
        terminal.send("\r");
        assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
        assert_eq!(fs::read(repo.join("latin")).unwrap(), b"caf\xe9!\r\nend\r\n");
    });
}

fn lines_are_escaped(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("printf 'a\\033]0;x\\007\\302\\233\\342\\200\\256b\\n' > evil").done();
    let mut terminal = apply(&sandbox, &[]);
    terminal.until_shown("\\u{1b}]0;x\\u{7}");
    terminal.send("q");
    assert_eq!(terminal.wait(), 130);
    let screen = terminal.screen();
    assert!(!screen.contains("\x1b]") && !screen.contains('\u{202e}') && !screen.contains('\u{9b}'), "{screen:?}");
}

fn paths_limit_what_is_shown(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > one; echo y > two").done();
    let mut terminal = apply(&sandbox, &["--", "two"]);
    terminal.until_shown("1 of 1 chosen");
    terminal.send("q");
    assert_eq!(terminal.wait(), 130);
    let _ = sandbox.cowbox(&["apply", "-p", "--plain", "--", "three"]).output().code(1).says("no change of session");
}

fn a_part_that_is_killed_anywhere_is_completed_or_rolled_back(engine: Engine) {
    let sandbox = Sandbox::in_memory(engine);
    two_hunks(&sandbox);
    let [old, part, all] = [&[][..], &[(3, "three")], &[(3, "three"), (20, "twenty")]].map(numbers);
    let pick = || sandbox.cowbox(&["apply", "-p", "--plain"]).stdin("y\nn\n");
    sandbox.change_repo(|_| {
        let mut points = 0;
        for point in 1.. {
            let output = pick().env("COWBOX_TEST_CRASH", point.to_string()).output();
            if output.status.signal() != Some(9) {
                output.done();
                break;
            }
            points = point;
            assert!([&old, &part].contains(&&read(&sandbox, "list")), "killed at {point}");
            if point % 2 == 0 {
                // Whatever was cut off is taken back, and chosen from once more.
                let _ = sandbox.cowbox(&["undo", "-y"]).output().exit_code();
                assert_eq!(read(&sandbox, "list"), old, "rolled back after {point}");
                pick().output().done();
                assert_eq!(read(&sandbox, "list"), part, "after {point}");
            }
            let _ = sandbox.cowbox(&["apply", "-y"]).output().ok();
            assert_eq!(read(&sandbox, "list"), all, "after {point}");
            while sandbox.cowbox(&["undo", "-y"]).output().exit_code() == 0 {}
            assert_eq!(read(&sandbox, "list"), old, "undone after {point}");
        }
        assert!(points > 8, "{points}");
    });
    assert_eq!(read(&sandbox, "list"), part);
}
