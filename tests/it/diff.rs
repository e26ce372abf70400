//! `diff` as people and programs read it: the patch, the table, the pager.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::host::{git, git_init, sh};
use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};

on_every_engine!(
    the_default_is_a_patch,
    git_apply_makes_the_repo_what_the_session_saw,
    one_line_a_file,
    closed_files_are_in_the_patch,
    paths_are_relative_to_where_you_are,
);
on!(native:
    one_view_at_a_time,
    a_reader_that_goes_away_is_no_failure,
    on_a_terminal_nothing_of_the_session_acts,
    names_as_they_are_are_not_for_a_terminal,
    a_pager_is_used_on_a_terminal_only,
    a_pager_in_the_repo_is_not_started,
    colour_is_escaped_wherever_it_goes,
    a_rename_to_an_ignored_name_hides_no_deletion,
    what_is_ignored_or_inside_git_is_no_change_by_exit_code,
);

fn the_default_is_a_patch(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.chmod("README.md", 0o644);
    sandbox.sh("echo more >> README.md; chmod 644 README.md; printf 'no end' > new; rm src/main.c; mkdir empty; mkfifo pipe; echo x > .git/x").done();
    snapshot!(sandbox.cowbox(&["diff"]).output(), @r"
    exit: 0
    --- stdout
    diff --git a/README.md b/README.md
    index 6efb3e7..2ad99a1 100644
    --- a/README.md
    +++ b/README.md
    @@ -1 +1,2 @@
     # api
    +more
    diff --git a/new b/new
    new file mode 100644
    index 0000000..d514c78
    --- /dev/null
    +++ b/new
    @@ -0,0 +1 @@
    +no end
    \ No newline at end of file
    diff --git a/src/main.c b/src/main.c
    deleted file mode 100644
    index 78f2de1..0000000
    --- a/src/main.c
    +++ /dev/null
    @@ -1 +0,0 @@
    -int main(void) { return 0; }
    --- stderr
    cowbox: not in the patch: 1 directory, 1 special file (`--name-status` lists them)
    cowbox: 1 more inside .git, never applied as files (`--json` lists them)
    ");
}

fn git_apply_makes_the_repo_what_the_session_saw(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("data", [0u8, 1, 2, 255].repeat(300));
    sandbox.write("becomes-link", "x\n");
    sandbox.write("odd \"name\"\n", "x\n");
    let script = r#"
        head -c 5000 data > part; cat part part > data; chmod 755 part
        sed -i s/built/done/ build.sh; chmod 644 build.sh
        rm becomes-link; ln -s src becomes-link; ln -sfn src link
        printf 'a\r\n\033[31m' > "$(printf 'not-utf8\377')"; echo y >> 'odd "name"
'
        rm -r src/deep; touch 'empty file'
        mkdir out; cp -a data part build.sh becomes-link link out/
    "#;
    sandbox.sh(script).done();
    let patch = sandbox.cowbox(&["diff"]).output().ok().stdout;
    let file = sandbox.root().join("patch");
    fs::write(&file, patch).unwrap();
    let copy = sandbox.root().join("copy");
    copy_repo(&sandbox, &copy);
    git(&copy, &["apply", "--whitespace=nowarn", file.to_str().unwrap()]);
    // The session kept copies of its own in `out`.
    for name in ["data", "part", "build.sh"] {
        let (one, two) = (copy.join(name), copy.join("out").join(name));
        assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap(), "{name}");
        assert_eq!(one.metadata().unwrap().permissions(), two.metadata().unwrap().permissions(), "{name}");
    }
    for name in ["becomes-link", "link"] {
        assert_eq!(fs::read_link(copy.join(name)).unwrap(), PathBuf::from("src"));
    }
    assert!(!copy.join("src/deep").exists() && copy.join("empty file").exists());
}

/// The repo with another `.git`, somewhere else.
fn copy_repo(sandbox: &Sandbox, to: &Path) {
    sh(&format!("cp -a '{}' '{}' && rm -rf '{}/.git'", sandbox.repo().display(), to.display(), to.display()));
    git(to, &["init", "--quiet"]);
}

