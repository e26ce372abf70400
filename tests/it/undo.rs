//! `undo`: exactly as it was, path by path not where the host has changed since.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::XattrFlags;

use crate::common::{Engine, Fingerprint, Output, Sandbox, on, on_every_engine, snapshot};

on_every_engine!(
    everything_is_exactly_as_before,
    what_the_host_changed_since_stays_as_it_is,
    applies_are_taken_back_one_by_one,
);
on!(native:
    what_could_not_be_taken_back_can_be_later,
    what_is_gone_already_is_no_refusal,
    what_is_gone_already_can_be_applied_again,
    what_is_in_a_directory_that_stays_is_told_apart,
    a_directory_that_replaced_a_file_stays_as_a_whole,
    what_was_undone_can_be_applied_again,
    state_on_another_file_system_is_as_good,
    it_needs_a_yes,
    nothing_applied_is_said,
);

/// `cowbox ARGS`, which may write to the repo.
#[track_caller]
fn writing(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut said = None;
    sandbox.change_repo(|_| said = Some(sandbox.cowbox(args).output()));
    said.unwrap()
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

/// A repo with something of everything, long ago.
fn furnish(sandbox: &Sandbox) {
    for path in
        ["text", "deleted", "gone/a", "gone/b/c", "becomes-dir", "becomes-file/x", "linked", "mode", "dir/f", "moved"]
    {
        sandbox.write(path, format!("content of {path}\n"));
    }
    sandbox.write("binary", [0, 1, 2, 255]);
    let repo = sandbox.repo();
    fs::hard_link(repo.join("linked"), repo.join("gone/linked")).unwrap();
    symlink("nowhere", repo.join("dangling")).unwrap();
    for path in ["text", "deleted", "gone", "dir", "gone/b/c"] {
        rustix::fs::setxattr(repo.join(path), "user.note", path.as_bytes(), XattrFlags::empty()).unwrap();
    }
    for (path, mode) in [("mode", 0o640), ("dir", 0o750), ("text", 0o604), ("gone/b", 0o555)] {
        sandbox.chmod(path, mode);
    }
    let find = format!("find '{}' -depth -exec touch -h -d '2001-02-03 04:05:06.789' {{}} +", repo.display());
    crate::host::sh(&find);
}

const SCRIPT: &str = "
    echo session > text; printf '\\0\\1' > binary
    rm deleted; chmod 755 gone/b; rm -r gone
    rm becomes-dir; mkdir becomes-dir; echo x > becomes-dir/in
    rm -r becomes-file; echo x > becomes-file
    echo session > linked; chmod 600 mode; chmod 700 dir; echo x > dir/new
    mv moved elsewhere; ln -sfn README.md dangling
    mkdir -p new/deep; echo x > new/deep/file; ln new/deep/file new/other
";

fn everything_is_exactly_as_before(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    furnish(&sandbox);
    let before = Fingerprint::of(sandbox.repo()).but_for_ctime();
    sandbox.sh(SCRIPT).done();
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    assert_eq!((read(&sandbox, "text"), read(&sandbox, "new/other")), ("session\n".into(), "x\n".into()));
    snapshot!(writing(&sandbox, &["undo", "-y"]), @r"
    exit: 0
    --- stderr
    cowbox: 23 paths taken back · apply again with `cowbox apply api-[NAME]`
    ");
    let differences = before.differences(&Fingerprint::of(sandbox.repo()).but_for_ctime());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    open(&sandbox);
}

/// So that the test can remove it.
fn open(sandbox: &Sandbox) {
    let open = |repo: &Path| {
        let _ = fs::set_permissions(repo.join("gone/b"), fs::Permissions::from_mode(0o755));
    };
    sandbox.change_repo(open);
}

fn what_the_host_changed_since_stays_as_it_is(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for path in ["edited", "deleted", "plain", "brought-back", "mode"] {
        sandbox.write(path, "before\n");
    }
    sandbox.chmod("mode", 0o644);
    let script = "for f in edited deleted plain; do echo session > $f; done; rm brought-back; chmod 600 mode
        mkdir -p new/sub; echo x > new/a; echo x > new/sub/b; echo x > added";
    sandbox.sh(script).done();
    writing(&sandbox, &["apply", "-y"]).done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("edited"), "host\n").unwrap();
        fs::remove_file(repo.join("deleted")).unwrap();
        fs::write(repo.join("brought-back"), "host\n").unwrap();
        fs::write(repo.join("new/sub/own"), "host\n").unwrap();
        fs::set_permissions(repo.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    snapshot!(writing(&sandbox, &["undo", "-y"]), @r"
    exit: 3
    --- stderr
    cowbox: 4 paths taken back · apply again with `cowbox apply api-[NAME]`
    cowbox: warning: brought-back was changed on the host since, and stays as it is
    cowbox: warning: deleted was changed on the host since, and stays as it is
    cowbox: warning: edited was changed on the host since, and stays as it is
    cowbox: warning: mode was changed on the host since, and stays as it is
    cowbox: warning: new/sub/own was changed on the host since, and stays as it is
    ");
    assert_eq!(read(&sandbox, "edited"), "host\n");
    assert_eq!(read(&sandbox, "brought-back"), "host\n");
    assert_eq!(read(&sandbox, "new/sub/own"), "host\n");
    assert_eq!(read(&sandbox, "plain"), "before\n");
    assert_eq!(fs::metadata(sandbox.repo().join("mode")).unwrap().mode() & 0o777, 0o755);
    for gone in ["deleted", "added", "new/a", "new/sub/b"] {
        assert!(!sandbox.repo().join(gone).exists(), "{gone}");
    }
    // A second time there is nothing more to be done, and that is said.
    let _ = sandbox.cowbox(&["undo", "-y"]).output().code(3).says("0 paths taken back").says("edited was changed");
    sandbox.check_repo();
}

fn what_could_not_be_taken_back_can_be_later(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("plain", "before\n");
    sandbox.sh("mkdir -p new/sub; echo x > new/a; echo x > new/sub/b; echo session > plain; rm build.sh").done();
    let before = Fingerprint::of(sandbox.repo()).but_for_ctime();
    writing(&sandbox, &["apply", "-y"]).done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("new/own"), "host\n").unwrap();
        fs::write(repo.join("build.sh"), "host\n").unwrap();
    });
    let _ = writing(&sandbox, &["undo", "-y"]).code(3).says("new/own was changed").says("build.sh was changed");
    assert_eq!(read(&sandbox, "plain"), "before\n");
    assert!(!sandbox.repo().join("new/a").exists());
    sandbox.change_repo(|repo| {
        fs::remove_file(repo.join("new/own")).unwrap();
        fs::remove_file(repo.join("build.sh")).unwrap();
    });
    let _ = writing(&sandbox, &["undo", "-y"]).ok();
    let differences = before.differences(&Fingerprint::of(sandbox.repo()).but_for_ctime());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let _ = sandbox.cowbox(&["undo", "-y"]).output().code(1).says("has been applied");
}

