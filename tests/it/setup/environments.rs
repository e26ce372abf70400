//! `prepare`, and how `gc` removes what was prepared.

use std::fs;
use std::time::{Duration, SystemTime};

use super::{STAMP, has_run, prepare, with_script};
use crate::common::{Engine, Sandbox, has_image, on, on_containers, on_every_engine, snapshot};

on_every_engine!(
    preparing_ahead_makes_the_first_start_quick,
    prepared_once_more_when_asked_for,
    unused_environments_go_with_their_images,
    what_a_session_stands_on_stays,
    a_lost_image_or_layer_is_made_again,
);
on_containers!(downloads_that_nobody_uses_go);
on!(native: a_dry_run_explains_and_does_nothing, the_document_has_every_field, nothing_to_prepare_is_said);

fn preparing_ahead_makes_the_first_start_quick(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let output = prepare(&sandbox, &[]).output().ok().prints("");
    assert!(has_run(&output));
    assert!(sandbox.session_ids().is_empty());
    assert!(!has_run(&sandbox.sh("test -e stamp").ok()));
}

fn prepared_once_more_when_asked_for(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let first = sandbox.sh("cat stamp").ok().stdout();
    prepare(&sandbox, &["--rebuild"]).output().ok().says("preparing again: you asked for it").done();
    assert_ne!(sandbox.sh("cat stamp").ok().stdout(), first);
}

/// As if nobody had used any for so long.
fn age(sandbox: &Sandbox, days: u64) {
    for entry in fs::read_dir(sandbox.prepared_dir()).unwrap() {
        let used = entry.unwrap().path().join("used");
        if let Ok(file) = fs::File::options().write(true).open(used) {
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60)).unwrap();
        }
    }
}

fn unused_environments_go_with_their_images(engine: Engine) {
    let sandbox =
        with_script(engine, "echo x > made; echo y > ~/made; mkdir closed; echo z > closed/f; chmod 0 closed\n");
    prepare(&sandbox, &[]).output().done();
    let record = sandbox.prepared().remove(0);
    age(&sandbox, 29);
    sandbox.cowbox(&["gc"]).output().done();
    assert_eq!(sandbox.prepared().len(), 1);
    age(&sandbox, 31);
    let said = sandbox.cowbox(&["gc", "--dry-run"]).output().ok().stdout();
    assert!(said.contains("  environment  "), "{said}");
    assert_eq!(sandbox.prepared().len(), 1);
    // A use makes it new again.
    sandbox.shell(&["--on-exit", "discard"], "true").output().done();
    sandbox.cowbox(&["gc"]).output().done();
    assert_eq!(sandbox.prepared().len(), 1);
    age(&sandbox, 31);
    sandbox.cowbox(&["gc"]).output().done();
    assert!(sandbox.prepared().is_empty());
    assert!(record["image"].as_str().is_none_or(|image| !has_image(engine, image)));
    assert_eq!(record["image"].is_null(), engine == Engine::Native);
    assert!(has_run(&sandbox.sh("true").ok()));
}

/// They are no part of an environment: the next one is made with them.
fn downloads_that_nobody_uses_go(engine: Engine) {
    let sandbox = with_script(engine, "cat \"$PIP_CACHE_DIR/wheel\" > seen || echo wheel > \"$PIP_CACHE_DIR/wheel\"\n");
    sandbox.write("requirements.txt", "");
    prepare(&sandbox, &[]).output().done();
    let dir = sandbox.cache().join("packages");
    let kept = || fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).find(|path| path.is_dir());
    let age = |days: u64| {
        let lock = fs::File::options().write(true).open(kept().unwrap().with_extension("lock")).unwrap();
        lock.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60)).unwrap();
    };
    age(29);
    sandbox.cowbox(&["gc"]).output().done();
    prepare(&sandbox, &["--rebuild"]).output().done();
    sandbox.sh("cat seen").ok().prints("wheel\n").done();
    // A use makes them new again.
    sandbox.cowbox(&["gc"]).output().done();
    age(31);
    let said = sandbox.cowbox(&["gc", "--dry-run"]).output().ok().stdout();
    assert!(said.contains("  downloads  ") && kept().is_some(), "{said}");
    let said = sandbox.cowbox(&["gc", "--json"]).output().ok().json();
    assert_eq!(said["removed"][0]["why"], "downloads");
    assert_eq!(kept(), None);
}

