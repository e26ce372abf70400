//! The host changes what the session changes too: merged where a base is known, else refused. Nothing of the host's is lost.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};
use crate::host::git_init;

on_every_engine!(
    an_edit_during_the_run_without_a_commit_is_a_conflict,
    every_kind_of_conflict_is_named_and_nothing_is_written,
);
on!(native:
    a_conflict_is_found_without_a_walk_through_the_repo,
    ours_keeps_the_host_and_lands_the_rest,
    theirs_takes_the_session,
    markers_put_both_into_text,
    markers_are_for_text_alone,
    a_decision_can_be_made_for_each_path,
    a_directory_that_was_deleted_keeps_what_the_host_put_into_it,
    a_deletion_during_the_run_is_a_conflict,
    links_that_both_changed_are_a_conflict,
    an_edit_that_the_host_took_back_is_not_brought_back,
    an_edit_that_the_session_took_back_is_shown,
    permissions_that_were_changed_during_the_run_are_a_conflict,
);

/// Nine lines.
pub fn nine() -> String {
    (1..=9).map(|n| format!("line {n}\n")).collect()
}

/// The same with one of them changed.
pub fn nine_with(line: usize, text: &str) -> String {
    nine().replace(&format!("line {line}\n"), &format!("{text}\n"))
}

pub fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

/// As editors write: a new file in the place of the old.
pub fn replace(repo: &Path, path: &str, content: &str) {
    let temp = repo.join(".edited~");
    fs::write(&temp, content).unwrap();
    fs::rename(temp, repo.join(path)).unwrap();
}

/// `cowbox apply ARGS`, which may write.
#[track_caller]
pub fn apply(sandbox: &Sandbox, args: &[&str]) -> crate::common::Output {
    let mut said = None;
    sandbox.change_repo(|_| said = Some(sandbox.cowbox(&[&["apply", "-y"], args].concat()).output()));
    said.unwrap()
}

/// Runs `first`, lets the host make its edit, then runs `second`.
#[track_caller]
pub fn edit_during(sandbox: &Sandbox, first: &str, edit: impl FnOnce(&Path), second: &str) {
    let mut running = sandbox.shell(&[], &format!("{first}\necho ready; read line\n{second}")).spawn();
    running.expect("ready");
    sandbox.change_repo(edit);
    running.write("go on\n");
    running.wait().done();
}

pub fn with_git(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    fs::remove_dir_all(sandbox.repo().join(".git")).unwrap();
    sandbox.write("nine", nine());
    git_init(sandbox.repo());
    sandbox
}

fn an_edit_during_the_run_without_a_commit_is_a_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    edit_during(
        &sandbox,
        "sed -i 's/line 2/session/' nine",
        |repo| fs::write(repo.join("nine"), nine_with(8, "host")).unwrap(),
        "",
    );
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("nine: both the session and the host changed it");
    sandbox.check_repo();
}

/// One path for each kind of conflict.
fn every_kind(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    sandbox.write("content", nine());
    sandbox.write("binary", "a\0b\n");
    sandbox.write("type", "file\n");
    sandbox.write("mode", "mode\n");
    sandbox.chmod("mode", 0o644);
    sandbox.write("deleted-here", "x\n");
    sandbox.write("deleted-there", "x\n");
    sandbox.write("plain", "x\n");
    let script = "
        sed -i 's/line 5/session/' content
        printf 'a\\0session\\n' > binary
        rm type; mkdir type
        chmod 600 mode
        rm deleted-here
        echo session > deleted-there
        echo session > added
        echo session > plain
    ";
    sandbox.sh(script).done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("content"), nine_with(5, "host")).unwrap();
        fs::write(repo.join("binary"), "a\0host\n").unwrap();
        fs::remove_file(repo.join("type")).unwrap();
        symlink("README.md", repo.join("type")).unwrap();
        fs::set_permissions(repo.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(repo.join("deleted-here"), "host\n").unwrap();
        fs::remove_file(repo.join("deleted-there")).unwrap();
        fs::write(repo.join("added"), "host\n").unwrap();
    });
    sandbox
}

