//! Files that an enemy wrote.

use super::*;

fn fails(text: &str) -> String {
    World::new(text).why()
}

#[test]
fn a_bomb_of_aliases_does_not_go_off() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (this, last) in ('b'..='k').zip('a'..='j') {
        text += &format!("{this}: &{this} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]\n");
    }
    text += "services: {app: {image: a, environment: *k}}\n";
    assert!(fails(&text).starts_with(".devcontainer/compose.yml: "));
    let wide =
        format!("a: &a {}\nservices:\n  app: {{image: a, labels: [{}]}}\n", "x".repeat(60_000), "*a,".repeat(5000));
    assert!(fails(&wide).starts_with(".devcontainer/compose.yml: "));
}

#[test]
fn depth_size_and_number_are_bounded() {
    fails(&format!("services: {}{}", "[".repeat(5000), "]".repeat(5000)));
    fails(&format!("services: {}", "{a: ".repeat(5000)));
    fails(&format!("services: {{app: {{image: {}}}}}", "x".repeat(2 << 20)));
    fails(&format!("services:\n{}", "  - a\n".repeat(100_000)));
}

#[test]
fn values_that_grow_by_variables_are_stopped() {
    let mut env = format!("A0={}\n", "x".repeat(1000));
    for step in 1..40 {
        env += &format!("A{step}=$A{last}$A{last}\n", last = step - 1);
    }
    let why = World::app("user: $A39").with(".env", &env).why();
    assert!(why.contains("too large"), "{why}");
    let lines: String = (0..4000).map(|n| format!("environment.{n}: $A\n")).collect();
    let why = World::app(&format!("labels:\n{}", lines.replace("environment", "  k")))
        .variable("A", &"y".repeat(100_000))
        .why();
    assert!(why.contains("too large"), "{why}");
    let nested = format!("user: '{}x{}'", "${U:-".repeat(200), "}".repeat(200));
    assert!(World::app(&nested).why().contains("that cannot be read"));
}

#[test]
fn what_is_no_compose_file_is_an_error_and_no_panic() {
    for text in [
        "services",
        "[]",
        "5",
        "services: [",
        "a: *b",
        "services: !reset {}",
        "services: {app: {image: !override x}}",
        "a: 1\na: 2",
        "--- a\n--- b",
        "\t",
        "services: {app: {image: .nan}}",
    ] {
        assert!(!fails(text).contains('\n'), "{text}");
    }
    for text in [
        "",
        "services:",
        "services: []",
        "services: {app: }",
        "services: {app: [1]}",
        "services: {app: {image: [a]}}",
        "services: {app: {image: a, depends_on: {app: }}}",
        "include: [x]",
    ] {
        World::new(text).read_as("app").unwrap_err();
    }
    let odd =
        "services: {app: {image: a, environment: 5, volumes: {a: b}, depends_on: 7, env_file: [[1]], ports: {a: 1},
      cap_add: {x: y}, ulimits: [1], extra_hosts: x, tmpfs: {a: b}, command: {a: b}, build: [x]}}";
    let _ = World::new(odd).read_as("app");
    let mut binary = World::new("");
    fs::write(binary.root.join(".devcontainer/compose.yml"), b"\xff\xfe\x00").unwrap();
    assert!(binary.why().contains("not text"));
    binary.files = vec!["../../etc/passwd".to_owned()];
    assert!(binary.why().contains("outside of the repo"));
    binary.files = vec!["/etc/passwd".to_owned()];
    assert!(binary.why().contains("outside of the repo"));
    std::os::unix::fs::symlink("/etc/passwd", binary.root.join(".devcontainer/link.yml")).unwrap();
    binary.files = vec!["link.yml".to_owned()];
    assert!(binary.why().contains("there is no"));
    binary.files = vec!["x".to_owned(); 50];
    assert!(binary.why().contains("more than"));
}

#[test]
fn nothing_reaches_the_terminal_as_it_is() {
    let esc = "\\e[31m";
    let text = format!(
        "services: {{app: {{image: a, \"{esc}\": 1, devices: [\"{esc}\"], environment: [\"{esc}\"]}}, \"{esc}\": {{image: b}}}}"
    );
    let composed = World::new(&text).read();
    let said = format!("{:?}{:?}{:?}", composed.ignored, composed.refused, composed.notices);
    assert!(!said.contains('\u{1b}'));
    let plain = |text: &str| !text.contains('\u{1b}');
    assert!(composed.ignored.iter().all(|i| plain(&i.key) && plain(&i.reason)));
    assert!(composed.notices.iter().all(|notice| plain(notice)));
    assert!(composed.refused.is_empty() && left(&composed).contains(&"services.app.devices"));
}

#[test]
fn a_cache_of_a_build_that_is_no_image_needs_consent() {
    let build = "    build: {context: ., cache_from: [good:1, 'type=local,src=/home', \"type=local,src=/x\\n\"]}\n";
    let text = format!("services:\n  app:\n{build}    depends_on: [db]\n  db:\n{build}");
    let caches = |world: &World| {
        let composed = world.read();
        let ImageRequest::Build(own) = composed.image.clone() else { panic!("it is built") };
        (own.cache_from, composed.services[0].build.clone().unwrap().cache_from, composed)
    };
    let (own, of_service, composed) = caches(&World::new(&text));
    assert_eq!((own, of_service), (vec!["good:1".to_owned()], vec!["good:1".to_owned()]));
    let of = |name: &str| format!("services.{name}.build.cache_from: type=local,src=/home");
    assert_eq!(refused(&composed), [of("app"), of("db")]);
    assert_eq!(left(&composed), ["services.app.build.cache_from[2]", "services.db.build.cache_from[2]"]);
    let (own, of_service, _) = caches(&World::new(&text).allow(&of("app")));
    assert_eq!((own.len(), of_service.len()), (2, 1));
}
