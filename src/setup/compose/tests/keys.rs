//! What is given, refused and left out.

use super::*;

#[test]
fn what_stays_inside_is_given() {
    let composed = World::app(
        "init: true\nshm_size: 1gb\nhostname: box\ntmpfs: /run:size=1m\ncap_drop: [ALL]\nulimits: {nofile: 10, nproc: {soft: 1, hard: 2}}\n\
         extra_hosts: ['a:10.0.0.1', 'v6:::1']\ncap_add: [SYS_PTRACE]\nsecurity_opt: ['no-new-privileges:true']\nprivileged: false",
    )
    .read();
    let args = [
        "--cap-drop=ALL",
        "--add-host=a:10.0.0.1",
        "--add-host=v6:::1",
        "--hostname=box",
        "--init",
        "--shm-size=1gb",
        "--ulimit=nofile=10",
        "--ulimit=nproc=1:2",
    ];
    assert_eq!(composed.container.run_args, args);
    assert_eq!(composed.container.cap_add, ["SYS_PTRACE"]);
    assert_eq!(composed.container.security_opt, ["no-new-privileges=true"]);
    assert_eq!(composed.mounts[0].target, "/run");
    assert_eq!((composed.refused, composed.ignored), (vec![], vec![]));
}

const WIDE: &str = "privileged: true
cap_add: [SYS_ADMIN, SYS_PTRACE]
security_opt: ['seccomp:unconfined']
devices: ['/dev/kvm', {source: /dev/a, target: /dev/b, permissions: r}]
ports: ['80:80', 9, {target: 1, published: 2, host_ip: 127.0.0.1, protocol: udp}]
pid: host
ipc: host
sysctls: {net.x: 1}
group_add: [video]";

#[test]
fn what_widens_the_sandbox_is_refused_one_by_one() {
    let composed = World::app(WIDE).read();
    let expected = [
        "services.app.cap_add: SYS_ADMIN",
        "services.app.devices: /dev/kvm",
        "services.app.devices: /dev/a:/dev/b:r",
        "services.app.group_add: video",
        "services.app.ipc: host",
        "services.app.pid: host",
        "services.app.ports: 80:80",
        "services.app.ports: 9",
        "services.app.ports: 127.0.0.1:2:1/udp",
        "services.app.privileged: true",
        "services.app.security_opt: seccomp=unconfined",
        "services.app.sysctls: net.x=1",
    ];
    assert_eq!(refused(&composed), expected);
    assert!(!composed.container.privileged && composed.container.run_args.is_empty());
    assert_eq!(composed.container.cap_add, ["SYS_PTRACE"]);
    assert!(composed.ignored.is_empty());
}

#[test]
fn with_consent_it_is_given_and_nothing_else() {
    let world = World::app(WIDE);
    let asked: Vec<String> = refused(&world.read()).into_iter().map(str::to_owned).collect();
    let one = World::app(WIDE).allow("services.app.devices: /dev/kvm").read();
    assert_eq!((one.container.run_args, one.refused.len()), (vec!["--device=/dev/kvm".to_owned()], asked.len() - 1));
    let all = asked.iter().fold(world, |world, consent| world.allow(consent)).read();
    assert!(all.refused.is_empty() && all.container.privileged);
    assert_eq!(all.container.run_args.len(), 9);
    assert!(all.container.run_args.contains(&"--publish=127.0.0.1:2:1/udp".to_owned()));
}

#[test]
fn everything_else_is_listed_with_a_reason() {
    let composed = World::app(
        "network_mode: host\nnetworks: [a]\nsecrets: [s]\nconfigs: [c]\nrestart: always\ndeploy: {}\nread_only: true\n\
         userns_mode: host\nruntime: x\nipc: private\nwhatever: 1\nx-own: 1\nhealthcheck: {test: a}\nlabels: [a=b]\ntty: null",
    )
    .read();
    let mut keys = left(&composed);
    keys.sort_unstable();
    let expected = [
        "configs",
        "deploy",
        "healthcheck",
        "ipc",
        "labels",
        "network_mode",
        "networks",
        "read_only",
        "restart",
        "runtime",
        "secrets",
        "userns_mode",
        "whatever",
    ];
    assert_eq!(keys, expected.map(|key| format!("services.app.{key}")));
    let reason = |key: &str| &composed.ignored.iter().find(|i| i.key.ends_with(key)).unwrap().reason;
    assert!(reason("network_mode").contains("--network") && reason("whatever").contains("not supported"));
    assert!(composed.refused.is_empty());
}
