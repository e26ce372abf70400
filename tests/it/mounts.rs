//! `--mount`: read-only, writable, copy-on-write.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::common::{Engine, Fingerprint, Sandbox, on_every_engine};

on_every_engine!(
    a_read_only_mount_can_be_read_and_not_written,
    a_writable_mount_reaches_the_host,
    a_copy_on_write_mount_keeps_what_was_written_from_the_host,
    a_file_can_be_mounted,
    a_name_of_any_kind_can_be_mounted,
    a_relative_source_is_found_from_here,
    a_source_that_is_not_there_is_refused,
    cowboxes_own_state_cannot_be_mounted_writable,
    the_repo_cannot_be_mounted_writable,
);

/// A directory of the host outside of the repo, with one file.
fn data(sandbox: &Sandbox, name: &str) -> PathBuf {
    let dir = sandbox.root().join(name);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("file"), "of the host\n").unwrap();
    dir
}

fn a_read_only_mount_can_be_read_and_not_written(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = data(&sandbox, "data");
    let before = Fingerprint::of(&dir);
    for suffix in ["", ":ro"] {
        let mount = format!("{}:/tmp/data{suffix}", dir.display());
        let script =
            "cat /tmp/data/file; echo x > /tmp/data/new || echo x >> /tmp/data/file || rm /tmp/data/file || exit 8";
        let _ = sandbox.shell(&["--mount", &mount], script).output().code(8).prints("of the host\n");
    }
    assert_eq!(before.differences(&Fingerprint::of(&dir)), Vec::<String>::new());
}

fn a_writable_mount_reaches_the_host(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = data(&sandbox, "data");
    let mount = format!("{}:/tmp/data:rw", dir.display());
    sandbox.shell(&["--mount", &mount], "echo new > /tmp/data/new; echo more >> /tmp/data/file").output().done();
    assert_eq!(fs::read_to_string(dir.join("new")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(dir.join("file")).unwrap(), "of the host\nmore\n");
    assert_eq!(fs::metadata(dir.join("new")).unwrap().uid(), rustix::process::geteuid().as_raw());
    assert_eq!(sandbox.changes(), Vec::<String>::new());
}

fn a_copy_on_write_mount_keeps_what_was_written_from_the_host(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = data(&sandbox, "data");
    let before = Fingerprint::of(&dir);
    let mount = format!("{}:/tmp/data:cow", dir.display());
    let options = ["--name", "cow", "--mount", &mount];
    let script = "echo new > /tmp/data/new; echo more >> /tmp/data/file; cat /tmp/data/file /tmp/data/new";
    let _ = sandbox.shell(&options, script).output().ok().prints("of the host\nmore\nnew\n");
    assert_eq!(before.differences(&Fingerprint::of(&dir)), Vec::<String>::new());
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    // The session keeps it.
    let again = sandbox.cowbox(&["run", "--resume", "cow", "--", "cat", "/tmp/data/file", "/tmp/data/new"]);
    let _ = again.output().ok().prints("of the host\nmore\nnew\n");
}

fn a_file_can_be_mounted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = data(&sandbox, "data").join("file");
    let mount = format!("{}:/tmp/one:rw", file.display());
    let _ = sandbox.shell(&["--mount", &mount], "cat /tmp/one; echo more >> /tmp/one").output().ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "of the host\nmore\n");
    let mount = format!("{}:/tmp/one", file.display());
    let output = sandbox.shell(&["--mount", &mount], "echo more >> /tmp/one").output();
    assert!(!output.status.success());
    let mount = format!("{}:/tmp/one:cow", file.display());
    let _ = sandbox.run(&["--mount", &mount], &["true"]).output().code(125).says("not a directory");
}

fn a_name_of_any_kind_can_be_mounted(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (number, name) in ["a b", "co:lon", "com,ma", "quo\"te'", "back\\slash", "new\nline", "ünï"].iter().enumerate()
    {
        let dir = data(&sandbox, name);
        for access in ["ro", "rw", "cow"] {
            let mount = format!("{}:/tmp/data{number}:{access}", dir.display());
            let script = format!("cat /tmp/data{number}/file");
            let _ = sandbox.shell(&["--mount", &mount], &script).output().ok().prints("of the host\n");
        }
    }
}

fn a_relative_source_is_found_from_here(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    data(&sandbox, "data");
    let run = sandbox.run(&["--mount", "../../data:/tmp/data"], &["cat", "/tmp/data/file"]);
    let _ = run.output().ok().prints("of the host\n");
}

fn a_source_that_is_not_there_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.run(&["--mount", "/no/such:/tmp/data"], &["true"]).output().code(125).says("/no/such");
    assert!(!PathBuf::from("/no/such").exists());
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

fn cowboxes_own_state_cannot_be_mounted_writable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    fs::create_dir_all(sandbox.state()).unwrap();
    fs::create_dir_all(sandbox.cache()).unwrap();
    for dir in [sandbox.state(), sandbox.cache(), sandbox.home()] {
        for access in ["rw", "cow"] {
            let mount = format!("{}:/tmp/data:{access}", dir.display());
            let _ = sandbox.run(&["--mount", &mount], &["true"]).output().code(125).says("own state");
        }
    }
}

fn the_repo_cannot_be_mounted_writable(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for dir in [sandbox.repo().to_path_buf(), sandbox.repo().join("src")] {
        let mount = format!("{}:/tmp/data:rw", dir.display());
        let _ = sandbox.run(&["--mount", &mount], &["true"]).output().code(125).says("repository");
        let mount = format!("{}:/tmp/data:ro", dir.display());
        sandbox.run(&["--mount", &mount], &["true"]).output().done();
    }
}
