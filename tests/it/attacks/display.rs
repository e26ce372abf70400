//! What a terminal could act upon. Case 18.

use std::fs;

use super::Arena;
use crate::common::{Engine, Output, on, on_every_engine};

on_every_engine!(case_18_names_and_link_targets);
on!(native:
    case_18_contents_on_a_terminal,
    case_18_commits_and_branches,
    case_18_one_huge_line_and_noise_hide_nothing,
    case_18_errors,
);

/// Title, clipboard, a link, CR, a C1 control, right-to-left, zero width, a tag character.
const EVIL: &str = "\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J\r\u{9b}31m\u{202e}\u{200b}\u{e0041}";

fn octal(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

/// Whether a character may be in what a person sees. Colours are cowbox's own, line breaks too.
#[track_caller]
fn is_clean(text: &str, what: &str) {
    let colourless = regex_free_of_colours(text);
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || "\u{202e}\u{200b}\u{e0041}\u{9b}".contains(c);
    assert!(!colourless.contains(bad), "{what}: {colourless:?}");
}

/// Without `ESC [ … m`, and without what a terminal adds to a line break.
fn regex_free_of_colours(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out += &rest[..at];
        let tail = &rest[at + 2..];
        let end = tail.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(tail.len());
        if tail[end..].starts_with('m') || tail[end..].starts_with('K') {
            rest = &tail[end + 1..];
        } else {
            out.push('\x1b');
            rest = &rest[at + 1..];
        }
    }
    (out + rest).replace("\r\n", "\n")
}

#[track_caller]
fn both_clean(output: &Output, what: &str) {
    is_clean(&output.stdout(), what);
    is_clean(&output.stderr(), what);
}

fn case_18_names_and_link_targets(engine: Engine) {
    let arena = Arena::new(engine);
    // No slash in a name: base64 above has none.
    let name = octal(EVIL);
    let script = format!(
        r#"n="$(printf '{name}')"; echo x > "$n"; mkdir "d$n"; echo x > "d$n/f"; ln -s "/$n" "l$n"; mkfifo "p$n"
        echo evil > "d$n/.envrc"; mkdir ".vscode"; echo "{{\"git.path\": \"$n\", \"$n\": 1}}" > .vscode/settings.json
        printf '{{"scripts": {{"post%s": "x", "postinstall": "%s"}}}}' '\u001b]0;x' '\u009b' > package.json"#
    );
    arena.sh(&script).done();
    for args in [
        &["diff", "--stat"][..],
        &["diff", "--name-status"],
        &["diff", "--json"],
        &["diff", "--stat", "--color", "always"],
        &["apply", "--dry-run"],
        &["apply", "--dry-run", "--json", "--allow", "all"],
        &["show"],
        &["show", "--json"],
        &["ls"],
    ] {
        both_clean(&arena.cowbox(args).output(), &format!("{args:?}"));
    }
    // A patch in a pipe is for programs, to the byte; what is said beside it is for people.
    is_clean(&arena.cowbox(&["diff"]).output().stderr(), "diff");
    for args in [
        &["diff"][..],
        &["diff", "--stat"],
        &["diff", "--name-status"],
        &["apply", "--dry-run"],
        &["diff", "--color", "never"],
    ] {
        let mut terminal = arena.cowbox(args).env("TERM", "xterm").env("PAGER", "cat").terminal(50, 200);
        let _ = terminal.wait();
        is_clean(&terminal.screen(), &format!("{args:?} on a terminal"));
        assert!(terminal.screen().contains("owned"), "{args:?}: {}", terminal.screen());
    }
    let applied = arena.apply(&["--allow", "all"]);
    both_clean(&applied, "apply");
    both_clean(&arena.writing(&["undo", "-y"]), "undo");
}

