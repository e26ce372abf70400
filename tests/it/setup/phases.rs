//! What setup and command have in common, and what is there for one of them alone: network, secrets, what was installed.

use std::fs;

use super::{STAMP, has_run, holders, with_script};
use crate::common::{Engine, engine_call, on_every_engine};

on_every_engine!(
    what_was_installed_outside_of_the_repo_is_there,
    programs_that_were_installed_are_found_by_name,
    an_environment_prepared_with_a_network_serves_without_one,
    a_secret_of_the_setup_is_gone_afterwards,
    without_a_network_the_setup_has_none,
    a_resumed_session_has_the_same_layers,
    the_command_cannot_write_to_what_was_prepared,
);

/// Where a setup may install things: as root anywhere in an image, else in the home.
fn outside(engine: Engine) -> &'static str {
    if engine == Engine::Podman { "/opt" } else { "$HOME/.local/bin" }
}

fn what_was_installed_outside_of_the_repo_is_there(engine: Engine) {
    let dir = outside(engine);
    let sandbox = with_script(engine, &format!("mkdir -p {dir}; echo 'echo tool' > {dir}/tool; echo rc > ~/.toolrc\n"));
    for _ in 0..2 {
        sandbox.sh(&format!("sh {dir}/tool; cat ~/.toolrc")).ok().prints("tool\nrc\n").done();
    }
    assert!(!sandbox.home().join(".toolrc").exists());
    sandbox.shell(&["--setup", "none"], &format!("! test -e {dir}/tool")).output().done();
}

/// In the repo's own environment of Python and in the home, as if it were activated.
fn programs_that_were_installed_are_found_by_name(engine: Engine) {
    let script = "for d in .venv ~/.local ~/.cargo; do mkdir -p $d/bin; done
        printf '#!/bin/sh\\necho venv\\n' > .venv/bin/tool
        printf '#!/bin/sh\\necho home\\n' > ~/.local/bin/tool
        cp ~/.local/bin/tool ~/.local/bin/one; cp ~/.local/bin/tool ~/.cargo/bin/two
        chmod +x .venv/bin/* ~/.local/bin/* ~/.cargo/bin/*\n";
    let sandbox = with_script(engine, script);
    let path = "tool && one && two && ls / >/dev/null";
    for _ in 0..2 {
        sandbox.shell(&["--name", "it"], path).output().ok().prints("venv\nhome\nhome\n").done();
        sandbox.cowbox(&["run", "--resume", "it", "--", "tool"]).output().ok().prints("venv\n").done();
        sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    }
    let mut running = sandbox.shell(&["--name", "live"], "echo ready; read line").spawn();
    running.expect("ready");
    sandbox.cowbox(&["exec", "live", "--", "tool"]).output().ok().prints("venv\n").done();
    running.write("go on\n");
    running.wait().done();
    // What was asked for by name stays as it is.
    let own = "PATH=/usr/bin:/bin";
    let output = sandbox.shell(&["--env", own], "echo PATH=$PATH; ! command -v tool").output();
    output.ok().prints(format!("{own}\n")).done();
}

/// The other way round it is prepared again: without a network a setup may have left things out.
fn an_environment_prepared_with_a_network_serves_without_one(engine: Engine) {
    let sandbox = with_script(engine, STAMP);
    let online = sandbox.sh("cat stamp").ok().stdout();
    let offline = ["--network", "none"];
    let output = sandbox.shell(&offline, "cat stamp").output().ok().prints(&online);
    assert!(!has_run(&output));
    sandbox.change_repo(|repo| fs::write(repo.join("setup.sh"), format!("{STAMP}true\n")).unwrap());
    let first = sandbox.shell(&offline, "cat stamp").output().ok();
    assert!(has_run(&first) && first.stdout() != online);
    sandbox.sh("true").ok().says("preparing again: the network changed").done();
}

fn a_secret_of_the_setup_is_gone_afterwards(engine: Engine) {
    let secret = "s3cr3t-of-the-setup";
    let sandbox = with_script(engine, "[ \"$TOKEN\" ] && [ \"$OTHER\" = given ] && echo ${#TOKEN} > length\n");
    let options = ["--setup-env", "TOKEN", "--setup-env", "OTHER=given"];
    let show = "cat length; echo \"[$TOKEN$OTHER]\"; cat /proc/1/environ | grep -a -c s3cr3t; env | grep -c s3cr3t";
    let output = sandbox.shell(&options, show).env("TOKEN", secret).output();
    let output = output.code(1).prints(format!("{}\n[]\n0\n0\n", secret.len()));
    assert!(!output.stderr().contains(secret));
    // Another value of it is no reason to prepare again.
    assert!(!has_run(&sandbox.shell(&options, "true").env("TOKEN", "another").output().ok()));
    for dir in [sandbox.state(), sandbox.cache()] {
        assert_eq!(holders(&dir, secret), Vec::<std::path::PathBuf>::new());
    }
    if let Some(image) = sandbox.prepared()[0]["image"].as_str() {
        let config = engine_call(engine, &["image", "inspect", image]).unwrap();
        let history = engine_call(engine, &["history", "--no-trunc", image]).unwrap();
        assert!(!config.contains(secret) && !history.contains(secret), "{config}");
    }
}

fn without_a_network_the_setup_has_none(engine: Engine) {
    let sandbox = with_script(engine, "tail -n +3 /proc/net/dev | cut -d: -f1 | grep -v '^ *lo$' > devices || :\n");
    sandbox.shell(&["--network", "none"], "cat devices").output().ok().prints("").done();
}

fn a_resumed_session_has_the_same_layers(engine: Engine) {
    let dir = outside(engine);
    let script = format!("{STAMP}mkdir -p {dir}; cp stamp {dir}/stamp\n");
    let sandbox = with_script(engine, &script);
    let show = format!("cat stamp {dir}/stamp");
    let first = sandbox.shell(&["--name", "it"], &format!("{show}; echo x > mine")).output().ok();
    // Prepared once more, and in another way, in the meantime.
    super::prepare(&sandbox, &["--rebuild"]).output().ok().says("preparing again: you asked for it").done();
    let other = sandbox.sh(&show).ok();
    assert_ne!(first.stdout(), other.stdout());
    sandbox.change_repo(|repo| fs::write(repo.join("setup.sh"), "true\n").unwrap());
    sandbox.sh(&format!("! test -e stamp && ! test -e {dir}/stamp")).done();
    let again = sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", &format!("{show} && cat mine")]).output();
    assert!(!has_run(&again));
    again.ok().prints(format!("{}x\n", first.stdout())).done();
    assert_eq!(sandbox.cowbox(&["diff", "it", "--name-status"]).output().ok().stdout(), "A  mine\n");
}

fn the_command_cannot_write_to_what_was_prepared(engine: Engine) {
    let sandbox = with_script(engine, "echo good > made; echo good > ~/made\n");
    sandbox.sh("echo bad > made; rm -f ~/made; echo bad > ~/made").done();
    sandbox.sh("cat made ~/made").ok().prints("good\ngood\n").done();
}
