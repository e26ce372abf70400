//! What is kept for an undo: wherever the state is, as exactly as it was, and for how long.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use crate::common::{Engine, Fingerprint, Sandbox, on, program};
use crate::host::in_namespace;
use crate::landing::{apply, is_back, on_host, undo, writing};

on!(native:
    access_lists_and_links_come_back_from_another_file_system,
    without_room_for_what_is_replaced_nothing_is_touched,
    without_room_for_what_comes_back_nothing_is_undone,
    a_closed_directory_of_a_group_that_a_namespace_does_not_know_is_opened,
    an_apply_of_a_newer_cowbox_is_left_alone,
    an_undo_that_fails_is_called_one,
    old_applies_are_freed_by_gc,
    contents_that_no_merge_needs_are_freed_by_gc,
    what_gc_has_begun_to_free_is_no_undo_any_more,
    gc_by_force_frees_all,
);

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

fn access_lists_and_links_come_back_from_another_file_system(engine: Engine) {
    let elsewhere = tempfile::Builder::new().prefix("cowbox-it-").tempdir_in("/dev/shm").unwrap();
    let mut sandbox = Sandbox::new(engine);
    sandbox.use_state(elsewhere.path().join("state"));
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    assert_ne!(device(elsewhere.path()), device(sandbox.repo()), "they must be two file systems");
    on_host(
        &sandbox,
        "mkdir -p gone/sub listed; echo x > gone/a; ln gone/a gone/sub/b; ln gone/a gone/c
        setfacl -m u:1:rw gone/a; setfacl -m u:1:rwx,d:u:1:rx gone/sub; setfattr -n user.containers.note -v x gone/sub
        setfacl -m u:1:rw README.md; chmod 620 README.md
        setfacl -d -m u:1:rwx listed; echo x > listed/plain; setfacl -b listed/plain; chmod 604 listed/plain",
    );
    let before = Fingerprint::of(sandbox.repo());
    sandbox.sh("rm -r gone; echo new > README.md; echo new > listed/plain").done();
    apply(&sandbox, &[]).done();
    assert!(!sandbox.repo().join("gone").exists());
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

/// The state of a session is put on a file system that is too small for what an apply replaces.
fn without_room_for_what_is_replaced_nothing_is_touched(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("large", vec![7; 40 << 20]);
    sandbox.sh(": > large; echo x > README.md").done();
    let (state, small) = (sandbox.state(), sandbox.root().join("small"));
    fs::create_dir(&small).unwrap();
    let (state, small) = (state.display(), small.display());
    let move_over =
        format!("mount -t tmpfs -o size=32m none {small}; cp -a {state}/. {small}; mount --bind {small} {state}");
    let apply = in_namespace(sandbox.cowbox(&["apply", "-y"]), &move_over);
    let _ = apply.output().code(1).says("not enough space in").says("everything is as it was");
    sandbox.check_repo();
    // Where there is room it lands.
    writing(&sandbox, &["apply", "-y"]).done();
    assert_eq!(read(&sandbox, "large"), "");
}

/// The same the other way round: the repo becomes too full for what was replaced to come back.
fn without_room_for_what_comes_back_nothing_is_undone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let repo = sandbox.root().join("small");
    fs::create_dir(&repo).unwrap();
    // Not the first word of the call: where signals are ignored, that is `env`.
    let cowbox = program().into_string().unwrap();
    let fill = format!(
        "mount -t tmpfs -o size=80m none {0}; cd {0}; head -c 30m /dev/zero > large; {cowbox} run --engine native -- rm large
        {cowbox} apply -y; head -c 45m /dev/zero > filler; \"$@\" && exit 99; test ! -e large; ls -A; rm filler",
        repo.display()
    );
    let undo = in_namespace(sandbox.cowbox(&["undo", "-y"]).current_dir(sandbox.root()), &fill).output().ok();
    assert_eq!(undo.stdout(), "filler\n", "{}", undo.stderr());
    let _ = undo.says("not enough space in").says("everything is as it was").says("1 path taken back");
}

/// Being root of a namespace does not help there; owning it does.
fn a_closed_directory_of_a_group_that_a_namespace_does_not_know_is_opened(engine: Engine) {
    let own = rustix::process::getegid();
    let Some(other) = rustix::process::getgroups().unwrap().into_iter().find(|group| *group != own) else { return };
    let sandbox = Sandbox::new(engine);
    sandbox.write("closed/old", "x\n");
    sandbox.chmod("closed", 0o555);
    sandbox.sh("chmod 755 closed; echo x > closed/new; chmod 555 closed").done();
    sandbox.change_repo(|repo| {
        std::os::unix::fs::chown(repo.join("closed"), None, Some(other.as_raw())).unwrap();
    });
    sandbox.change_repo(|_| in_namespace(sandbox.cowbox(&["apply", "-y"]), "true").output().done());
    assert_eq!(read(&sandbox, "closed/new"), "x\n");
    assert_eq!(fs::metadata(sandbox.repo().join("closed")).unwrap().mode() & 0o777, 0o555);
    sandbox.change_repo(|repo| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(repo.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    });
}

/// Changes a number of the apply in this directory.
fn rewrite(undo: &Path, name: &str, change: impl Fn(u64) -> u64) {
    let path = undo.join("undo.json");
    let mut done: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    done["intent"][name] = change(done["intent"][name].as_u64().unwrap()).into();
    fs::write(path, serde_json::to_vec(&done).unwrap()).unwrap();
}

/// Makes the apply in this directory so many days older.
fn age(undo: &Path, days: u64) {
    rewrite(undo, "time", |time| time - days * 24 * 60 * 60 * 1000);
}

