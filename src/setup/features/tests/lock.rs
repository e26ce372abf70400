//! Pins.

use super::*;

fn locked(text: &str) -> World {
    let mut world = World::new().remote("tool:1", "content", json!({})).remote("dep:2", "dep", json!({}));
    world.write(".devcontainer/devcontainer-lock.json", text);
    world
}

fn lock(id: &str, resolved: &str, integrity: &str) -> String {
    json!({ "features": { id: { "version": "1.0.0", "resolved": resolved, "integrity": integrity } } }).to_string()
}

fn why(world: &World, id: &str) -> String {
    world.resolve(&[(id, json!({}))]).unwrap_err().message().to_owned()
}

#[test]
fn a_pin_that_fits_is_quiet_and_the_file_counts_as_an_input() {
    let content = digest("content");
    let world = locked(&lock(&at("tool:1"), &format!("{}@{content}", at("tool")), &content));
    let resolved = world.resolve(&[(&at("tool:1"), json!({}))]).unwrap();
    assert_eq!(resolved.features[0].digest, Some(content));
    assert_eq!(resolved.inputs, [PathBuf::from(".devcontainer/devcontainer-lock.json")]);
    assert!(resolved.notices.is_empty());
}

#[test]
fn content_that_is_not_the_pinned_one_is_refused() {
    let other = digest("other");
    let world = locked(&lock(&at("tool:1"), &format!("{}@{other}", at("tool")), &other));
    assert!(why(&world, &at("tool:1")).contains("not the one that is pinned"));
    let world = locked("");
    assert!(why(&world, &format!("{}@{other}", at("tool"))).contains("no registry.example"));
}

#[test]
fn a_pin_that_leads_elsewhere_is_refused() {
    let content = digest("content");
    let id = at("tool:1");
    for (resolved, integrity) in [
        (format!("evil.example/team/tool@{content}"), content.clone()),
        (format!("{}@{content}", at("other")), content.clone()),
        (format!("{}@{content}", at("tool")), digest("x")),
        (at("tool:1"), content.clone()),
        (format!("{}@{content}", at("tool")), "sha256:12".to_owned()),
        (format!("{}@{content}", at("tool")), "../../etc".to_owned()),
        ("nonsense".to_owned(), content.clone()),
    ] {
        let message = why(&locked(&lock(&id, &resolved, &integrity)), &id);
        assert!(message.contains("devcontainer-lock.json: the pin of"), "{resolved} {integrity}: {message}");
    }
}

#[test]
fn ids_are_found_in_lower_case_and_dependencies_are_pinned_too() {
    let other = digest("other");
    let world = locked(&lock(&at("Tool:1"), &format!("{}@{other}", at("tool")), &other));
    assert!(why(&world, &at("TOOL:1")).contains("pinned"));
    let world = locked(&lock(&at("dep:2"), &format!("{}@{other}", at("dep")), &other))
        .local("a", json!({ "dependsOn": { at("dep:2"): {} } }));
    let message = why(&world, "./a");
    assert!(message.contains("feature ./a, dependsOn") && message.contains("pinned"), "{message}");
}

#[test]
fn an_archive_is_pinned_by_its_own_digest() {
    let address = "https://host.example/devcontainer-feature-t.tgz";
    let world = |text: &str, content: &str| {
        let mut world = locked(text);
        world.registry.features.insert(address.to_owned(), (json!({ "id": "t" }), digest(content)));
        world
    };
    let pin = lock(address, address, &digest("t"));
    assert!(world(&pin, "t").resolve(&[(address, json!({}))]).is_ok());
    assert!(why(&world(&pin, "changed"), address).contains("pinned"));
    let elsewhere = lock(address, "https://evil.example/devcontainer-feature-t.tgz", &digest("t"));
    assert!(why(&world(&elsewhere, "t"), address).contains("another address"));
}

#[test]
fn the_hidden_config_has_a_hidden_lock_and_an_empty_one_pins_nothing() {
    let other = digest("other");
    let mut world = locked(&lock(&at("tool:1"), &format!("{}@{other}", at("tool")), &other));
    world.config = PathBuf::from(".devcontainer.json");
    assert!(world.resolve(&[(&at("tool:1"), json!({}))]).is_ok());
    world.write(".devcontainer-lock.json", &lock(&at("tool:1"), &format!("{}@{other}", at("tool")), &other));
    assert!(why(&world, &at("tool:1")).contains("pinned"));
    for empty in ["", " \n", "{}"] {
        assert!(locked(empty).resolve(&[(&at("tool:1"), json!({}))]).is_ok(), "{empty:?}");
    }
    assert!(why(&locked("{\"features\": 1}"), &at("tool:1")).contains("devcontainer-lock.json:1"));
}
