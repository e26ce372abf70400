//! `cowbox config`: what counts, who says so, and what a file may not say.

use std::fs;

use crate::common::Sandbox;

/// `key origin value` of one setting.
fn setting(sandbox: &Sandbox, key: &str, variables: &[(&str, &str)]) -> (serde_json::Value, String) {
    let mut call = sandbox.cowbox(&["config", "show", "--json"]);
    for (name, value) in variables {
        call = call.env(name, value);
    }
    let shown = call.output().ok().json();
    let all = shown["settings"].as_array().unwrap();
    let found = all.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key} in {shown}"));
    (found["value"].clone(), found["origin"].as_str().unwrap().to_owned())
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let sandbox = Sandbox::bare();
    sandbox.write(".cowbox.toml", "setup = \"make deps\"\n");
    sandbox.configure("network = \"none\"\nengine = \"podman\"\n[native]\nmask-more = [\"x\"]\n");
    let file = sandbox.root().join("config/cowbox/config.toml").to_str().unwrap().to_owned();
    let of = |key: &str| setting(&sandbox, key, &[("COWBOX_ENGINE", "docker"), ("COWBOX_NATIVE_MASK", "a:b")]);
    assert_eq!(of("engine"), ("docker".into(), "COWBOX_ENGINE".into()));
    assert_eq!(of("network"), ("none".into(), file.clone()));
    assert_eq!(of("native.mask"), (serde_json::json!(["a", "b"]), "COWBOX_NATIVE_MASK".into()));
    assert_eq!(of("native.mask-more"), (serde_json::json!(["x"]), file.clone()));
    assert_eq!(of("image"), (serde_json::Value::Null, "default".into()));
    assert_eq!(of("setup"), ("make deps".into(), ".cowbox.toml".into()));
    assert_eq!(setting(&sandbox, "setup", &[("COWBOX_SETUP", "none")]), ("none".into(), "COWBOX_SETUP".into()));
    let text = sandbox.cowbox(&["config"]).output().ok().stdout();
    assert!(text.lines().any(|line| line.starts_with("network ") && line.ends_with(&file)), "{text}");
}

#[test]
fn a_file_to_begin_with_is_written_once_and_never_over_another() {
    let sandbox = Sandbox::bare();
    let file = sandbox.root().join("config/cowbox/config.toml");
    let _ = sandbox.cowbox(&["config", "init"]).output().ok().says("is written");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("#engine = ") && text.contains("#[profiles.my-agent]"), "{text}");
    let shown = sandbox.cowbox(&["config", "show"]).output().ok();
    assert_eq!(shown.stderr(), "", "it says nothing wrong");
    fs::write(&file, "network = \"none\"\n").unwrap();
    let _ = sandbox.cowbox(&["config", "init"]).output().code(1).says("stays as it is");
    assert_eq!(fs::read_to_string(&file).unwrap(), "network = \"none\"\n");
}

#[test]
fn unknown_keys_are_named_and_wrong_values_are_errors() {
    let sandbox = Sandbox::bare();
    sandbox.configure("netwrok = \"none\"\n");
    let output = sandbox.cowbox(&["config"]).output().ok();
    let _ = output.says("line 1: unknown key `netwrok`").says("did you mean `network`?");
    sandbox.configure("\nnetwork = \"some\"\n");
    let _ = sandbox.cowbox(&["config"]).output().code(1).says("config.toml, line 2: unknown variant `some`");
    sandbox.configure("");
    let _ = sandbox.cowbox(&["config"]).env("COWBOX_ON_EXIT", "never").output().code(1).says("COWBOX_ON_EXIT");
}

#[test]
fn a_repository_can_neither_name_a_profile_nor_define_one() {
    let sandbox = Sandbox::bare();
    sandbox.write(".cowbox.toml", "default-profile = \"claude\"\n[profiles.claude]\ndirs = [\"~/.ssh\"]\n");
    let output = sandbox.cowbox(&["config"]).output().ok();
    let output = output.says("`default-profile` is not for a repository").says("`profiles` is not for a repository");
    assert!(output.stdout().lines().any(|line| line.starts_with("default-profile") && line.ends_with("default")));
    let profiles = sandbox.cowbox(&["config", "profiles", "--json"]).output().ok().json();
    assert!(!profiles.to_string().contains(".ssh"), "{profiles}");
}

#[test]
fn profiles_are_listed_with_the_users_own() {
    let sandbox = Sandbox::bare();
    sandbox
        .configure("default-profile = \"mine\"\n[profiles.mine]\ncommand = [\"agent\"]\n[profiles.codex]\nenv = []\n");
    let listed = sandbox.cowbox(&["config", "profiles", "--json"]).output().ok().json();
    let of = |name: &str| listed["profiles"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap().clone();
    assert_eq!((listed["default"].as_str(), of("mine")["origin"].as_str()), (Some("mine"), Some("config")));
    assert_eq!((of("codex")["origin"].as_str(), of("claude")["origin"].as_str()), (Some("changed"), Some("built-in")));
    let text = sandbox.cowbox(&["config", "profiles"]).output().ok().says("not enforced").stdout();
    assert!(text.contains("claude  Claude Code") && text.contains("(yours) (default)"), "{text}");
}
