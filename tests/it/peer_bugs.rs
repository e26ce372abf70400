//! Bugs that the closest peer has, each of which it ends with status 0.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

use crate::common::{Engine, Fingerprint, Sandbox, on_every_engine};
use crate::landing::{Twin, apply, is_back, on_host, undo};

on_every_engine!(
    an_edit_made_on_the_host_meanwhile_is_never_overwritten,
    the_mode_of_an_existing_directory_lands,
    no_mark_of_an_overlay_ends_up_on_the_users_files,
    no_device_lands_where_the_host_removed_the_directory,
    a_file_that_was_only_opened_for_append_is_not_modified,
    names_of_one_file_do_not_part_in_silence,
);

fn an_edit_made_on_the_host_meanwhile_is_never_overwritten(engine: Engine) {
    for in_place in [true, false] {
        let sandbox = Sandbox::new(engine);
        sandbox.sh("echo session > README.md; echo new > beside").done();
        sandbox.change_repo(|_| {
            // As an editor does it, and as a script does it.
            let edit = if in_place { "echo host > README.md" } else { "echo host > tmp && mv tmp README.md" };
            on_host(&sandbox, edit);
        });
        // Not in change_repo: it must not touch a thing.
        let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says("README.md");
        sandbox.check_repo();
        apply(&sandbox, &["--conflict", "ours"]).done();
        assert_eq!(fs::read_to_string(sandbox.repo().join("README.md")).unwrap(), "host\n");
        assert_eq!(fs::read_to_string(sandbox.repo().join("beside")).unwrap(), "new\n");
    }
}

fn the_mode_of_an_existing_directory_lands(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.chmod("src", 0o755);
    let twin = Twin::run(&sandbox, &[], "chmod 711 src; chmod 700 src/deep; chmod 750 .");
    apply(&sandbox, &[]).done();
    twin.landed(&sandbox, |_| false);
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("src"), mode("src/deep"), mode("")), (0o711, 0o700, 0o750));
    undo(&sandbox).done();
    twin.is_back(&sandbox);
}

fn no_mark_of_an_overlay_ends_up_on_the_users_files(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    // Each of these leaves marks in the layer: opaque, origin, impure.
    let script = "rm -r src/deep; mkdir src/deep; echo x > src/deep/x; mkdir n; mv n new; echo x > new/x
        echo more >> README.md; mv build.sh src/built.sh; ln README.md hard; rm link; mkdir link";
    let twin = Twin::run(&sandbox, &[], script);
    let upper = sandbox.session_dir(&sandbox.session_ids()[0]).join("upper");
    let marks = |root: &std::path::Path| format!("{:?}", Fingerprint::of(root)).matches("user.overlay.").count();
    assert!(marks(&upper) > 0, "the layer has marks");
    apply(&sandbox, &[]).done();
    assert_eq!(marks(sandbox.repo()), 0);
    twin.landed(&sandbox, |_| false);
}

fn no_device_lands_where_the_host_removed_the_directory(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/sub/gone", "x\n");
    sandbox.write("dir/gone", "y\n");
    sandbox.sh("rm dir/gone; rm -r dir/sub; echo new > new").done();
    sandbox.change_repo(|repo| fs::remove_dir_all(repo.join("dir")).unwrap());
    let before = Fingerprint::of(sandbox.repo());
    assert_eq!(sandbox.changes(), ["A  new"]);
    apply(&sandbox, &[]).done();
    assert!(fs::symlink_metadata(sandbox.repo().join("dir")).is_err());
    let devices = |dir: &std::path::Path| {
        let listed = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_type().unwrap());
        listed.filter(|t| t.is_char_device()).count()
    };
    assert_eq!(devices(sandbox.repo()), 0);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn a_file_that_was_only_opened_for_append_is_not_modified(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh(": >> README.md; : >> src/main.c; touch build.sh").done();
    let upper = sandbox.session_dir(&sandbox.session_ids()[0]).join("upper");
    assert!(upper.join("README.md").exists() && upper.join("build.sh").exists(), "they were copied up");
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--name-status"]).output().code(0).prints("");
    // Nothing is written: the repo is the very same at the end of the test.
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing");
}

fn names_of_one_file_do_not_part_in_silence(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("one", "x\n");
    fs::hard_link(sandbox.repo().join("one"), sandbox.repo().join("two")).unwrap();
    let before = Fingerprint::of(sandbox.repo());
    sandbox.sh("echo more >> one; cat two").prints("x\n").done();
    let _ = apply(&sandbox, &[]).ok().says("one has several names on the host");
    let read = |name: &str| fs::read_to_string(sandbox.repo().join(name)).unwrap();
    assert_eq!((read("one"), read("two")), ("x\nmore\n".into(), "x\n".into()));
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}
