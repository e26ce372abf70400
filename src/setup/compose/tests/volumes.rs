//! Where the repo stands, and what else is mounted.

use super::*;
use crate::setup::plan::{MountKind, MountRequest};

fn with(volumes: &str) -> Composed {
    World::app(&format!("volumes: {volumes}")).read()
}

fn stands(volumes: &str) -> Option<String> {
    with(volumes).mount.map(|path| path.display().to_string())
}

#[test]
fn the_volume_that_holds_the_repo_says_where_it_stands() {
    for (volumes, place) in [
        ("['..:/workspace:cached']", "/workspace"),
        ("['../:/workspace/']", "/workspace"),
        ("['../..:/workspaces:cached']", "/workspaces/shop"),
        ("[{type: bind, source: .., target: /w}]", "/w"),
        ("['../src:/app/src']", "/app"),
        ("['.:/app/.devcontainer']", "/app"),
        ("['../a/b:/x/a/b', '..:/real']", "/real"),
        ("['../src:/app/src', '../..:/all']", "/all/shop"),
    ] {
        assert_eq!(stands(volumes).as_deref(), Some(place), "{volumes}");
    }
    for volumes in
        ["['data:/data']", "['../src:/code']", "['../src:/src']", "['/etc:/etc']", "['..:/']", "['..:rel']", "[]"]
    {
        assert_eq!(stands(volumes), None, "{volumes}");
    }
}

#[test]
fn an_absolute_path_of_the_repo_is_the_repo() {
    let world = World::app("volumes: ['${ROOT}:/w', '${ROOT}/src:/w/src']");
    let root = world.root.display().to_string();
    let composed = world.variable("ROOT", &root).read();
    assert_eq!(composed.mount.as_deref(), Some(Path::new("/w")));
    assert!(composed.ignored.is_empty() && composed.refused.is_empty());
}

#[test]
fn only_the_repo_of_a_directory_above_it_is_there_and_that_is_said() {
    let composed = with("['../..:/workspaces']");
    assert_eq!((left(&composed), composed.refused.len()), (vec!["services.app.volumes[0]"], 0));
}

#[test]
fn parts_of_the_repo_in_other_places_are_left_out() {
    let composed = with("['..:/w', '../conf:/etc/app', '..:/again', '../src:/w/src']");
    assert_eq!(left(&composed), ["services.app.volumes[1]", "services.app.volumes[2]"]);
}

#[test]
fn named_and_unnamed_volumes_are_the_sessions_own() {
    let composed = with("['data:/data', '/cache', {type: tmpfs, target: /t}, {type: volume, source: v, target: /v}]");
    let volume = |target: &str, what| MountRequest { target: target.to_owned(), what };
    let expected = [
        volume("/data", MountKind::Volume),
        volume("/cache", MountKind::Volume),
        volume("/t", MountKind::Tmpfs),
        volume("/v", MountKind::Volume),
    ];
    assert_eq!(composed.mounts, expected);
    assert!(composed.refused.is_empty());
}

#[test]
fn a_volume_that_is_a_bind_in_disguise_is_just_a_volume() {
    let text = "services: {app: {image: a, volumes: ['evil:/host']}}
volumes: {evil: {driver_opts: {type: none, o: bind, device: /}}}";
    let composed = World::new(text).read();
    assert_eq!(composed.mounts, [MountRequest { target: "/host".to_owned(), what: MountKind::Volume }]);
    assert_eq!(left(&composed), ["services.app.volumes[0]"]);
}

#[test]
fn a_path_of_the_host_needs_consent() {
    let lines = "volumes: ['/var/run/docker.sock:/var/run/docker.sock', '~/.ssh:/ssh:ro', '../../other:/o']";
    let world = World::app(lines);
    let composed = world.read();
    let other = world.root.parent().unwrap().join("other").display().to_string();
    let expected = [
        "services.app.volumes: /var/run/docker.sock:/var/run/docker.sock".to_owned(),
        "services.app.volumes: ~/.ssh:/ssh:ro".to_owned(),
        format!("services.app.volumes: {other}:/o"),
    ];
    assert_eq!(refused(&composed), expected);
    assert!(composed.mounts.is_empty() && composed.mount.is_none());
    let composed = world.allow(&expected[1]).read();
    let what = MountKind::Bind { source: "~/.ssh".to_owned(), readonly: true };
    assert_eq!(composed.mounts, [MountRequest { target: "/ssh".to_owned(), what }]);
    assert_eq!(composed.refused.len(), 2);
}