fn one_line_a_file(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("data", b"\0\0\0");
    sandbox.chmod("build.sh", 0o755);
    sandbox.sh("seq 200 > numbers; echo x >> README.md; printf '\\0' > data; chmod 700 build.sh; mkdir empty; mkfifo pipe; echo x > .git/x").done();
    snapshot!(sandbox.cowbox(&["diff", "--stat"]).output(), @r"
    exit: 0
    --- stdout
     pipe      | special: fifo
       blocked [special-file] `pipe` is a fifo
     README.md |   1 +
     build.sh  | mode change 0755 -> 0700
     data      | Bin 3 -> 1 bytes
     numbers   | 200 ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++
     5 files changed, 201 insertions(+)
     not listed: 1 inside .git
    ");
}

fn closed_files_are_in_the_patch(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("mkdir closed; echo secret > closed/file; echo x > open; chmod 0 closed/file closed").done();
    let patch = sandbox.cowbox(&["diff"]).output().ok().stdout();
    assert!(patch.contains("+secret\n") && patch.ends_with("+x\n"), "{patch}");
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["summary"]["insertions"], 2);
}

fn paths_are_relative_to_where_you_are(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > src/new.c; echo x > src/deep/new.c; echo x > top.c; rm README.md").done();
    let names = |subdir: &str, paths: &[&str]| {
        let args = [&["diff", "--name-status", "--"], paths].concat();
        sandbox.cowbox(&args).current_dir(sandbox.repo().join(subdir)).output().ok().stdout()
    };
    assert_eq!(names("src", &["*.c"]), "A  src/deep/new.c\nA  src/new.c\n");
    assert_eq!(names("src", &["../*.c"]), "A  top.c\n");
    assert_eq!(names("src/deep", &[".", "../../README.md"]), "D  README.md\nA  src/deep/new.c\n");
    assert_eq!(names("", &["src/**"]), "A  src/deep/new.c\nA  src/new.c\n");
    assert_eq!(names("src", &[sandbox.repo().join("top.c").to_str().unwrap()]), "A  top.c\n");
    for outside in ["../x", "/etc/passwd", ""] {
        let output = sandbox.cowbox(&["diff", "--", outside]).output().code(2);
        assert_eq!(output.stdout(), "");
    }
}

fn one_view_at_a_time(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for args in [["--stat", "--json"], ["--stat", "--name-status"], ["--stat", "-z"], ["--json", "-z"]] {
        let _ = sandbox.cowbox(&["diff"]).args(&args).output().code(2).says("cannot be used with");
    }
    sandbox.sh("touch new").done();
    sandbox.cowbox(&["diff", "-z"]).output().prints("A\0new\0").done();
}

fn a_reader_that_goes_away_is_no_failure(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("seq 200000 > numbers").done();
    for view in [&["diff"][..], &["diff", "--json"]] {
        let output = sandbox.cowbox(view).through("{ \"$@\"; echo $? >&2; } | head -n 1").output().ok();
        assert_eq!(output.stderr(), "0\n");
    }
}

/// Everything that a terminal could act upon, in names, contents and link targets.
const HOSTILE: &str = r#"
    e=$(printf '\033]0;owned\007\r\342\200\256'); printf '%s\n\302\233x\r\n' "$e" > "n$e"; ln -s "$e" evil-link
    printf '%s' "$e" >> README.md
"#;

fn assert_harmless(screen: &str) {
    let harmless = ["\x1b[m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[7m", "\x1b[27m", "\r\n"];
    let rest = harmless.iter().fold(screen.to_owned(), |text, ours| text.replace(ours, ""));
    assert!(!rest.contains(['\x1b', '\x07', '\r', '\u{202e}', '\u{9b}']), "{rest:?}");
}

fn on_a_terminal_nothing_of_the_session_acts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    for view in [&[][..], &["--stat"], &["--name-status"], &["--json"], &["--color", "always"]] {
        for pager in ["", "cat -"] {
            let cowbox = sandbox.cowbox(&["-q", "diff"]).args(view).env("TERM", "xterm").env("COWBOX_PAGER", pager);
            let mut terminal = cowbox.terminal(24, 80);
            assert_eq!(terminal.wait(), 0, "{}", terminal.screen());
            assert!(terminal.screen().contains("evil-link"));
            assert_harmless(&terminal.screen());
        }
    }
}

fn names_as_they_are_are_not_for_a_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    let mut terminal = sandbox.cowbox(&["diff", "-z"]).terminal(24, 80);
    assert_eq!(terminal.wait(), 2);
    assert_harmless(&terminal.screen());
}

