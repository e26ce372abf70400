//! Bad input and bad luck: one clear line with a next step, the right exit code, and nothing lost.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{
    Cowbox, Engine, Output, Process, Sandbox, container_name, on, on_containers, on_every_engine, snapshot,
};
use crate::host::{Programs, in_namespace};

on_every_engine!(a_cache_that_cannot_be_written_is_named_or_does_not_matter, usage_is_told_from_failure,);

on_containers!(
    an_image_that_is_not_here_is_one_clear_line,
    an_image_that_cannot_be_pulled_is_one_clear_line,
    what_is_no_image_name_is_refused,
    a_killed_client_keeps_the_changes_and_leaves_no_container,
    a_container_killed_from_outside_keeps_the_changes,
    a_container_removed_from_outside_keeps_the_changes,
    an_engine_that_went_away_loses_nothing,
    an_image_that_went_away_loses_nothing,
);

on!(podman: a_remote_podman_is_refused_with_the_reason);
on!(docker: a_remote_docker_is_refused_with_the_reason, a_docker_context_elsewhere_is_refused_with_the_reason);

on!(native:
    a_full_disk_before_the_start_is_one_clear_line,
    a_full_disk_while_the_command_runs_loses_nothing,
    an_unknown_engine_is_refused_with_those_there_are,
    a_wrong_configuration_is_refused_by_its_line,
    an_engine_that_says_nonsense_is_passed_over,
    an_engine_that_does_not_answer_is_given_up,
    a_killed_sandbox_keeps_the_changes,
    values_that_make_no_sense_are_refused,
    every_error_is_one_line_and_its_hints,
);

/// One `cowbox: error: …` that has `text`, and after it only hints.
#[track_caller]
fn is_clear(output: Output, code: i32, text: &str) -> Output {
    let output = output.code(code);
    let said = output.stderr();
    let mut lines = said.lines().skip_while(|l| !l.starts_with("cowbox: error: "));
    let error = lines.next().unwrap_or_else(|| panic!("no error in\n{said}"));
    assert!(error.contains(text), "{error:?} does not say {text:?}");
    let rest: Vec<&str> = lines.collect();
    assert!(rest.iter().all(|l| l.starts_with("cowbox: hint: ")), "{said}");
    output
}

/// The same, with a next step.
#[track_caller]
fn is_clear_with_hint(output: Output, code: i32, text: &str) -> Output {
    let output = is_clear(output, code, text);
    assert!(output.stderr().contains("\ncowbox: hint: "), "{}", output.stderr());
    output
}

fn an_unknown_engine_is_refused_with_those_there_are(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for call in [
        sandbox.cowbox(&["run", "--engine", "lxc", "--", "true"]),
        sandbox.cowbox(&["run", "--", "true"]).env("COWBOX_ENGINE", "lxc"),
    ] {
        let output = call.output().code(125);
        for name in ["lxc", "podman", "docker", "native", "auto"] {
            assert!(output.stderr().contains(name), "{}", output.stderr());
        }
    }
    sandbox.configure("engine = \"lxc\"\n");
    let output = sandbox.cowbox(&["run", "--", "true"]).output();
    let output = is_clear_with_hint(output, 125, "config.toml, line 1: ");
    assert!(output.stderr().contains("lxc") && output.stderr().contains("native"), "{}", output.stderr());
    assert!(sandbox.session_ids().is_empty());
}

fn a_wrong_configuration_is_refused_by_its_line(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (text, line, word) in [
        ("# mine\n\nnetwork = \"none\"\nengine = 1\n", 4, ""),
        ("engine = 7\n", 1, ""),
        ("[native]\nmask = [\".ssh\"]\nmask-more = 1\n", 3, ""),
        ("network = \"nnoe\"\n", 1, "nnoe"),
        ("on-exit = \"keep\n", 1, ""),
        ("network = \"none\"\nnetwork = \"full\"\n", 2, ""),
    ] {
        sandbox.configure(text);
        let output =
            is_clear_with_hint(sandbox.shell(&[], "true").output(), 125, &format!("config.toml, line {line}: "));
        assert!(output.stderr().contains(word), "{}", output.stderr());
    }
    let file = sandbox.root().join("config/cowbox/config.toml");
    fs::write(&file, b"image = \"\xff\"\n").unwrap();
    let _ = is_clear(sandbox.shell(&[], "true").output(), 125, "config.toml");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let _ = is_clear(sandbox.shell(&[], "true").output(), 125, "config.toml");
    assert!(sandbox.session_ids().is_empty());
    // What only looks is not kept from looking.
    sandbox.cowbox(&["ls"]).output().done();
}

