//! Applying a part: by path, directory, pattern; what stays behind can come later.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Engine, Fingerprint, Output, Sandbox, on, on_every_engine};
use crate::host::git_init;
use crate::landing::{Twin, apply, is_back, nothing_is_left, on_host, undo};

on_every_engine!(a_part_and_then_the_rest_give_the_whole, deletions_and_types_can_be_chosen_apart);
on!(native:
    directories_on_the_way_come_along,
    patterns_choose_as_in_ignore_files,
    names_of_any_bytes_can_be_chosen,
    a_rename_is_chosen_by_either_name,
    what_names_nothing_is_an_error_and_nothing_is_written,
    what_git_ignores_is_applied_only_on_demand,
    paths_are_those_of_the_directory_that_the_user_stands_in,
    parts_are_undone_one_by_one,
    a_child_of_what_the_host_made_a_file_is_in_conflict,
);

/// `apply -y -- PATHS`, of any bytes.
#[track_caller]
fn apply_bytes(sandbox: &Sandbox, paths: &[&[u8]]) -> Output {
    let mut output = None;
    sandbox.change_repo(|_| {
        let call = sandbox.cowbox(&["apply", "-y", "--"]);
        output = Some(paths.iter().fold(call, |call, path| call.arg(OsStr::from_bytes(path))).output());
    });
    output.unwrap()
}

const SCRIPT: &str =
    "echo more >> README.md; rm src/main.c; mkdir -p new/sub; echo a > new/a; echo b > new/sub/b; chmod 700 build.sh
    rm -r src/deep; echo file > src/deep; rm link; mkdir link; echo in > link/in; chmod 711 src";

fn a_part_and_then_the_rest_give_the_whole(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let twin = Twin::run(&sandbox, &[], SCRIPT);
    let all = sandbox.changes();
    apply(&sandbox, &["--", "README.md", "new/sub"]).done();
    let left: Vec<String> =
        all.iter().filter(|l| !["README.md", "new/sub", "new/sub/b", "new"].contains(&&l[3..])).cloned().collect();
    assert_eq!(sandbox.changes(), left, "the rest is still there, and only that");
    assert!(!sandbox.repo().join("new/a").exists());
    apply(&sandbox, &["--", "src"]).done();
    assert!(sandbox.repo().join("link").symlink_metadata().unwrap().is_symlink());
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing");
    for _ in 0..3 {
        undo(&sandbox).done();
    }
    twin.is_back(&sandbox);
    assert_eq!(sandbox.changes(), all);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
}

fn deletions_and_types_can_be_chosen_apart(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/a", "a\n");
    sandbox.write("dir/b", "b\n");
    sandbox.write("gone/a", "1\n");
    sandbox.write("gone/b", "2\n");
    let twin = Twin::run(&sandbox, &[], "rm -r dir gone; echo new > dir");
    // One file of a deleted directory; the directory itself has to wait for the rest.
    apply(&sandbox, &["--", "gone/a"]).done();
    assert!(!sandbox.repo().join("gone/a").exists() && sandbox.repo().join("gone/b").exists());
    // A name that is in the set means all below it: the file in the place of the directory, with its deletions.
    apply(&sandbox, &["--", "dir"]).done();
    assert_eq!(fs::read_to_string(sandbox.repo().join("dir")).unwrap(), "new\n");
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
}

fn directories_on_the_way_come_along(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "mkdir -p a/b/c; echo x > a/b/c/x; echo y > a/b/y; echo z > a/z; chmod 700 a; chmod 711 a/b
        rm build.sh; mkdir build.sh; echo in > build.sh/in; echo out > build.sh/out";
    let twin = Twin::run(&sandbox, &[], script);
    apply(&sandbox, &["--", "a/b/c/x", "build.sh/in"]).done();
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("a"), mode("a/b"), mode("a/b/c")), (0o700, 0o711, 0o755));
    assert_eq!(sandbox.changes(), ["A  a/b/y", "A  a/z", "A  build.sh/out"]);
    for (path, there) in
        [("a/b/c/x", true), ("a/b/y", false), ("a/z", false), ("build.sh/in", true), ("build.sh/out", false)]
    {
        assert_eq!(sandbox.repo().join(path).exists(), there, "{path}");
    }
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
}

fn patterns_choose_as_in_ignore_files(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("mkdir d; for f in a.rs d/b.rs d/c.txt 'd/*.rs' x.txt; do echo $f > \"$f\"; done").done();
    // Quoted, it is a name in the set, and then it means itself alone.
    apply(&sandbox, &["--", "d/*.rs"]).done();
    assert!(sandbox.repo().join("d/*.rs").exists() && !sandbox.repo().join("d/b.rs").exists());
    apply(&sandbox, &["--", "*.rs"]).done();
    assert!(sandbox.repo().join("a.rs").exists() && sandbox.repo().join("d/b.rs").exists());
    assert_eq!(sandbox.changes(), ["A  d/c.txt", "A  x.txt"]);
    apply(&sandbox, &["--", "d/?.t[x]t"]).done();
    assert_eq!(sandbox.changes(), ["A  x.txt"]);
}

