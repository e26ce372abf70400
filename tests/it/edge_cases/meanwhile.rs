//! The host changes while the session runs, or after it. Nothing of the host's is ever lost.

use std::fs;
use std::path::Path;

use crate::common::{Engine, Fingerprint, Sandbox, on, on_every_engine};
use crate::landing::{apply, is_back, nothing_is_left, on_host, undo};

on_every_engine!(
    the_same_edit_on_both_sides_is_no_conflict,
    edits_of_different_lines_are_merged,
    an_edit_during_the_run_is_not_overwritten,
    what_the_host_put_into_a_deleted_directory_stays,
);
on!(native:
    an_edit_of_what_the_session_deleted_is_a_conflict,
    a_deletion_of_what_the_session_edited_is_a_conflict,
    both_made_the_same_path,
    an_edit_of_what_the_session_only_touched_stays,
    the_hosts_mode_and_the_sessions_content_both_land,
    both_changed_the_mode,
    whiteouts_in_a_directory_that_the_host_deleted_are_nothing,
    a_directory_that_the_host_deleted_comes_back_for_what_is_new_in_it,
    a_parent_that_became_a_link_is_never_followed,
    a_directory_that_became_a_file_meets_what_the_host_put_into_it,
    binary_edits_on_both_sides_are_a_conflict,
    an_edit_after_the_apply_is_not_undone,
);

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

fn on_host_later(sandbox: &Sandbox, script: &str) {
    sandbox.change_repo(|_| on_host(sandbox, script));
}

/// Refused, and not a thing is touched.
#[track_caller]
fn refused(sandbox: &Sandbox, says: &str) {
    let _ = sandbox.cowbox(&["apply", "-y"]).output().code(3).says(says).says("nothing was applied");
    sandbox.check_repo();
}

const TEN: &str = "for n in 1 2 3 4 5 6 7 8 9 10; do echo line $n; done > ten";

fn the_same_edit_on_both_sides_is_no_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo same > README.md; echo new > new; rm build.sh; mkdir d; ln -sfn src link; chmod 700 src").done();
    on_host_later(
        &sandbox,
        "echo same > t; mv t README.md; echo new > new; rm build.sh; mkdir d; ln -sfn src link; chmod 700 src",
    );
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing");
}

fn edits_of_different_lines_are_merged(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    on_host(&sandbox, TEN);
    sandbox.sh("sed -i 's/line 2$/session 2/' ten").done();
    on_host_later(&sandbox, "sed -i 's/line 9$/host 9/' ten");
    let before = Fingerprint::of(sandbox.repo());
    apply(&sandbox, &[]).done();
    let text = read(&sandbox, "ten");
    assert!(text.contains("session 2\n") && text.contains("host 9\n") && text.lines().count() == 10, "{text}");
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
    on_host_later(&sandbox, "sed -i 's/line 2$/host 2/' ten");
    refused(&sandbox, "ten");
    let _ = apply(&sandbox, &["--conflict", "markers"]).ok();
    let text = read(&sandbox, "ten");
    assert!(
        ["<<<<<<<", "host 2\n", "=======", "session 2\n", ">>>>>>>", "host 9\n"].iter().all(|s| text.contains(s)),
        "{text}"
    );
}

fn an_edit_during_the_run_is_not_overwritten(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "echo session > README.md; echo ready; read line; echo more > src/main.c; rm build.sh; echo end";
    let mut running = sandbox.shell(&[], script).spawn();
    running.expect("ready");
    on_host_later(&sandbox, "echo host > t; mv t README.md; echo host > src/main.c; echo host >> build.sh");
    running.write("go on\n");
    running.wait().done();
    let changes = sandbox.changes();
    assert!(changes.iter().any(|c| c.ends_with("README.md")), "{changes:?}");
    refused(&sandbox, "README.md");
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!((read(&sandbox, "README.md"), read(&sandbox, "src/main.c")), ("host\n".into(), "host\n".into()));
    assert!(read(&sandbox, "build.sh").ends_with("host\n"));
}