fn usage_is_told_from_failure(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (args, code) in [
        (&["frobnicate"][..], 2),
        (&["ls", "--nope"], 2),
        (&["diff", "a", "b"], 2),
        (&["discard", "--json"], 2),
        // 2 could be the command's own.
        (&["run", "--nope"], 125),
        (&["run", "true"], 125),
        (&["exec"], 125),
        (&["exec", "x"], 125),
        (&["-q", "run", "--nope"], 125),
        (&["--color", "never", "run", "--nope"], 125),
        (&["--help"], 0),
        (&["run", "--help"], 0),
        (&["--version"], 0),
    ] {
        let output = sandbox.cowbox(args).output().code(code);
        assert_eq!(output.stdout.is_empty(), code != 0, "{args:?}");
    }
    assert!(sandbox.session_ids().is_empty());
}

fn values_that_make_no_sense_are_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for options in [
        &["--memory", "lots"][..],
        &["--memory", "0"],
        &["--memory", "-1"],
        &["--cpus", "0"],
        &["--cpus", "nan"],
        &["--pids", "0"],
        &["--pids", "-3"],
        &["--timeout", "soon"],
        &["--timeout", "0"],
        &["--network", "some"],
        &["--on-exit", "explode"],
        &["--mount", "/etc"],
        &["--mount", "/etc:/"],
        &["--mount", "/etc:/x:rx"],
        &["--mount", "/no/such/place:/x"],
        &["--env", "=x"],
        &["--env", ""],
        &["--user", "nobody-of-that-name"],
        &["--workdir", "/no/such/place"],
        &["--workdir", "no/such/place"],
        &["--resume", "x", "--name", "y"],
        &["--report", "/no/such/place/report"],
    ] {
        let output = sandbox.shell(options, "echo ran").output().code(125);
        assert!(output.stdout.is_empty(), "{options:?} ran the command");
        assert!(!output.stderr().trim().is_empty());
    }
}

