//! `doctor`: tries everything, says what mends it, and leaves nothing behind.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Cowbox, Engine, Sandbox, home_layers, on, on_every_engine, wait_until, within};
use crate::host::{self, Programs, in_namespace};

on_every_engine!(an_engine_that_works_is_said_to_work, trying_leaves_nothing_behind);

on!(native:
    the_text_names_every_check,
    the_json_document_has_every_check,
    without_a_working_engine_it_fails,
    one_working_engine_is_enough,
    each_failure_comes_with_what_mends_it,
    a_remote_daemon_is_no_engine,
    closed_user_namespaces_are_named_with_what_opens_them,
    without_sub_ids_a_single_id_is_mapped_and_doctor_says_so,
    a_state_directory_that_cannot_hold_layers_is_named,
    what_an_engine_says_is_not_acted_upon,
);

/// `cowbox doctor --json` with nothing but `programs` on the PATH.
fn with(sandbox: &Sandbox, programs: &Programs) -> Cowbox {
    sandbox.cowbox(&["doctor", "--json"]).env("PATH", programs.path())
}

#[track_caller]
fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|c| c["name"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

#[track_caller]
fn fails(report: &Value, name: &str, detail: &str, fix: &str) {
    let check = check(report, name);
    assert_eq!(check["status"], "fail", "{check}");
    assert!(check["detail"].as_str().unwrap().contains(detail), "{check} does not say {detail:?}");
    assert!(check["fix"].as_str().unwrap().contains(fix), "{check} does not say {fix:?}");
}

/// Closes user namespaces to all that is started in this one.
const CLOSED: &str = "echo 0 > /proc/sys/user/max_user_namespaces";

/// For `in_namespace`: engines would only get lost in there.
fn only(programs: &Programs) -> String {
    format!("PATH={}", programs.path().to_str().unwrap())
}

fn an_engine_that_works_is_said_to_work(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let report = sandbox.cowbox(&["doctor", "--json"]).output().ok().json();
    assert_eq!(report["ok"], true);
    let check = check(&report, engine.name());
    assert_eq!(check["status"], "ok", "{check}");
    assert!(check["detail"].as_str().unwrap().contains("overlay"), "{check}");
    assert_eq!(check["fix"], Value::Null);
}

/// Images without a name, and those of a trial. Other tests may be trying at the same time.
fn images(engine: Engine) -> BTreeSet<String> {
    let list = |filter: &str| {
        let args = ["images", "--all", "--no-trunc", "--quiet", "--filter", filter];
        // Podman's list fails when an image goes while it is being made.
        let output = wait_until("a list of images", || {
            Some(Command::new(engine.name()).args(args).output().unwrap()).filter(|o| o.status.success())
        });
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    [list("dangling=true"), list("reference=localhost/cowbox-probe")].concat().into_iter().collect()
}

/// Those of `new` that do not go: other tests try engines meanwhile.
fn that_stay<T: Ord>(mut new: BTreeSet<T>, now: impl Fn() -> BTreeSet<T>) -> BTreeSet<T> {
    within(Duration::from_secs(20), || {
        let now = now();
        new.retain(|one| now.contains(one));
        new.is_empty().then_some(())
    });
    new
}

fn trying_leaves_nothing_behind(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let names = |dir: &Path| -> BTreeSet<OsString> {
        fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.file_name()).collect()
    };
    let before = engine.has_images().then(|| images(engine));
    let homes = || -> BTreeSet<OsString> { home_layers().iter().flat_map(|dir| names(dir)).collect() };
    let homes_before = homes();
    sandbox.cowbox(&["doctor"]).output().done();
    sandbox.check_leftovers();
    assert!(names(&sandbox.state()).is_empty(), "in the state directory: {:?}", names(&sandbox.state()));
    // Those of sessions are called as the sessions are.
    let odd = homes().difference(&homes_before).filter(|n| n.len() != 26).cloned().collect();
    let odd = that_stay(odd, homes);
    assert!(odd.is_empty(), "in {:?}: {odd:?}", home_layers());
    let cached = names(&sandbox.cache());
    assert!(cached.iter().all(|n| n == "guest" || n.to_string_lossy().ends_with(".json")), "{cached:?}");
    if let Some(before) = before {
        let new = that_stay(images(engine).difference(&before).cloned().collect(), || images(engine));
        assert!(new.is_empty(), "images {new:?}");
    }
}

fn the_text_names_every_check(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let output = sandbox.cowbox(&["doctor"]).output().ok();
    let text = output.stdout();
    for name in ["podman", "docker", "native", "kernel", "sub-ids", "landlock", "disk space", "git"] {
        let line = text.lines().find(|l| l.get(6..).is_some_and(|rest| rest.starts_with(name)));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
        assert!(["ok", "warn", "fail"].contains(&line[..5].trim()), "{line}");
    }
    assert!(text.trim_end().lines().last().unwrap().starts_with("cowbox run will use "), "{text}");
    assert!(!text.contains('\u{1b}'));
}

fn the_json_document_has_every_check(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let report = sandbox.cowbox(&["doctor", "--json"]).output().ok().json();
    assert_eq!(report["schema"], 1);
    for name in ["podman", "docker", "native", "kernel", "sub-ids", "landlock", "disk space", "git"] {
        let check = check(&report, name);
        assert!(!check["detail"].as_str().unwrap().is_empty());
        assert_eq!(check["status"] == "ok", check["fix"].is_null(), "what does not work has a fix: {check}");
    }
    let first = ["podman", "docker", "native"].into_iter().find(|n| check(&report, n)["status"] == "ok").unwrap();
    assert_eq!(report["engine"], first, "what `run` takes");
}

fn without_a_working_engine_it_fails(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs = Programs::new(&sandbox);
    let script = format!("{CLOSED}\n{}", only(&programs));
    let output = in_namespace(sandbox.cowbox(&["doctor"]), &script).output().code(1);
    let text = output.stdout();
    assert_eq!(text.lines().filter(|l| l.starts_with("fail")).count(), 3, "{text}");
    assert!(text.contains("no engine works"), "{text}");
    let report = in_namespace(sandbox.cowbox(&["doctor", "--json"]), &script).output().code(1).json();
    assert_eq!(report["ok"], false);
    assert_eq!(report["engine"], Value::Null);
}

fn one_working_engine_is_enough(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let report = with(&sandbox, &Programs::new(&sandbox)).output().ok().json();
    assert_eq!(report["engine"], "native");
    fails(&report, "podman", "not installed", "apt install podman");
    fails(&report, "docker", "not installed", "apt install docker.io");
}

fn each_failure_comes_with_what_mends_it(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let transcript = |text: &str| format!("cat <<'END'\n{}\nEND\nexit 1", text.lines().nth(1).unwrap());
    let complaint = |text: &str| format!("{} >&2", text.lines().nth(2).map(|l| format!("echo '{l}'")).unwrap());
    let docker = |fixture: &str| format!("{}\n{}", complaint(fixture), transcript(fixture));
    let denied = docker(include_str!("../fixtures/engines/docker-no-permission.txt"));
    let programs = Programs::new(&sandbox).script("docker", &denied).script(
        "podman",
        "echo 'Error: cannot find newuidmap: exec: \"newuidmap\": executable file not found' >&2; exit 125",
    );
    let report = with(&sandbox, &programs).output().ok().json();
    fails(&report, "docker", "permission denied", "usermod -aG docker");
    fails(&report, "podman", "newuidmap", "apt install uidmap");
    let down = docker(include_str!("../fixtures/engines/docker-host-unix-missing.txt"));
    let programs = Programs::new(&sandbox).script("docker", &down).script("podman", "echo '{}'");
    let report = with(&sandbox, &programs).output().ok().json();
    fails(&report, "docker", "Cannot connect to the Docker daemon", "systemctl start docker");
    fails(&report, "podman", "podman info", "podman");
}

fn a_remote_daemon_is_no_engine(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs =
        Programs::new(&sandbox).script("docker", "echo called >> /dev/null; exit 1").script("podman", "exit 1");
    for host in ["tcp://127.0.0.1:1", "ssh://me@build.example"] {
        let call = with(&sandbox, &programs).env("DOCKER_HOST", host).env("CONTAINER_HOST", host);
        let report = call.output().ok().json();
        fails(&report, "docker", host, "DOCKER_HOST");
        fails(&report, "podman", host, "CONTAINER_HOST");
    }
}

fn closed_user_namespaces_are_named_with_what_opens_them(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = format!("{CLOSED}\n{}", only(&Programs::new(&sandbox)));
    let report = in_namespace(sandbox.cowbox(&["doctor", "--json"]), &script).output().code(1).json();
    fails(&report, "native", "user.max_user_namespaces", "sysctl -w user.max_user_namespaces=");
}

/// `/etc/subuid` is empty for this cowbox, which is an ordinary user all the same.
fn without_sub_ids_a_single_id_is_mapped_and_doctor_says_so(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let programs = Programs::new(&sandbox);
    let without = |cowbox: Cowbox| {
        let script = "mount --bind /dev/null /etc/subuid; mount --bind /dev/null /etc/subgid\n\
                      set -- /usr/bin/unshare --user --map-user=1234 --map-group=1234 \"$@\"";
        in_namespace(cowbox, &format!("{script}\n{}", only(&programs)))
    };
    let report = without(sandbox.cowbox(&["doctor", "--json"])).output().json();
    assert_eq!(check(&report, "sub-ids")["status"], "warn", "{report}");
    assert!(check(&report, "sub-ids")["fix"].as_str().unwrap().contains("add-subuids"));
    let script = "PATH=/usr/bin:/bin; cat /proc/self/uid_map | wc -l; id -u; echo x > new; cat new";
    let run = sandbox.run(&["--on-exit", "discard"], &["/bin/sh", "-c", script]);
    without(run).output().prints("1\n1234\nx\n").done();
    if !host::is_root() {
        let report = sandbox.cowbox(&["doctor", "--json"]).output().json();
        assert_eq!(check(&report, "sub-ids")["status"], "ok", "{report}");
        // They are mapped where they can be of use.
        let count = "cat /proc/self/uid_map | wc -l";
        sandbox.sh(count).prints("1\n").done();
        assert_ne!(sandbox.shell(&["--user", "root"], count).output().ok().stdout(), "1\n");
    }
}

fn a_state_directory_that_cannot_hold_layers_is_named(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let dir = sandbox.root().join("ovl");
    let call = sandbox.cowbox(&["doctor", "--json"]).env("COWBOX_STATE_DIR", dir.join("merged/state"));
    let script = format!("{}\n{}", host::overlay_at(&dir), only(&Programs::new(&sandbox)));
    let report = in_namespace(call, &script).output().json();
    fails(&report, "native", "overlay", "COWBOX_STATE_DIR");
    let detail = check(&report, "native")["detail"].as_str().unwrap();
    assert_eq!(detail.matches("COWBOX_STATE_DIR").count(), 1, "it is said once: {detail}");
    host::sh(&format!("chmod -R u+rwX {}", dir.display()));
    let call = sandbox.cowbox(&["doctor", "--json"]).env("COWBOX_STATE_DIR", "/proc/nowhere");
    let output = call.output();
    let said = if output.stdout.is_empty() { output.stderr() } else { output.stdout() };
    assert!(output.exit_code() == 1 && said.contains("COWBOX_STATE_DIR"), "{said}");
}

fn what_an_engine_says_is_not_acted_upon(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let nasty = "printf 'Error: \\033]52;c;eA==\\007\\033[2Jno\\n' >&2; exit 1";
    let programs = Programs::new(&sandbox).script("docker", nasty).script("podman", nasty);
    let output = sandbox.cowbox(&["doctor"]).env("PATH", programs.path()).output().ok();
    assert!(output.stdout().contains("no"), "{}", output.stdout());
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7), "{:?}", output.stdout());
}
