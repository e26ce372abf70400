//! Variables of a service.

use super::super::dotenv;
use super::*;

fn parse(text: &str) -> BTreeMap<String, String> {
    dotenv::parse(text, &BTreeMap::new()).unwrap()
}

#[test]
fn lines_of_a_file_are_read_as_compose_reads_them() {
    for (line, value) in [
        ("A=x", "x"),
        ("A = x ", "x"),
        ("export A=x", "x"),
        ("  A=x", "x"),
        ("A=", ""),
        ("A=x # c", "x"),
        ("A=x#c", "x#c"),
        ("A=#c", ""),
        ("A='x # $B' # c", "x # $B"),
        ("A=\"x # y\" # c", "x # y"),
        ("A=\"a\\nb\\\"c\"", "a\nb\"c"),
        ("A=\"a\nb\"", "a\nb"),
        ("A=x=y", "x=y"),
        ("A=\\$x", "\\"),
        ("A=\"\\$x\"", "$x"),
        ("A='open", "'open"),
        ("A=x\r", "x"),
    ] {
        assert_eq!(parse(line).get("A").map(String::as_str), Some(value), "{line:?}");
    }
    assert!(parse("# A=1\n\njust words\n=x\nA B=1\n").is_empty());
    assert_eq!(parse("A=1\r\nB='2\n3'\nC=4").len(), 3);
    assert_eq!(parse("A=1\nB=${A}2\nC=$B$U")["C"], "12");
}

#[test]
fn both_forms_and_the_files_go_together_and_the_service_has_the_last_word() {
    let world = World::app("env_file: [one.env, {path: ../two.env}, {path: gone.env, required: false}]\nenvironment: {B: service, N: 1.5, T: true}")
        .with(".devcontainer/one.env", "A=one\nB=one\nC=one\n")
        .with("two.env", "C=two\n");
    let composed = world.read();
    let env: Vec<String> = composed.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=one", "B=service", "C=two", "N=1.5", "T=true"]);
    assert!(composed.inputs.contains(&"two.env".into()));
}

#[test]
fn a_variable_without_a_value_comes_from_what_is_allowed_only() {
    let world = World::app("environment: [GIVEN, SECRET]").variable("GIVEN", "yes");
    let composed = world.read();
    assert_eq!(composed.env, BTreeMap::from([("GIVEN".to_owned(), "yes".to_owned())]));
    assert_eq!(left(&composed), ["services.app.environment.SECRET"]);
}

#[test]
fn a_file_outside_is_left_out_and_a_missing_one_is_an_error() {
    let composed = World::app("env_file: [/etc/environment, ../../x.env]").read();
    assert_eq!(left(&composed), ["services.app.env_file", "services.app.env_file"]);
    assert!(World::app("env_file: gone.env").why().contains("no .devcontainer/gone.env"));
}

#[test]
fn text_that_looks_like_something_else_stays_text() {
    let composed = World::app("environment: {A: yes, B: on, C: no, D: '007', E: 'null'}\nuser: 1000:1000").read();
    let env: Vec<&str> = composed.env.values().map(String::as_str).collect();
    assert_eq!(env, ["yes", "on", "no", "007", "null"]);
    assert_eq!(composed.user.as_deref(), Some("1000:1000"));
}