fn every_kind_of_conflict_is_named_and_nothing_is_written(engine: Engine) {
    let sandbox = every_kind(engine);
    snapshot!(sandbox.cowbox(&["apply", "-y"]).output(), @r"
    exit: 3
    --- stderr
    cowbox: warning: added: both the session and the host changed it, in the same place or without a known base
    cowbox: warning: binary: both the session and the host changed it, and it is not text that could be merged
    cowbox: warning: content: both the session and the host changed it, in the same place or without a known base
    cowbox: warning: deleted-here: the session deleted it, the host changed it
    cowbox: warning: deleted-there: the session changed it, the host deleted it
    cowbox: warning: mode: both the session and the host changed its permissions
    cowbox: warning: type: both the session and the host changed what it is
    cowbox: error: the host changed the same paths, nothing was applied
    cowbox: hint: `--conflict ours` keeps the host's, `theirs` takes the session's, `markers` puts both into the file
    cowbox: hint: name paths to decide for them alone: `cowbox apply --conflict theirs -- PATH`
    ");
    sandbox.check_repo();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let seen: Vec<(&str, Option<&str>)> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["conflict"].as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("added", Some("content")),
            ("binary", Some("binary")),
            ("content", Some("content")),
            ("deleted-here", Some("deleted-here")),
            ("deleted-there", Some("deleted-there")),
            ("mode", Some("mode")),
            ("plain", None),
            ("type", Some("type")),
        ]
    );
    let json = sandbox.cowbox(&["apply", "-y", "--json"]).output().code(3).json();
    assert_eq!(json["conflicts"].as_array().unwrap().len(), 7, "{json}");
    assert_eq!(json["applied"].as_array().unwrap().len(), 0, "{json}");
    let _ = sandbox.cowbox(&["apply", "-y", "--dry-run"]).output().code(3);
    sandbox.check_repo();
}

/// By the times of directories: listing one changes its access time, where the file system keeps those.
fn a_conflict_is_found_without_a_walk_through_the_repo(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("aside/deep/file", "x\n");
    sandbox.write("control/file", "x\n");
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
    let times = fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago);
    for dir in ["aside/deep", "aside", "control"] {
        fs::File::open(sandbox.repo().join(dir)).unwrap().set_times(times).unwrap();
    }
    let accessed = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().atime();
    let before = (accessed("aside"), accessed("aside/deep"));
    sandbox.write("nine", nine());
    // Not through the harness: its fingerprints list everything.
    let run = sandbox.shell(&[], "echo session > nine");
    for dir in ["aside/deep", "aside", "control"] {
        fs::File::open(sandbox.repo().join(dir)).unwrap().set_times(times).unwrap();
    }
    run.output().done();
    fs::write(sandbox.repo().join("nine"), "host\n").unwrap();
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("nine: both");
    sandbox.cowbox(&["apply", "-y", "--conflict", "theirs"]).output().done();
    let after = (accessed("aside"), accessed("aside/deep"));
    let control = accessed("control");
    assert_eq!(fs::read_dir(sandbox.repo().join("control")).unwrap().count(), 1);
    assert_ne!(accessed("control"), control, "this file system does not tell");
    assert_eq!(after, before);
    assert_eq!(read(&sandbox, "nine"), "session\n");
    sandbox.accept_repo();
}

fn ours_keeps_the_host_and_lands_the_rest(engine: Engine) {
    let sandbox = every_kind(engine);
    snapshot!(apply(&sandbox, &["--conflict", "ours"]), @r"
    exit: 0
    --- stderr
    cowbox: left out: 7 paths: the host's version is kept
    cowbox: 1 change applied · take it back with `cowbox undo api-[NAME]`
    ");
    assert_eq!(read(&sandbox, "plain"), "session\n");
    assert_eq!(read(&sandbox, "content"), nine_with(5, "host"));
    assert_eq!(read(&sandbox, "added"), "host\n");
    assert_eq!(read(&sandbox, "deleted-here"), "host\n");
    assert!(!sandbox.repo().join("deleted-there").exists());
    assert_eq!(fs::metadata(sandbox.repo().join("mode")).unwrap().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(sandbox.repo().join("type")).unwrap(), Path::new("README.md"));
}

fn theirs_takes_the_session(engine: Engine) {
    let sandbox = every_kind(engine);
    snapshot!(apply(&sandbox, &["--conflict", "theirs"]), @r"
    exit: 0
    --- stderr
    cowbox: deleted-here: `deleted-here` is deleted, and git holds no copy of it (untracked-deleted)
    cowbox: 8 changes applied · take it back with `cowbox undo api-[NAME]`
    ");
    assert_eq!(read(&sandbox, "content"), nine_with(5, "session"));
    assert_eq!(fs::read(sandbox.repo().join("binary")).unwrap(), b"a\0session\n");
    assert_eq!(read(&sandbox, "added"), "session\n");
    assert!(!sandbox.repo().join("deleted-here").exists());
    assert_eq!(read(&sandbox, "deleted-there"), "session\n");
    assert_eq!(fs::metadata(sandbox.repo().join("mode")).unwrap().mode() & 0o777, 0o600);
    assert!(sandbox.repo().join("type").is_dir());
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "content"), nine_with(5, "host"));
    assert_eq!(read(&sandbox, "deleted-here"), "host\n");
}