fn names_of_any_bytes_can_be_chosen(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = r#"for n in 'new\nline' '\377\376' '-dash' ' ' 'a\\b' '\033[31m' '[' '{' '**' '\342\200\256'; do
        f=$(printf -- "${n}_"); echo x > "./$f"; done; mkdir "$(printf 'd\377')"; echo y > "$(printf 'd\377/f')""#;
    let twin = Twin::run(&sandbox, &[], script);
    let names: [&[u8]; 4] = [b"new\nline_", b"\xff\xfe_", b"-dash_", b"[_"];
    apply_bytes(&sandbox, &names).done();
    for name in names {
        assert!(sandbox.repo().join(OsStr::from_bytes(name)).exists(), "{name:?}");
    }
    assert_eq!(sandbox.changes().len(), 8);
    apply_bytes(&sandbox, &[b"d\xff/f"]).done();
    assert_eq!(sandbox.changes().len(), 6);
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
}

fn a_rename_is_chosen_by_either_name(engine: Engine) {
    for name in ["src/main.c", "lib/renamed.c"] {
        let sandbox = Sandbox::new(engine);
        let before = Fingerprint::of(sandbox.repo());
        sandbox.sh("mkdir lib; mv src/main.c lib/renamed.c; echo x > lib/other").done();
        assert!(sandbox.changes().iter().any(|l| l.starts_with('R')), "{:?}", sandbox.changes());
        apply(&sandbox, &["--", name]).done();
        assert!(!sandbox.repo().join("src/main.c").exists() && sandbox.repo().join("lib/renamed.c").exists(), "{name}");
        assert_eq!(sandbox.changes(), ["A  lib/other"], "{name}");
        undo(&sandbox).done();
        is_back(&before, &sandbox);
    }
}

fn what_names_nothing_is_an_error_and_nothing_is_written(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new").done();
    for path in ["nothing", "README.md", "*.zip", "new/below"] {
        let _ = sandbox.cowbox(&["apply", "-y", "--", "new", path]).output().code(1).says("matches");
    }
    for path in ["..", "/etc", ""] {
        let _ = sandbox.cowbox(&["apply", "-y", "--", "new", path]).output().code(2);
    }
    sandbox.check_repo();
    assert_eq!(sandbox.changes(), ["A  new"]);
}

fn what_git_ignores_is_applied_only_on_demand(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "*.o\nout/\n");
    sandbox.write("old.o", "old\n");
    sandbox.write("out/a", "a\n");
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    git_init(sandbox.repo());
    let twin = Twin::run(
        &sandbox,
        &[],
        "echo new > new.c; echo o > new.o; echo more >> old.o; rm -r out; mkdir -p deep; echo x > deep/x.o",
    );
    let _ = apply(&sandbox, &[]).ok().says("--include-ignored");
    let has = |path: &str| sandbox.repo().join(path).exists();
    assert!(has("new.c") && !has("new.o") && has("out/a") && !has("deep/x.o"));
    assert_eq!(fs::read_to_string(sandbox.repo().join("old.o")).unwrap(), "old\n");
    // Naming it is not enough: it is said why it stays behind.
    let _ = apply(&sandbox, &["--", "new.o"]).ok().says("--include-ignored");
    assert!(!has("new.o"));
    apply(&sandbox, &["--include-ignored", "--", "new.o"]).done();
    assert!(has("new.o") && has("out/a"));
    apply(&sandbox, &["--include-ignored"]).done();
    twin.landed(&sandbox, |_| false);
    nothing_is_left(&sandbox);
}

fn paths_are_those_of_the_directory_that_the_user_stands_in(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > src/new; echo y > new; echo z > src/deep/new").done();
    sandbox.change_repo(|repo| {
        sandbox.cowbox(&["apply", "-y", "--", "new"]).current_dir(repo.join("src")).output().done();
    });
    assert_eq!(sandbox.changes(), ["A  new", "A  src/deep/new"]);
    sandbox.change_repo(|repo| {
        sandbox.cowbox(&["apply", "-y", "--", "../new"]).current_dir(repo.join("src")).output().done();
    });
    assert_eq!(sandbox.changes(), ["A  src/deep/new"]);
    let path = sandbox.repo().join("src/deep");
    apply(&sandbox, &["--", path.to_str().unwrap()]).done();
    nothing_is_left(&sandbox);
}

fn parts_are_undone_one_by_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo one > one; echo two > two; echo more >> README.md").done();
    let first = Fingerprint::of(sandbox.repo());
    apply(&sandbox, &["--", "one"]).done();
    let second = Fingerprint::of(sandbox.repo());
    apply(&sandbox, &["--", "two", "README.md"]).done();
    undo(&sandbox).done();
    is_back(&second, &sandbox);
    undo(&sandbox).done();
    is_back(&first, &sandbox);
    let _ = undo(&sandbox).code(1).says("nothing of session");
    assert_eq!(sandbox.changes(), ["M  README.md", "A  one", "A  two"]);
}

fn a_child_of_what_the_host_made_a_file_is_in_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("mkdir made; echo x > made/x; echo new > src/deep/new; echo fine > fine").done();
    sandbox.change_repo(|_| on_host(&sandbox, "echo host > made; rm -r src/deep; echo host > src/deep"));
    for path in ["made/x", "src/deep/new", "made"] {
        let _ = sandbox.cowbox(&["apply", "-y", "--", path]).output().code(3);
    }
    sandbox.check_repo();
    apply(&sandbox, &["--conflict", "ours"]).done();
    let read = |path: &str| fs::read_to_string(sandbox.repo().join(path)).unwrap();
    assert_eq!((read("made"), read("src/deep"), read("fine")), ("host\n".into(), "host\n".into(), "fine\n".into()));
    apply(&sandbox, &["--conflict", "theirs", "--", "made"]).done();
    assert_eq!(read("made/x"), "x\n");
    assert!(sandbox.repo().join(Path::new("src/deep")).is_file());
}