fn a_pager_is_used_on_a_terminal_only(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo line > new").done();
    let pager = sandbox.root().join("pager");
    fs::write(&pager, "#!/bin/sh\necho paged in $(pwd) secure=$LESSSECURE\nexec cat\n").unwrap();
    fs::set_permissions(&pager, fs::Permissions::from_mode(0o755)).unwrap();
    let diff = |args: &[&str]| sandbox.cowbox(&["diff"]).args(args).env("TERM", "xterm").env("PAGER", &pager);
    let mut terminal = diff(&[]).terminal(24, 80);
    assert_eq!(terminal.wait(), 0);
    assert!(terminal.screen().contains("paged in / secure=1") && terminal.screen().contains("+line"));
    for without in [&["-q"][..], &["--no-input"], &["--json"]] {
        let mut terminal = diff(without).terminal(24, 80);
        assert_eq!(terminal.wait(), 0);
        assert!(!terminal.screen().contains("paged") && terminal.screen().contains("new"), "{}", terminal.screen());
    }
    assert!(!diff(&[]).output().ok().stdout().contains("paged"));
    // Ctrl-C is the pager's; cowbox waits for it and ends as if nothing had happened.
    fs::write(&pager, "#!/bin/sh\ntrap 'echo interrupted; exit 0' INT\ncat; echo ready; while :; do sleep 0.1; done\n")
        .unwrap();
    let mut terminal = diff(&[]).terminal(24, 80);
    terminal.expect("ready");
    terminal.send(b"\x03");
    terminal.expect("interrupted");
    assert_eq!(terminal.wait(), 0);
}

fn a_pager_in_the_repo_is_not_started(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("bin/less", "#!/bin/sh\necho OWNED\n");
    sandbox.chmod("bin/less", 0o755);
    sandbox.sh("echo line > new").done();
    let bin = sandbox.repo().join("bin");
    let path = format!("{}:.:bin:/usr/bin:/bin", bin.display());
    for pager in [None, Some("less"), Some("./bin/less"), Some("less | cat"), Some(bin.join("less").to_str().unwrap())]
    {
        let mut cowbox = sandbox.cowbox(&["diff"]).env("TERM", "xterm").env("PATH", &path);
        if let Some(pager) = pager {
            cowbox = cowbox.env("PAGER", pager);
        }
        let mut terminal = cowbox.terminal(24, 80);
        assert_eq!(terminal.wait(), 0);
        assert!(!terminal.screen().contains("OWNED") && terminal.screen().contains("+line"), "{}", terminal.screen());
    }
}

fn colour_is_escaped_wherever_it_goes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(HOSTILE).done();
    let output = sandbox.cowbox(&["diff", "--color", "always"]).output().ok();
    assert!(output.stdout().contains("\x1b[32m"));
    assert_harmless(&output.stdout());
    // Without colour it is a patch, byte for byte.
    let forced = sandbox.cowbox(&["diff"]).env("FORCE_COLOR", "1").output().ok();
    assert!(forced.stdout().contains("+\x1b]0;owned\x07\r\u{202e}\n"));
}

/// A repo with commits, in which `*.bak` is ignored.
fn with_ignored(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "*.bak\n");
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    git_init(sandbox.repo());
    sandbox
}

fn what_is_ignored_or_inside_git_is_no_change_by_exit_code(engine: Engine) {
    let sandbox = with_ignored(engine);
    sandbox.sh("echo x > new.bak; echo x > .git/x; echo x > new").done();
    let views: [&[&str]; 4] = [&[], &["--stat"], &["--name-status"], &["--json"]];
    let check = |expected: i32| {
        for view in views {
            let args = [&["diff", "--exit-code"], view].concat();
            let output = sandbox.cowbox(&args).output();
            assert_eq!(output.exit_code(), expected, "{args:?}: {}", output.stderr());
        }
    };
    check(1);
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    // All that an apply takes has been taken.
    check(0);
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--", "new.bak"]).output().code(1);
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--", ".git"]).output().code(0);
}

fn a_rename_to_an_ignored_name_hides_no_deletion(engine: Engine) {
    let sandbox = with_ignored(engine);
    sandbox.sh("mv README.md README.bak; mv src/main.c src/other.c").done();
    assert_eq!(sandbox.changes(), ["A  README.bak", "D  README.md", "R  src/main.c -> src/other.c"]);
    let _ = sandbox.cowbox(&["diff", "--", "README.md"]).output().ok().prints(
        "diff --git a/README.md b/README.md\ndeleted file mode 100644\nindex 6efb3e7..0000000\n\
        --- a/README.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# api\n",
    );
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!((&json["changes"][0]["class"], &json["changes"][1]["class"]), (&"ignored".into(), &"tracked".into()));
    sandbox.change_repo(|_| {
        let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("--include-ignored");
    });
    let has = |path: &str| sandbox.repo().join(path).exists();
    assert!(!has("README.md") && !has("README.bak") && has("src/other.c") && !has("src/main.c"));
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "--include-ignored"]).output().done());
    assert!(has("README.bak"));
    assert!(sandbox.changes().is_empty());
}
