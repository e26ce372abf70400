//! Who the steps of a setup are, and whose their files are.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::with_script;
use crate::common::{Engine, Sandbox, on, on_containers};
use crate::host::{git_init, is_root};

on_containers!(
    steps_in_an_image_of_root_can_install_and_their_files_are_the_callers,
    git_works_in_steps_and_in_the_command,
    a_user_that_was_asked_for_counts_for_both,
);
on!(docker: root_writes_to_no_directory_of_the_host);

/// Who owns a file of the only prepared layer, outside.
fn owner(sandbox: &Sandbox, path: &str) -> u32 {
    let entries = fs::read_dir(sandbox.prepared_dir()).unwrap().map(|entry| entry.unwrap().path().join("layer"));
    let layer = entries.into_iter().find(|layer| layer.is_dir()).unwrap();
    fs::symlink_metadata(layer.join(path)).unwrap().uid()
}

fn steps_in_an_image_of_root_can_install_and_their_files_are_the_callers(engine: Engine) {
    let script = "id -u > who; echo tool > /usr/bin/tool; mkdir -p deps/lib; echo x > deps/lib/a; ln -s a deps/lib/b\n\
                  echo changed > README.md; mkdir -p ~/.tool; echo x > ~/.tool/config\n";
    let sandbox = with_script(engine, script);
    let look = "cat who /usr/bin/tool; echo more >> deps/lib/a; echo more > deps/lib/c; echo more >> README.md; \
                rm deps/lib/b; echo more >> ~/.tool/config; echo done";
    sandbox.sh(look).ok().prints("0\ntool\ndone\n").done();
    let own = rustix::process::geteuid().as_raw();
    for path in ["who", "deps", "deps/lib", "deps/lib/a", "deps/lib/b", "README.md"] {
        assert_eq!(owner(&sandbox, path), own, "{path}");
    }
    // The command is the caller, wherever the daemon maps no ids.
    let expected = if engine == Engine::Docker { own.to_string() } else { "0".to_owned() };
    sandbox.sh("id -u").ok().prints(format!("{expected}\n")).done();
}

fn git_works_in_steps_and_in_the_command(engine: Engine) {
    let sandbox = with_script(engine, "git status --porcelain > /var/status\n").with_image("debian");
    git_init(sandbox.repo());
    sandbox
        .sh("git status --porcelain; cat /var/status; echo x > new; git status --porcelain")
        .ok()
        .prints("?? new\n")
        .done();
}

fn a_user_that_was_asked_for_counts_for_both(engine: Engine) {
    // Podman as root cannot keep what somebody else prepares.
    if engine == Engine::Podman && is_root() {
        return;
    }
    let sandbox = with_script(engine, "id -u > /tmp/who\n");
    sandbox.shell(&["--user", "1234:1234"], "cat /tmp/who; id -u").output().ok().prints("1234\n1234\n").done();
}

/// A daemon's root inside is root outside: what is mounted writable must not be its.
fn root_writes_to_no_directory_of_the_host(engine: Engine) {
    let sandbox = with_script(engine, "id -u > who; echo x > /data/made\n");
    let data = sandbox.root().join("data");
    fs::create_dir(&data).unwrap();
    let mount = format!("{}:/data:rw", data.display());
    let own = rustix::process::geteuid().as_raw();
    sandbox.shell(&["--mount", &mount], "cat who").output().ok().prints(format!("{own}\n")).done();
    assert_eq!(fs::metadata(data.join("made")).unwrap().uid(), own);
}
