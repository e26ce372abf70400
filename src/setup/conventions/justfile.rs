//! `just setup`: whether a justfile has a recipe of that name that needs no arguments.

use super::Candidate;
use crate::setup::project::Project;

const RECIPE: &str = "setup";

pub(super) fn read(project: &Project<'_>) -> Option<Candidate> {
    let file = project.first(&["justfile", "Justfile", ".justfile"])?;
    let text = project.text(file)?;
    has_recipe(&text).then(|| Candidate {
        file: file.to_owned(),
        commands: vec![format!("just {RECIPE}")],
        needs: Some("just"),
        ..Candidate::default()
    })
}

fn has_recipe(text: &str) -> bool {
    let mut attributes = String::new();
    for line in text.lines() {
        let line = line.trim_end();
        if line.starts_with('[') {
            attributes.push_str(line);
            continue;
        }
        if line.starts_with([' ', '\t', '#']) || line.is_empty() {
            continue;
        }
        let here = !for_other_systems(&attributes);
        attributes.clear();
        if here && (is_recipe(line) || is_alias(line)) {
            return true;
        }
    }
    false
}

/// `[macos]` and the like keep a recipe from Linux.
fn for_other_systems(attributes: &str) -> bool {
    let named = |names: &[&str]| {
        attributes.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| names.contains(&word))
    };
    named(&["windows", "macos", "openbsd", "freebsd", "netbsd", "dragonfly"]) && !named(&["linux", "unix"])
}

/// `alias setup := bootstrap`
fn is_alias(line: &str) -> bool {
    let Some((name, _)) = line.strip_prefix("alias ").and_then(|rest| rest.split_once(":=")) else { return false };
    name.trim() == RECIPE
}

/// `@setup name=default *rest: dependencies`, where every parameter can do without an argument.
fn is_recipe(line: &str) -> bool {
    let line = line.strip_prefix('@').unwrap_or(line);
    let Some(mut rest) = line.strip_prefix(RECIPE) else { return false };
    if !rest.starts_with([' ', '\t', ':']) {
        return false;
    }
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(':') {
            return !after.starts_with('=');
        }
        let many = rest.starts_with('*');
        rest = rest.trim_start_matches(['*', '+', '$']);
        let name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        if name == 0 {
            return false;
        }
        rest = rest[name..].trim_start();
        match rest.strip_prefix('=').map(|value| after_value(value.trim_start())) {
            Some(Some(after)) => rest = after,
            Some(None) => return false,
            None if many => {}
            None => return false,
        }
    }
}

/// What follows a default: a string, a name, a call or something in parentheses.
fn after_value(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    match first {
        '\'' | '"' | '`' => after_string(text),
        '(' => after_parentheses(text),
        _ => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(text.len());
            let after = &text[end..];
            match after.chars().next() {
                _ if end == 0 => None,
                Some('(') => after_parentheses(after),
                // `x'a'`: a string with a prefix.
                Some('\'' | '"') => after_string(after),
                _ => Some(after),
            }
        }
    }
}

fn after_string(text: &str) -> Option<&str> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            c if c == quote => return Some(&text[at + 1..]),
            _ => {}
        }
    }
    None
}

fn after_parentheses(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '\'' | '"' | '`' => {
                rest = after_string(rest)?;
                continue;
            }
            '(' => depth += 1,
            ')' if depth == 1 => return Some(&rest[1..]),
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_that_needs_no_arguments_is_found() {
        for text in [
            "setup:\n  npm ci\n",
            "@setup: deps\n",
            "setup env='dev: x': (build env)\n",
            "setup $a=\"q\\\":\" *rest:\n",
            "setup a=(b + ')') +c=d: x\n",
            "setup a=env_var('X'):\n",
            "setup a=`uname`:\n",
            "alias setup := bootstrap\nbootstrap:\n",
            "[private]\n[linux]\nsetup:\n",
            "[macos]\nother:\n\nsetup:\n",
        ] {
            assert!(has_recipe(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_run_as_it_is_is_not_taken() {
        for text in [
            "",
            "setup := 'x'\n",
            "setup name:\n",
            "setup +names:\n",
            "setup a='x:\n",
            "setup a=(b:\n",
            "setup-dev:\n",
            "# setup:\n",
            "all:\n  setup:\n",
            "alias s := setup\n",
            "[windows]\nsetup:\n",
            "setup é:\n",
            "setup a=é:\n",
        ] {
            assert!(!has_recipe(text), "{text}");
        }
    }
}
