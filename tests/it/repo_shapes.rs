//! Repositories of every shape: wherever git keeps its data, whatever the path is called, however large it is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::{Cowbox, Engine, Fingerprint, Sandbox, on, on_containers, on_every_engine};
use crate::host::{self, Canary, git, git_init, in_namespace, overlay_at};

on_every_engine!(
    a_subdirectory_of_a_git_root_is_where_the_command_starts,
    a_directory_without_git_is_a_repo,
    an_empty_directory_is_a_repo,
    git_works_in_a_linked_worktree,
    git_works_with_a_git_directory_kept_elsewhere,
    git_works_in_a_superproject_and_its_submodule,
    git_works_in_a_submodule_on_its_own,
    a_link_to_the_repo_leads_to_the_same_sessions,
    a_repo_may_be_called_anything,
    the_state_directory_may_be_called_anything,
    read_only_files_and_directories_can_be_changed_like_outside,
    a_repo_with_a_mount_inside_is_refused_by_its_name,
    the_root_the_home_and_what_holds_it_are_refused,
    a_state_directory_inside_the_repo_is_refused,
    a_cache_directory_inside_the_repo_is_refused,
    twenty_thousand_files_start_and_diff_like_few,
    changes_deeper_than_a_path_may_be_long_are_kept,
    what_is_ignored_or_hidden_is_there_all_the_same,
    a_repo_of_another_user_can_be_worked_on,
    a_file_that_an_engine_left_can_be_renamed,
);

on_containers!(
    a_subdirectory_that_an_engine_cannot_carry_is_refused,
    a_git_directory_that_does_not_name_the_repo_is_not_shown,
);

on!(native:
    a_state_directory_on_an_overlay_is_refused_by_its_variable,
    a_state_directory_that_cannot_be_written_is_refused_by_its_variable,
    a_thousand_levels_need_no_thousand_descriptors,
    a_tree_too_deep_to_be_reviewed_says_so_and_can_be_discarded,
    a_subdirectory_of_any_bytes_is_where_the_command_starts,
    a_directory_named_with_c_is_the_repo,
    a_place_that_is_no_directory_is_refused,
);

/// `run`, `diff`, `ls`, `show`, `run --resume` and `discard` in `dir`, which has a README.md.
#[track_caller]
fn every_verb_works(sandbox: &Sandbox, dir: &Path, with: impl Fn(Cowbox) -> Cowbox) {
    let call = |cowbox: Cowbox| with(cowbox.current_dir(dir)).output();
    let real = dir.canonicalize().unwrap();
    let before = Fingerprint::of(&real);
    let name = format!("odd-{}", sandbox.id().trim_start_matches("cowbox-it-").to_lowercase());
    call(sandbox.shell(&["--name", &name], "cat README.md && echo hi > new && rm README.md")).prints("# odd\n").done();
    call(sandbox.cowbox(&["diff", "--name-status"])).prints("D  README.md\nA  new\n").done();
    call(sandbox.cowbox(&["diff", "--json"])).done();
    let shown = call(sandbox.cowbox(&["show", "--json"])).ok().json();
    let exact = match shown["repo_b64"].as_str() {
        None => shown["repo"].as_str().unwrap().as_bytes().to_vec(),
        Some(text) => {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.decode(text).unwrap()
        }
    };
    assert_eq!(OsString::from_vec(exact), real.as_os_str());
    let listed = call(sandbox.cowbox(&["ls", "--all"])).ok().stdout();
    let line = listed.lines().find(|line| line.contains(&name)).unwrap_or_else(|| panic!("{name} in {listed:?}"));
    assert!(!line.chars().any(char::is_control), "{line:?}");
    call(sandbox.cowbox(&["run", "--resume", &name, "--", "cat", "new"])).prints("hi\n").done();
    call(sandbox.cowbox(&["discard", "-y"])).done();
    let differences = before.differences(&Fingerprint::of(&real));
    assert!(differences.is_empty(), "{} was touched:\n{}", real.display(), differences.join("\n"));
}

