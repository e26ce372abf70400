//! `docs/errors.md`: every exit code, and every error that the source can give, with its next step. Written from the
//! source, and held against it:
//!
//!     COWBOX_WRITE_DOCS=1 cargo test --lib error_list

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Kind;

/// Starts of expressions that make an error, and the exit code that they mean where no kind is named.
const STARTS: [&str; 3] = ["Error::new(", "Error::of(", "Error::io("];

/// One error as the source has it; what is filled in later is `…`.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    message: String,
    kind: Option<String>,
    hints: Vec<String>,
}

#[test]
fn the_list_of_errors_is_that_of_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("docs/errors.md");
    let expected = document(&root.join("src"));
    if std::env::var_os("COWBOX_WRITE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = written.lines().zip(expected.lines()).find(|(a, b)| a != b);
    assert!(written == expected, "docs/errors.md: write it with COWBOX_WRITE_DOCS=1, first: {differs:?}");
}

#[test]
fn errors_are_found_with_their_hints() {
    let source = r#"
        // Error::new("in a comment")
        let a = Error::new("plain").hint("do this");
        let b = Error::of(Kind::Conflict, format!("`{}` \"x\" {name:?}: {e}", f(")")))
            .hint(format!("say {n}"))
            .hint(other);
        let c = Error::io("read", path, e).context("x").hint("h|h");
        let d = Error::new(message);
        d.hint("later");
        #[cfg(test)]
        mod tests { fn t() { Error::new("no"); } }
    "#;
    let found = errors(source);
    let shown: Vec<(&str, Option<&str>, Vec<&str>)> = found
        .iter()
        .map(|f| (f.message.as_str(), f.kind.as_deref(), f.hints.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(
        shown,
        [
            ("plain", None, vec!["do this"]),
            ("`…` \"x\" …: …", Some("Conflict"), vec!["say …", "…"]),
            ("cannot read …: …", None, vec!["h|h"]),
            ("…", None, vec!["later"]),
        ]
    );
}

/// The whole file.
fn document(src: &Path) -> String {
    let mut out = String::from(
        "# Exit codes and errors\n\n\
         Every error is one line `cowbox: error: …` on stderr; a line `cowbox: hint: …` after it is the next step. \
         This list is made from the source, and a test holds it against it; `…` stands for what is filled in. \
         Where a disk is full there is a hint to free space besides. \
         [troubleshooting.md](troubleshooting.md) says more about the common ones.\n\n\
         ## Exit codes\n\n| code | meaning |\n| --- | --- |\n| 0 | Done. |\n",
    );
    for kind in KINDS {
        let _ = writeln!(out, "| {} | {} |", kind.exit_code(), meaning(kind));
    }
    out.push_str(
        "| 128+n | `run`, `exec`, `shell`: the command died of signal n. |\n\
         | any | `run`, `exec`, `shell`: the command's own exit code. |\n\n\
         A plain failure of `run`, `exec` and `shell` before the command has started is 125, so that it cannot be \
         mistaken for the command's own.\n",
    );
    for (area, errors) in by_area(src) {
        let _ = write!(out, "\n## {area}\n\n| error | exit | next step |\n| --- | --- | --- |\n");
        for error in errors {
            let kind = error.kind.as_deref().and_then(|name| KINDS.iter().find(|kind| format!("{kind:?}") == name));
            let code = match (kind, &error.kind) {
                (Some(kind), _) => kind.exit_code().to_string(),
                (None, Some(_)) => "…".to_owned(),
                (None, None) => "1".to_owned(),
            };
            let cell = |text: &str| text.replace('|', "\\|");
            let _ = writeln!(out, "| {} | {code} | {} |", cell(&error.message), cell(&error.hints.join(" · ")));
        }
    }
    out
}

/// Every kind.
const KINDS: [Kind; 9] = [
    Kind::Failed,
    Kind::Usage,
    Kind::Conflict,
    Kind::Consent,
    Kind::Timeout,
    Kind::NotStarted,
    Kind::NotExecutable,
    Kind::NotFound,
    Kind::Interrupted,
];

/// What its exit code says. A new kind is missing here first, and belongs into [`KINDS`] too.
fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::Failed => "It failed. `diff --exit-code`: there are changes. `doctor`: no engine works.",
        Kind::Usage => "The command line is wrong (125 for `run`, `exec`, `shell`).",
        Kind::Conflict => "Refused: the host changed the same paths. Nothing was applied.",
        Kind::Consent => "Refused, or left out: it needs your consent.",
        Kind::Timeout => "`run --timeout` ran out; everything inside was ended.",
        Kind::NotStarted => "cowbox or the engine failed before the command started.",
        Kind::NotExecutable => "The command exists and cannot be executed.",
        Kind::NotFound => "The command was not found.",
        Kind::Interrupted => "A question was interrupted. Nothing was done.",
    }
}

