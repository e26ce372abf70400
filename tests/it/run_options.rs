//! `--user`, `--workdir`, `--name`, `--report`, `--runtime`, `--on-exit`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Engine, Sandbox, on, on_containers, on_every_engine, snapshot};
use crate::session::id_of;

on_every_engine!(
    the_command_runs_as_somebody_who_can_write,
    root_inside_is_on_request,
    workdir_is_relative_to_the_workspace_or_absolute,
    a_name_is_what_the_session_is_called,
    a_name_is_taken_once,
    a_name_that_could_be_misread_is_refused,
    the_report_is_the_result_as_json,
    a_command_that_is_not_there_is_reported_too,
    without_a_terminal_nobody_is_asked_and_the_changes_are_kept,
    the_engine_can_come_from_the_environment,
);
on_containers!(a_user_is_a_name_or_numbers_of_the_image, an_unknown_runtime_is_refused);
on!(podman: another_runtime_writes_the_same_changes, gvisor_writes_the_same_changes, root_inside_is_nobody_outside);
on!(docker: root_is_out_of_reach_unless_asked_for, another_runtime_is_passed_on);
on!(native: no_other_user_no_image_no_runtime, no_privilege_can_be_gained);

fn the_command_runs_as_somebody_who_can_write(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let own = rustix::process::geteuid().as_raw().to_string();
    let expected = match engine {
        Engine::Podman => "0",
        Engine::Docker | Engine::Native => &own,
    };
    let _ = sandbox.sh("id -u; touch new; echo x > \"$HOME/x\"").ok().prints(format!("{expected}\n"));
}

fn root_inside_is_on_request(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for user in ["root", "0", "0:0"] {
        let output = sandbox.shell(&["--user", user], "id -u; id -g; echo x > by-root").output().ok();
        let _ = output.prints("0\n0\n");
        assert_eq!(sandbox.changes(), ["A  by-root"]);
        sandbox.cowbox(&["discard", "-y"]).output().done();
    }
}

fn a_user_is_a_name_or_numbers_of_the_image(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (user, expected) in [("agent", "1000:1000"), ("1000", "1000:1000"), ("1000:1000", "1000:1000")] {
        let output = sandbox.shell(&["--user", user], "echo $(id -u):$(id -g); echo \"$HOME\"").output().ok();
        assert!(output.stdout().starts_with(expected), "{user}: {output}");
    }
    // Docker has no map of ids: another user than the caller may not even write.
    if engine == Engine::Podman {
        sandbox.shell(&["--user", "agent"], "echo x > new; rm README.md").output().done();
        assert_eq!(sandbox.changes(), ["D  README.md", "A  new"]);
    }
}

fn workdir_is_relative_to_the_workspace_or_absolute(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let workspace = sandbox.workspace();
    let pwd = |dir: &str| sandbox.run(&["--workdir", dir], &["pwd"]).output().ok().stdout();
    assert_eq!(pwd("src"), format!("{workspace}/src\n"));
    assert_eq!(pwd("src/deep"), format!("{workspace}/src/deep\n"));
    assert_eq!(pwd("."), format!("{workspace}\n"));
    assert_eq!(pwd("/tmp"), "/tmp\n");
    // From a sub-directory it is still the workspace's.
    let output = sandbox.run(&["--workdir", "src"], &["pwd"]).current_dir(sandbox.repo().join("src/deep")).output();
    let _ = output.ok().prints(format!("{workspace}/src\n"));
}

fn a_name_is_what_the_session_is_called(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.run(&["--name", "my.task_1"], &["touch", "new"]).output().ok().says("session my.task_1");
    let _ = sandbox.cowbox(&["diff", "--name-status", "my.task_1"]).output().ok().prints("A  new\n");
    let _ = sandbox.cowbox(&["diff", "--name-status", "my."]).output().ok().prints("A  new\n");
}

fn a_name_is_taken_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.run(&["--name", "same"], &["true"]).output().done();
    snapshot!(sandbox.run(&["--name", "same"], &["true"]).output(), @r"
    exit: 125
    --- stderr
    cowbox: error: there is a session same already
    cowbox: hint: choose another name, or discard it with `cowbox discard same`
    ");
    sandbox.cowbox(&["discard", "-y", "same"]).output().done();
    sandbox.run(&["--name", "same"], &["true"]).output().done();
    assert_eq!(id_of(&sandbox, "same"), sandbox.session_ids()[1], "the one that lives is meant");
}

fn a_name_that_could_be_misread_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for name in ["", "-x", "a b", "a/b", "..", "../x", "a\nb", "\x1b[31m", "ü", &"x".repeat(65)] {
        let output = sandbox.run(&[&format!("--name={name}")], &["true"]).output().code(125);
        assert!(!output.stderr().contains('\x1b'));
    }
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

