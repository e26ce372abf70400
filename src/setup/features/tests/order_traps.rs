//! The order of installation: what is odd in the reference, and what an enemy would write.

use super::*;

#[test]
fn versions_are_compared_as_text() {
    let world = World::new().remote("t:1.9", "old", json!({})).remote("t:1.10", "new", json!({}));
    assert_eq!(world.order_of(&[&at("t:1.9"), &at("t:1.10")]), ["t:1.10", "t:1.9"]);
}

#[test]
fn two_versions_with_the_same_content_are_one_feature() {
    let world = World::new().remote("t:1", "same", json!({})).remote("t:latest", "same", json!({}));
    assert_eq!(world.order_of(&[&at("t"), &at("t:1")]), ["t"]);
    let order = world.order(&[(&at("t"), json!({})), (&at("t:1"), json!({ "a": "b" }))]);
    assert_eq!(order, ["t:1", "t"], "the tag comes before the number of options");
}

#[test]
fn names_are_compared_without_regard_to_case() {
    let world =
        World::new().local("B", json!({})).local("a", json!({})).local("C-d", json!({})).local("c_d", json!({}));
    assert_eq!(world.order_of(&["./B", "./a", "./C-d", "./c_d"]), ["./a", "./B", "./c_d", "./C-d"]);
}

#[test]
fn different_kinds_are_ordered_by_what_was_written() {
    let address = "https://host.example/devcontainer-feature-a.tgz";
    let mut world = World::new().local("zzz", json!({})).remote("a:1", "a", json!({}));
    world.registry.features.insert(address.to_owned(), (json!({ "id": "a" }), digest("tgz")));
    assert_eq!(world.order_of(&[&at("a:1"), address, "./zzz"]), ["./zzz", address, "a:1"]);
}

#[test]
fn a_text_and_an_object_with_the_same_version_are_two_features() {
    let world = World::new()
        .local("t", json!({ "options": { "version": {} } }))
        .local("a", json!({ "dependsOn": { "./t": "1" } }));
    let order = world.order(&[("./a", json!({})), ("./t", json!({ "version": "1" }))]);
    assert_eq!(order, ["./t", "./t", "./a"]);
}

#[test]
fn a_truth_value_and_its_text_are_the_same_to_the_reference() {
    let world = World::new()
        .local("t", json!({ "options": { "x": {} } }))
        .local("a", json!({ "dependsOn": { "./t": { "x": true } } }));
    assert_eq!(world.order(&[("./a", json!({})), ("./t", json!({ "x": "true" }))]), ["./t", "./a"]);
}

#[test]
fn a_soft_edge_knows_old_names_and_no_versions() {
    let world = World::new()
        .remote("new:2", "n", json!({ "legacyIds": ["old"] }))
        .remote("a:1", "a", json!({ "installsAfter": [at("old:1")] }))
        .remote("b:1", "b", json!({ "installsAfter": [at("new")] }));
    assert_eq!(world.order_of(&[&at("a:1"), &at("b:1"), &at("new:2")]), ["new:2", "a:1", "b:1"]);
    let elsewhere = World::new().remote("new:2", "n", json!({ "legacyIds": ["old"] })).remote(
        "a:1",
        "a",
        json!({ "installsAfter": ["registry.example/others/old"] }),
    );
    assert_eq!(elsewhere.order_of(&[&at("a:1"), &at("new:2")]), ["a:1", "new:2"]);
}

#[test]
fn a_renamed_feature_is_the_same_under_both_names() {
    let world = World::new().remote("new:1", "same", json!({ "legacyIds": ["old"] })).remote(
        "old:1",
        "same",
        json!({ "currentId": "new", "legacyIds": ["old"] }),
    );
    let resolved = world.resolve(&[(&at("old:1"), json!({})), (&at("new:1"), json!({}))]).unwrap();
    assert_eq!(resolved.features.len(), 1);
    assert!(resolved.notices[0].contains("called `new` now"));
}

#[test]
fn nobody_is_asked_about_a_soft_edge() {
    let world = World::new().remote("a:1", "a", json!({ "installsAfter": [at("common-utils")] }));
    assert_eq!(world.order_of(&[&at("a:1")]), ["a:1"]);
    assert_eq!(*world.registry.asked.borrow(), [at("a:1")]);
}

#[test]
fn an_archive_that_cannot_be_had_is_an_error_and_no_wrong_order() {
    let world = World::new().local("a", json!({}));
    let address = "https://host.example/devcontainer-feature-a.tgz";
    assert!(world.resolve(&[("./a", json!({})), (address, json!({}))]).is_err());
}

#[test]
fn a_flood_of_needs_is_stopped() {
    let mut world = World::new();
    for number in 0..300 {
        world = world.local(&format!("f{number}"), json!({ "dependsOn": { format!("./f{}", number + 1): {} } }));
    }
    let error = world.resolve(&[("./f0", json!({}))]).unwrap_err();
    assert!(error.message().contains("more than 200"), "{error}");
}

#[test]
fn rules_that_contradict_each_other_do_not_break_the_sorting() {
    // By names a < b < c, by kind and by shared aliases otherwise.
    let mut world = World::new();
    let mut ids = Vec::new();
    for number in 0..40 {
        let name = format!("f{}", number * 7 % 40);
        let aliases: Vec<String> = (0..5).map(|i| format!("f{}", (number * 11 + i * 3) % 40)).collect();
        world =
            world.local(&name, json!({})).remote(&format!("{name}:{number}"), &name, json!({ "legacyIds": aliases }));
        ids.extend([at(&format!("{name}:{number}")), format!("./{name}")]);
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert!(world.order_of(&ids).len() >= 40);
}

#[test]
fn every_file_of_a_local_feature_is_an_input() {
    let mut world = World::new().local("a", json!({}));
    world.write(".devcontainer/a/lib/x.sh", "");
    let inputs = world.resolve(&[("./a", json!({}))]).unwrap().inputs;
    let names: Vec<String> = inputs.iter().map(|path| path.display().to_string()).collect();
    let dir = ".devcontainer/a";
    assert_eq!(
        names,
        [format!("{dir}/devcontainer-feature.json"), format!("{dir}/install.sh"), format!("{dir}/lib/x.sh")]
    );
    std::os::unix::fs::symlink(".", world.dir.path().join(".devcontainer/a/loop")).unwrap();
    assert!(world.resolve(&[("./a", json!({}))]).unwrap_err().message().contains("too many files"));
}

#[test]
fn a_local_feature_outside_of_the_repo_by_a_link_is_not_read() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("devcontainer-feature.json"), r#"{"id":"x"}"#).unwrap();
    fs::write(outside.path().join("install.sh"), "").unwrap();
    let world = World::new();
    std::os::unix::fs::symlink(outside.path(), world.dir.path().join(".devcontainer/x")).unwrap();
    assert!(world.resolve(&[("./x", json!({}))]).is_err());
}