/// Names that break what is split at blanks, quotes, commas, colons or lines, or taken for text.
fn odd_names() -> Vec<OsString> {
    let text = [
        "two words",
        " ends with a blank ",
        "it's",
        "say \"hi\"",
        "a,b",
        "a:b",
        "a:/b",
        "back\\slash",
        "line\nbreak",
        "tab\tand \x1b[31mred",
        "naïve 日本",
        "-rf",
        "--help",
        "$HOME `id` ;&|<>*?[x]{y}!#~%",
        "lowerdir=x,upperdir=y",
        "all of'it\"in,one:name\\\n-é",
    ];
    let mut names: Vec<OsString> = text.iter().map(OsString::from).collect();
    names.push(OsStr::from_bytes(b"not-utf8-\xff\xfe").to_owned());
    names
}

fn a_repo_may_be_called_anything(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for name in odd_names() {
        let dir = sandbox.home().join(&name);
        fs::create_dir_all(dir.join(".git")).unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dir.join("README.md"), "# odd\n").unwrap();
        every_verb_works(&sandbox, &dir, |cowbox| cowbox);
    }
}

fn the_state_directory_may_be_called_anything(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = sandbox.home().join("plain");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("README.md"), "# odd\n").unwrap();
    let text = ["-two words' \"é\"", "a,b:c\\d,upperdir=x", "line\nbreak"];
    let names = text.iter().map(OsString::from).chain([OsStr::from_bytes(b"bytes\xff").to_owned()]);
    for name in names {
        let state = sandbox.home().join(&name);
        every_verb_works(&sandbox, &dir, |cowbox| cowbox.env("COWBOX_STATE_DIR", state.join("state")));
        let with = |args: &[&str]| sandbox.cowbox(args).env("COWBOX_STATE_DIR", state.join("state"));
        with(&["gc"]).output().done();
        let left: Vec<_> = fs::read_dir(state.join("state/sessions")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn a_subdirectory_of_a_git_root_is_where_the_command_starts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "pwd; cat ../../README.md; echo new > here; cat er/leaf; cd ../.. && rm build.sh";
    let output = sandbox.shell(&[], script).current_dir(sandbox.repo().join("src/deep")).output();
    output.prints(format!("{}/src/deep\n# api\nleaf\n", sandbox.workspace())).done();
    assert_eq!(sandbox.changes(), ["D  build.sh", "A  src/deep/here"]);
    let from_below = sandbox.cowbox(&["diff", "--name-status"]).current_dir(sandbox.repo().join("src"));
    from_below.output().prints("D  build.sh\nA  src/deep/here\n").done();
}

fn a_directory_without_git_is_a_repo(engine: Engine) {
    let mut sandbox = Sandbox::new(engine);
    let dir = sandbox.home().join("no git here");
    fs::create_dir_all(dir.join("sub")).unwrap();
    fs::write(dir.join("notes"), "x\n").unwrap();
    // Only a git root reaches up: of a plain directory the directory itself is the repo.
    sandbox.use_repo(dir.join("sub"));
    let output = sandbox.sh("ls -A .; ls ../notes 2>/dev/null; echo hi > file");
    let seen = output.stdout();
    if engine.has_images() {
        assert_eq!(seen, "", "the directory above is not shown");
    }
    output.done();
    assert_eq!(sandbox.changes(), ["A  file"]);
    assert!(!dir.join("sub/file").exists());
}

fn an_empty_directory_is_a_repo(engine: Engine) {
    let mut sandbox = Sandbox::new(engine);
    let dir = sandbox.home().join("empty");
    fs::create_dir(&dir).unwrap();
    sandbox.use_repo(&dir);
    sandbox.sh("find . | wc -l").prints("1\n").done();
    assert!(sandbox.changes().is_empty());
    sandbox.sh("mkdir d; echo hi > d/file").done();
    assert_eq!(sandbox.changes(), ["A  d", "A  d/file"]);
}

/// What git is asked to do inside: everything that a session of work needs.
const GIT: &str = "set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com HOME=/tmp
git status --porcelain
echo inside > inside.txt
git add inside.txt
git commit --quiet --message inside
git log --format=%s
git status --porcelain
git checkout --quiet -b topic
git rev-parse --abbrev-ref HEAD";

/// What it answers in a clean repo with one commit `first`.
const ANSWER: &str = "inside\nfirst\ntopic\n";

fn git_works_in_a_linked_worktree(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let main = sandbox.home().join("the main repo");
    fs::create_dir(&main).unwrap();
    fs::write(main.join("file"), "x\n").unwrap();
    git_init(&main);
    let tree = sandbox.home().join("tree");
    git(&main, &["worktree", "add", "--quiet", "-b", "work", tree.to_str().unwrap()]);
    sandbox.use_repo(&tree);
    let canary = Canary::at(&main);
    sandbox.sh(GIT).prints(ANSWER).done();
    canary.check();
    assert_eq!(sandbox.changes(), ["A  inside.txt"]);
    // What git wrote to the directory elsewhere is part of the session too.
    let name = sandbox.only_record()["name"].as_str().unwrap().to_owned();
    let again = sandbox.cowbox(&["run", "--resume", &name, "--", "git", "log", "--format=%s"]);
    again.output().prints("inside\nfirst\n").done();
    canary.check();
    assert_eq!(git(&tree, &["log", "--format=%s"]), "first\n");
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
}

/// A working tree at `home/tree` whose git data is at `home/git data`.
fn separate_git_directory(sandbox: &Sandbox) -> (PathBuf, PathBuf) {
    let (tree, data) = (sandbox.home().join("tree"), sandbox.home().join("git data"));
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "x\n").unwrap();
    git(&tree, &["init", "--quiet", "--separate-git-dir", data.to_str().unwrap()]);
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "--message", "first"]);
    (tree, data)
}