fn what_the_host_put_into_a_deleted_directory_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("rm -r src").done();
    on_host_later(&sandbox, "echo host > src/deep/hosts");
    let before = Fingerprint::of(sandbox.repo());
    let _ = apply(&sandbox, &[]).ok().says("the host has put files into it");
    assert_eq!(read(&sandbox, "src/deep/hosts"), "host\n");
    assert!(!sandbox.repo().join("src/main.c").exists() && !sandbox.repo().join("src/deep/er").exists());
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn an_edit_of_what_the_session_deleted_is_a_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("rm README.md; rm -r src").done();
    on_host_later(&sandbox, "echo host >> README.md; echo host >> src/deep/er/leaf");
    refused(&sandbox, "README.md");
    refused(&sandbox, "src/deep/er/leaf");
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert_eq!(
        (read(&sandbox, "README.md"), read(&sandbox, "src/deep/er/leaf")),
        ("# api\nhost\n".into(), "leaf\nhost\n".into())
    );
    assert!(!sandbox.repo().join("src/main.c").exists());
    apply(&sandbox, &["--conflict", "theirs"]).done();
    assert!(!sandbox.repo().join("README.md").exists() && !sandbox.repo().join("src").exists());
}

fn a_deletion_of_what_the_session_edited_is_a_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo more >> README.md; echo more >> src/deep/er/leaf; ln -sfn src link").done();
    on_host_later(&sandbox, "rm README.md link; rm -r src/deep");
    for path in ["README.md", "src/deep/er/leaf", "link"] {
        refused(&sandbox, path);
    }
    apply(&sandbox, &["--conflict", "ours"]).done();
    assert!(!sandbox.repo().join("README.md").exists() && !sandbox.repo().join("src/deep").exists());
    apply(&sandbox, &["--conflict", "theirs"]).done();
    assert_eq!(
        (read(&sandbox, "README.md"), read(&sandbox, "src/deep/er/leaf")),
        ("# api\nmore\n".into(), "leaf\nmore\n".into())
    );
}

fn both_made_the_same_path(engine: Engine) {
    for made in ["echo host > new", "mkdir new; echo host > new/in", "ln -s README.md new"] {
        for script in ["echo session > new", "mkdir new; echo session > new/x", "ln -s src new"] {
            if made.starts_with("mkdir") && script.starts_with("mkdir") {
                continue;
            }
            let sandbox = Sandbox::new(engine);
            sandbox.sh(script).done();
            on_host_later(&sandbox, made);
            let before = Fingerprint::of(sandbox.repo());
            refused(&sandbox, "new");
            apply(&sandbox, &["--conflict", "ours"]).done();
            is_back(&before, &sandbox);
        }
    }
    // Two directories are one; what is in both is compared.
    let sandbox = Sandbox::new(engine);
    sandbox.sh("mkdir new; echo session > new/x").done();
    on_host_later(&sandbox, "mkdir new; echo host > new/in");
    apply(&sandbox, &[]).done();
    assert_eq!((read(&sandbox, "new/x"), read(&sandbox, "new/in")), ("session\n".into(), "host\n".into()));
}

fn an_edit_of_what_the_session_only_touched_stays(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("touch README.md src/main.c build.sh; echo n > n").done();
    on_host_later(&sandbox, "echo host > README.md; rm src/main.c; rm build.sh; mkdir build.sh");
    assert_eq!(sandbox.changes(), ["A  n"]);
    apply(&sandbox, &[]).done();
    assert_eq!(read(&sandbox, "README.md"), "host\n");
    assert!(!sandbox.repo().join("src/main.c").exists() && sandbox.repo().join("build.sh").is_dir());
}

