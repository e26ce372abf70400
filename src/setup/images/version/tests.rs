use super::parse;

fn pin(name: &str, text: &str) -> Option<String> {
    parse(name, text, false)
}

#[test]
fn each_ecosystem_writes_the_same_thing_its_own_way() {
    for (name, text, argument) in [
        ("python", "3.12", "3.12"),
        ("python", "python-3.11.4", "3.11.4"),
        ("python", ">=3.8,<3.12", ">=3.8,<3.12"),
        ("python", ">= 3.9", ">=3.9"),
        ("python", "^3.11", ">=3.11,<4"),
        ("python", "~=3.8", ">=3.8,<4"),
        ("python", "==3.11.*", "3.11"),
        ("python", "!=3.9.1,>=3.8", ">=3.8"),
        ("python", "pypy3.10", "pypy3.10"),
        ("python", "3.13t", "3.13t"),
        ("node", "v18.19.0", "18.19.0"),
        ("node", "20.x", "20"),
        ("node", "~1.2", "1.2"),
        ("node", "~1.2.3", ">=1.2.3,<1.3"),
        ("node", "^18.2.0 || >=20", ">=18.2.0,<19|>=20"),
        ("node", ">=18 <21", ">=18,<21"),
        ("node", "16 - 20", ">=16,<21"),
        ("node", "lts/iron", "20"),
        ("node", "lts/*", "24"),
        ("node", "lts/-1", "22"),
        ("node", "^0.3.1", ">=0.3.1,<0.4"),
        ("rust", "1.75.0", "1.75.0"),
        ("rust", "nightly-2026-01-01", "nightly-2026-01-01"),
        ("rust", "1.75.0-x86_64-unknown-linux-gnu", "1.75.0"),
        ("go", "go1.22.3", "1.22.3"),
        ("go", "1.23rc1", "1.23"),
        ("ruby", "ruby-3.2.1", "3.2.1"),
        ("ruby", "~> 3.2", ">=3.2,<4"),
        ("ruby", "~> 3.2.1", ">=3.2.1,<3.3"),
        ("java", "17.0.2-tem", "17"),
        ("java", "temurin-21.0.1+12", "21"),
        ("java", "1.8", "8"),
        ("php", "~8.1.0 || ~8.2.0", ">=8.1.0,<8.2|>=8.2.0,<8.3"),
        ("php", "8.2.*", "8.2"),
        ("elixir", "1.15.7-otp-26", "1.15.7"),
        ("dotnet", "net8.0", "8.0"),
        ("dotnet", "8.0.204", "8.0.204"),
    ] {
        assert_eq!(pin(name, text).as_deref(), Some(argument), "{name} {text}");
    }
}

#[test]
fn a_floor_has_no_end_and_a_range_keeps_its_own() {
    assert_eq!(parse("rust", "1.70", true).as_deref(), Some(">=1.70"));
    assert_eq!(parse("go", "1.21", true).as_deref(), Some(">=1.21"));
    assert_eq!(parse("python", ">=3.8,<3.12", true).as_deref(), Some(">=3.8,<3.12"));
}

#[test]
fn words_that_ask_for_nothing_pin_nothing() {
    for text in ["", "*", "latest", "node", "x", ">=*"] {
        assert_eq!(pin("node", text).as_deref(), Some(""), "{text}");
    }
}

#[test]
fn what_is_no_version_is_refused_and_reaches_no_shell() {
    for text in [
        "$(reboot)",
        "1.2; rm -rf /",
        "18 && x",
        "a b",
        "3.1`id`",
        ">=",
        "99999999999",
        "1.2.3.4.5",
        ">=3,<2",
        "..",
        "-f",
        "lts/-9",
        "lts/nothing",
        "é",
        "~",
        "jruby-9.4",
    ] {
        assert_eq!(pin("node", text), None, "{text}");
        assert_eq!(pin("ruby", text), None, "{text}");
    }
    assert_eq!(pin("rust", "x;y"), None);
    assert_eq!(pin("rust", "-x"), None);
    assert_eq!(pin("rust", &"1".repeat(5000)), None);
}
