//! Which source says how to get ready: exactly one, by a fixed order, and a line says which.

use std::fs;

use super::{has_run, prepare, with_script};
use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};

on_every_engine!(a_script_runs_before_the_command_and_a_line_says_so);
on!(native:
    every_convention_is_followed,
    a_script_need_not_be_executable_and_its_interpreter_counts,
    the_order_of_sources_is_fixed,
    none_means_none_wherever_it_is_said,
    a_command_runs_in_the_root_wherever_the_user_stands,
    a_broken_file_of_the_repo_is_an_error_with_its_line,
);

fn a_script_runs_before_the_command_and_a_line_says_so(engine: Engine) {
    let sandbox = with_script(engine, "pwd > made\n");
    let output = sandbox.sh("cat made").ok();
    assert_eq!(output.stdout(), format!("{}\n", sandbox.workspace()));
    let said: Vec<String> = output.stderr().lines().map(str::to_owned).collect();
    assert_eq!(
        said[..2],
        [
            "cowbox: setup by setup.sh · `--setup COMMAND` for another way, `--setup none` for none",
            "cowbox: setup 1/1: sh ./setup.sh"
        ]
    );
    assert!(said[2].starts_with("cowbox: prepared in ") && said[2].ends_with("the next start is as fast as without"));
}

fn every_convention_is_followed(engine: Engine) {
    let all = [
        (".openhands/setup.sh", "echo it > made"),
        (".cursor/environment.json", "{\"install\": \"echo it > made\"}"),
        ("script/bootstrap", "#!/bin/sh\necho it > made"),
        ("script/setup", "#!/bin/sh\necho it > made"),
        ("bin/setup", "#!/bin/sh\necho it > made"),
        ("Makefile", ".PHONY: setup\nsetup:\n\techo it > made\n"),
    ];
    for (file, content) in all {
        let sandbox = Sandbox::new(engine);
        sandbox.write(file, content);
        sandbox.sh("cat made").ok().says(&format!("setup by {file} ·")).prints("it\n").done();
    }
}

fn a_script_need_not_be_executable_and_its_interpreter_counts(engine: Engine) {
    let script = "#!/bin/bash\n[[ -n $BASH_VERSION ]] && echo bash > made\n";
    for mode in [0o644, 0o755] {
        let sandbox = with_script(engine, script);
        sandbox.chmod("setup.sh", mode);
        sandbox.sh("cat made").ok().prints("bash\n").done();
    }
}

fn the_order_of_sources_is_fixed(engine: Engine) {
    let sandbox = with_script(engine, "true\n");
    sandbox.write("script/bootstrap", "#!/bin/sh\n");
    sandbox.write("requirements.txt", "");
    sandbox.write(".cowbox.toml", "setup = 'echo repo'\n");
    sandbox.configure("setup = 'echo mine'\n");
    let first = |options: &[&str]| {
        let json = prepare(&sandbox, &[&["--dry-run", "--json"], options].concat()).output().ok().json();
        let command = json["steps"][0]["shell"].as_str().unwrap_or_default().to_owned();
        (json["source"].as_str().unwrap().to_owned(), command)
    };
    let is = |source: &str, command: &str| (source.to_owned(), command.to_owned());
    assert_eq!(first(&["--setup", "echo flag"]), is("flag", "echo flag"));
    assert_eq!(first(&[]), is("config", "echo mine"));
    assert_eq!(first(&["--setup", "auto"]), is("repo-file", "echo repo"), "the user's word goes back to the repo's");
    sandbox.configure("");
    assert_eq!(first(&[]), is("repo-file", "echo repo"));
    sandbox.change_repo(|repo| fs::remove_file(repo.join(".cowbox.toml")).unwrap());
    assert_eq!(first(&[]), is("convention", "/bin/sh ./script/bootstrap"));
    let said = prepare(&sandbox, &["--dry-run"]).output().ok().stdout();
    let headline = "setup by script/bootstrap · `--setup 'sh ./setup.sh'` for setup.sh, `--setup none` for none";
    assert_eq!(said.lines().next(), Some(headline));
    sandbox.change_repo(|repo| fs::remove_dir_all(repo.join("script")).unwrap());
    assert_eq!(first(&[]), is("convention", "sh ./setup.sh"));
    sandbox.change_repo(|repo| fs::remove_file(repo.join("setup.sh")).unwrap());
    assert_eq!(first(&[]).0, "detection");
    sandbox.change_repo(|repo| fs::remove_file(repo.join("requirements.txt")).unwrap());
    assert_eq!(first(&[]), is("none", ""));
}

fn none_means_none_wherever_it_is_said(engine: Engine) {
    let sandbox = with_script(engine, "echo x > made\n");
    let nothing = |output: crate::common::Output| assert!(!has_run(&output.ok()));
    nothing(sandbox.shell(&["--setup", "none"], "! test -e made").output());
    nothing(sandbox.shell(&[], "! test -e made").env("COWBOX_SETUP", "none").output());
    sandbox.configure("setup = 'none'\n");
    nothing(sandbox.sh("! test -e made"));
    sandbox.configure("");
    sandbox.change_repo(|repo| fs::write(repo.join(".cowbox.toml"), "setup = 'none'\n").unwrap());
    nothing(sandbox.sh("! test -e made"));
    assert!(sandbox.prepared().is_empty());
    sandbox.shell(&["--setup", "sh ./setup.sh"], "cat made").output().ok().prints("x\n").done();
}

fn a_command_runs_in_the_root_wherever_the_user_stands(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let run = |dir: &str| {
        let cowbox = sandbox.shell(&["--setup", "pwd > made"], "cat \"$(git rev-parse --show-toplevel)/made\"; pwd");
        cowbox.current_dir(sandbox.repo().join(dir)).output().ok()
    };
    let root = sandbox.workspace();
    run("src/deep").prints(format!("{root}\n{root}/src/deep\n")).done();
    let again = run("");
    assert!(!has_run(&again), "where the user stands is no reason: {}", again.stderr());
    again.prints(format!("{root}\n{root}\n")).done();
}

fn a_broken_file_of_the_repo_is_an_error_with_its_line(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".cowbox.toml", "# mine\nsetup = [1]\n");
    snapshot!(sandbox.sh("true"), @r"
    exit: 125
    --- stderr
    cowbox: error: .cowbox.toml, line 2: invalid type: sequence, expected a string
    cowbox: hint: correct the file; docs/configuration.md lists every key
    ");
    assert!(sandbox.session_ids().is_empty());
}