fn an_image_that_is_not_here_is_one_clear_line(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let run = sandbox.cowbox(&["run", "--engine", engine.name(), "--image", "localhost/no/such:1", "--", "true"]);
    snapshot!(run.output(), @r"
    exit: 125
    --- stderr
    cowbox: error: the image localhost/no/such:1 is not here and cannot be pulled
    cowbox: hint: build or import it, name another with `--image`, or run without an image: `--engine native`
    ");
    assert!(sandbox.session_ids().is_empty());
}

/// A registry that nobody is at.
fn an_image_that_cannot_be_pulled_is_one_clear_line(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let image = "127.0.0.1:1/nobody/nothing:1";
    let run = sandbox.cowbox(&["run", "--engine", engine.name(), "--image", image, "--", "true"]);
    let output = is_clear_with_hint(run.output(), 125, &format!("the image {image} is not here and cannot be pulled"));
    assert!(output.stderr().contains("refused"), "why: {}", output.stderr());
    assert!(sandbox.session_ids().is_empty());
}

fn what_is_no_image_name_is_refused(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for image in ["-x", "--privileged", "", "two words", "UPPER/Case", "a:b:c", "\u{1b}[31m", "x@sha256:1", "../x", "/"]
    {
        let run = sandbox.cowbox(&["run", "--engine", engine.name(), &format!("--image={image}"), "--", "true"]);
        let output = run.output().code(125);
        assert!(output.stderr().contains("error: "), "{image:?}: {}", output.stderr());
        assert!(!output.stderr().contains('\u{1b}'));
    }
    assert!(sandbox.session_ids().is_empty());
    sandbox.check_leftovers();
}

/// Runs `script` where the state directory is on a disk of 400 kB; `"$@"` is the call.
fn on_small_disk(sandbox: &Sandbox, cowbox: Cowbox, script: &str) -> Cowbox {
    let dir = sandbox.root().join("small");
    fs::create_dir_all(&dir).unwrap();
    let mount = format!("mount -t tmpfs -o size=400k none '{}'", dir.display());
    in_namespace(cowbox.env("COWBOX_STATE_DIR", dir.join("state")), &format!("{mount}\n{script}"))
}

fn a_full_disk_before_the_start_is_one_clear_line(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let small = sandbox.root().join("small");
    // Not one block left, and a few: it fails at another place, as clearly.
    for room in [0, 4, 8, 12] {
        let fill = format!(
            "dd if=/dev/zero of='{0}/fill' bs=1k 2>/dev/null || :; truncate -s -{room}k '{0}/fill'",
            small.display()
        );
        let after =
            format!("{fill}\ncode=0; \"$@\" || code=$?; ls -A '{}/state/sessions' || :; exit $code", small.display());
        let output = on_small_disk(&sandbox, sandbox.shell(&[], "echo ran"), &after).output();
        if output.exit_code() == 0 {
            assert!(room > 0 && output.stdout().starts_with("ran\n"), "{}", output.stderr());
            continue;
        }
        let output = output.code(125);
        let said = output.stderr();
        assert!(said.contains("no space left on device") && said.contains("COWBOX_STATE_DIR"), "{said}");
        assert_eq!(output.stdout(), "", "nothing is left of it");
    }
}

/// The disk fills up under a running command: its exit code counts, and what it wrote is kept; and the way out,
/// looking and discarding, needs no room.
fn a_full_disk_while_the_command_runs_loses_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let command = "echo first > first; dd if=/dev/zero of=fill bs=1k count=4000 2>/dev/null; echo $?; exit 7";
    let cowbox = crate::common::program().into_string().unwrap();
    // Everything in one namespace, since the disk is gone with it. Leftovers are those of other runs of the tests, whose
    // state is gone.
    let after = format!(
        "set +e; \"$@\"; echo \"exit $?\"
        {cowbox} ls --json | grep '\"state\"'
        {cowbox} diff --name-status
        {cowbox} discard -y; {cowbox} gc | grep -v '  leftover  '
        ls -A '{}/small/state/sessions'; exit 0",
        sandbox.root().display()
    );
    let output = on_small_disk(&sandbox, sandbox.shell(&[], command), &after).output().ok();
    let said = format!("{}\n{}", output.stdout(), output.stderr());
    let out = output.stdout();
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    let kept = ["1", "exit 7", "\"state\": \"stopped\",", "A  fill", "A  first"];
    assert!(lines.starts_with(&kept), "{said}");
    assert!(lines.len() == 6 && lines[5].contains("discarded"), "nothing is left on the disk: {said}");
}

fn a_cache_that_cannot_be_written_is_named_or_does_not_matter(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for place in ["/proc/nope", "/dev/null/x"] {
        let output = sandbox.shell(&["--on-exit", "discard"], "echo ran").env("COWBOX_CACHE_DIR", place).output();
        match output.exit_code() {
            0 => assert_eq!(output.stdout(), "ran\n"),
            _ => {
                let output = is_clear_with_hint(output, 125, place);
                assert!(output.stderr().contains("COWBOX_CACHE_DIR"), "{}", output.stderr());
            }
        }
    }
}

/// A command that says `up` when it has written `marker`, and then works on.
fn working(sandbox: &Sandbox) -> crate::common::Running {
    let mut running = sandbox.shell(&["--name", "it"], "echo x > marker; echo up; while :; do sleep 1; done").spawn();
    running.expect("up");
    running
}

#[track_caller]
fn kept(sandbox: &Sandbox) {
    sandbox.check_leftovers();
    assert_eq!(sandbox.only_record()["state"], "stopped");
    assert_eq!(sandbox.changes(), ["A  marker"]);
}

fn a_killed_client_keeps_the_changes_and_leaves_no_container(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let running = working(&sandbox);
    let name = format!("--name={}", container_name(&sandbox.session_ids()[0]));
    let clients: Vec<Process> = Process::with(sandbox.id())
        .into_iter()
        .filter(|p| p.arguments.contains(&name) && p.arguments.contains(" run "))
        .collect();
    assert!(!clients.is_empty());
    for client in clients {
        let _ = kill(Pid::from_raw(client.pid), Signal::SIGKILL);
    }
    let output = running.wait();
    assert!([125, 137].contains(&output.exit_code()), "{} {}", output.exit_code(), output.stderr());
    kept(&sandbox);
}

