//! Sessions as tests make, read and damage them.

use std::fs;

use serde_json::Value;

use crate::common::{Output, Sandbox, wait_until};

/// A session whose command ends at once.
#[track_caller]
pub fn session(sandbox: &Sandbox, name: &str, script: &str) -> String {
    sandbox.shell(&["--name", name], script).output().done();
    id_of(sandbox, name)
}

#[track_caller]
pub fn id_of(sandbox: &Sandbox, name: &str) -> String {
    show(sandbox, name)["id"].as_str().unwrap().to_owned()
}

#[track_caller]
pub fn show(sandbox: &Sandbox, session: &str) -> Value {
    sandbox.cowbox(&["show", "--json", session]).output().ok().json()
}

/// A session in the background that waits, after it has written `marker`.
#[track_caller]
pub fn background(sandbox: &Sandbox, name: &str) -> String {
    let script = "echo working > marker; while :; do sleep 1; done";
    let output = sandbox.shell(&["--detach", "--name", name], script).output().ok();
    let id = output.stdout().trim().to_owned();
    wait_until("the command to write", || sandbox.session_dir(&id).join("upper/marker").exists().then_some(()));
    id
}

/// Changes the record on disk, as a crash, a reboot or another version would.
pub fn edit_record(sandbox: &Sandbox, id: &str, edit: impl FnOnce(&mut Value)) {
    let path = sandbox.session_dir(id).join("session.json");
    let mut record = sandbox.record(id).unwrap();
    edit(&mut record);
    fs::write(path, serde_json::to_vec_pretty(&record).unwrap()).unwrap();
}

#[track_caller]
pub fn is_one_error(output: &Output, holds: &str) {
    let said = output.stderr();
    let errors: Vec<&str> = said.lines().filter(|l| l.starts_with("cowbox: error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains(holds), "{said}");
    assert!(said.lines().all(|l| l.starts_with("cowbox: ")), "{said}");
}