fn case_18_contents_on_a_terminal(engine: Engine) {
    let arena = Arena::new(engine);
    let text = octal(EVIL);
    arena
        .sh(&format!(r#"printf 'a\n{text}\n' > new; printf '{text}' >> README.md; printf '{text}' > src/main.c"#))
        .done();
    for (args, pager) in [
        (&["diff"][..], "cat"),
        (&["diff"], "less"),
        (&["diff", "--color", "always"], "cat"),
        (&["diff", "--color", "never"], "cat"),
    ] {
        let mut terminal = arena.cowbox(args).env("TERM", "xterm").env("PAGER", pager).terminal(200, 200);
        let _ = terminal.wait();
        let screen = terminal.screen();
        assert!(screen.contains("owned") && screen.contains("\\u{202e}"), "{screen:?}");
        assert!(
            !screen.contains(['\x07', '\u{202e}', '\u{200b}', '\u{9b}']) && !screen.contains("\x1b]"),
            "{screen:?}"
        );
        assert!(!screen.contains("\x1b[2J"), "{screen:?}");
    }
    // Bytes that are not text must not be let through as C1 controls either.
    arena.sh(r"printf '\233\063\061m\220q\n' > raw").done();
    let mut terminal = arena.cowbox(&["diff"]).env("TERM", "xterm").env("PAGER", "cat").terminal(50, 200);
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("\\x9b"), "{}", terminal.screen());
}

fn case_18_commits_and_branches(engine: Engine) {
    let arena = Arena::with_git(engine);
    let text = octal(EVIL);
    let script = format!(
        r#"set -e; n="$(printf '{text}')"; echo x > new; git add new
        git -c user.name="$n" -c user.email=a@a commit -q -m "subject $n"
        git rev-parse HEAD > ".git/refs/heads/b$n"; printf '%s refs/heads/p%s\n' $(git rev-parse HEAD) "$n" > .git/packed-refs
        mkdir -p ".git/refs/heads/d$n"; git rev-parse HEAD > ".git/refs/heads/d$n/x"
        git branch fine HEAD; printf '# \342\200\256 [branch "%s"]\n' "$n" >> .git/config"#
    );
    arena.sh(&script).done();
    for args in
        [&["diff", "--json"][..], &["diff", "--stat"], &["diff", "--name-status"], &["show"], &["show", "--json"]]
    {
        let output = arena.cowbox(args).output();
        both_clean(&output, &format!("{args:?}"));
    }
    let json = arena.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["commits"][0]["subject"], format!("subject {EVIL}"), "escaped, not lost");
    let imported = arena.apply(&["--commits"]);
    both_clean(&imported, "apply --commits");
    both_clean(&arena.apply(&["--commits"]), "again");
    both_clean(&arena.apply(&[&format!("--commits=x{EVIL}")]), "a branch that cannot be");
    for line in arena.git(&["for-each-ref", "--format=%(refname)"]).lines() {
        assert!(line.chars().all(|c| c.is_ascii_graphic()), "{line:?}");
    }
}

fn case_18_one_huge_line_and_noise_hide_nothing(engine: Engine) {
    let arena = Arena::new(engine);
    let script = "head -c 3000000 /dev/zero | tr '\\0' a > huge; printf '\\nevil\\n' >> huge
        seq 1 60000 > noise; printf 'first\\n' > README.md; head -c 100000 /dev/urandom > blob; echo x > .envrc";
    arena.sh(script).done();
    let started = std::time::Instant::now();
    let stat = arena.cowbox(&["diff", "--stat"]).output().ok().stdout();
    for name in ["huge", "noise", "README.md", "blob", ".envrc"] {
        assert!(stat.contains(name), "{stat}");
    }
    let patch = arena.cowbox(&["diff", "--color", "always"]).output().ok().stdout();
    assert!(patch.contains("evil") && patch.contains("first"));
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

fn case_18_errors(engine: Engine) {
    let arena = Arena::new(engine);
    let name = octal(EVIL);
    arena.sh(&format!(r#"n="$(printf '{name}')"; mkdir "$n"; echo x > "$n/f"; setfattr -n user.x -v 1 "$n/f""#)).done();
    let dir = arena.upper().join(EVIL);
    super::mark(&dir, &format!("user.overlay.{}", EVIL.replace('\r', "")), b"y");
    for args in [
        &["diff"][..],
        &["diff", "--json"],
        &["apply", "-y"],
        &["diff", "--", EVIL],
        &["show", EVIL],
        &["apply", "-y", "--", EVIL],
    ] {
        let output = arena.cowbox(args).output();
        assert_ne!(output.exit_code(), 0, "{args:?}");
        both_clean(&output, &format!("{args:?}"));
    }
    fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}