fn a_container_killed_from_outside_keeps_the_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let running = working(&sandbox);
    let killed =
        Command::new(engine.name()).args(["kill", &container_name(&sandbox.session_ids()[0])]).output().unwrap();
    assert!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
    let _ = running.wait().code(137);
    kept(&sandbox);
    assert_eq!(sandbox.only_record()["incarnation"]["exit"], 137);
}

fn a_container_removed_from_outside_keeps_the_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let running = working(&sandbox);
    let killed = Command::new(engine.name())
        .args(["rm", "--force", &container_name(&sandbox.session_ids()[0])])
        .output()
        .unwrap();
    assert!(killed.status.success(), "{}", String::from_utf8_lossy(&killed.stderr));
    let output = running.wait();
    assert!(output.exit_code() > 100, "{} {}", output.exit_code(), output.stderr());
    kept(&sandbox);
}

fn a_killed_sandbox_keeps_the_changes(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let running = working(&sandbox);
    let init = sandbox.only_record()["incarnation"]["init"]["pid"].as_i64().unwrap();
    kill(Pid::from_raw(init as i32), Signal::SIGKILL).unwrap();
    let _ = running.wait().code(137);
    kept(&sandbox);
}

/// The engine is gone when the user comes back: looking and discarding need it only for files of other ids.
fn an_engine_that_went_away_loses_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "echo x > marker; rm README.md").output().done();
    let programs = Programs::new(&sandbox);
    let without = |args: &[&str]| sandbox.cowbox(args).env("PATH", programs.path()).output();
    without(&["diff", "--name-status"]).prints("D  README.md\nA  marker\n").done();
    without(&["ls"]).done();
    let output = without(&["run", "--resume", "it", "--", "true"]);
    let _ = is_clear_with_hint(output, 125, &format!("session it was made with {engine}, which does not work now"));
    assert_eq!(sandbox.only_record()["state"], "stopped");
    sandbox.cowbox(&["run", "--resume", "it", "--", "cat", "marker"]).output().prints("x\n").done();
}