fn git_works_with_a_git_directory_kept_elsewhere(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let (tree, data) = separate_git_directory(&sandbox);
    git(&tree, &["config", "core.worktree", tree.to_str().unwrap()]);
    sandbox.use_repo(&tree);
    let canary = Canary::at(&data);
    sandbox.sh(GIT).prints(ANSWER).done();
    canary.check();
    assert_eq!(sandbox.changes(), ["A  inside.txt"]);
}

/// `.git` is a file of the repo, and may name anything: what is shown inside must say that it belongs to this repo.
fn a_git_directory_that_does_not_name_the_repo_is_not_shown(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let (tree, data) = separate_git_directory(&sandbox);
    sandbox.use_repo(&tree);
    let script = format!("ls '{}' 2>/dev/null; git status 2>/dev/null; echo done", data.display());
    let output = sandbox.sh(&script).prints("done\n").ok();
    assert!(output.stderr().contains("git data"), "it is said: {}", output.stderr());
    // Nor one that names another.
    git(&tree, &["config", "core.worktree", "/somewhere/else"]);
    sandbox.sh(&script).prints("done\n").done();
}

/// A superproject `home/super` with a submodule at `lib/sub`.
fn superproject(sandbox: &Sandbox) -> PathBuf {
    let (library, root) = (sandbox.home().join("library"), sandbox.home().join("super"));
    for dir in [&library, &root] {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("file"), "x\n").unwrap();
        git_init(dir);
    }
    git(&root, &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib/sub"]);
    git(&root, &["commit", "--quiet", "--amend", "--message", "first"]);
    root
}

fn git_works_in_a_superproject_and_its_submodule(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let root = superproject(&sandbox);
    sandbox.use_repo(&root);
    let script = format!("(cd lib/sub\n{GIT})\ngit -c safe.directory='*' status --porcelain");
    // The submodule's commit moves, and the superproject sees it.
    sandbox.sh(&script).prints(format!("{ANSWER} M lib/sub\n")).done();
    assert_eq!(sandbox.changes(), ["A  lib/sub/inside.txt"]);
}

fn git_works_in_a_submodule_on_its_own(engine: Engine) {
    let mut sandbox = Sandbox::new(engine).with_image("debian");
    let root = superproject(&sandbox);
    sandbox.use_repo(root.join("lib/sub"));
    let canary = Canary::at(&root);
    sandbox.sh(GIT).prints(ANSWER).done();
    canary.check();
    assert_eq!(sandbox.changes(), ["A  inside.txt"]);
    assert_eq!(git(&root.join("lib/sub"), &["log", "--format=%s"]), "first\n");
}

fn a_link_to_the_repo_leads_to_the_same_sessions(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let link = sandbox.root().join("a link");
    symlink(sandbox.repo(), &link).unwrap();
    sandbox.shell(&[], "echo hi > new").current_dir(&link).output().done();
    assert_eq!(sandbox.only_record()["repo"], sandbox.repo().to_str().unwrap());
    assert_eq!(sandbox.changes(), ["A  new"]);
    let through = sandbox.cowbox(&["diff", "--name-status", "-C", link.join("src").to_str().unwrap()]);
    through.current_dir(sandbox.root()).output().prints("A  new\n").done();
}

