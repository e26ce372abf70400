//! The table of codes: each can be produced, and the documentation lists the same.

use std::collections::BTreeSet;

use super::super::{CODES, Tier, of_set, secrets};
use super::*;

#[test]
fn every_code_can_be_produced() {
    let entry = |kind, mode| change("x", ChangeKind::Added, None, Some(meta(kind, mode)));
    let mut found: Vec<Risk> = Vec::new();
    for (path, new) in [
        (".git/config", "x"),
        (".cowbox.toml", "env = [\"A\"]"),
        (".cowbox.toml", "network = \"none\""),
        (".husky/x", "x"),
        (".envrc", "x"),
        (".exrc", "x"),
        (".mcp.json", "x"),
        (".devcontainer.json", r#"{"initializeCommand": "x", "image": "x"}"#),
        (".gitattributes", "* filter=x"),
        (".hg/hgrc", "x"),
        ("AGENTS.md", "x"),
        ("Jenkinsfile", "x"),
        ("Makefile", "x"),
        ("go.mod", "replace a => b"),
    ] {
        found.extend(edit(path, "", new));
    }
    found.extend(assess(&entry(Kind::Fifo, 0o644), None, None));
    found.extend(assess(&entry(Kind::File, 0o4757), None, None));
    found.extend(assess(&entry(Kind::Symlink, 0o777), None, Some(b"/x")));
    let shadow = change(".venv/bin/x", ChangeKind::Added, None, Some(meta(Kind::File, 0o755)));
    found.extend(assess(&shadow, None, None));
    found.extend(assess(&Change { class: Class::Untracked, ..deleted("tests/x") }, None, None));
    let gone: Vec<Change> = (0..60).map(|i| deleted(&format!("{i}"))).collect();
    found.extend(of_set(&gone, |_| false).whole);
    let bare = [added("x/HEAD"), added("x/commondir")];
    found.extend(of_set(&bare, |_| false).changes.into_iter().map(|(_, risk)| risk));
    found.push(secrets::risk("a private key", 1));

    let produced: BTreeSet<_> = found.iter().map(|risk| (risk.code, risk.tier as u8)).collect();
    let listed: BTreeSet<_> = CODES.iter().map(|(code, tier, _)| (*code, *tier as u8)).collect();
    assert_eq!(produced, listed);
    assert_eq!(listed.len(), CODES.len());
}

#[test]
fn codes_are_sorted_by_tier_and_explained_in_a_sentence() {
    assert!(CODES.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    for (code, _, meaning) in CODES {
        assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
        assert!(meaning.ends_with('.') && !meaning.contains('|'), "{meaning}");
    }
}

#[test]
fn the_documentation_lists_the_same_codes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/risks.md");
    let text = std::fs::read_to_string(path).unwrap();
    for (tier, heading) in [(Tier::Blocked, "## blocked"), (Tier::Consent, "## consent"), (Tier::Notice, "## notice")] {
        let section = text.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n## ").next().unwrap();
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<String> = CODES
            .iter()
            .filter(|code| code.1 == tier)
            .map(|(code, _, meaning)| format!("| `{code}` | {meaning} |"))
            .collect();
        assert_eq!(rows, expected, "{heading} of docs/risks.md");
    }
}
