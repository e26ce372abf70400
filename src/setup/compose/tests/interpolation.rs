//! Variables in values.

use super::*;

/// The user of a service that is written like this, where A is `a`, E is empty and nothing else is set.
fn value(written: &str) -> Result<String> {
    let world = World::app(&format!("user: '{written}'")).variable("A", "a").variable("E", "");
    world.read_as("app").map(|composed| composed.user.unwrap_or_default())
}

#[test]
fn every_form_gives_what_compose_gives() {
    for (written, result) in [
        ("$A", "a"),
        ("${A}", "a"),
        ("x${A}y$A.z", "xaya.z"),
        ("$$A", "$A"),
        ("$$$A", "$a"),
        ("$${A}", "${A}"),
        ("${U:-d}", "d"),
        ("${U-d}", "d"),
        ("${E:-d}", "d"),
        ("${E-d}", ""),
        ("${A:-d}", "a"),
        ("${A-d}", "a"),
        ("${U:-}", ""),
        ("${U:-http://h:1/x}", "http://h:1/x"),
        ("${U:-${A}b}", "ab"),
        ("${U:-${V:-${A}}}", "a"),
        ("${A:+x}", "x"),
        ("${E:+x}", ""),
        ("${E+x}", "x"),
        ("${U+x}", ""),
        ("${A:?no}", "a"),
        ("${E?no}", ""),
        ("${U}", ""),
        ("$U", ""),
        ("plain", "plain"),
        ("a}b{c", "a}b{c"),
    ] {
        assert_eq!(value(written).unwrap(), result, "{written}");
    }
}

#[test]
fn what_is_malformed_or_missing_is_an_error() {
    for bad in ["${", "${A", "${}", "${-x}", "$", "$(id)", "${A!x}", "${1A}", "a$ b", "${A:}", "${A:x}", "${ A}"] {
        assert!(value(bad).unwrap_err().message().contains("that cannot be read"), "{bad}");
    }
    for missing in ["${U:?set me}", "${U?set me}", "${E:?set me}"] {
        assert!(value(missing).unwrap_err().message().ends_with(": set me"), "{missing}");
    }
}

#[test]
fn keys_are_left_alone_and_the_host_is_not_asked() {
    let world = World::app("environment:\n  $A: x\n  H: $HOME\n  P: ${PATH}").variable("A", "a");
    let composed = world.read();
    assert_eq!((composed.env["$A"].as_str(), composed.env["H"].as_str(), composed.env["P"].as_str()), ("x", "", ""));
    assert_eq!(composed.notices, ["variables of the compose files without a value are empty: HOME, PATH"]);
}

#[test]
fn the_dotenv_of_the_repo_is_used_and_the_environment_is_stronger() {
    let world = World::app("user: $A-$B-$C").with(".env", "A=file\nB=\"$A b\"\nC='$A'\n").variable("A", "host");
    assert_eq!(world.read().user.unwrap(), "host-host b-$A");
    let beside = World::app("user: $A").with(".devcontainer/.env", "A=beside\n");
    assert_eq!(beside.read().user.as_deref(), Some("beside"));
    let both = beside.with(".env", "B=1\n");
    assert_eq!(both.read().user, None, "only one of them, as the reference does");
    assert!(both.read().inputs.contains(&".env".into()));
}

#[test]
fn the_name_of_the_project_can_be_used() {
    assert_eq!(World::app("user: $COMPOSE_PROJECT_NAME").read().user.unwrap(), "shop_devcontainer");
    let mut world = World::new("{}").with("docker-compose.yml", "services: {app: {image: $COMPOSE_PROJECT_NAME}}");
    world.files = Vec::new();
    assert_eq!(world.read().image, ImageRequest::Named("shop".to_owned()));
    world.write("docker-compose.yml", "name: My Shop!\nservices: {app: {image: $COMPOSE_PROJECT_NAME}}");
    assert_eq!(world.read().image, ImageRequest::Named("myshop".to_owned()));
    let world = world.variable("COMPOSE_PROJECT_NAME", "given");
    assert_eq!(world.read().image, ImageRequest::Named("given".to_owned()));
}
