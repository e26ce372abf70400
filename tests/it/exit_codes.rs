//! Exit codes of `run`: the command's own, and those that say why there was none.

use std::os::unix::fs::PermissionsExt;

use crate::common::{Engine, Sandbox, on_containers, on_every_engine};

on_every_engine!(
    the_exit_code_is_the_commands_own,
    death_by_a_signal_is_128_and_its_number,
    a_command_that_is_not_there_gives_127,
    a_command_that_is_not_executable_gives_126,
    a_script_without_its_interpreter_gives_126,
    a_script_without_a_first_line_runs_in_sh,
    an_absolute_command_on_the_host_is_not_taken_for_one_inside,
    a_missing_working_directory_gives_125,
    a_wrong_option_gives_125,
    a_failed_start_leaves_no_session,
);
on_containers!(an_image_that_is_not_there_gives_125);

fn the_exit_code_is_the_commands_own(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for code in [0, 1, 2, 3, 124, 125, 126, 127, 255] {
        let _ = sandbox.sh(&format!("exit {code}")).code(code);
    }
    assert_eq!(sandbox.cowbox(&["show", "--json"]).output().ok().json()["exit"], 255);
}

fn death_by_a_signal_is_128_and_its_number(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.sh("kill -9 $$").code(137);
    let _ = sandbox.sh("kill -15 $$").code(143);
    let _ = sandbox.sh("kill -INT $$").code(130);
}

fn a_command_that_is_not_there_gives_127(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for command in ["no-such-command", "/no/such/command", "./no-such-command", "README.md/x", ""] {
        let output = sandbox.run(&[], &[command]).output().code(127).says("not found");
        assert_eq!(output.stdout(), "", "{command}");
    }
}

fn a_command_that_is_not_executable_gives_126(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for command in ["./README.md", "./src", "/"] {
        let _ = sandbox.run(&[], &[command]).output().code(126).says("executable");
    }
}

fn a_script_without_its_interpreter_gives_126(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("script", "#!/no/such/interpreter\n");
    sandbox.chmod("script", 0o755);
    let _ = sandbox.run(&[], &["./script"]).output().code(126);
}

fn a_script_without_a_first_line_runs_in_sh(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("script", "echo \"$1\"; exit 5\n");
    sandbox.chmod("script", 0o755);
    let _ = sandbox.run(&[], &["./script", "a b"]).output().code(5).prints("a b\n");
}

fn an_absolute_command_on_the_host_is_not_taken_for_one_inside(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let tool = sandbox.root().join("tool");
    std::fs::write(&tool, "#!/bin/sh\necho outside\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Native shows the host's files, but not the private /var/tmp of the host, where this one lies.
    let _ = sandbox.run(&[], &[tool.to_str().unwrap()]).output().code(127).prints("");
}

fn a_missing_working_directory_gives_125(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for dir in ["nowhere", "/nowhere/at/all", "README.md"] {
        let _ = sandbox.run(&["--workdir", dir], &["true"]).output().code(125).says("cowbox: error:");
    }
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

fn a_wrong_option_gives_125(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for option in ["--no-such-option", "--memory=lots", "--timeout=0", "--mount=nonsense", "--network=some"] {
        let _ = sandbox.run(&[option], &["true"]).output().code(125).says("error:");
    }
    let _ = sandbox.cowbox(&["run", "--engine", "vmware", "--", "true"]).output().code(125).says("vmware");
    let _ = sandbox.cowbox(&["exec"]).output().code(125);
    let _ = sandbox.cowbox(&["exec", "nobody", "--", "true"]).output().code(125).says("nobody");
    let _ = sandbox.cowbox(&["shell", "nobody"]).output().code(125).says("nobody");
    // Other verbs have no command whose code it could be.
    let _ = sandbox.cowbox(&["diff", "--no-such-option"]).output().code(2);
    let _ = sandbox.cowbox(&["diff", "nobody"]).output().code(1).says("nobody");
}

fn a_failed_start_leaves_no_session(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.run(&["--user", "no-such-user"], &["true"]).output().code(125).says("no-such-user");
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

fn an_image_that_is_not_there_gives_125(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let image = "localhost/cowbox-test/not-there:latest";
    let output = sandbox.cowbox(&["run", "--engine", engine.name(), "--image", image, "--", "true"]).output();
    let output = output.code(125).says(image).says("cowbox: hint:").prints("");
    assert_eq!(output.stderr().matches("cowbox: error:").count(), 1, "{}", output.stderr());
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

#[test]
fn an_engine_that_is_not_installed_gives_125() {
    let sandbox = Sandbox::bare();
    for engine in ["podman", "docker"] {
        let output = sandbox.cowbox(&["run", "--engine", engine, "--", "true"]).env("PATH", "/nowhere").output();
        let _ = output.code(125).says(engine).says("not installed").says("hint:");
    }
}