fn an_apply_of_a_newer_cowbox_is_left_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > README.md").done();
    writing(&sandbox, &["apply", "-y"]).done();
    rewrite(&undo_dirs(&sandbox)[0], "format", |format| format + 1);
    let _ = sandbox.cowbox(&["undo", "-y"]).output().code(1).says("newer cowbox");
    let _ = sandbox.cowbox(&["gc"]).output().ok().says("newer cowbox");
    assert_eq!(undo_dirs(&sandbox).len(), 1);
    sandbox.check_repo();
}

fn an_undo_that_fails_is_called_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > README.md").done();
    writing(&sandbox, &["apply", "-y"]).done();
    fs::remove_file(undo_dirs(&sandbox)[0].join("0")).unwrap();
    let said = writing(&sandbox, &["undo", "-y"]).code(1).says("cannot take back README.md").says("as it was");
    assert!(!said.stderr().contains("apply"), "{}", said.stderr());
}

fn undo_dirs(sandbox: &Sandbox) -> Vec<PathBuf> {
    let dir = sandbox.session_dir(&sandbox.session_ids()[0]).join("undo");
    let mut found: Vec<_> = fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().path()).collect();
    found.sort();
    found
}

fn old_applies_are_freed_by_gc(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "echo x > README.md; echo x > added").output().done();
    writing(&sandbox, &["apply", "-y", "--", "README.md"]).done();
    writing(&sandbox, &["apply", "-y"]).done();
    let dirs = undo_dirs(&sandbox);
    assert_eq!(dirs.len(), 2);
    age(&dirs[0], 6);
    let freed = || sandbox.cowbox(&["gc"]).output().ok().stdout().contains("undo of old applies");
    assert!(!freed(), "six days are not old");
    age(&dirs[0], 2);
    let output = sandbox.cowbox(&["gc", "--dry-run"]).output().ok();
    assert!(output.stdout().contains("it  undo of old applies  "), "{}", output.stdout());
    assert_eq!(undo_dirs(&sandbox).len(), 2);
    let report = sandbox.cowbox(&["gc", "--json"]).output().ok().json();
    let removed = report["removed"].as_array().unwrap();
    assert!(removed.iter().any(|r| r["why"] == "undo" && r["name"] == "it"), "{report}");
    assert!(report["freed"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(undo_dirs(&sandbox), dirs[1..], "the newer one can still be taken back");
    writing(&sandbox, &["undo", "-y"]).done();
    assert!(!sandbox.repo().join("added").exists());
    // The session itself, and its work, are still there.
    writing(&sandbox, &["apply", "-y"]).done();
    age(&undo_dirs(&sandbox)[0], 8);
    assert!(freed());
    let _ = sandbox.cowbox(&["undo", "-y"]).output().code(1).says("too old to be taken back");
    sandbox.check_repo();
    assert!(!freed(), "nothing is left of them");
}

fn what_gc_has_begun_to_free_is_no_undo_any_more(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > README.md; rm build.sh").done();
    writing(&sandbox, &["apply", "-y"]).done();
    age(&undo_dirs(&sandbox)[0], 8);
    let killed = sandbox.cowbox(&["gc"]).env("COWBOX_TEST_CRASH", "1").output();
    assert_eq!(killed.status.signal(), Some(9));
    let _ = sandbox.cowbox(&["undo", "-y"]).output().code(1).says("too old to be taken back");
    sandbox.check_repo();
    assert_eq!(undo_dirs(&sandbox).len(), 1);
    let output = sandbox.cowbox(&["gc"]).output().ok();
    assert!(output.stdout().contains("undo of old applies"), "{}", output.stdout());
    assert!(undo_dirs(&sandbox).is_empty());
}

fn gc_by_force_frees_all(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > README.md").done();
    writing(&sandbox, &["apply", "-y"]).done();
    let output = sandbox.cowbox(&["gc", "--force"]).output().ok();
    assert!(output.stdout().contains("  forced  "), "{}", output.stdout());
    assert!(sandbox.session_ids().is_empty());
    assert_eq!(read(&sandbox, "README.md"), "x\n");
}

fn contents_that_no_merge_needs_are_freed_by_gc(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let lines = |first: &str, last: &str| format!("{first}\n{}{last}\n", "a line of the middle\n".repeat(30_000));
    sandbox.write("text", lines("first", "last"));
    let round = |number: u32| {
        let script = format!("sed -i '1s/.*/session {number}/' text");
        match number {
            0 => sandbox.shell(&["--name", "it"], &script).output().done(),
            _ => sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", &script]).output().done(),
        }
    };
    for number in 0..4 {
        round(number);
        apply(&sandbox, &[]).done();
    }
    let dir = sandbox.session_dir(&sandbox.session_ids()[0]);
    let taken = || fs::metadata(dir.join("base.pack")).unwrap().blocks() * 512;
    let grown = taken();
    assert!(grown > 3 * 600_000, "{grown}");
    // Every one of them is needed to take the applies back.
    sandbox.cowbox(&["gc"]).output().done();
    assert_eq!(taken(), grown);
    undo(&sandbox).done();
    apply(&sandbox, &[]).done();
    for undo in undo_dirs(&sandbox) {
        age(&undo, 8);
    }
    let output = sandbox.cowbox(&["gc"]).output().ok();
    assert!(output.stdout().contains("it  old bases of merges  "), "{}", output.stdout());
    assert!(taken() < 700_000, "{}", taken());
    round(4);
    sandbox.change_repo(|repo| fs::write(repo.join("text"), lines("session 3", "host")).unwrap());
    apply(&sandbox, &[]).done();
    assert!(read(&sandbox, "text") == lines("session 4", "host"), "merged with what is left");
}
