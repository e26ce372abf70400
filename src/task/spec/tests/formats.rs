//! The same document means the same in the three formats: it is accepted, or refused in the same words.

use serde_json::{Value, json};

use super::parse;
use crate::task::spec::Task;

const FORMATS: [&str; 3] = ["t.yaml", "t.json", "t.toml"];
/// Stands for the value in question.
const HERE: &str = "\"@\"";

/// The least task with one field more, or another one in its place; as all three formats have it.
fn documents(field: &str, value: &str) -> [String; 3] {
    let mut document = json!({"id": "a", "repo": {"path": "."}, "run": {"command": "x"}});
    let mut at = &mut document;
    for name in field.split('.') {
        at = &mut at[name];
    }
    *at = json!("@");
    let json = document.to_string().replace(HERE, value);
    let mut toml = Vec::new();
    flat("", &document, &mut toml);
    // A JSON document is one of YAML's, so that only the value is of interest.
    [json.clone(), json, toml.join("\n").replace(HERE, value)]
}

/// One line for every leaf: `repo.path = "."`.
fn flat(name: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (inner, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                flat(&format!("{name}{dot}{inner}"), value, lines);
            }
        }
        leaf => lines.push(format!("{name} = {leaf}")),
    }
}

/// What each format makes of it, without file and line.
fn all(field: &str, value: &str) -> [Result<Task, String>; 3] {
    let documents = documents(field, value);
    [0, 1, 2].map(|n| {
        let read = parse(FORMATS[n], &documents[n]);
        read.map_err(|said| said.split_once(": ").map(|(_, what)| what.to_owned()).unwrap_or(said))
    })
}