/// The same with the image, and with files that only the engine can hand over.
fn an_image_that_went_away_loses_nothing(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let copy = format!("localhost/cowbox-test/{}:1", sandbox.id().to_lowercase());
    let client = |args: &[&str]| {
        let output = Command::new(engine.name()).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    client(&["tag", "localhost/cowbox-test/tiny:latest", &copy]);
    let script = "echo x > marker; mkdir closed; echo x > closed/f; chown 5:5 closed/f closed; chmod 0 closed/f closed";
    let run = sandbox.cowbox(&["run", "--engine", engine.name(), "--image", &copy, "--user", "root", "--name", "it"]);
    run.args(&["--", "sh", "-c", script]).output().done();
    client(&["rmi", &copy]);
    let output = sandbox.cowbox(&["run", "--resume", "it", "--", "true"]).output();
    let _ = is_clear_with_hint(output, 125, &copy);
    assert_eq!(sandbox.only_record()["state"], "stopped");
    assert_eq!(sandbox.changes(), ["A  closed", "A  closed/f", "A  marker"]);
    sandbox.cowbox(&["discard", "-y"]).output().done();
}

fn a_remote_podman_is_refused_with_the_reason(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (name, value) in [
        ("CONTAINER_HOST", "tcp://127.0.0.1:1"),
        ("CONTAINER_HOST", "ssh://me@build.example/run/podman.sock"),
        ("CONTAINER_HOST", "unix:///nonexistent.sock"),
        ("CONTAINER_CONNECTION", "build"),
    ] {
        let output = is_clear_with_hint(sandbox.shell(&[], "true").env(name, value).output(), 125, value);
        assert!(output.stderr().contains("where this repository is not"), "{}", output.stderr());
    }
    // With no engine asked for, it goes on to one that is here, and says so.
    let run = sandbox.cowbox(&["run", "-v", "--on-exit", "discard", "--", "true"]);
    let output = run.env("CONTAINER_HOST", "tcp://127.0.0.1:1").env("DOCKER_HOST", "tcp://127.0.0.1:1").output().ok();
    let _ = output.says("passed over podman: ").says("passed over docker: ").says("neither podman nor docker works");
}

fn a_remote_docker_is_refused_with_the_reason(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for host in ["tcp://127.0.0.1:1", "ssh://me@build.example", "http://127.0.0.1:1"] {
        let start = Instant::now();
        let output = is_clear_with_hint(sandbox.shell(&[], "true").env("DOCKER_HOST", host).output(), 125, host);
        assert!(output.stderr().contains("where this repository is not"), "{}", output.stderr());
        assert!(start.elapsed() < Duration::from_secs(5), "it never tries to reach it");
    }
    let missing = sandbox.shell(&[], "true").env("DOCKER_HOST", "unix:///nonexistent.sock").output();
    let _ = is_clear_with_hint(missing, 125, "/nonexistent.sock");
}

fn a_docker_context_elsewhere_is_refused_with_the_reason(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let config = sandbox.root().join("docker-config");
    let docker = |args: &[&str]| {
        let output = Command::new("docker").args(args).env("DOCKER_CONFIG", &config).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    docker(&["context", "create", "far", "--docker", "host=tcp://127.0.0.1:1"]);
    let run = || sandbox.shell(&[], "true").env("DOCKER_CONFIG", &config).env_remove("DOCKER_HOST");
    let output = is_clear_with_hint(run().env("DOCKER_CONTEXT", "far").output(), 125, "tcp://127.0.0.1:1");
    assert!(output.stderr().contains("where this repository is not"), "{}", output.stderr());
    docker(&["context", "use", "far"]);
    let _ = is_clear_with_hint(run().output(), 125, "tcp://127.0.0.1:1");
}

fn an_engine_that_says_nonsense_is_passed_over(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (number, body) in [
        "echo not json",
        "echo '{'",
        "echo '{}'",
        "echo '[]'",
        "printf '\\377\\376\\000'",
        "head -c 3000000 /dev/zero",
        "kill -9 $$",
        "exit 0",
        "echo 'Error: line one\nline two\n\n' >&2; exit 125",
    ]
    .into_iter()
    .enumerate()
    {
        let programs = Programs::new(&sandbox).script("podman", body).script("docker", body);
        let cache = sandbox.root().join(format!("cache{number}"));
        for name in ["podman", "docker"] {
            let run = sandbox.cowbox(&["run", "--engine", name, "--", "true"]).env("COWBOX_CACHE_DIR", &cache);
            let _ = is_clear_with_hint(
                run.env("PATH", programs.path()).output(),
                125,
                &format!("{name} (as asked for) cannot be used"),
            );
        }
        let run = sandbox.cowbox(&["run", "--on-exit", "discard", "--", "/bin/true"]).env("COWBOX_CACHE_DIR", &cache);
        run.env("PATH", programs.path()).output().says("neither podman nor docker works").done();
    }
}

fn an_engine_that_does_not_answer_is_given_up(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs = Programs::new(&sandbox).script("podman", "exec sleep 1000").script("docker", "exec sleep 1000");
    let run = sandbox.cowbox(&["run", "--engine", "podman", "--", "true"]).env("PATH", programs.path());
    let _ = is_clear_with_hint(run.output(), 125, "podman (as asked for) cannot be used");
}

/// Whatever goes wrong before the start: the same form on both streams, on every way in.
fn every_error_is_one_line_and_its_hints(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "it"], "true").output().done();
    for (args, code) in [
        (&["show", "nope"][..], 1),
        (&["diff", "nope"], 1),
        (&["discard", "-y", "nope"], 1),
        (&["discard", "it"], 4),
        (&["stop", "it"], 1),
        (&["exec", "it", "--", "true"], 125),
        (&["run", "--resume", "nope", "--", "true"], 125),
        (&["run", "--name", "it", "--", "true"], 125),
        (&["run", "-C", "/no/such", "--", "true"], 125),
        (&["run", "--on-exit", "apply", "--detach", "--", "true"], 125),
        (&["run", "--engine", "native", "--image", "x", "--", "true"], 125),
        (&["run", "--engine", "native", "--runtime", "runsc", "--", "true"], 125),
    ] {
        let output = is_clear(sandbox.cowbox(args).output(), code, "");
        assert!(output.stdout.is_empty(), "{args:?}: {}", output.stdout());
        let quiet = sandbox.cowbox(&[&["-q"], args].concat()).output().code(code);
        assert!(quiet.stderr().starts_with("cowbox: error: "), "-q hides no error: {}", quiet.stderr());
    }
}
