//! Killed at any instant, an apply or an undo is completed or rolled back by the next command: all of it or nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::common::{Engine, Fingerprint, Output, Sandbox, on, on_every_engine, snapshot, wait_until};

on!(native:
    an_apply_that_is_killed_anywhere_can_be_completed,
    an_apply_that_is_killed_anywhere_can_be_rolled_back,
    an_undo_that_is_killed_anywhere_can_be_completed_or_rolled_back,
    completing_can_be_killed_anywhere_too,
    rolling_back_can_be_killed_anywhere_too,
    what_is_rolled_back_goes_no_other_way,
    across_file_systems_it_is_the_same,
    a_partial_undo_that_is_killed_leaves_the_rest_to_be_undone,
    what_was_cut_off_is_said_by_every_verb,
    another_apply_to_the_same_repo_waits_its_turn,
);
on_every_engine!(a_running_session_is_not_applied);

/// A session with every kind of step to apply, used again and again.
struct Case {
    sandbox: Sandbox,
    start: Fingerprint,
    wanted: Fingerprint,
    linked: bool,
}

const SCRIPT: &str = "set -e
    echo session > replaced
    rm deleted
    rm -r gone
    chmod -R 755 sealed; rm -r sealed
    rm file-to-dir; mkdir file-to-dir; echo x > file-to-dir/in
    rm -r dir-to-file; echo x > dir-to-file
    rm file-to-link; ln -s README.md file-to-link
    echo session > linked-1
    echo both > group-1; ln group-1 group-2; mkdir -p new/sub; ln group-1 new/group-3
    chmod 755 closed; echo session > closed/inside; rm closed/other; echo new > closed/new; chmod 555 closed
    chmod 700 looks-dir; chmod 600 looks-file
    mv old-name new-name
    echo x > new/sub/file; ln -s nowhere new/dangling; mkdir new/locked; echo x > new/locked/f; chmod 555 new/locked
    : > empty
    chmod 711 .
";

impl Case {
    fn new(engine: Engine) -> Self {
        Self::of(Sandbox::new(engine), true)
    }

    /// `linked`: with names of one file on the host, which copies cannot give back.
    fn of(sandbox: Sandbox, linked: bool) -> Self {
        for path in [
            "replaced",
            "deleted",
            "gone/a",
            "gone/b/c",
            "sealed/deep/f",
            "file-to-dir",
            "dir-to-file/x",
            "file-to-link",
            "linked-1",
            "closed/inside",
            "closed/other",
            "looks-dir/f",
            "looks-file",
            "old-name",
        ] {
            sandbox.write(path, format!("content of {path}\n"));
        }
        if linked {
            fs::hard_link(sandbox.repo().join("linked-1"), sandbox.repo().join("linked-2")).unwrap();
        }
        for (path, mode) in [
            ("sealed/deep", 0o555),
            ("sealed", 0o555),
            ("closed", 0o555),
            ("looks-dir", 0o755),
            ("looks-file", 0o644),
            ("", 0o755),
        ] {
            sandbox.chmod(path, mode);
        }
        sandbox.sh(SCRIPT).done();
        let start = Fingerprint::of(sandbox.repo()).but_for_ctime();
        let start = if linked { start } else { start.but_for_inodes() };
        let mut case = Self { sandbox, wanted: start.clone(), start, linked };
        case.call(&["apply", "-y"]).done();
        case.wanted = Fingerprint::of(case.sandbox.repo()).written();
        assert!(!start_of(&case).differences(&case.wanted).is_empty());
        case.call(&["undo", "-y"]).done();
        case.is_as_before("an undo without any crash");
        case
    }

    fn call(&self, args: &[&str]) -> Output {
        self.sandbox.cowbox(args).output()
    }

    /// The same with a kill at the `point`-th point; false: there are fewer.
    fn killed(&self, args: &[&str], point: u64) -> bool {
        let output = self.sandbox.cowbox(args).env("COWBOX_TEST_CRASH", point.to_string()).output();
        match output.status.signal() {
            Some(9) => true,
            _ => {
                output.done();
                false
            }
        }
    }

    #[track_caller]
    fn is_as_before(&self, after: &str) {
        let now = Fingerprint::of(self.sandbox.repo()).but_for_ctime();
        let now = if self.linked { now } else { now.but_for_inodes() };
        let differences = self.start.differences(&now);
        assert!(differences.is_empty(), "after {after}:\n{}", differences.join("\n"));
    }

    #[track_caller]
    fn is_applied(&self, after: &str) {
        let now = Fingerprint::of(self.sandbox.repo()).written();
        let differences = self.wanted.differences(&now);
        assert!(differences.is_empty(), "after {after}:\n{}", differences.join("\n"));
    }

    /// `undo -y`, whatever there is to be undone.
    #[track_caller]
    fn back(&self, after: &str) {
        let output = self.call(&["undo", "-y"]);
        let nothing = output.exit_code() == 1 && output.stderr().contains("has been applied");
        assert!(output.exit_code() == 0 || nothing, "after {after}: {}", output.stderr());
        self.is_as_before(after);
    }

