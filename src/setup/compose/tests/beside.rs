//! What a service beside the sandbox is given, and what needs consent.

use std::time::Duration;

use super::*;
use crate::setup::service::{Condition, Volume};

/// A project with a service `db` that has these lines; `app` depends on it.
fn db(lines: &str) -> World {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    World::new(&format!(
        "services:\n  app: {{image: base, depends_on: [db], volumes: ['own:/own']}}\n  db:\n    image: db\n{lines}"
    ))
}

fn only(world: &World) -> Service {
    let mut services = world.read().services;
    assert_eq!(services.len(), 1);
    services.remove(0)
}

#[test]
fn volumes_and_memory_are_its_own() {
    let world =
        db("volumes: [data:/data, /cache, {type: tmpfs, target: /m}, own:/x]\ntmpfs: [/run, '/a,b']\nread_only: true");
    let service = only(&world);
    let volume = |target: &str, name: Option<&str>| Volume { target: target.into(), name: name.map(str::to_owned) };
    let expected = [volume("/data", Some("data")), volume("/cache", None), volume("/x", Some("own"))];
    assert_eq!(service.volumes, expected);
    assert_eq!(service.tmpfs, ["/run", "/m"]);
    assert_eq!(service.container.run_args, ["--read-only"]);
    // The sandbox's own of that name is another one, and that is said.
    assert_eq!(left(&world.read()), ["services.db.volumes[3]"]);
}

const BINDS: &str = "volumes: ['..:/repo', '../conf:/conf:rw', '../..:/above', '/srv:/srv', '/etc:/e:ro']";

#[test]
fn paths_of_the_host_need_consent_and_the_repo_is_never_writable() {
    let world = db(BINDS).with("conf", "");
    let root = world.root.to_str().unwrap().to_owned();
    let above = world.root.parent().unwrap().to_str().unwrap().to_owned();
    assert!(only(&world).binds.is_empty());
    let expected = [
        format!("services.db.volumes: {root}:/repo:ro"),
        format!("services.db.volumes: {root}/conf:/conf:ro"),
        format!("services.db.volumes: {above}:/above:ro"),
        "services.db.volumes: /srv:/srv".to_owned(),
        "services.db.volumes: /etc:/e:ro".to_owned(),
    ];
    assert_eq!(refused(&world.read()), expected);
    let all = expected.iter().fold(world, |world, consent| world.allow(consent));
    let readonly: Vec<bool> = only(&all).binds.iter().map(|bind| bind.readonly).collect();
    assert_eq!(readonly, [true, true, true, false, true]);
}

#[test]
fn rights_and_ports_need_consent() {
    let world =
        db("privileged: true\ncap_add: [SYS_ADMIN, SYS_PTRACE]\nports: ['5432:5432']\npid: host\nnetwork_mode: host");
    let composed = world.read();
    let asked = ["cap_add: SYS_ADMIN", "pid: host", "ports: 5432:5432", "privileged: true"];
    assert_eq!(refused(&composed), asked.map(|what| format!("services.db.{what}")));
    assert_eq!(left(&composed), ["services.db.network_mode"]);
    let service = only(&world);
    assert!(!service.container.privileged && service.container.run_args.is_empty());
    assert_eq!(service.container.cap_add, ["SYS_PTRACE"]);
}

#[test]
fn a_name_that_is_no_host_is_an_error() {
    for name in ["'a:1.2.3.4'", "'-x'", "'a b'"] {
        let world = World::new(&format!("services: {{app: {{image: a, depends_on: [{name}]}}, {name}: {{image: b}}}}"));
        assert!(world.why().contains("cannot be a host's name"), "{name}: {}", world.why());
    }
}

#[test]
fn a_health_check_is_read_in_every_form() {
    let health = |lines: &str| only(&db(&format!("healthcheck: {{{lines}}}"))).health;
    let full = health("test: [CMD, pg_isready], interval: 2s, timeout: 1s, retries: 5, start_period: 1m").unwrap();
    assert_eq!((full.test, full.patience), (vec!["pg_isready".to_owned()], Duration::from_secs(75)));
    assert_eq!(health("test: a | b").unwrap().test, ["/bin/sh", "-c", "a | b"]);
    assert_eq!(health("test: x").unwrap().patience, Duration::from_secs(180));
    for none in ["test: [NONE]", "disable: true, test: x", "interval: 1s", "test: []"] {
        assert_eq!(health(none), None, "{none}");
    }
}

#[test]
fn the_strictest_condition_counts() {
    let text = "services:\n  app: {image: a, depends_on: {db: {condition: service_started}, web: {}}}\n  \
                web: {image: w, depends_on: {db: {condition: service_healthy}}}\n  db: {image: d}\n  \
                idle: {image: i, depends_on: {db: {condition: service_completed_successfully}}}\n";
    let composed = World::new(text).read();
    let condition = |name: &str| composed.services.iter().find(|service| service.name == name).unwrap().condition;
    assert_eq!((condition("db"), condition("web")), (Condition::Healthy, Condition::Started));
}