fn what_a_session_stands_on_stays(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let first = sandbox.shell(&["--name", "it"], "cat stamp; echo x > mine").output().ok().stdout();
    age(&sandbox, 400);
    sandbox.cowbox(&["gc"]).output().done();
    assert_eq!(sandbox.prepared().len(), 1);
    sandbox.cowbox(&["run", "--resume", "it", "--", "cat", "stamp"]).output().ok().prints(&first).done();
    // One that was made again since then, too.
    prepare(&sandbox, &["--rebuild"]).output().done();
    age(&sandbox, 400);
    sandbox.cowbox(&["gc"]).output().done();
    assert_eq!(sandbox.prepared().len(), 1);
    sandbox.cowbox(&["run", "--resume", "it", "--", "cat", "stamp"]).output().ok().prints(&first).done();
    assert_eq!(sandbox.changes(), ["A  mine"]);
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    age(&sandbox, 400);
    sandbox.cowbox(&["gc"]).output().done();
    assert!(sandbox.prepared().is_empty());
}

/// Somebody else may clear away, too.
fn a_lost_image_or_layer_is_made_again(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    sandbox.shell(&["--on-exit", "discard"], "true").output().done();
    let record = sandbox.prepared().remove(0);
    let why = match record["image"].as_str() {
        Some(image) => {
            crate::common::engine_call(engine, &["rmi", image]).unwrap();
            "preparing again: its image is gone"
        }
        None => {
            fs::remove_dir_all(record["home"].as_str().unwrap()).unwrap();
            "preparing again: its layer over the home is gone"
        }
    };
    sandbox.sh("test -e stamp").ok().says(why).done();
    assert!(!has_run(&sandbox.sh("true").ok()));
}

fn a_dry_run_explains_and_does_nothing(engine: Engine) {
    let sandbox = with_script(engine, "touch ran\n");
    snapshot!(prepare(&sandbox, &["--dry-run"]).output(), @r"
    exit: 0
    --- stdout
    setup by setup.sh · `--setup COMMAND` for another way, `--setup none` for none
    image      none: native has this system's own files
    step       sh ./setup.sh  (setup, setup.sh)
    prepared   no
    ");
    assert!(sandbox.prepared().is_empty());
    prepare(&sandbox, &[]).output().done();
    let said = prepare(&sandbox, &["--dry-run"]).output().ok().stdout();
    assert!(said.ends_with("prepared   yes, nothing would be done\n"), "{said}");
}

fn the_document_has_every_field(engine: Engine) {
    let sandbox = with_script(engine, "touch made\n");
    let before = prepare(&sandbox, &["--dry-run", "--json"]).output().ok().json();
    let step = serde_json::json!({"hook": "setup", "origin": "setup.sh", "parallel_group": null, "shell": "sh ./setup.sh", "name": null, "dir": "."});
    assert_eq!(before["steps"], serde_json::json!([step]));
    assert_eq!((&before["source"], &before["config_file"]), (&"convention".into(), &"setup.sh".into()));
    assert_eq!((&before["schema"], &before["cached"]), (&1.into(), &false.into()));
    for name in ["user", "workspace_folder", "env", "remote_env", "mounts", "refused", "ignored", "notices"] {
        assert!(before.get(name).is_some(), "{name}: {before}");
    }
    let made = prepare(&sandbox, &["--json"]).output().ok().json();
    let after = prepare(&sandbox, &["--dry-run", "--json"]).output().ok().json();
    assert_eq!(after["cached"], true);
    assert!(before["cache_key"].as_str().is_some_and(|key| key.len() == 32));
    assert_eq!((&before["cache_key"], &made["cache_key"]), (&after["cache_key"], &after["cache_key"]));
}

fn nothing_to_prepare_is_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    prepare(&sandbox, &[]).output().ok().says("there is nothing to prepare").done();
    let said = prepare(&sandbox, &["--dry-run"]).output().ok().stdout();
    assert!(said.starts_with("nothing to prepare\n"), "{said}");
    let json = prepare(&sandbox, &["--dry-run", "--json"]).output().ok().json();
    assert_eq!((&json["source"], &json["cache_key"]), (&"none".into(), &().into()));
}