fn read_only_files_and_directories_can_be_changed_like_outside(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("closed/file", "x\n");
    sandbox.write("closed/sub/file", "x\n");
    sandbox.write("locked", "locked\n");
    sandbox.write("secret", "secret\n");
    sandbox.chmod("locked", 0o444);
    sandbox.chmod("secret", 0o400);
    sandbox.chmod("closed/sub", 0o500);
    sandbox.chmod("closed", 0o555);
    let script = "set -e
        cat locked secret closed/sub/file
        chmod u+w locked closed closed/sub
        echo more >> locked; echo new > closed/new; rm closed/sub/file; chmod a-w closed/sub
        mkdir made; echo made > made/file; chmod 0555 made";
    sandbox.sh(script).prints("locked\nsecret\nx\n").done();
    let expected = ["M  closed", "A  closed/new", "D  closed/sub/file", "M  locked", "A  made", "A  made/file"];
    assert_eq!(sandbox.changes(), expected);
    sandbox.cowbox(&["discard", "-y"]).output().done();
    // The harness clears its scratch space as the user.
    sandbox.change_repo(|repo| {
        for dir in ["closed", "closed/sub"] {
            fs::set_permissions(repo.join(dir), fs::Permissions::from_mode(0o755)).unwrap();
        }
    });
}

fn a_repo_with_a_mount_inside_is_refused_by_its_name(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("src/mounted here/kept", "x\n");
    let at = sandbox.repo().join("src/mounted here");
    let script = format!("mount -t tmpfs none '{}'", at.display());
    let output = in_namespace(sandbox.shell(&[], "true"), &script).output().code(125);
    let said = output.stderr();
    assert!(said.contains(&format!("{} is a mount inside the repository", at.display())), "{said}");
    assert!(said.lines().any(|l| l.starts_with("cowbox: hint: ")), "{said}");
    let script = format!("mount --bind /etc '{}'", at.display());
    let _ = in_namespace(sandbox.shell(&[], "true"), &script).output().code(125).says("src/mounted here");
    assert!(sandbox.session_ids().is_empty());
    // The repo itself may well be a mount.
    if engine == Engine::Native {
        let script = format!("mount --bind '{0}' '{0}'", sandbox.repo().display());
        let run = in_namespace(sandbox.shell(&["--on-exit", "discard"], "cat README.md"), &script);
        run.output().prints("# api\n").done();
    }
}

fn the_root_the_home_and_what_holds_it_are_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    let link = sandbox.root().join("to-home");
    symlink(&home, &link).unwrap();
    for dir in [Path::new("/"), &home, home.parent().unwrap(), &link] {
        let output = sandbox.shell(&[], "true").env("HOME", &home).current_dir(dir).output().code(125);
        let said = output.stderr();
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("cowbox: error: the repository would be "), "{}: {said}", dir.display());
        assert!(lines[1].starts_with("cowbox: hint: ") && lines[1].contains("-C DIR"), "{said}");
    }
    assert!(sandbox.session_ids().is_empty());
}

fn a_state_directory_inside_the_repo_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let direct = sandbox.repo().join("src/.state");
    let link = sandbox.root().join("state-link");
    symlink(sandbox.repo().join("src"), &link).unwrap();
    for state in [direct, link.join(".state"), sandbox.repo().to_path_buf()] {
        let run = sandbox.shell(&[], "true").env("COWBOX_STATE_DIR", &state);
        let _ = run.output().code(125).says("inside the repository").says("COWBOX_STATE_DIR");
    }
    // And it has not been created by trying: the fingerprint at the end would tell.
}

fn a_cache_directory_inside_the_repo_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for cache in [sandbox.repo().join(".cache"), sandbox.repo().to_path_buf()] {
        let run = sandbox.shell(&[], "true").env("COWBOX_CACHE_DIR", &cache);
        let _ = run.output().code(125).says("inside the repository").says("COWBOX_CACHE_DIR");
    }
    assert!(sandbox.session_ids().is_empty());
}

