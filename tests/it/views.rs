//! Other ways to look at the changes: two columns, and a viewer of the user's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use crate::common::{Engine, Sandbox, on, wait_until};

on!(native:
    two_columns_on_a_wide_terminal_and_the_patch_on_a_narrow_one,
    two_columns_hold_nothing_that_acts,
    a_viewer_gets_the_patch_and_nothing_that_acts,
    a_viewer_gets_two_directories_that_are_gone_afterwards,
    copies_are_gone_when_the_viewer_is_ended,
    a_viewer_is_named_by_the_user_alone,
    a_viewer_that_cannot_be_started_is_told,
);

const HOSTILE: &str = r#"
    e=$(printf '\033]0;owned\007\342\200\256'); printf '%s\n\302\233x\r\n' "$e" > "n$e"; ln -s "$e" evil-link
    printf '%s' "$e" >> README.md; printf 'new\n' >> src/main.c; rm build.sh; mkdir -p a/b; printf '\0' > a/b/data
"#;

/// A program outside of the repo.
fn script(sandbox: &Sandbox, text: &str) -> PathBuf {
    let path = sandbox.root().join("viewer");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What a terminal of that width shows.
fn screen(sandbox: &Sandbox, args: &[&str], viewer: &str, columns: u16) -> String {
    let cowbox =
        sandbox.cowbox(&["diff"]).args(args).env("TERM", "xterm").env("PAGER", "").env("COWBOX_VIEWER", viewer);
    let cowbox = cowbox.env("GIT_DIR", sandbox.repo().join(".git")).env("GIT_CONFIG_COUNT", "0");
    let mut terminal = cowbox.terminal(40, columns);
    assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
    terminal.screen()
}

fn views_left(sandbox: &Sandbox) -> usize {
    let id = sandbox.session_ids().remove(0);
    let names = fs::read_dir(sandbox.session_dir(&id)).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("view-")).count()
}

fn two_columns_on_a_wide_terminal_and_the_patch_on_a_narrow_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("sed -i 's/return 0/return 42/' src/main.c; printf '日本語\\n' > wide").done();
    let wide = screen(&sandbox, &["--side-by-side", "--color", "never"], "", 140);
    let row = wide.lines().find(|line| line.contains("return 42")).unwrap();
    let (left, right) = row.split_once('│').unwrap();
    assert!(left.contains("1 - int main(void) { return 0; }") && right.contains("1 + int main"), "{wide}");
    let narrow = screen(&sandbox, &["--side-by-side"], "", 100);
    assert!(
        narrow.contains("two columns need 120, this terminal has 100") && narrow.contains("@@ -1 +1 @@"),
        "{narrow}"
    );
    // Without a terminal there is no width to keep to.
    let piped = sandbox.cowbox(&["diff", "--sbs"]).output().ok().stdout();
    let edges: Vec<usize> = piped.lines().filter_map(|line| line.find('│')).collect();
    assert!(edges.len() >= 2 && piped.contains("日本語"), "{piped}");
}

fn two_columns_hold_nothing_that_acts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    for color in ["always", "never"] {
        let shown = screen(&sandbox, &["-q", "--side-by-side", "--color", color], "", 140);
        let ours = ["\x1b[m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[31;7m", "\x1b[32;7m", "\r\n"];
        let rest = ours.iter().fold(shown, |text, code| text.replace(code, ""));
        assert!(!rest.contains(['\x1b', '\x07', '\r', '\u{202e}', '\u{9b}']) && rest.contains("evil-link"), "{rest:?}");
    }
}

fn a_viewer_gets_the_patch_and_nothing_that_acts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    let seen = sandbox.root().join("seen");
    let text = format!("{{ pwd; env | grep -c ^GIT_; echo secure=$LESSSECURE; cat; }} > {}", seen.display());
    let viewer = script(&sandbox, &text);
    screen(&sandbox, &[], viewer.to_str().unwrap(), 80);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.starts_with("/\n0\nsecure=1\ndiff --git "), "{seen}");
    assert!(seen.contains("+new\n") && !seen.contains(['\x1b', '\x07', '\u{202e}', '\u{9b}', '\r']), "{seen:?}");
    // Not on a terminal, not for another view, and not when it is quiet.
    for args in [&["--stat"][..], &["-q"], &["--side-by-side"]] {
        assert!(screen(&sandbox, args, "false; exit 9", 140).contains("main.c"), "{args:?}");
    }
    let piped = sandbox.cowbox(&["diff"]).env("COWBOX_VIEWER", &viewer).output().ok();
    assert!(piped.stdout().starts_with("diff --git "));
}