fn markers_put_both_into_text(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("nine", nine());
    sandbox
        .shell(&["--name", "it"], "sed -i 's/line 5/session/; s/line 1/first/' nine; echo session > added")
        .output()
        .done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("nine"), nine_with(5, "host")).unwrap();
        fs::write(repo.join("added"), "host\n").unwrap();
    });
    apply(&sandbox, &["--conflict", "markers"]).done();
    let both = nine_with(5, "<<<<<<< host\nhost\n=======\nsession\n>>>>>>> session it").replace("line 1\n", "first\n");
    assert_eq!(read(&sandbox, "nine"), both);
    assert_eq!(read(&sandbox, "added"), "<<<<<<< host\nhost\n=======\nsession\n>>>>>>> session it\n");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    sandbox.change_repo(|_| sandbox.cowbox(&["undo", "-y"]).output().done());
    assert_eq!(read(&sandbox, "nine"), nine_with(5, "host"));
    assert_eq!(read(&sandbox, "added"), "host\n");
}

fn markers_are_for_text_alone(engine: Engine) {
    let sandbox = every_kind(engine);
    let output = sandbox.cowbox(&["apply", "-y", "--conflict", "markers"]).output().code(3);
    sandbox.check_repo();
    let said = output.stderr();
    for path in ["binary", "deleted-here", "deleted-there", "mode", "type"] {
        assert!(said.contains(&format!("warning: {path}: ")), "{said}");
    }
    assert!(!said.contains("warning: content") && !said.contains("warning: added"), "{said}");
}

fn a_decision_can_be_made_for_each_path(engine: Engine) {
    let sandbox = every_kind(engine);
    apply(&sandbox, &["--conflict", "theirs", "--", "binary", "type", "deleted-there"]).done();
    apply(&sandbox, &["--conflict", "markers", "--", "content"]).done();
    // The rest is in conflict as before, what was decided is not.
    let said = sandbox.cowbox(&["apply", "-y"]).output().code(3).stderr();
    for path in ["added", "deleted-here", "mode"] {
        assert!(said.contains(&format!("warning: {path}: ")), "{said}");
    }
    assert_eq!(said.matches("warning").count(), 3, "{said}");
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!(fs::read(sandbox.repo().join("binary")).unwrap(), b"a\0session\n");
    assert!(read(&sandbox, "content").contains("<<<<<<< host\nhost\n=======\nsession\n>>>>>>> session"));
    assert_eq!(read(&sandbox, "added"), "host\n");
    assert_eq!(read(&sandbox, "plain"), "session\n");
}

fn a_directory_that_was_deleted_keeps_what_the_host_put_into_it(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/edited", "x\n");
    sandbox.write("dir/other", "x\n");
    sandbox.write("new/other", "x\n");
    sandbox.sh("rm -r dir new").done();
    sandbox.change_repo(|repo| {
        fs::write(repo.join("dir/edited"), "host\n").unwrap();
        fs::write(repo.join("new/own"), "host\n").unwrap();
    });
    let output = sandbox
        .cowbox(&["apply", "-y"])
        .output()
        .code(3)
        .says("dir/edited: the session deleted it, the host changed it");
    assert_eq!(output.stderr().matches("warning").count(), 1, "{}", output.stderr());
    sandbox.check_repo();
    let _ = apply(&sandbox, &["--conflict", "ours"]).ok().says("the host has put files into it");
    assert_eq!(read(&sandbox, "dir/edited"), "host\n");
    assert_eq!(read(&sandbox, "new/own"), "host\n");
    assert!(!sandbox.repo().join("dir/other").exists() && !sandbox.repo().join("new/other").exists());
}