fn a_state_directory_on_an_overlay_is_refused_by_its_variable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = sandbox.root().join("ovl");
    let run = sandbox.shell(&[], "true").env("COWBOX_STATE_DIR", dir.join("merged/state"));
    let output = in_namespace(run, &overlay_at(&dir)).output().code(125);
    let said = output.stderr();
    let error = said.lines().find(|l| l.starts_with("cowbox: error: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(said.contains("COWBOX_STATE_DIR"), "{said}");
    assert!(error.contains("overlay"), "{said}");
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
    assert!(!dir.join("upper/state/sessions").read_dir().is_ok_and(|mut d| d.next().is_some()), "a session was left");
    // `work/work` is closed to its owner.
    host::sh(&format!("chmod -R u+rwX {}", dir.display()));
}

fn a_state_directory_that_cannot_be_written_is_refused_by_its_variable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("a file");
    fs::write(&file, "x").unwrap();
    let mut places = vec![file.clone(), file.join("below"), PathBuf::from("/proc/nope"), PathBuf::from("/dev/null/x")];
    let closed = sandbox.root().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    if !host::is_root() {
        places.push(closed.join("state"));
    }
    for place in places {
        let run = sandbox.shell(&[], "true").env("COWBOX_STATE_DIR", &place);
        let _ = run.output().code(125).says("cowbox: error: ").says("COWBOX_STATE_DIR");
        // Looking at what is there needs no place to write.
        let ls = sandbox.cowbox(&["ls"]).env("COWBOX_STATE_DIR", &place).output();
        assert!(matches!(ls.exit_code(), 0 | 1), "{}", ls.stderr());
    }
    assert_eq!(fs::read(&file).unwrap(), b"x");
}

fn twenty_thousand_files_start_and_diff_like_few(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for dir in 0..200 {
        fs::create_dir_all(sandbox.repo().join(format!("big/{dir}"))).unwrap();
        for file in 0..100 {
            fs::write(sandbox.repo().join(format!("big/{dir}/{file}")), b"x").unwrap();
        }
    }
    sandbox.sh("find big -type f | wc -l; echo y > big/7/7; rm -r big/8; echo n > big/9/new").prints("20000\n").done();
    let changes = sandbox.changes();
    assert_eq!(changes.len(), 1 + 101 + 1, "{changes:?}");
    for line in ["M  big/7/7", "D  big/8", "D  big/8/99", "A  big/9/new"] {
        assert!(changes.iter().any(|c| c == line), "{line}");
    }
    // Everything gone at once: each file is named.
    sandbox.sh("rm -r big").done();
    assert_eq!(sandbox.changes().len(), 20_201);
}

/// Directories whose path is longer than any call would take.
fn changes_deeper_than_a_path_may_be_long_are_kept(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Two that are just short enough, one put below the other.
    let chain = vec!["d".repeat(100); 30].join("/");
    let script = format!("set -e; mkdir -p a/{chain} b/{chain}; echo x > b/{chain}/leaf; mv b a/{chain}/");
    sandbox.sh(&script).done();
    let changes = sandbox.changes();
    assert_eq!(changes.len(), 63);
    assert!(changes[62].ends_with("/leaf") && changes[62].len() > 6000, "{}", changes[62].len());
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["summary"]["added"], 63);
}

/// A command must not be able to make its own review impossible.
fn a_thousand_levels_need_no_thousand_descriptors(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("i=0; while [ $i -lt 1100 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done; echo x > leaf").done();
    // What login shells have.
    let limited = |args: &[&str]| sandbox.cowbox(args).through("ulimit -S -n 1024; exec \"$@\"").output();
    let output = limited(&["diff", "--name-status"]).ok();
    assert_eq!(output.stdout().lines().count(), 1101);
    assert_eq!(limited(&["diff", "--json"]).ok().json()["summary"]["added"], 1101);
    limited(&["discard", "-y"]).done();
}

/// Whatever it makes, it can be thrown away.
fn a_tree_too_deep_to_be_reviewed_says_so_and_can_be_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let program = "import os\nfor i in range(6000): os.mkdir('d'); os.chdir('d')";
    sandbox.run(&[], &[host::python(), "-c", program]).output().says("the changes are kept").done();
    let limited = |args: &[&str]| sandbox.cowbox(args).through("ulimit -S -n 1024; exec \"$@\"").output();
    let output =
        limited(&["diff", "--name-status"]).code(1).says("cowbox: error: ").says("directories inside each other");
    assert!(output.stderr().len() < 2000, "{}", output.stderr().len());
    limited(&["discard", "-y"]).done();
}