fn a_viewer_gets_two_directories_that_are_gone_afterwards(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    let list =
        "find $1 $2 -type f | LC_ALL=C sort; find . ! -type f ! -type d; env | grep ^GIT_; diff -r $1 $2; exit 1";
    let viewer = script(&sandbox, list);
    let shown = screen(&sandbox, &[], &format!("{} {{a}} {{b}}", viewer.display()), 200).replace("\r\n", "\n");
    for expected in ["a/README.md\n", "b/README.md\n", "a/build.sh\n", "b/a/b/data\n", "b/evil-link\n", "> new\n"] {
        assert!(shown.contains(expected), "{expected}{shown}");
    }
    assert!(!shown.contains("b/build.sh\n") && !shown.contains("leaf"), "only what changed: {shown}");
    let git: Vec<&str> = shown.lines().filter(|line| line.starts_with("GIT_")).collect();
    let session_dir = sandbox.session_dir(&sandbox.session_ids()[0]);
    assert_eq!(git, [format!("GIT_CEILING_DIRECTORIES={}", session_dir.display())]);
    assert!(!shown.contains(['\x1b', '\x07', '\u{202e}', '\u{9b}']), "{shown:?}");
    assert_eq!(views_left(&sandbox), 0);
}

fn copies_are_gone_when_the_viewer_is_ended(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new").done();
    let viewer = script(&sandbox, "echo ready; exec sleep 1000");
    let words = format!("{} {{a}} {{b}}", viewer.display());
    let cowbox = sandbox.cowbox(&["diff"]).env("TERM", "xterm").env("COWBOX_VIEWER", &words);
    let mut terminal = cowbox.terminal(24, 80);
    terminal.expect("ready");
    assert_eq!(views_left(&sandbox), 1);
    terminal.signal(Signal::SIGTERM);
    terminal.wait();
    wait_until("the copies to go", || (views_left(&sandbox) == 0).then_some(()));
}

fn a_viewer_is_named_by_the_user_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let viewer = script(&sandbox, "echo VIEWED; cat > /dev/null");
    sandbox.write(".cowbox.toml", format!("viewer = \"{}\"\n", viewer.display()));
    sandbox.sh("echo x > new").done();
    let plain = |sandbox: &Sandbox| {
        let mut terminal = sandbox.cowbox(&["diff"]).env("TERM", "xterm").env("PAGER", "").terminal(24, 80);
        assert_eq!(terminal.wait(), 0);
        terminal.screen()
    };
    assert!(!plain(&sandbox).contains("VIEWED"), "a file of the repository names no viewer");
    sandbox.configure(&format!("viewer = \"{}\"\n", viewer.display()));
    assert!(plain(&sandbox).contains("VIEWED"));
    assert!(!screen(&sandbox, &[], "", 80).contains("VIEWED"), "an empty variable takes it away");
}

fn a_viewer_that_cannot_be_started_is_told(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("bin/view", "#!/bin/sh\necho OWNED\n");
    sandbox.chmod("bin/view", 0o755);
    sandbox.sh("echo line > new").done();
    let inside = sandbox.repo().join("bin/view").display().to_string();
    for viewer in ["no-such-viewer", "no-such-viewer {a} {b}", &inside, &format!("{inside} {{a}} {{b}}")] {
        let shown = screen(&sandbox, &[], viewer, 80);
        assert!(shown.contains("viewer") && shown.contains("this is the output without it"), "{shown}");
        assert!(shown.contains("+line") && !shown.contains("OWNED"), "{shown}");
    }
    assert_eq!(views_left(&sandbox), 0);
}