/// Errors by the folder or file below `src` that makes them; those with nothing but filled-in words tell nothing.
fn by_area(src: &Path) -> BTreeMap<String, Vec<Found>> {
    let mut files = Vec::new();
    sources(src, &mut files);
    files.sort();
    let mut areas: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for file in files {
        let below = file.strip_prefix(src).unwrap();
        let area = below.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        let list = areas.entry(area).or_default();
        for error in errors(&fs::read_to_string(&file).unwrap()) {
            let tells = |text: &String| text.chars().any(char::is_alphabetic);
            if (tells(&error.message) || error.hints.iter().any(tells)) && !list.contains(&error) {
                list.push(error);
            }
        }
    }
    areas.retain(|_, list| !list.is_empty());
    areas
}

fn sources(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, files);
        } else if name.ends_with(".rs") && !["tests.rs", "error.rs", "error_list.rs"].contains(&name.as_str()) {
            files.push(path);
        }
    }
}

/// The errors of one source file, without its tests.
fn errors(source: &str) -> Vec<Found> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let source = source.split("#[cfg(test)]\n        mod tests {").next().unwrap_or_default();
    let source: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
    let mut starts: Vec<(usize, &str)> = STARTS.iter().flat_map(|start| source.match_indices(start)).collect();
    starts.sort();
    let mut found: Vec<(Found, std::ops::Range<usize>)> = Vec::new();
    for (at, start) in starts {
        let rest = &source[at + start.len()..];
        let (error, after) = one(rest, start);
        found.push((error, at..source.len() - after.len()));
    }
    // A hint that is added later belongs to the error made last.
    for (at, call) in source.match_indices(".hint(") {
        let last = found.iter_mut().rev().find(|(_, range)| range.start < at);
        if let Some((error, _)) = last.filter(|(_, range)| !range.contains(&at)) {
            let rest = &source[at + call.len()..];
            error.hints.push(text(&rest[..closing(rest)]));
        }
    }
    found.into_iter().map(|(error, _)| error).collect()
}

/// The error whose arguments `rest` begins with, and what comes after the expression.
fn one<'a>(rest: &'a str, start: &str) -> (Found, &'a str) {
    let (arguments, mut after) = rest.split_at(closing(rest));
    let kind = (start == STARTS[1]).then(|| {
        let words = arguments.trim_start().split(',').next().unwrap_or_default();
        words.trim_start_matches("Kind::").to_owned()
    });
    let arguments = if kind.is_some() { arguments.split_once(',').map_or("", |(_, rest)| rest) } else { arguments };
    let message = match start == STARTS[2] {
        true => format!("cannot {} …: …", text(arguments)),
        false => text(arguments),
    };
    let mut hints = Vec::new();
    // The calls that follow in the same expression.
    while let Some(call) = after.strip_prefix(')').map(str::trim_start).and_then(|rest| rest.strip_prefix('.')) {
        let Some((name, rest)) = call.split_once('(') else { break };
        if name.contains(|c: char| !c.is_alphanumeric() && c != '_') {
            break;
        }
        let (arguments, next) = rest.split_at(closing(rest));
        if name == "hint" {
            hints.push(text(arguments));
        }
        after = next;
    }
    (Found { message, kind, hints }, after)
}

/// Where the parenthesis that is open at the start of `text` is closed.
fn closing(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => return at,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The words of a string or a `format!`; `…` for what is filled in, and for everything that is no literal.
fn text(argument: &str) -> String {
    let argument = argument.trim_start();
    let argument = argument.strip_prefix("format!(").map_or(argument, str::trim_start);
    let Some(literal) = argument.strip_prefix('"') else { return "…".to_owned() };
    let mut out = String::new();
    let mut chars = literal.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                // A literal that goes on in the next line.
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                Some('n') => out.push(' '),
                Some(c) => out.push(c),
                None => break,
            },
            '{' if chars.next_if_eq(&'{').is_some() => out.push('{'),
            '}' if chars.next_if_eq(&'}').is_some() => out.push('}'),
            '{' => {
                while chars.next().is_some_and(|c| c != '}') {}
                out.push('…');
            }
            c => out.push(c),
        }
    }
    out
}