#[test]
fn what_is_good_is_good_in_all_formats() {
    for (field, value) in [
        ("id", r#""12""#),
        ("suite", r#""""#),
        ("suite", r#""null""#),
        ("run.command", r#"["a", "", "5"]"#),
        ("run.stdin", r#""a\u0000\n""#),
        ("run.env.A", r#""1""#),
        ("run.env.A", r#""true""#),
        ("environment.resources.cpus", "2"),
        ("environment.resources.cpus", "1.5"),
        ("environment.resources.cpus", "1e1"),
        ("environment.resources.memory", "1024"),
        ("environment.resources.memory", r#""1024""#),
        ("environment.resources.disk", r#""2GiB""#),
        ("environment.resources.pids", "4194304"),
        ("environment.timeout.run", r#""1h 30m""#),
        ("environment.network.setup", r#""none""#),
        ("expect.exit", "255"),
        ("expect.fail", "false"),
        ("setup.compat", r#"["pytest-bump"]"#),
        ("artifacts", "[]"),
    ] {
        let [yaml, json, toml] = all(field, value);
        let yaml = yaml.unwrap_or_else(|said| panic!("{field} {value}: {said}"));
        assert_eq!((Ok(&yaml), Ok(&yaml)), (json.as_ref(), toml.as_ref()), "{field} {value}");
    }
}

#[test]
fn what_is_of_another_type_is_refused_in_all_formats_in_the_same_words() {
    const QUOTES: &str = "must be text: put it in quotes";
    const COMMAND: &str = "must be a line of text or a list of words";
    const SPAN: &str = "must be a span of time such as 90s or 10m, more than 0s and at most 366d";
    const SIZE: &str = "must be a size such as 512m or 2g, more than 0 and at most 1048576t";
    const CPUS: &str = "must be a number from 0.01 to 8192";
    const PIDS: &str = "must be a whole number from 1 to 4194304";
    const EXIT: &str = "must be a whole number from 0 to 255";
    let cases = [
        ("id", "12", QUOTES),
        ("id", "1.5", QUOTES),
        ("id", "true", QUOTES),
        ("id", r#"["a"]"#, "must be text"),
        ("suite", "0", QUOTES),
        ("repo.path", "7", QUOTES),
        ("repo.commit", "123", QUOTES),
        ("repo.submodules", r#""true""#, "must be true or false"),
        ("repo.submodules", "1", "must be true or false"),
        ("repo.patches", r#""a.patch""#, "must be a list"),
        (
            "environment",
            r#""x""#,
            "must have fields; there are image, containerfile, devcontainer, workdir, env, env_from_host, network, timeout, resources, mounts, user, runtime",
        ),
        ("environment.env", "1", "must be names with values"),
        ("environment.env.A", "1", QUOTES),
        ("environment.env.A", "true", QUOTES),
        ("environment.env.A", "1.10", QUOTES),
        ("environment.env.A", r#"["x"]"#, "must be text"),
        ("environment.network", r#""none""#, "must have fields; there are setup, run"),
        ("environment.network.run", "false", "must be one of none, full"),
        ("environment.network.run", r#""None""#, "must be one of none, full; did you mean `none`?"),
        ("environment.timeout.run", "90", SPAN),
        ("environment.timeout.run", r#""90""#, SPAN),
        ("environment.timeout.run", r#""0s""#, SPAN),
        ("environment.timeout.run", r#""-1s""#, SPAN),
        ("environment.timeout.run", r#""soon""#, SPAN),
        ("environment.timeout.run", r#""99999999999999 years""#, SPAN),
        ("environment.timeout.run", r#""99999999999999999999999s""#, SPAN),
        ("environment.timeout.run", r#""367d""#, SPAN),
        ("environment.resources.memory", "-1", SIZE),
        ("environment.resources.memory", "0", SIZE),
        ("environment.resources.memory", "99999999999999999999", SIZE),
        ("environment.resources.memory", "9223372036854775807", SIZE),
        ("environment.resources.memory", r#""99999999999999999999g""#, SIZE),
        ("environment.resources.memory", r#""16777216t""#, SIZE),
        ("environment.resources.memory", r#""2gg""#, SIZE),
        ("environment.resources.memory", "true", SIZE),
        ("environment.resources.disk", "1.5", SIZE),
        ("environment.resources.disk", "1e3", SIZE),
        ("environment.resources.disk", r#""1.5g""#, SIZE),
        ("environment.resources.cpus", r#""2""#, CPUS),
        ("environment.resources.cpus", "0", CPUS),
        ("environment.resources.cpus", "-1", CPUS),
        ("environment.resources.cpus", "0.001", CPUS),
        ("environment.resources.cpus", "1e300", CPUS),
        ("environment.resources.pids", "0", PIDS),
        ("environment.resources.pids", "1.0", PIDS),
        ("environment.resources.pids", r#""10""#, PIDS),
        ("environment.resources.pids", "4194305", PIDS),
        ("run.command", "5", COMMAND),
        ("run.command", "true", COMMAND),
        ("run.command", "1.5", COMMAND),
        ("run.stdin", "5", QUOTES),
        ("expect.exit", "-1", EXIT),
        ("expect.exit", "256", EXIT),
        ("expect.exit", "0.0", EXIT),
        ("expect.exit", r#""0""#, EXIT),
        ("expect.exit", "99999999999999999999", EXIT),
        ("expect.fail", "0", "must be true or false"),
        ("artifacts", r#""a""#, "must be a list"),
    ];
    for (field, value, expected) in cases {
        let expected = format!("`{field}` {expected}");
        for said in all(field, value) {
            assert_eq!(said.unwrap_err(), expected, "{field}: {value}");
        }
    }
    for (field, value, expected) in [
        ("run.command", r#"["a", 5]"#, "`run.command[1]` must be text: put it in quotes"),
        ("setup.commands", r#"["a", true]"#, "`setup.commands[1]` must be a line of text or a list of words"),
        ("repo.patches", "[1]", "`repo.patches[0]` must be text: put it in quotes"),
    ] {
        for said in all(field, value) {
            assert_eq!(said.unwrap_err(), expected, "{field}: {value}");
        }
    }
}

#[test]
fn nothing_is_no_value_wherever_it_stands() {
    let fields =
        ["id", "suite", "repo", "repo.commit", "environment", "environment.env", "environment.env.A", "setup.commands"];
    let more =
        ["agent", "run.command", "run.stdin", "expect.exit", "expect.tests", "environment.resources.cpus", "artifacts"];
    for field in fields.into_iter().chain(more) {
        // TOML has no such thing.
        let [yaml, json, _] = all(field, "null");
        let expected = format!("`{field}` has no value: give it one, or leave it out");
        assert_eq!((yaml.unwrap_err(), json.unwrap_err()), (expected.clone(), expected), "{field}");
    }
}

#[test]
fn what_yaml_writes_without_quotes_is_what_it_looks_like() {
    let command =
        |value: &str| parse("t.yaml", format!("id: a\nrepo: {{path: .}}\nrun:\n  command: x\n  stdin: {value}\n"));
    for text in ["yes", "on", "n", "0.1.2", "2020-01-01", "1s", "inf", "nan", "!!str 5", "'~'", "\"5\"", "|\n   5"] {
        assert!(command(text).is_ok(), "{text}");
    }
    for other in
        ["5", "-5", "0x1F", "0o7", "012", "1_000", ".5", "1e3", ".inf", "-.inf", ".nan", "1e999", "True", "FALSE"]
    {
        assert_eq!(command(other).unwrap_err(), "t.yaml:5: `run.stdin` must be text: put it in quotes", "{other}");
    }
    for nothing in ["~", "null", "Null", ""] {
        assert!(command(nothing).unwrap_err().contains("`run.stdin` has no value"), "{nothing}");
    }
    for number in [".nan", ".inf", "-.inf", "1e999"] {
        let text = format!("id: a\nenvironment: {{resources: {{cpus: {number}}}}}\n");
        let said = parse("t.yaml", text).unwrap_err();
        assert_eq!(said, "t.yaml:2: `environment.resources.cpus` must be a number from 0.01 to 8192");
    }
    for number in ["nan", "inf", "-inf"] {
        let said = parse("t.toml", format!("environment.resources.cpus = {number}\n")).unwrap_err();
        assert_eq!(said, "t.toml:1: `environment.resources.cpus` must be a number from 0.01 to 8192");
    }
    assert!(parse("t.yaml", "run: &r {command: x}\nagent: {<<: *r}\n").unwrap_err().contains("`agent.<<` is unknown"));
    assert_eq!(parse("t.toml", "id = 2020-01-01\n").unwrap_err(), "t.toml:1: `id` must be text: put it in quotes");
    assert!(
        parse("t.toml", "run.command = 2020-01-01\n").unwrap_err().contains("`run.command` must be a line of text")
    );
}

#[test]
fn a_name_that_is_there_twice_is_told_with_where_it_is() {
    let cases = [
        ("t.yaml", "id: a\nsuite: b\nid: c\n", "t.yaml:3: `id` is there twice"),
        ("t.yaml", "run:\n  env:\n    A: x\n    B: x\n    A: y\n", "t.yaml:5: `run.env.A` is there twice"),
        ("t.yaml", "run:\n  env: {\"A\": x, 'A': y}\n", "t.yaml:2: `run.env.A` is there twice"),
        (
            "t.yaml",
            "run: {env: {1: x, 01: y, A: x}}\n",
            "t.yaml:1: `run.env.1` must have text for a name: put it in quotes",
        ),
        ("t.json", "{\"id\": \"a\",\n\"id\": \"a\"}", "t.json:2: `id` is there twice"),
        ("t.json", "{\"run\": {\"env\": {\"A\": \"x\",\n\"\\u0041\": \"x\"}}}", "t.json:2: `run.env.A` is there twice"),
        ("t.toml", "id = 'a'\nid = 'a'\n", "t.toml:2: `id` is there twice"),
        ("t.toml", "[run]\nenv.A = 'x'\n[run.env]\nA = 'y'\n", "t.toml:3: `run.env` is there twice"),
        ("t.toml", "[run]\n[run.env]\nA = 'x'\nA = 'y'\n", "t.toml:4: `run.env.A` is there twice"),
        ("t.toml", "[run]\nenv = {A = 'x', 'A' = 'y'}\n", "t.toml:2: `run.env.A` is there twice"),
        (
            "t.toml",
            "[[expect.files]]\npath = 'a'\n[[expect.files]]\npath = 'a'\n\"path\" = 'b'\n",
            "t.toml:5: `expect.files[1].path` is there twice",
        ),
        ("t.toml", "[repo]\npath = 'a'\n[run]\n[repo]\n", "t.toml:4: `repo` is there twice"),
    ];
    for (name, text, expected) in cases {
        assert_eq!(parse(name, text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn the_id_of_a_commit_may_have_nothing_but_digits() {
    for id in ["0123456789012345678901234567890123456789".to_owned(), "0".repeat(40), "7".repeat(64)] {
        for repo in [format!("{{path: ., commit: {id}}}"), format!("{{commit: {id}, path: .}}  # {id}")] {
            let task = parse("t.yaml", format!("id: a\nrepo: {repo}\nrun: {{command: x}}\n")).unwrap();
            assert_eq!(task.repo.commit, Some(id.clone()));
        }
    }
    let short = parse("t.yaml", "id: a\nrepo:\n  path: .\n  commit: 0123456\nrun: {command: x}\n").unwrap_err();
    assert!(short.starts_with("t.yaml:4: `repo.commit` must be text"), "{short}");
}