fn a_deletion_during_the_run_is_a_conflict(engine: Engine) {
    let sandbox = with_git(engine);
    edit_during(
        &sandbox,
        "echo more >> nine; touch README.md; mv build.sh moved.sh",
        |repo| {
            fs::remove_file(repo.join("nine")).unwrap();
            fs::remove_file(repo.join("README.md")).unwrap();
        },
        "echo more >> nine",
    );
    // The one was changed by both, the other by the host alone, the third was only moved.
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("nine: the session changed it, the host deleted it");
    sandbox.check_repo();
    apply(&sandbox, &["--conflict", "ours"]).done();
    let repo = sandbox.repo();
    assert!(!repo.join("nine").exists() && !repo.join("README.md").exists());
    assert!(repo.join("moved.sh").exists() && !repo.join("build.sh").exists());
}

fn links_that_both_changed_are_a_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("ln -sfn src link").done();
    sandbox.change_repo(|repo| {
        fs::remove_file(repo.join("link")).unwrap();
        symlink("build.sh", repo.join("link")).unwrap();
    });
    for how in ["refuse", "markers"] {
        let _ = sandbox.cowbox(&["apply", "-y", "--conflict", how]).output().code(3).says("link: both");
        sandbox.check_repo();
    }
    apply(&sandbox, &["--conflict", "theirs"]).done();
    assert_eq!(fs::read_link(sandbox.repo().join("link")).unwrap(), Path::new("src"));
}

/// An edit that was not committed is there when the run starts, and the host takes it back meanwhile.
fn an_edit_that_the_host_took_back_is_not_brought_back(engine: Engine) {
    // Both of its edits, and one of them.
    for then in [nine(), nine_with(8, "edit")] {
        let sandbox = with_git(engine);
        sandbox.write("nine", nine_with(4, "edit").replace("line 8", "edit"));
        edit_during(&sandbox, "sed -i 's/line 1/session/' nine", |repo| replace(repo, "nine", &then), "");
        let output = sandbox.cowbox(&["apply", "-y"]).output().code(3);
        let _ = output.says("nine: both");
        sandbox.check_repo();
        // With markers it is for the user to decide.
        apply(&sandbox, &["--conflict", "markers"]).done();
        let text = read(&sandbox, "nine");
        assert!(text.contains(&format!("<<<<<<< host\n{then}=======\n")), "{text}");
    }
}

fn an_edit_that_the_session_took_back_is_shown(engine: Engine) {
    let sandbox = with_git(engine);
    sandbox.write("nine", nine_with(4, "edit"));
    edit_during(
        &sandbox,
        "git checkout --quiet nine",
        |repo| replace(repo, "nine", &nine_with(4, "edit").replace("line 8", "host")),
        "",
    );
    assert!(sandbox.changes().contains(&"M  nine".to_owned()), "{:?}", sandbox.changes());
    let _ = sandbox.cowbox(&["apply", "-y", "--", "nine"]).output().code(3).says("nine: both");
    sandbox.check_repo();
}

/// Nobody knows what they were before.
fn permissions_that_were_changed_during_the_run_are_a_conflict(engine: Engine) {
    let sandbox = with_git(engine);
    for (name, mode) in [("nine", 0o644), ("dir/file", 0o644), ("dir", 0o755)] {
        if name != "dir" {
            sandbox.write(name, nine());
        }
        sandbox.chmod(name, mode);
    }
    let edit = |repo: &Path| {
        replace(repo, "nine", &nine_with(8, "host"));
        for (name, mode) in [("nine", 0o600), ("dir", 0o700)] {
            fs::set_permissions(repo.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    edit_during(&sandbox, "sed -i 's/line 2/session/' nine; echo x > dir/new", edit, "");
    let output = sandbox.cowbox(&["apply", "-y"]).output().code(3);
    let _ = output.says("nine: both the session and the host changed its permissions").says("dir: both");
    sandbox.check_repo();
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!(fs::metadata(sandbox.repo().join("dir")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(read(&sandbox, "dir/new"), "x\n");
}
