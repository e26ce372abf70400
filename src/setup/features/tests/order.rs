//! The order of installation: graphs as people write them.

use super::*;

fn depends(ids: &[&str]) -> Value {
    let list: serde_json::Map<String, Value> = ids.iter().map(|id| ((*id).to_owned(), json!({}))).collect();
    json!({ "dependsOn": list })
}

fn after(ids: &[&str]) -> Value {
    json!({ "installsAfter": ids })
}

fn why(world: &World, ids: &[&str]) -> String {
    let features: Vec<(&str, Value)> = ids.iter().map(|id| (*id, json!({}))).collect();
    world.resolve(&features).unwrap_err().message().to_owned()
}

#[test]
fn without_edges_the_name_decides_not_the_file() {
    let world = World::new().local("c", json!({})).local("a", json!({})).local("b", json!({}));
    assert_eq!(world.order_of(&["./c", "./a", "./b"]), ["./a", "./b", "./c"]);
}

#[test]
fn a_chain_of_needs_is_brought_in_and_installed_from_its_end() {
    let world = World::new().local("a", depends(&["./b"])).local("b", depends(&["./c"])).local("c", json!({}));
    assert_eq!(world.order_of(&["./a"]), ["./c", "./b", "./a"]);
}

#[test]
fn what_two_need_is_installed_once() {
    let world = World::new()
        .local("top", depends(&["./left", "./right"]))
        .local("left", depends(&["./base"]))
        .local("right", depends(&["./base"]))
        .local("base", json!({}));
    assert_eq!(world.order_of(&["./top", "./base"]), ["./base", "./left", "./right", "./top"]);
}

#[test]
fn the_same_feature_with_other_options_is_another_one_and_fewest_options_go_first() {
    let world = World::new()
        .local("a", json!({ "dependsOn": { "./b": { "x": "1", "y": "2" } } }))
        .local("b", json!({ "options": { "x": {}, "y": {} } }));
    let resolved = world.resolve(&[("./b", json!({})), ("./a", json!({}))]).unwrap();
    let told: Vec<(&str, usize)> =
        resolved.features.iter().map(|f| (f.install.id.as_str(), f.install.options.len())).collect();
    assert_eq!(told, [("./b", 0), ("./b", 2), ("./a", 0)]);
}

#[test]
fn the_same_options_in_another_order_are_the_same() {
    let world = World::new()
        .local("a", json!({ "dependsOn": { "./b": { "y": "2", "x": "1" } } }))
        .local("b", json!({ "options": { "x": {}, "y": {} } }));
    let order = world.order(&[("./a", json!({})), ("./b", json!({ "x": "1", "y": "2" }))]);
    assert_eq!(order, ["./b", "./a"]);
}

#[test]
fn a_soft_edge_orders_and_brings_nothing_in() {
    let world = World::new().local("a", after(&["./z"])).local("b", json!({})).local("z", json!({}));
    assert_eq!(world.order_of(&["./a", "./b", "./z"]), ["./b", "./z", "./a"]);
    assert_eq!(world.order_of(&["./a", "./b"]), ["./a", "./b"]);
}

#[test]
fn soft_edges_of_what_was_brought_in_count_too() {
    let world =
        World::new().local("app", depends(&["./lib"])).local("lib", after(&["./zlib"])).local("zlib", json!({}));
    assert_eq!(world.order_of(&["./app", "./zlib"]), ["./zlib", "./lib", "./app"]);
}

#[test]
fn a_preferred_feature_goes_first_one_round_each() {
    let world = World::new()
        .local("a", json!({}))
        .local("b", json!({}))
        .local("c", json!({}))
        .local("d", json!({}))
        .prefer(&["./d", "./b"]);
    assert_eq!(world.order_of(&["./a", "./b", "./c", "./d"]), ["./d", "./b", "./a", "./c"]);
}

#[test]
fn a_preferred_feature_still_waits_for_what_it_needs() {
    let world = World::new().local("a", json!({})).local("b", depends(&["./z"])).local("z", json!({})).prefer(&["./b"]);
    // Nothing preferred is ready in the first round, so all that is ready goes.
    assert_eq!(world.order_of(&["./a", "./b"]), ["./a", "./z", "./b"]);
}

#[test]
fn a_preference_ignores_versions_and_names_what_is_not_there() {
    let world = World::new()
        .remote("a:1", "a", json!({}))
        .remote("b:2", "b", json!({}))
        .prefer(&["registry.example/team/b:7", "registry.example/team/gone"]);
    assert_eq!(world.order_of(&[&at("a:1"), &at("b:2")]), ["b:2", "a:1"]);
    let resolved = world.resolve(&[(&at("a:1"), json!({}))]).unwrap();
    assert!(resolved.notices.iter().any(|notice| notice.contains("registry.example/team/gone")));
}

#[test]
fn a_circle_is_an_error_that_names_who_is_in_it_and_nobody_else() {
    let world = World::new()
        .local("top", depends(&["./a"]))
        .local("a", depends(&["./b"]))
        .local("b", depends(&["./c"]))
        .local("c", depends(&["./a"]))
        .local("free", json!({}));
    assert_eq!(why(&world, &["./free", "./top"]), "these features wait for each other: ./a → ./b → ./c → ./a");
}

#[test]
fn soft_and_mixed_circles_and_a_feature_after_itself_are_errors_too() {
    let soft = World::new().local("a", after(&["./b"])).local("b", after(&["./a"]));
    assert_eq!(why(&soft, &["./b", "./a"]), "these features wait for each other: ./b → ./a → ./b");
    let mixed = World::new().local("a", depends(&["./b"])).local("b", after(&["./a"]));
    assert!(why(&mixed, &["./a"]).contains("./a → ./b → ./a"));
    let own = World::new().local("a", after(&["./a"]));
    assert!(why(&own, &["./a"]).contains("./a → ./a"));
}

#[test]
fn a_need_that_is_not_there_is_an_error_that_says_who_needs_it() {
    let world = World::new().local("a", depends(&["./gone"])).local("b", depends(&["../../etc/x"]));
    assert!(why(&world, &["./a"]).starts_with("feature ./a, dependsOn: the local feature ./gone has no"));
    assert!(why(&world, &["./b"]).contains("`../../etc/x` cannot be used"));
    let soft = World::new().local("a", after(&["nonsense"]));
    assert!(why(&soft, &["./a"]).starts_with("feature ./a, installsAfter: `nonsense`"));
}
