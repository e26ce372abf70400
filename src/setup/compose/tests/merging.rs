//! Several files as one.

use super::*;

fn merged(first: &str, second: &str) -> Composed {
    let mut world = World::new(first).with(".devcontainer/over.yml", second);
    world.files.push("over.yml".to_owned());
    world.read()
}

#[test]
fn a_later_file_adds_variables_and_replaces_what_is_one_value() {
    let composed = merged(
        "services: {app: {image: a, user: u, command: [x, y], environment: [A=1, B=2]}}",
        "services: {app: {image: b, command: z, environment: {B: 3, C: 4}}}",
    );
    assert_eq!((composed.image, composed.user.as_deref()), (ImageRequest::Named("b".to_owned()), Some("u")));
    assert_eq!(composed.command.unwrap(), ["z"]);
    let env: Vec<String> = composed.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=1", "B=3", "C=4"]);
}

#[test]
fn volumes_are_the_same_where_their_place_is() {
    let composed = merged(
        "services: {app: {image: a, volumes: ['x:/data', '..:/old', 'y:/y']}}",
        "services: {app: {volumes: [{type: tmpfs, target: /data}, '..:/old/', 'z:/z']}}",
    );
    let mounts: Vec<String> =
        composed.mounts.iter().map(|mount| format!("{} {:?}", mount.target, mount.what)).collect();
    assert_eq!(mounts, ["/data Tmpfs", "/y Volume", "/z Volume"]);
    assert_eq!(composed.mount.as_deref(), Some(Path::new("/old")));
}

#[test]
fn needs_are_added_in_either_form_and_lists_do_not_repeat() {
    let composed = merged(
        "services: {app: {image: a, depends_on: [db], cap_drop: [X]}, db: {image: d}}",
        "services: {app: {depends_on: {web: {condition: service_started}}, cap_drop: [X, Y]}, web: {image: w}}",
    );
    assert_eq!(names(&composed.services), ["db", "web"]);
    assert_eq!(composed.container.run_args, ["--cap-drop=X", "--cap-drop=Y"]);
}

#[test]
fn a_short_build_and_a_long_one_are_one() {
    let composed = merged(
        "services: {app: {build: ., environment: {A: 1}}}",
        "services: {app: {build: {target: dev}, environment: }}",
    );
    let ImageRequest::Build(build) = composed.image else { panic!() };
    assert_eq!((build.context, build.target.as_deref()), (".devcontainer".into(), Some("dev")));
    assert_eq!(composed.env["A"], "1");
}

#[test]
fn a_service_can_extend_another_of_its_file() {
    let world = World::new(
        "services: {base: {image: a, user: u, environment: {A: 1}, depends_on: [db]}, mid: {extends: {service: base}, environment: {B: 2}},
          app: {extends: mid, user: v}, db: {image: d}}",
    );
    let composed = world.read();
    assert_eq!((composed.env.len(), composed.user.as_deref()), (2, Some("v")));
    assert!(composed.services.is_empty());
    assert!(World::new("services: {app: {extends: app}}").why().contains("is not there, or extends itself"));
    assert!(World::new("services: {app: {extends: {file: x.yml, service: a}}}").why().contains("another file"));
}

#[test]
fn anchors_and_merge_keys_work() {
    let world = World::new("x-common: &c {user: u, environment: {A: 1}}\nservices:\n  app: {<<: *c, image: a}\n");
    let composed = world.read();
    assert_eq!((composed.user.as_deref(), composed.env["A"].as_str()), (Some("u"), "1"));
    assert!(left(&composed).is_empty());
}