fn what_is_gone_already_is_no_refusal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > added; mkdir new; echo x > new/f; echo x > README.md").done();
    writing(&sandbox, &["apply", "-y"]).done();
    sandbox.change_repo(|repo| {
        fs::remove_file(repo.join("added")).unwrap();
        fs::remove_file(repo.join("new/f")).unwrap();
    });
    writing(&sandbox, &["undo", "-y"]).done();
    assert_eq!(read(&sandbox, "README.md"), "# api\n");
    assert!(!sandbox.repo().join("new").exists());
}

fn what_is_gone_already_can_be_applied_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > added").done();
    let listed = sandbox.changes();
    writing(&sandbox, &["apply", "-y"]).done();
    sandbox.change_repo(|repo| fs::remove_file(repo.join("added")).unwrap());
    let _ = writing(&sandbox, &["undo", "-y"]).ok().says("1 path taken back");
    assert_eq!(sandbox.changes(), listed);
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!(read(&sandbox, "added"), "x\n");
}

fn what_is_in_a_directory_that_stays_is_told_apart(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("umask 022; mkdir -p pkg/sub; echo x > pkg/a; echo x > pkg/b; echo x > pkg/sub/c").done();
    writing(&sandbox, &["apply", "-y"]).done();
    sandbox.change_repo(|repo| {
        fs::set_permissions(repo.join("pkg"), fs::Permissions::from_mode(0o775)).unwrap();
        fs::write(repo.join("pkg/b"), "host\n").unwrap();
    });
    snapshot!(writing(&sandbox, &["undo", "-y"]), @r"
    exit: 3
    --- stderr
    cowbox: 3 paths taken back · apply again with `cowbox apply api-[NAME]`
    cowbox: warning: pkg was changed on the host since, and stays as it is
    cowbox: warning: pkg/b was changed on the host since, and stays as it is
    ");
    let left: Vec<_> = fs::read_dir(sandbox.repo().join("pkg")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["b"]);
    assert_eq!(sandbox.changes(), ["A  pkg/a", "A  pkg/sub", "A  pkg/sub/c"]);
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!((read(&sandbox, "pkg/b"), read(&sandbox, "pkg/sub/c")), ("host\n".into(), "x\n".into()));
    assert_eq!(fs::metadata(sandbox.repo().join("pkg")).unwrap().mode() & 0o777, 0o775);
}

fn a_directory_that_replaced_a_file_stays_as_a_whole(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("was-file", "before\n");
    sandbox.sh("umask 022; rm was-file; mkdir was-file; echo x > was-file/a; echo x > was-file/b").done();
    let listed = sandbox.changes();
    writing(&sandbox, &["apply", "-y"]).done();
    let set_mode = |mode: u32| {
        let path = sandbox.repo().join("was-file/a");
        sandbox.change_repo(|_| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap());
    };
    set_mode(0o600);
    let _ = writing(&sandbox, &["undo", "-y"]).code(3).says("0 paths taken back").says("was-file/a was changed");
    assert_eq!(sandbox.changes(), Vec::<String>::new(), "all of it is still applied");
    set_mode(0o644);
    writing(&sandbox, &["undo", "-y"]).done();
    assert_eq!(read(&sandbox, "was-file"), "before\n");
    assert_eq!(sandbox.changes(), listed);
}

fn what_was_undone_can_be_applied_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    furnish(&sandbox);
    sandbox.sh(SCRIPT).done();
    let listed = sandbox.changes();
    let mut applied = Vec::new();
    for _ in 0..3 {
        writing(&sandbox, &["apply", "-y"]).done();
        assert_eq!(sandbox.changes(), Vec::<String>::new());
        applied.push(Fingerprint::of(sandbox.repo()).written());
        writing(&sandbox, &["undo", "-y"]).done();
        assert_eq!(sandbox.changes(), listed);
    }
    assert!(applied[0].differences(&applied[2]).is_empty(), "{:?}", applied[0].differences(&applied[2]));
    open(&sandbox);
}