    /// The session goes with the test, and so does what the apply changed.
    fn end(self) {
        self.back("the end");
        for dir in ["sealed", "sealed/deep", "closed", "new/locked"] {
            let _ = fs::set_permissions(self.sandbox.repo().join(dir), fs::Permissions::from_mode(0o755));
        }
        self.sandbox.accept_repo();
    }
}

fn start_of(case: &Case) -> Fingerprint {
    case.start.clone().written()
}

fn an_apply_that_is_killed_anywhere_can_be_completed(engine: Engine) {
    let case = Case::new(engine);
    let mut point = 1;
    while case.killed(&["apply", "-y"], point) {
        case.call(&["apply", "-y"]).done();
        case.is_applied(&format!("a kill at point {point} and its completion"));
        case.call(&["undo", "-y"]).done();
        case.is_as_before(&format!("a kill at point {point}, its completion and an undo"));
        point += 1;
    }
    case.is_applied("all points");
    assert!(point > 60, "only {point} points");
    case.end();
}

fn an_apply_that_is_killed_anywhere_can_be_rolled_back(engine: Engine) {
    let case = Case::new(engine);
    let mut point = 1;
    while case.killed(&["apply", "-y"], point) {
        case.back(&format!("a kill at point {point} and an undo"));
        point += 1;
    }
    case.back("all points");
    assert!(point > 60, "only {point} points");
    case.end();
}

fn an_undo_that_is_killed_anywhere_can_be_completed_or_rolled_back(engine: Engine) {
    let case = Case::new(engine);
    let mut point = 1;
    loop {
        case.call(&["apply", "-y"]).done();
        if !case.killed(&["undo", "-y"], point) {
            break;
        }
        if point % 2 == 0 {
            case.call(&["apply", "-y"]).done();
            case.is_applied(&format!("an undo killed at point {point} and rolled back"));
        }
        case.back(&format!("an undo killed at point {point}"));
        point += 1;
    }
    case.is_as_before("all points");
    assert!(point > 40, "only {point} points");
    case.end();
}

fn completing_can_be_killed_anywhere_too(engine: Engine) {
    let case = Case::new(engine);
    let mut point = 1;
    while case.killed(&["apply", "-y"], point) {
        // Each attempt comes further than the one before.
        let mut again = 1;
        while case.killed(&["apply", "-y"], again) {
            again += 1;
        }
        case.is_applied(&format!("a kill at point {point}, and {again} more"));
        case.back(&format!("a kill at point {point}, {again} more and an undo"));
        point += 9;
    }
    case.end();
}

fn rolling_back_can_be_killed_anywhere_too(engine: Engine) {
    let case = Case::new(engine);
    let mut point = 4;
    while case.killed(&["apply", "-y"], point) {
        let mut again = 1;
        loop {
            let output = case.sandbox.cowbox(&["undo", "-y"]).env("COWBOX_TEST_CRASH", again.to_string()).output();
            if output.status.signal() != Some(9) {
                break;
            }
            again += 1;
        }
        case.back(&format!("a kill at point {point}, and {again} more"));
        point += 7;
    }
    case.back("all points");
    case.end();
}

/// Nothing can be moved to another file system: what is put aside is copied, and so is what comes back.
fn across_file_systems_it_is_the_same(engine: Engine) {
    let elsewhere = tempfile::Builder::new().prefix("cowbox-it-").tempdir_in("/dev/shm").unwrap();
    let mut sandbox = Sandbox::new(engine);
    sandbox.use_state(elsewhere.path().join("state"));
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    assert_ne!(device(elsewhere.path()), device(sandbox.repo()), "they must be two file systems");
    let case = Case::of(sandbox, false);
    let mut point = 1;
    while case.killed(&["apply", "-y"], point) {
        if point % 2 == 0 {
            case.call(&["apply", "-y"]).done();
            case.is_applied(&format!("a kill at point {point} and its completion"));
        }
        case.back(&format!("a kill at point {point}"));
        point += 3;
    }
    case.back("all points of the apply");
    point = 1;
    loop {
        case.call(&["apply", "-y"]).done();
        if !case.killed(&["undo", "-y"], point) {
            break;
        }
        if point % 2 == 0 {
            case.call(&["apply", "-y"]).done();
            case.is_applied(&format!("an undo killed at point {point} and rolled back"));
        }
        case.back(&format!("an undo killed at point {point}"));
        point += 3;
    }
    case.is_as_before("all points of the undo");
    case.end();
}