fn what_is_ignored_or_hidden_is_there_all_the_same(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".gitignore", "target/\n*.log\n");
    sandbox.write("target/big.o", "o\n");
    sandbox.write(".hidden/.file", "h\n");
    sandbox.sh("cat target/big.o .hidden/.file; echo x > target/new.log").prints("o\nh\n").done();
    assert_eq!(sandbox.changes(), ["A  target/new.log"]);
}

fn a_subdirectory_of_any_bytes_is_where_the_command_starts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for name in odd_names() {
        fs::create_dir_all(sandbox.repo().join(&name)).unwrap();
    }
    for name in odd_names() {
        let dir = sandbox.repo().join(&name);
        let run = sandbox.run(&["--on-exit", "discard"], &["pwd"]).current_dir(&dir);
        run.output().prints([dir.as_os_str().as_bytes(), b"\n"].concat()).done();
    }
}

fn a_subdirectory_that_an_engine_cannot_carry_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let (bytes, line) = (OsStr::from_bytes(b"b\xff"), OsStr::new("li\nne,it's:\"x\" \\"));
    for name in [bytes, line] {
        fs::create_dir(sandbox.repo().join(name)).unwrap();
    }
    let inside = |name: &OsStr| sandbox.run(&["--on-exit", "discard"], &["pwd"]).current_dir(sandbox.repo().join(name));
    let _ = inside(bytes).output().code(125).says("not UTF-8").says("--engine native");
    inside(line).output().prints([b"/workspace/", line.as_bytes(), b"\n"].concat()).done();
}

/// Files of another owner: sub-ids for a plain user, anybody's for root.
fn a_repo_of_another_user_can_be_worked_on(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let repo = sandbox.repo().display().to_string();
    let chown = |owner: &str| {
        if host::is_root() {
            let owner = if owner == "0:0" { owner } else { "12345:12345" };
            host::sh(&format!("chown -hR {owner} '{repo}'"));
        } else {
            host::sh(&format!("unshare --user --map-root-user --map-auto chown -hR {owner} '{repo}'"));
        }
    };
    chown("5:5");
    assert_ne!(fs::metadata(sandbox.repo()).unwrap().uid(), rustix::process::geteuid().as_raw());
    sandbox.sh("cat README.md; echo hi > new; rm build.sh").prints("# api\n").done();
    assert_eq!(sandbox.changes(), ["A  new", "D  build.sh"].iter().rev().copied().collect::<Vec<_>>());
    sandbox.cowbox(&["discard", "-y"]).output().done();
    sandbox.change_repo(|_| chown("0:0"));
}

/// Rootless engines leave files of sub-ids. To rename one it is copied up, and its owner must be known for that.
fn a_file_that_an_engine_left_can_be_renamed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let left = sandbox.repo().join("left.log");
    fs::write(&left, "of an engine\n").unwrap();
    let chown = |owner: &str| {
        let as_who = if host::is_root() { "" } else { "unshare --user --map-root-user --map-auto " };
        host::sh(&format!("{as_who}chown {owner} '{}'", left.display()));
    };
    sandbox.change_repo(|_| chown("5:5"));
    sandbox.sh("mv left.log kept.log; cat kept.log").prints("of an engine\n").done();
    assert_eq!(sandbox.changes(), ["R  left.log -> kept.log"]);
    sandbox.change_repo(|_| chown("0:0"));
}

fn a_directory_named_with_c_is_the_repo(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let run = sandbox.run(&["-C", sandbox.repo().join("src").to_str().unwrap()], &["pwd"]).current_dir("/");
    run.output().prints(format!("{}/src\n", sandbox.workspace())).done();
    let relative = sandbox.run(&["-C", "../api/src"], &["pwd"]);
    relative.output().prints(format!("{}/src\n", sandbox.workspace())).done();
}

fn a_place_that_is_no_directory_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (place, why) in [("nowhere", "no such file"), ("README.md", "not a directory")] {
        let output = sandbox.run(&["-C", place], &["true"]).output().code(125);
        assert!(output.stderr().starts_with("cowbox: error: ") && output.stderr().contains(why), "{}", output.stderr());
    }
    // The directory that we stand in may be gone.
    let gone = sandbox.root().join("gone");
    fs::create_dir(&gone).unwrap();
    let script = format!("cd '{0}' && rmdir '{0}' && exec \"$@\"", gone.display());
    let _ = sandbox.shell(&[], "true").through(&script).output().code(125).says("cowbox: error: ");
}
