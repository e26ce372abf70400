//! The main flow: run, look, discard; and what cowbox says on the way.

use crate::common::{Engine, Sandbox, on, on_containers, on_every_engine, snapshot};

on_every_engine!(
    run_then_look_then_discard,
    nothing_changed_is_said,
    discarding_at_once_leaves_no_changes,
    one_session_is_shown_in_full,
    sessions_are_listed,
    what_a_command_is_called_cannot_act_on_the_terminal,
    the_command_starts_in_the_same_directory_as_outside,
    files_belong_to_the_invoking_user,
    quiet_says_nothing,
    first_starts_at_the_same_time_all_work,
);
on_containers!(files_belong_to_the_invoking_user_whatever_the_user_of_the_image);
on!(podman: the_first_line_names_podman);
on!(docker: the_first_line_names_docker);
on!(native: the_first_line_names_the_kernel);

fn run_then_look_then_discard(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let ran = sandbox.sh("echo hi > hello.txt; rm README.md");
    snapshot!(ran, @r"
    exit: 0
    --- stderr
    cowbox: [ENGINE] · session api-[NAME]
    cowbox: 2 changes kept · review with `cowbox diff api-[NAME]`
    ");
    snapshot!(sandbox.cowbox(&["diff", "--name-status"]).output(), @r"
    exit: 0
    --- stdout
    D  README.md
    A  hello.txt
    ");
    snapshot!(sandbox.cowbox(&["discard", "-y"]).output(), @r"
    exit: 0
    --- stderr
    cowbox: session api-[NAME] is discarded
    ");
    snapshot!(sandbox.cowbox(&["diff"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: there is no session of this repository
    cowbox: hint: start one with `cowbox run`, or see those of other repositories with `cowbox ls --all`
    ");
}

fn nothing_changed_is_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    snapshot!(sandbox.sh("cat README.md"), @r"
    exit: 0
    --- stdout
    # api
    --- stderr
    cowbox: [ENGINE] · session api-[NAME]
    cowbox: no changes · session api-[NAME] kept
    ");
    let _ = sandbox.cowbox(&["diff", "--exit-code"]).output().code(0).prints("");
}

fn discarding_at_once_leaves_no_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    snapshot!(sandbox.shell(&["--on-exit", "discard"], "rm -r src; exit 3").output(), @r"
    exit: 3
    --- stderr
    cowbox: [ENGINE] · session api-[NAME]
    ");
    let _ = sandbox.cowbox(&["diff"]).output().code(1).says("no session of this repository");
}

fn one_session_is_shown_in_full(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--name", "one", "--network", "none"], "exit 3").output().code(3);
    let text = sandbox.cowbox(&["show"]).output().ok().stdout();
    for (row, value) in
        [("session", "one ("), ("state", "stopped"), ("engine", engine.name()), ("network", "none"), ("exit", "3")]
    {
        let line = text.lines().find(|l| l.starts_with(row)).unwrap_or_else(|| panic!("no {row} in\n{text}"));
        assert!(line.contains(value), "{line}");
    }
    let json = sandbox.cowbox(&["show", "--json", "one"]).output().ok().json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["id"], sandbox.session_ids()[0].as_str());
    assert_eq!(json["name"], "one");
    assert_eq!(json["state"], "stopped");
    assert_eq!(json["engine"], engine.name());
    assert_eq!(json["repo"], sandbox.repo().to_str().unwrap());
    assert_eq!(json["exit"], 3);
    assert_eq!(json["command"], serde_json::json!(["sh", "-c", "exit 3"]));
}

fn sessions_are_listed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    snapshot!(sandbox.cowbox(&["ls"]).output(), @r"
    exit: 0
    --- stderr
    cowbox: no sessions of this repository; start one with `cowbox run`
    ");
    sandbox.run(&["--name", "first"], &["true"]).output().done();
    sandbox.run(&["--name", "second"], &["true"]).output().done();
    let listed = sandbox.cowbox(&["ls"]).output().ok().stdout();
    let names: Vec<&str> = listed.lines().map(|l| l.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["NAME", "second", "first"], "{listed}");
    sandbox.cowbox(&["discard", "-y", "first"]).output().done();
    let json = sandbox.cowbox(&["ls", "--json"]).output().ok().json();
    let names: Vec<&str> = json["sessions"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["second"]);
}

fn what_a_command_is_called_cannot_act_on_the_terminal(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&[], &["true", "\x1b]0;owned\x07", "new\nline", "\u{202e}"]).output().done();
    for args in [&["ls"][..], &["show"], &["ls", "--all"]] {
        let text = sandbox.cowbox(args).output().ok().stdout();
        assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text:?}");
        assert!(text.contains("owned"), "{text:?}");
    }
}

fn the_command_starts_in_the_same_directory_as_outside(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let workspace = sandbox.workspace();
    let _ = sandbox.run(&[], &["pwd"]).output().ok().prints(format!("{workspace}\n"));
    let deep = sandbox.repo().join("src/deep");
    let output = sandbox.shell(&[], "pwd; touch here").current_dir(&deep).output().ok();
    let _ = output.prints(format!("{workspace}/src/deep\n"));
    // Seen from anywhere in the repo, the session is the repo's.
    let listed = sandbox.cowbox(&["diff", "--name-status"]).current_dir(sandbox.repo().join("src")).output();
    let _ = listed.ok().prints("A  src/deep/here\n");
    let output = sandbox.run(&["-C", "src"], &["pwd"]).output().ok();
    let _ = output.prints(format!("{workspace}/src\n"));
}

/// The owner of what a command wrote, as the host sees it.
fn owner(sandbox: &Sandbox, path: &str) -> u32 {
    use std::os::unix::fs::MetadataExt;
    let upper = sandbox.session_dir(sandbox.session_ids().last().unwrap()).join("upper");
    std::fs::symlink_metadata(upper.join(path)).unwrap().uid()
}

fn files_belong_to_the_invoking_user(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > new; echo x >> README.md; mkdir dir; ln -s x sym").done();
    for path in ["new", "README.md", "dir", "sym"] {
        assert_eq!(owner(&sandbox, path), rustix::process::geteuid().as_raw(), "{path}");
    }
}

fn files_belong_to_the_invoking_user_whatever_the_user_of_the_image(engine: Engine) {
    for image in ["tiny-user", "tiny-named"] {
        let sandbox = Sandbox::new(engine).with_image(image);
        let output = sandbox.sh("id -u; echo x > new; echo x >> README.md; mkdir dir; rm build.sh").ok();
        if engine == Engine::Podman {
            assert_eq!(output.stdout(), "1000\n");
        }
        for path in ["new", "README.md", "dir"] {
            assert_eq!(owner(&sandbox, path), rustix::process::geteuid().as_raw(), "{image} {path}");
        }
        assert_eq!(sandbox.changes(), ["M  README.md", "D  build.sh", "A  dir", "A  new"]);
    }
}

fn quiet_says_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["-q"], "touch new").output().ok();
    assert_eq!(output.stderr(), "");
    let output = sandbox.cowbox(&["discard", "-q", "-y"]).output().ok();
    assert_eq!(output.stderr(), "");
}

fn first_starts_at_the_same_time_all_work(engine: Engine) {
    let sandbox = Sandbox::cold(engine);
    let running: Vec<_> = (0..3).map(|n| sandbox.shell(&[], &format!("touch new{n}; echo {n}")).spawn()).collect();
    for (n, running) in running.into_iter().enumerate() {
        let _ = running.wait().ok().prints(format!("{n}\n"));
    }
    assert_eq!(sandbox.session_ids().len(), 3);
}

/// The first line of stderr, without the session's name.
fn first_line(engine: Engine) -> String {
    let sandbox = Sandbox::new(engine);
    let stderr = sandbox.sh("true").ok().stderr();
    stderr.lines().next().unwrap().rsplit_once(" · session api-").unwrap().0.to_owned()
}

#[track_caller]
fn is_like(line: &str, start: &str, end: &str) {
    assert!(line.starts_with(start) && line.ends_with(end), "{line}");
}

fn the_first_line_names_podman(engine: Engine) {
    let mode = if rustix::process::geteuid().is_root() { "rootful" } else { "rootless" };
    is_like(&first_line(engine), "cowbox: podman ", &format!("({mode}, overlay)"));
}

fn the_first_line_names_docker(engine: Engine) {
    is_like(&first_line(engine), "cowbox: docker ", "(daemon, overlay)");
}

fn the_first_line_names_the_kernel(engine: Engine) {
    let mode = if rustix::process::geteuid().is_root() { "as root" } else { "rootless" };
    is_like(&first_line(engine), "cowbox: native, Linux ", &format!("({mode}, overlay)"));
}