fn the_hosts_mode_and_the_sessions_content_both_land(engine: Engine) {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new(engine);
    sandbox.chmod("README.md", 0o644);
    sandbox.sh("echo session > README.md; chmod 700 build.sh").done();
    on_host_later(&sandbox, "chmod 600 README.md; echo echo host >> build.sh");
    let before = Fingerprint::of(sandbox.repo());
    apply(&sandbox, &[]).done();
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((read(&sandbox, "README.md"), mode("README.md")), ("session\n".into(), 0o600));
    assert!(read(&sandbox, "build.sh").ends_with("echo host\n") && mode("build.sh") == 0o700);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn both_changed_the_mode(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("chmod 700 build.sh; chmod 711 src").done();
    on_host_later(&sandbox, "chmod 744 build.sh; chmod 750 src");
    refused(&sandbox, "build.sh");
    refused(&sandbox, "src");
}

fn whiteouts_in_a_directory_that_the_host_deleted_are_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("rm src/main.c; rm -r src/deep/er; rm README.md").done();
    on_host_later(&sandbox, "rm -r src README.md");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok().says("nothing");
    // It is a file by now, or a link to a directory that has such a name.
    on_host_later(&sandbox, "echo host > src");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    on_host_later(&sandbox, "rm src; mkdir other; echo x > other/main.c; ln -s other src");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let _ = sandbox.cowbox(&["apply", "-y"]).output().ok();
}

fn a_directory_that_the_host_deleted_comes_back_for_what_is_new_in_it(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo new > src/deep/new; rm src/main.c").done();
    on_host_later(&sandbox, "rm -r src");
    let before = Fingerprint::of(sandbox.repo());
    apply(&sandbox, &[]).done();
    assert_eq!(read(&sandbox, "src/deep/new"), "new\n");
    let listed: Vec<_> = fs::read_dir(sandbox.repo().join("src")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(listed, ["deep"]);
    nothing_is_left(&sandbox);
    undo(&sandbox).done();
    is_back(&before, &sandbox);
}

fn a_parent_that_became_a_link_is_never_followed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let outside = sandbox.root().join("outside");
    fs::create_dir_all(outside.join("deep")).unwrap();
    fs::write(outside.join("main.c"), "outside\n").unwrap();
    let canary = crate::host::Canary::at(&outside);
    sandbox.sh("echo new > src/new; rm src/main.c; chmod 700 src; mkdir src/made; echo x > src/made/x").done();
    on_host_later(&sandbox, &format!("rm -r src; ln -s {} src", outside.display()));
    refused(&sandbox, "src/new");
    apply(&sandbox, &["--conflict", "ours"]).done();
    canary.check();
    assert_eq!(fs::read_link(sandbox.repo().join("src")).unwrap(), outside);
    apply(&sandbox, &["--conflict", "theirs"]).done();
    canary.check();
    assert_eq!(read(&sandbox, "src/new"), "new\n");
    assert!(fs::symlink_metadata(sandbox.repo().join("src")).unwrap().is_dir());
    undo(&sandbox).done();
    canary.check();
    assert_eq!(fs::read_link(sandbox.repo().join("src")).unwrap(), outside);
}

fn a_directory_that_became_a_file_meets_what_the_host_put_into_it(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("rm -r src; echo file > src").done();
    on_host_later(&sandbox, "echo host > src/deep/hosts");
    let before = Fingerprint::of(sandbox.repo());
    refused(&sandbox, "src");
    apply(&sandbox, &["--conflict", "ours"]).done();
    is_back(&before, &sandbox);
}

fn binary_edits_on_both_sides_are_a_conflict(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("bin", b"\0\x01\x02");
    sandbox.sh("printf '\\0session' > bin").done();
    on_host_later(&sandbox, "printf '\\0host' > bin");
    refused(&sandbox, "not text");
    // No markers can be put into it.
    let _ = sandbox.cowbox(&["apply", "-y", "--conflict", "markers"]).output().code(3);
    sandbox.check_repo();
}

fn an_edit_after_the_apply_is_not_undone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo session > README.md; mkdir d; echo x > d/x; echo y > d/y; rm build.sh; chmod 711 src").done();
    apply(&sandbox, &[]).done();
    on_host_later(&sandbox, "echo host >> README.md; echo host > d/hosts; echo host >> d/x; echo host > build.sh");
    let _ = undo(&sandbox).code(3).says("README.md").says("build.sh").says("d/x");
    assert_eq!((read(&sandbox, "README.md"), read(&sandbox, "build.sh")), ("session\nhost\n".into(), "host\n".into()));
    assert_eq!((read(&sandbox, "d/hosts"), read(&sandbox, "d/x")), ("host\n".into(), "x\nhost\n".into()));
    assert!(!Path::new(&sandbox.repo().join("d/y")).exists());
}
