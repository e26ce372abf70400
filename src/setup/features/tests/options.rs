//! What a feature is told.

use super::super::options::{env_file, variable};
use super::*;

fn world() -> World {
    World::new().local(
        "tool",
        json!({ "options": {
            "version": { "type": "string", "default": "latest", "proposals": ["latest", "1"] },
            "flavour": { "type": "string", "enum": ["sweet", "sour"], "default": "sweet" },
            "extra": { "type": "boolean", "default": false },
            "noDefault": { "type": "string" },
        } }),
    )
}

fn told(value: Value) -> (BTreeMap<String, String>, Vec<String>) {
    let mut resolved = world().resolve(&[("./tool", value)]).unwrap();
    (resolved.features.remove(0).install.options, resolved.notices)
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn names_become_variables_as_the_reference_writes_them() {
    for (option, name) in [
        ("version", "VERSION"),
        ("installGradle", "INSTALLGRADLE"),
        ("a-b.c d", "A_B_C_D"),
        ("_a", "_A"),
        ("__a", "_A"),
        ("1st", "_ST"),
        ("12", "_"),
        ("9_x", "_X"),
        ("naïve", "NA_VE"),
        ("a😀b", "A__B"),
        ("", ""),
    ] {
        assert_eq!(variable(option), name, "{option}");
    }
}

#[test]
fn defaults_are_there_unless_something_else_is_said() {
    let defaults = [("VERSION", "latest"), ("FLAVOUR", "sweet"), ("EXTRA", "false")];
    for value in [json!({}), json!(true), json!(""), Value::Null] {
        let (options, notices) = told(value.clone());
        let expected = if value == json!("") { [("VERSION", ""), defaults[1], defaults[2]] } else { defaults };
        assert_eq!((options, notices), (map(&expected), Vec::new()), "{value}");
    }
    let (options, notices) = told(json!({ "extra": true, "flavour": "sour", "noDefault": "x" }));
    assert_eq!(options, map(&[("VERSION", "latest"), ("FLAVOUR", "sour"), ("EXTRA", "true"), ("NODEFAULT", "x")]));
    assert_eq!(notices, Vec::<String>::new());
}

#[test]
fn a_text_is_the_version() {
    assert_eq!(told(json!("1.2")).0["VERSION"], "1.2");
    let world = World::new().local("plain", json!({}));
    let resolved = world.resolve(&[("./plain", json!("1.2"))]).unwrap();
    assert!(resolved.features[0].install.options.is_empty());
    assert!(resolved.notices[0].contains("no option `version`"));
}

#[test]
fn what_the_feature_does_not_know_is_passed_on_with_a_notice() {
    let (options, notices) = told(json!({ "flavor": "sour", "flavour": "bitter", "extra": "maybe" }));
    assert_eq!((options["FLAVOR"].as_str(), options["FLAVOUR"].as_str()), ("sour", "bitter"));
    assert_eq!(notices.len(), 3);
    assert!(notices.iter().any(|notice| notice.contains("no option `flavor`")));
    assert!(notices.iter().any(|notice| notice.contains("does not know `bitter`, only sweet, sour")));
    assert!(notices.iter().any(|notice| notice.contains("`extra` is true or false")));
}

#[test]
fn what_is_no_value_is_an_error() {
    for value in [
        json!(5),
        json!([1]),
        json!({ "version": ["a"] }),
        json!({ "version": { "a": 1 } }),
        json!({ "version": "a\u{0}b" }),
    ] {
        assert!(world().resolve(&[("./tool", value.clone())]).is_err(), "{value}");
    }
    assert!(told(json!(false)).1[0].contains("does not switch it off"));
}

#[test]
fn no_value_can_run_anything_when_the_file_is_read_by_a_shell() {
    let evil = map(&[
        ("A", "$(touch hacked)"),
        ("B", "`touch hacked`"),
        ("C", "x'; touch hacked; '"),
        ("D", "\"; touch hacked; \""),
        ("E", "two\nlines\ntouch hacked"),
        ("F", "\\' ; touch hacked #"),
        ("G", ""),
    ]);
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("o.env"), env_file(&evil)).unwrap();
    let script = "set -a; . ./o.env; set +a; for n in A B C D E F G; do eval \"printf '%s\\0' \\\"\\$$n\\\"\"; done";
    let said = std::process::Command::new("sh").args(["-c", script]).current_dir(dir.path()).output().unwrap();
    let values: Vec<&[u8]> = said.stdout.split(|b| *b == 0).collect();
    assert_eq!(values[..7], evil.values().map(String::as_bytes).collect::<Vec<_>>());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