/// What the host changed since is left out of an undo; killed or not, it can be taken back later.
fn a_partial_undo_that_is_killed_leaves_the_rest_to_be_undone(engine: Engine) {
    let case = Case::new(engine);
    let own = case.sandbox.repo().join("new/own");
    let mut point = 1;
    loop {
        case.call(&["apply", "-y"]).done();
        fs::write(&own, "host\n").unwrap();
        let undo = case.sandbox.cowbox(&["undo", "-y"]).env("COWBOX_TEST_CRASH", point.to_string()).output();
        let killed = undo.status.signal() == Some(9);
        if killed {
            // 0: it had been through but for the last line. 3: it was done now. 4: never.
            let code = case.call(&["undo", "-y"]).exit_code();
            assert!(code == 0 || code == 3, "point {point}: {code}");
        } else {
            let _ = undo.code(3);
        }
        assert_eq!(fs::read_to_string(&own).unwrap(), "host\n");
        fs::remove_file(&own).unwrap();
        case.call(&["undo", "-y"]).done();
        case.is_as_before(&format!("an undo in two parts, killed at point {point}"));
        if !killed {
            break;
        }
        point += 1;
    }
    assert!(point > 40, "only {point} points");
    case.end();
}

/// Begun with `undo`, gone on with `apply`: what was needed for the way forward may be gone.
fn what_is_rolled_back_goes_no_other_way(engine: Engine) {
    let case = Case::new(engine);
    let mut middle = 1;
    loop {
        assert!(case.killed(&["apply", "-y"], middle), "no point is in the middle");
        if case.call(&["show"]).stderr().contains("half done") {
            break;
        }
        case.back("a look for the middle");
        middle += 1;
    }
    case.back("the middle");
    for again in (1..30).step_by(2) {
        assert!(case.killed(&["apply", "-y"], middle + 9));
        let _ = case.sandbox.cowbox(&["undo", "-y"]).env("COWBOX_TEST_CRASH", again.to_string()).output();
        case.call(&["apply", "-y"]).done();
        case.is_applied(&format!("rolled back until point {again}, then applied"));
        case.back("that");
    }
    case.end();
}

fn what_was_cut_off_is_said_by_every_verb(engine: Engine) {
    let case = Case::new(engine);
    let mut point = 1;
    while case.killed(&["apply", "-y"], point) && !case.call(&["ls"]).ok().stderr().contains("half done") {
        case.back("a look for the middle");
        point += 1;
    }
    let half = Fingerprint::of(case.sandbox.repo());
    for verb in ["ls", "show"] {
        let _ =
            case.call(&[verb]).ok().says("was cut off in the middle: this repository is half done; `cowbox apply -y");
    }
    let _ = case.call(&["diff", "--name-status"]).ok().says("`cowbox undo -y");
    snapshot!(case.sandbox.sh("true"), @r"
    exit: 125
    --- stderr
    cowbox: error: the apply of session api-[NAME] was cut off in the middle: this repository is half done
    cowbox: hint: `cowbox apply -y api-[NAME]` completes it
    cowbox: hint: `cowbox undo -y api-[NAME]` rolls it back
    ");
    for verb in [&["apply"][..], &["undo"]] {
        let _ = case.call(verb).code(4).says("was cut off in the middle");
    }
    let _ = case.call(&["discard", "-y"]).code(4).says("was cut off in the middle");
    let _ = case.call(&["gc", "--force"]).ok().says("was cut off in the middle");
    let differences = half.differences(&Fingerprint::of(case.sandbox.repo()));
    assert!(differences.is_empty(), "it was left for now:\n{}", differences.join("\n"));
    let _ = case.call(&["undo", "-y"]).ok().says("it was rolled back");
    case.is_as_before("all of that");
    case.sandbox.sh("true").done();
    case.end();
}

fn another_apply_to_the_same_repo_waits_its_turn(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "one"], "echo one > one").output().done();
    sandbox.shell(&["--name", "two"], "echo two > two").output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "one"]).output().done());
    let repos: Vec<_> = fs::read_dir(sandbox.state().join("repos")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(repos.len(), 1, "{repos:?}");
    let lock = fs::File::open(repos[0].join("lock")).unwrap();
    lock.lock().unwrap();
    for verb in [&["apply", "-y", "two"][..], &["undo", "-y", "one"], &["apply", "--commits", "two"]] {
        let _ = sandbox.cowbox(verb).output().code(1).says("another cowbox is writing to");
    }
    sandbox.check_repo();
    drop(lock);
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y", "two"]).output().done());
    assert!(sandbox.repo().join("two").exists());
}

fn a_running_session_is_not_applied(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["--detach", "--name", "it"], "echo x > marker; while :; do sleep 1; done").output();
    let id = output.ok().stdout().trim().to_owned();
    wait_until("the command to write", || sandbox.session_dir(&id).join("upper/marker").exists().then_some(()));
    for verb in [&["apply", "-y"][..], &["undo", "-y"], &["apply", "--commits"]] {
        let _ = sandbox.cowbox(verb).output().code(1).says("session it is running").says("cowbox stop it");
    }
    sandbox.check_repo();
    sandbox.cowbox(&["stop"]).output().done();
    sandbox.change_repo(|_| sandbox.cowbox(&["apply", "-y"]).output().done());
    assert!(sandbox.repo().join("marker").exists());
    let leftover = |path: &Path| path.to_string_lossy().contains(".cowbox-");
    assert!(!Fingerprint::of(sandbox.repo()).has(leftover));
}
