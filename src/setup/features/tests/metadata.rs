//! What a feature says of itself.

use super::*;

fn parse(text: &str) -> Result<Metadata> {
    Metadata::parse(Path::new("f/devcontainer-feature.json"), text.as_bytes())
}

#[test]
fn every_key_is_read_comments_and_all() {
    let metadata = parse(
        r#"{ // a tool
        "id": "tool", "version": "1.2.3", "name": "Tool",
        "options": { "z": { "type": "boolean", "default": true }, "a": { "type": "string", "enum": ["1"], "default": "1" } },
        "containerEnv": { "Z_HOME": "/z", "PATH": "$Z_HOME/bin:${PATH}", "A": "1" },
        "privileged": true, "init": true, "capAdd": ["SYS_PTRACE"], "securityOpt": ["seccomp=unconfined"],
        "entrypoint": "/usr/local/share/start.sh",
        "mounts": ["type=volume,source=a,target=/a", { "type": "volume", "source": "b", "target": "/b" }],
        "customizations": { "vscode": {} },
        "dependsOn": { "./b": { "x": "1" }, "./a": "2" }, "installsAfter": ["./c"], "legacyIds": ["old"],
        "deprecated": true, "postCreateCommand": "echo hi", "keywords": ["unused"],
    }"#,
    )
    .unwrap();
    assert_eq!((metadata.id.as_str(), metadata.version.as_deref()), ("tool", Some("1.2.3")));
    assert_eq!(metadata.options[0].0, "z");
    assert_eq!(metadata.options[1].1.allowed.as_deref(), Some(&["1".to_owned()][..]));
    let names: Vec<&str> = metadata.container_env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Z_HOME", "PATH", "A"], "one may build on another: the order is that of the file");
    let depends: Vec<&str> = metadata.depends_on.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(depends, ["./b", "./a"]);
    assert!(metadata.deprecated && metadata.privileged == Some(true) && metadata.mounts.len() == 2);
    assert_eq!(metadata.raw["keywords"], json!(["unused"]));
}

#[test]
fn it_contributes_what_the_reference_takes_and_no_variables() {
    let text = r#"{"id":"t","containerEnv":{"A":"1"},"options":{},"init":true,"onCreateCommand":["a"],"dependsOn":{}}"#;
    let snippet = parse(text).unwrap().contribution("./t");
    assert_eq!(Value::Object(snippet), json!({ "id": "./t", "init": true, "onCreateCommand": ["a"] }));
}

#[test]
fn what_is_broken_is_an_error_with_its_place() {
    let error = parse("{\n  \"id\": \"a\"\n  \"name\": \"b\"\n}").unwrap_err();
    assert!(error.message().starts_with("f/devcontainer-feature.json:"), "{error}");
    for bad in [
        "",
        "[]",
        "null",
        "{}",
        "{'id':'a'}",
        "{id:1}",
        r#"{"id":""}"#,
        r#"{"id":5}"#,
        r#"{"id":"a","capAdd":"x"}"#,
        r#"{"id":"a","containerEnv":{"A":1}}"#,
        r#"{"id":"a","options":{"a":{"type":"number"}}}"#,
        r#"{"id":"a"} x"#,
        r#"{"id":"a","dependsOn":["b"]}"#,
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    assert!(parse(&format!("{}1{}", "[".repeat(5000), "]".repeat(5000))).is_err());
    assert!(Metadata::parse(Path::new("f"), b"\xff\xfe").is_err());
}

#[test]
fn variables_that_would_break_the_build_are_refused_early() {
    for (name, value) in [("A", "x\nRUN evil"), ("A B", "x"), ("", "x"), ("A", "${localEnv:HOME}"), ("A", "a\u{0}")] {
        let world = World::new().local("t", json!({ "containerEnv": { name: value } }));
        assert!(world.resolve(&[("./t", json!({}))]).is_err(), "{name}={value}");
    }
}
