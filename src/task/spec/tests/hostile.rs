//! Whatever a file holds, the end of it is a task or one plain line.

use super::{LEAST, parse};

const NAMES: [&str; 3] = ["t.yaml", "t.json", "t.toml"];
/// The least task in the other two.
const JSON: &str = r#"{"id": "a", "repo": {"path": "."}, "run": {"command": "make test"}}"#;
const TOML: &str = "id = 'a'\nrepo.path = '.'\nrun.command = 'make test'\n";

/// It is refused, in one line that is no essay.
fn refused(name: &str, content: impl AsRef<[u8]>) -> String {
    let said = parse(name, content).expect_err(name);
    assert!(!said.contains('\n') && said.len() < 1500 && said.starts_with(name), "{said}");
    said
}

#[test]
fn no_cut_makes_it_panic() {
    for (name, text) in [("t.yaml", LEAST), ("t.json", JSON), ("t.toml", TOML)] {
        for cut in 0..text.len() {
            let _ = parse(name, &text[..cut]);
        }
    }
}

#[test]
fn depth_ends() {
    for depth in [100, 100_000] {
        for name in NAMES {
            refused(name, "[".repeat(depth));
            refused(name, format!("id: {}", "{a: ".repeat(depth)));
            refused(name, format!("{{\"id\": {}{}}}", "[".repeat(depth), "]".repeat(depth)));
            refused(name, format!("{}\"id\": 1{}", "{\"a\": ".repeat(depth), "}".repeat(depth)));
            refused(name, format!("id = {}{}", "[".repeat(depth), "]".repeat(depth)));
            refused(name, format!("{}id = 1", "a.".repeat(depth)));
            refused(name, "- ".repeat(depth));
        }
    }
    for name in NAMES {
        let (open, close) = ("[".repeat(20), "]".repeat(20));
        let value = if name == "t.toml" { format!("id = {open}{close}") } else { format!("{{\"id\": {open}{close}}}") };
        assert!(refused(name, value).contains("nested more than 16 levels deep"));
    }
    let deep = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>();
    assert!(refused("t.yaml", deep).contains("nested more than 16 levels deep"));
    assert!(
        refused("t.json", format!("{}{}", "[".repeat(100), "]".repeat(100)))
            .contains("nested more than 16 levels deep")
    );
}

#[test]
fn aliases_do_not_multiply() {
    let lists = (0..40).map(|n| format!("b{}: &b{} [*b{n},*b{n}]\n", n + 1, n + 1)).collect::<String>();
    assert!(refused("t.yaml", format!("b0: &b0 [x,x,x,x]\n{lists}")).contains("is too much once it is repeated"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), "*a,".repeat(20_000));
    refused("t.yaml", long);
    assert_eq!(refused("t.yaml", "id: &a [*a]\n"), "t.yaml:1: repeats itself within itself");
    let shared = format!("{LEAST}environment: {{env: &e {{A: x}}}}\n").replace("make test", "x, env: {B: x}");
    assert!(parse("t.yaml", shared).is_ok());
}

#[test]
fn garbage_is_refused() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as u8
    };
    let bytes: Vec<u8> = (0..1 << 20).map(|_| random()).collect();
    let printable: Vec<u8> = (0..1 << 20).map(|_| b' ' + random() % 95).collect();
    for name in NAMES {
        refused(name, &bytes);
        refused(name, &printable);
        for fill in [
            "a", "\"", "{", "}", "- ", ": ", "a: b\n", "a = 1\n", "\n", "&a ", "!", "%", "?", "|", "[[a]]\n",
            "\"a\":1,",
        ] {
            refused(name, fill.repeat((1 << 17) / fill.len()));
        }
        assert_eq!(refused(name, "a".repeat((1 << 20) + 1)), format!("{name}: larger than 1 MiB"));
        assert_eq!(refused(name, "\n\nid\0"), format!("{name}:3: holds a NUL byte"));
        assert_eq!(refused(name, b"\n\xff"), format!("{name}:2: not UTF-8"));
        assert_eq!(refused(name, b"\xff\xfei\0d\0"), format!("{name}:1: not UTF-8"));
    }
}

#[test]
fn a_long_name_or_one_with_controls_is_shown_short_and_escaped() {
    let said = refused("t.json", format!("{{\"{}\": 1}}", "x".repeat(1 << 19)));
    assert!(said.contains("xxx…` is unknown; there are id"), "{said}");
    assert_eq!(
        refused("t.json", r#"{"run": {"a\u001b[31m\nb": 1}}"#),
        "t.json:1: `run.a\\u{1b}[31m b` is unknown; there are command, stdin, env"
    );
}

#[test]
fn editors_may_save_it_their_way() {
    for (name, text) in [("t.yaml", LEAST), ("t.json", JSON), ("t.toml", TOML)] {
        let least = parse(name, text).unwrap();
        let crlf = text.replace('\n', "\r\n");
        for saved in [format!("\u{feff}{text}"), crlf.clone(), format!("\u{feff}{crlf}"), format!("\n\n{text}\n\n")] {
            assert_eq!(parse(name, saved).unwrap(), least);
        }
    }
    let toml = parse("t.toml", "id = 'a'\r\nrepo.path = '.'\r\nrun.command = '''\r\na\r\nb'''\r\n").unwrap();
    let yaml = parse("t.yaml", "id: a\r\nrepo: {path: .}\r\nrun:\r\n  command: |-\r\n    a\r\n    b\r\n").unwrap();
    assert_eq!(toml, yaml);
    assert_eq!(parse("t.yaml", "id: a\r\n\r\nnope: b\r\n").unwrap_err()[..10], *"t.yaml:3: ");
}

#[test]
fn what_breaks_a_format_is_told_with_its_line() {
    for (name, text, line) in [
        ("t.yaml", "id: [\n", "t.yaml:"),
        ("t.yaml", "id: a\n  b: c\n", "t.yaml:2: "),
        ("t.yaml", "id: a\n---\nid: b\n", "t.yaml:3: holds more than one document"),
        ("t.yaml", "id: !odd a\n", "t.yaml:1: "),
        ("t.yaml", "id: *a\n", "t.yaml:1: "),
        ("t.yaml", "suite: a\nid: !!int abc\n", "t.yaml:2: is not what its tag says"),
        ("t.yaml", "id: !!float abc\n", "t.yaml:1: is not what its tag says"),
        ("t.yaml", "id: !!bool abc\n", "t.yaml:1: is not what its tag says"),
        ("t.yaml", "id: !!binary '?'\n", "t.yaml:1: "),
        ("t.yaml", "id: !!str [a]\n", "t.yaml:1: "),
        ("t.yaml", "id: !!map a\n", "t.yaml:1: "),
        ("t.yaml", "? [a, b]\n: c\n", "t.yaml:1: `?` must have text for a name"),
        ("t.json", "{\"id\": \"a\",}", "t.json:1: "),
        ("t.json", "{\"id\": \"a\"}\n{}", "t.json:2: trailing characters"),
        ("t.json", "{\n// no\n}", "t.json:2: "),
        ("t.json", "{'id': 1}", "t.json:1: "),
        ("t.json", "{\"id\": \"a\nb\"}", "t.json:"),
        ("t.json", r#"{"id": "\ud800"}"#, "t.json:1: "),
        ("t.json", "{\"id\": 01}", "t.json:1: "),
        ("t.toml", "id = 'a'\n[repo\n", "t.toml:2: "),
        ("t.toml", "id = a\n", "t.toml:1: "),
    ] {
        let said = refused(name, text);
        assert!(!said.contains(" at line ") && said.starts_with(line), "{text}: {said}");
    }
}