fn read_report(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn the_report_is_the_result_as_json(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("report.json");
    let options = ["--name", "one", "--report", file.to_str().unwrap()];
    let _ = sandbox.shell(&options, "echo out; exit 3").output().code(3).prints("out\n");
    let report = read_report(&file);
    assert_eq!(report["schema"], 1);
    assert_eq!(report["id"], sandbox.session_ids()[0].as_str());
    assert_eq!(report["name"], "one");
    assert_eq!(report["state"], "stopped");
    assert_eq!(report["engine"], engine.name());
    assert_eq!(report["repo"], sandbox.repo().to_str().unwrap());
    assert_eq!(report["exit"], 3);
    // `-C` is as if started there, for the report too.
    let output = sandbox.run(&["-C", "api", "--on-exit", "discard", "--report", "../report2.json"], &["true"]);
    output.current_dir(sandbox.home()).output().done();
    assert_eq!(read_report(&sandbox.home().join("report2.json"))["state"], "discarded");
}

fn a_command_that_is_not_there_is_reported_too(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let file = sandbox.root().join("report.json");
    let _ = sandbox.run(&["--report", file.to_str().unwrap()], &["no-such-command"]).output().code(127);
    assert_eq!(read_report(&file)["exit"], 127);
}

fn without_a_terminal_nobody_is_asked_and_the_changes_are_kept(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.shell(&["--on-exit", "ask"], "echo ran > new").output().ok().prints("");
    let _ = output.says("1 change kept · review with `cowbox diff");
    assert_eq!(sandbox.changes(), ["A  new"]);
}

fn the_engine_can_come_from_the_environment(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut run = sandbox.cowbox(&["run", "--", "true"]).env("COWBOX_ENGINE", engine.name());
    if engine.has_images() {
        run = run.env("COWBOX_IMAGE", "localhost/cowbox-test/tiny:latest");
    }
    let _ = run.output().ok().says(&format!("cowbox: {}", engine.name()));
    let run = sandbox.cowbox(&["run", "--", "true"]).env("COWBOX_ENGINE", "qemu");
    let _ = run.output().code(125).says("qemu");
}

fn an_unknown_runtime_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.run(&["--runtime", "no-such-runtime"], &["true"]).output().code(125).says("no-such-runtime");
    sandbox.check_leftovers();
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

const CHANGES: &str = "echo x > new; rm README.md; rm -r src; mkdir src; echo y > src/only";
const CHANGED: [&str; 7] =
    ["D  README.md", "A  new", "D  src/deep", "D  src/deep/er", "D  src/deep/er/leaf", "D  src/main.c", "A  src/only"];

fn another_runtime_writes_the_same_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let runtimes = ["/usr/bin/crun", "/usr/sbin/runc", "/usr/bin/runc"];
    let runtime =
        runtimes.into_iter().find(|r| Path::new(r).exists()).expect("crun or runc, which podman itself needs");
    let _ = sandbox.shell(&["--runtime", runtime, "--name", "rt"], CHANGES).output().ok();
    assert_eq!(sandbox.changes(), CHANGED);
    let again = sandbox.cowbox(&["run", "--resume", "rt", "--", "cat", "new", "src/only"]).output();
    let _ = again.ok().prints("x\ny\n");
}

fn gvisor_writes_the_same_changes(engine: Engine) {
    if !Path::new("/usr/bin/runsc").exists() {
        use std::io::Write;
        let _ = std::io::stderr().write_all(b"\nNOT RUN: gVisor (no /usr/bin/runsc; tests/host/setup installs it)\n");
        return;
    }
    let sandbox = Sandbox::new(engine);
    let wrapper = sandbox.root().join("runsc");
    // As it must be called where cgroups and KVM are not ours.
    let text = "#!/bin/sh\nexec /usr/bin/runsc --platform=ptrace --network=none --ignore-cgroups \"$@\"\n";
    fs::write(&wrapper, text).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let options = ["--runtime", wrapper.to_str().unwrap(), "--network", "none"];
    let output = sandbox.shell(&options, &format!("dmesg | head -n 1; {CHANGES}")).output().ok();
    assert!(output.stdout().contains("gVisor"), "{output}");
    assert_eq!(sandbox.changes(), CHANGED);
}

fn another_runtime_is_passed_on(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--runtime", "runc"], CHANGES).output().ok();
    assert_eq!(sandbox.changes(), CHANGED);
}

const PRIVILEGES: &str = "grep -E '^(NoNewPrivs|CapEff|CapBnd)' /proc/self/status";

fn root_inside_is_nobody_outside(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.sh(PRIVILEGES).ok();
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETFCAP and no other.
    assert!(output.stdout().contains("CapBnd:\t00000000800000fb"), "{output}");
    let sandbox = Sandbox::new(engine).with_image("tiny-user");
    let output = sandbox.sh(PRIVILEGES).ok();
    assert!(output.stdout().contains("CapEff:\t0000000000000000"), "{output}");
    let expected = if rustix::process::geteuid().is_root() { "NoNewPrivs:\t1" } else { "NoNewPrivs:\t0" };
    assert!(output.stdout().contains(expected), "{output}");
}

fn root_is_out_of_reach_unless_asked_for(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.sh(PRIVILEGES).ok();
    if !rustix::process::geteuid().is_root() {
        assert!(output.stdout().contains("NoNewPrivs:\t1"), "{output}");
        assert!(output.stdout().contains("CapEff:\t0000000000000000"), "{output}");
    }
    let output = sandbox.shell(&["--user", "root"], PRIVILEGES).output().ok();
    assert!(output.stdout().contains("NoNewPrivs:\t0"), "{output}");
    assert!(output.stdout().contains("CapEff:\t00000000800000fb"), "{output}");
}

fn no_other_user_no_image_no_runtime(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for options in [["--user", "daemon"], ["--image", "debian"], ["--runtime", "runsc"]] {
        let output = sandbox.run(&options, &["true"]).output().code(125).says(options[1]).says("hint:");
        assert!(output.stderr().contains("native"), "{output}");
    }
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
}

fn no_privilege_can_be_gained(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for options in [&[][..], &["--user", "root"]] {
        let output = sandbox.shell(options, PRIVILEGES).output().ok();
        assert!(output.stdout().contains("NoNewPrivs:\t1"), "{output}");
        assert!(output.stdout().contains("CapEff:\t0000000000000000"), "{output}");
        assert!(output.stdout().contains("CapBnd:\t0000000000000000"), "{output}");
    }
}