fn applies_are_taken_back_one_by_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox
        .shell(&["--name", "it"], "echo one > README.md; mkdir new; echo a > new/a; echo b > new/b; rm build.sh")
        .output()
        .done();
    let states = std::cell::RefCell::new(Vec::new());
    let note = || states.borrow_mut().push(Fingerprint::of(sandbox.repo()).but_for_ctime());
    note();
    writing(&sandbox, &["apply", "-y", "--", "new/a"]).done();
    note();
    writing(&sandbox, &["apply", "-y"]).done();
    note();
    sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "echo two > README.md; rm -r new"]).output().done();
    writing(&sandbox, &["apply", "-y"]).done();
    assert!(!sandbox.repo().join("new").exists());
    while let Some(wanted) = states.borrow_mut().pop() {
        writing(&sandbox, &["undo", "-y"]).done();
        let differences = wanted.differences(&Fingerprint::of(sandbox.repo()).but_for_ctime());
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
    let _ = sandbox.cowbox(&["undo", "-y"]).output().code(1).says("has been applied");
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!(read(&sandbox, "README.md"), "two\n");
}

fn state_on_another_file_system_is_as_good(engine: Engine) {
    let elsewhere = tempfile::Builder::new().prefix("cowbox-it-").tempdir_in("/dev/shm").unwrap();
    let mut sandbox = Sandbox::new(engine);
    sandbox.use_state(elsewhere.path().join("state"));
    furnish(&sandbox);
    // A file with several names is given back as a file of its own: copies cannot be linked to what stayed.
    fs::remove_file(sandbox.repo().join("gone/linked")).unwrap();
    crate::host::sh(&format!("touch -d '2001-02-03 04:05:06.789' '{}'", sandbox.repo().join("gone").display()));
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    assert_ne!(device(elsewhere.path()), device(sandbox.repo()), "they must be two file systems");
    let before = Fingerprint::of(sandbox.repo()).but_for_inodes();
    sandbox.sh(SCRIPT).done();
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    assert_eq!((read(&sandbox, "text"), read(&sandbox, "new/other")), ("session\n".into(), "x\n".into()));
    writing(&sandbox, &["undo", "-y"]).done();
    let differences = before.differences(&Fingerprint::of(sandbox.repo()).but_for_inodes());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!(read(&sandbox, "text"), "session\n");
}

fn it_needs_a_yes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > added").done();
    writing(&sandbox, &["apply", "-y"]).done();
    snapshot!(sandbox.cowbox(&["undo"]).output(), @r"
    exit: 4
    --- stderr
    cowbox: error: an undo writes to the repository, and there is no terminal to ask on
    cowbox: hint: say `-y` to do it without a question
    ");
    sandbox.check_repo();
}

fn nothing_applied_is_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > added").done();
    snapshot!(sandbox.cowbox(&["undo", "-y"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: nothing of session api-[NAME] has been applied
    cowbox: hint: `cowbox diff api-[NAME]` shows what could be
    ");
    sandbox.check_repo();
}
