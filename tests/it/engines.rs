//! Which engine, and why: what real engines say about themselves, and what cowbox makes of it.

use cowbox::engine::facts::{Facts, local_endpoint, parse_docker_version, parse_podman_info};

use crate::common::{Cowbox, Engine, Running, Sandbox, has_image, on, on_containers};
use crate::host::Programs;

const LOCAL: &str = "unix:///var/run/docker.sock";

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/engines/", $name))
    };
}

/// The line of a transcript that is JSON.
fn json_of(transcript: &'static str) -> &'static str {
    transcript.lines().find(|line| line.starts_with('{')).unwrap()
}

#[track_caller]
fn refused(answer: Result<Facts, String>, word: &str) {
    let reason = answer.expect_err("it should have been refused");
    assert!(reason.contains(word), "{reason:?} does not say {word:?}");
    assert!(!reason.contains('\n'), "a reason is one line: {reason:?}");
}

#[test]
fn rootless_podman_on_cgroup_v1_is_known_as_such() {
    let facts = parse_podman_info(fixture!("podman-rootless-4.3.1-info.json")).unwrap();
    assert_eq!((facts.version.as_str(), facts.rootless, facts.limits), ("4.3.1", true, false));
    assert!(facts.graph_root.unwrap().ends_with("/containers/storage"));
}

#[test]
fn rootful_podman_can_limit() {
    let facts = parse_podman_info(fixture!("podman-rootful-4.3.1-info.json")).unwrap();
    assert_eq!((facts.version.as_str(), facts.rootless, facts.limits), ("4.3.1", false, true));
    assert_eq!(facts.graph_root.as_deref(), Some("/var/lib/containers/storage"));
}

#[test]
fn rootless_podman_can_limit_only_with_every_controller_delegated() {
    let info =
        fixture!("podman-rootless-4.3.1-info.json").replace(r#""cgroupVersion": "v1""#, r#""cgroupVersion": "v2""#);
    let with = |controllers: &str| {
        let text = info.replace(r#""cgroupControllers": []"#, &format!(r#""cgroupControllers": [{controllers}]"#));
        parse_podman_info(&text).unwrap().limits
    };
    assert!(with(r#""cpu", "memory", "pids""#));
    assert!(!with(r#""memory", "pids""#), "a limit that one controller lacks would be ignored");
    assert!(!with(""));
}

#[test]
fn a_podman_elsewhere_is_refused() {
    refused(parse_podman_info(fixture!("podman-remote-4.3.1-info.json")), "where this repository is not");
}

#[test]
fn a_podman_without_overlay_storage_is_refused_with_what_to_set() {
    let vfs = fixture!("podman-rootless-4.3.1-info.json")
        .replace(r#""graphDriverName": "overlay""#, r#""graphDriverName": "vfs""#);
    refused(parse_podman_info(&vfs), "storage.conf");
}

#[test]
fn a_podman_that_mounts_with_another_program_is_known_as_such() {
    let info = fixture!("podman-rootless-4.3.1-info.json");
    assert!(parse_podman_info(info).unwrap().kernel_overlay);
    // As 4.3.1 says it.
    let program = r#""graphOptions": {"overlay.mount_program": {"Executable": "/usr/bin/fuse-overlayfs",
        "Package": "fuse-overlayfs_1.10-1_amd64", "Version": "fusermount3 version: 3.14.0"}}"#;
    let fuse = info.replace(r#""graphOptions": {}"#, program);
    assert!(!parse_podman_info(&fuse).unwrap().kernel_overlay);
}

#[test]
fn docker_daemons_are_read_whatever_the_client() {
    for text in [fixture!("docker-20.10.24-version.json"), fixture!("docker-28.2.2-20.10.24-version.json")] {
        let facts = parse_docker_version(text, LOCAL).unwrap();
        assert_eq!((facts.version.as_str(), facts.rootless, facts.limits), ("20.10.24+dfsg1", false, true));
    }
}

#[test]
fn a_rootless_docker_daemon_is_known_as_such() {
    let text = fixture!("docker-20.10.24-version.json").replace(r#"{"Name":"docker-init""#, r#"{"Name":"rootlesskit""#);
    assert!(parse_docker_version(&text, LOCAL).unwrap().rootless);
}

#[test]
fn a_docker_client_without_its_daemon_is_refused() {
    for transcript in [
        fixture!("docker-host-unix-missing.txt"),
        fixture!("docker-host-tcp-refused.txt"),
        fixture!("docker-no-permission.txt"),
        fixture!("docker-context-elsewhere.txt"),
    ] {
        refused(parse_docker_version(json_of(transcript), LOCAL), "daemon");
    }
}

#[test]
fn podman_under_the_name_of_docker_is_recognised() {
    for transcript in [fixture!("podman-as-docker-shim-version.txt"), fixture!("podman-as-docker-symlink-version.txt")]
    {
        refused(parse_docker_version(json_of(transcript), LOCAL), "podman");
    }
    // With podman's own service behind it there is a server, and it says what it is.
    let served = fixture!("docker-20.10.24-version.json").replace(r#"{"Name":"Engine""#, r#"{"Name":"Podman Engine""#);
    refused(parse_docker_version(&served, LOCAL), "podman");
}

#[test]
fn a_daemon_that_is_not_on_this_machine_is_refused_by_its_address() {
    assert_eq!(local_endpoint(LOCAL), Ok(()));
    for context in [fixture!("docker-context-inspect-default.json"), fixture!("docker-context-inspect-env.json")] {
        let parsed: serde_json::Value = serde_json::from_str(context).unwrap();
        assert_eq!(local_endpoint(parsed[0]["Endpoints"]["docker"]["Host"].as_str().unwrap()), Ok(()));
    }
    for far in ["tcp://127.0.0.1:2375", "ssh://me@build", "npipe:////./pipe/docker_engine", "http://h", "", "x"] {
        let answer = parse_docker_version(fixture!("docker-20.10.24-version.json"), far);
        refused(answer, far);
    }
    let coloured = local_endpoint("tcp://\x1b[31mred").unwrap_err();
    assert!(!coloured.contains('\x1b'), "{coloured:?}");
}

#[test]
fn answers_that_are_no_answers_are_refused_and_do_not_panic() {
    let info = fixture!("podman-rootless-4.3.1-info.json");
    let version = fixture!("docker-20.10.24-version.json");
    for cut in (0..info.len()).step_by(37) {
        assert!(parse_podman_info(&info[..cut]).is_err(), "cut at {cut}");
    }
    for cut in (0..version.trim_end().len()).step_by(23) {
        assert!(parse_docker_version(&version[..cut], LOCAL).is_err(), "cut at {cut}");
    }
    for text in
        ["", "{}", "[]", "null", "\"podman\"", "Error: no", "{\"host\":{}}", "{\"Server\":{}}", "{\"Server\":7}"]
    {
        refused(parse_podman_info(text), "");
        refused(parse_docker_version(text, LOCAL), "");
    }
    // The answer to another question.
    assert!(parse_podman_info(fixture!("podman-rootless-4.3.1-version.json")).is_err());
    assert!(parse_podman_info(version).is_err());
}

on_containers!(
    first_starts_at_the_same_time_do_not_disturb_each_other,
    an_image_that_is_there_though_its_import_failed_is_removed,
);
on!(podman: podman_is_the_first_choice, a_shim_called_docker_is_podman);
on!(docker: docker_is_taken_where_podman_does_not_work);
on!(native: native_is_taken_where_neither_works, an_image_without_an_engine_for_it_is_an_error,
    the_flag_wins_over_the_variable_and_that_over_the_configuration, every_failed_engine_is_named_with_its_reason,
    a_second_start_does_not_ask_the_engines_again);

/// `cowbox run` without `--engine`.
fn choosing(sandbox: &Sandbox, programs: &Programs, options: &[&str]) -> Cowbox {
    let cowbox = sandbox.cowbox(&["run"]).args(options).args(&["--", "true"]);
    cowbox.env("PATH", programs.path())
}

#[track_caller]
fn engine_of(sandbox: &Sandbox) -> String {
    sandbox.only_record()["engine"]["kind"].as_str().unwrap().to_owned()
}

fn podman_is_the_first_choice(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.cowbox(&["run", "--image", &tiny(), "--", "true"]).output().ok();
    assert_eq!(engine_of(&sandbox), "podman");
    let first = output.stderr().lines().next().unwrap().to_owned();
    assert!(first.starts_with("cowbox: podman ") && first.contains(" · session api-"), "{first}");
}

/// With nothing but podman-docker's script on the PATH, podman works; asked for as docker, it says what it is.
fn a_shim_called_docker_is_podman(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let shim =
        "echo 'Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg.' >&2\nexec podman \"$@\"";
    let programs = Programs::new(&sandbox).script("docker", shim);
    let run = |options: &[&str]| choosing(&sandbox, &programs, &[&["--image", &tiny()], options].concat());
    for with_host in [true, false] {
        let refused = run(&["--engine", "docker"]);
        let refused = if with_host { refused } else { refused.env_remove("DOCKER_HOST") };
        let _ = refused.output().code(125).says("podman under another name");
    }
    run(&[]).output().says("podman").done();
    assert_eq!(engine_of(&sandbox), "podman");
}

fn docker_is_taken_where_podman_does_not_work(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let broken = "echo 'Error: cannot find newuidmap: exec: not found' >&2; exit 125";
    let programs = Programs::new(&sandbox).script("podman", broken).script("docker", "exec docker \"$@\"");
    let output = choosing(&sandbox, &programs, &["-v", "--image", &tiny()]).output().ok();
    assert_eq!(engine_of(&sandbox), "docker");
    let _ = output.says("podman does not work").says("passed over podman: cannot find newuidmap");
}

fn native_is_taken_where_neither_works(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs = Programs::new(&sandbox);
    let output = choosing(&sandbox, &programs, &["--env", "PATH=/usr/bin:/bin"]).output().ok();
    assert_eq!(engine_of(&sandbox), "native");
    let _ = output.says("neither podman nor docker works");
}

fn an_image_without_an_engine_for_it_is_an_error(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs = Programs::new(&sandbox);
    let _ = choosing(&sandbox, &programs, &["--image", "debian:12"])
        .output()
        .code(125)
        .says("the image debian:12 needs podman or docker")
        .says("cowbox: hint: ");
    sandbox.configure("image = \"debian:12\"\n");
    let _ = choosing(&sandbox, &programs, &[]).output().code(125).says("the image debian:12 needs podman or docker");
    assert!(sandbox.session_ids().is_empty(), "it never falls back to something that was not asked for");
}

fn the_flag_wins_over_the_variable_and_that_over_the_configuration(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs = Programs::new(&sandbox);
    let run = |options: &[&str]| choosing(&sandbox, &programs, options);
    sandbox.configure("engine = \"docker\"\n");
    let _ = run(&[]).output().code(125).says("docker (from the configuration) cannot be used: not installed");
    let _ = run(&[]).env("COWBOX_ENGINE", "podman").output().code(125).says("podman (as asked for) cannot be used");
    let both = run(&["--engine", "native", "--env", "PATH=/usr/bin:/bin"]).env("COWBOX_ENGINE", "podman");
    both.output().says("cowbox: native, Linux ").done();
    assert_eq!(engine_of(&sandbox), "native");
}

fn every_failed_engine_is_named_with_its_reason(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let no_namespaces = "echo 0 > /proc/sys/user/max_user_namespaces";
    let programs = Programs::new(&sandbox);
    let wrapped = crate::host::in_namespace(
        sandbox.cowbox(&["run", "--", "true"]),
        &format!("{no_namespaces}\nPATH={}", programs.path().to_str().unwrap()),
    );
    let output = wrapped.output().code(125);
    let error = output.stderr();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].starts_with("cowbox: error: no engine works ("), "{error}");
    for name in ["podman: not installed", "docker: not installed", "native: "] {
        assert!(lines[0].contains(name), "{error}");
    }
    assert!(lines[1].starts_with("cowbox: hint: ") && lines[1].contains("cowbox doctor"), "{error}");
}

/// What was found out is kept: starts must not pay for it each time.
fn a_second_start_does_not_ask_the_engines_again(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let log = sandbox.root().join("calls");
    let script = format!("echo called >> '{}'; exit 125", log.display());
    let programs = Programs::new(&sandbox).script("podman", &script).script("docker", &script);
    let run = || choosing(&sandbox, &programs, &["--env", "PATH=/usr/bin:/bin"]).output().done();
    run();
    let first = std::fs::read_to_string(&log).unwrap();
    run();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), first);
}

/// Each of them tries the engine, since each has a cache of its own.
fn first_starts_at_the_same_time_do_not_disturb_each_other(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let start = |number: i32| {
        let run = sandbox.shell(&[], &format!("echo {number}"));
        run.env("COWBOX_CACHE_DIR", sandbox.root().join(format!("cache{number}"))).spawn()
    };
    let started: Vec<Running> = (0..6).map(start).collect();
    for (number, running) in started.into_iter().enumerate() {
        running.wait().prints(format!("{number}\n")).done();
    }
    assert_eq!(sandbox.session_ids().len(), 6);
}

/// An engine that stumbles at its end is tried once more; what it made by then goes as well.
fn an_image_that_is_there_though_its_import_failed_is_removed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let log = sandbox.root().join("imported");
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "PATH='{path}'\nif [ \"$1\" = import ] && [ ! -e '{log}' ]; then echo \"$3\" > '{log}'; {name} \"$@\"; exit 125; fi\n\
         exec {name} \"$@\"",
        log = log.display(),
        name = engine.name()
    );
    let programs = Programs::new(&sandbox).script(engine.name(), &script);
    let path = format!("{}:{path}", programs.path().to_str().unwrap());
    sandbox.shell(&[], "true").env("PATH", path).output().done();
    let imported = std::fs::read_to_string(&log).unwrap();
    assert!(imported.starts_with("localhost/cowbox-probe:"), "{imported}");
    assert!(!has_image(engine, imported.trim()), "{imported} is left");
}

fn tiny() -> String {
    "localhost/cowbox-test/tiny:latest".to_owned()
}
