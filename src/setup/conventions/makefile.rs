//! `make setup`: whether a makefile has that target, found out without running make, which would run the file.

use super::Candidate;
use crate::setup::project::Project;

const TARGET: &str = "setup";

pub(super) fn read(project: &Project<'_>) -> Option<Candidate> {
    // make reads the first of these and no other.
    let file = project.first(&["GNUmakefile", "makefile", "Makefile"])?;
    let text = project.text(file)?;
    has_target(&text).then(|| Candidate {
        file: file.to_owned(),
        commands: vec![format!("make {TARGET}")],
        needs: Some("make"),
        ..Candidate::default()
    })
}

/// Whether a rule makes `setup`: it has prerequisites or a recipe. `.PHONY: setup` alone does nothing.
fn has_target(text: &str) -> bool {
    let mut prefix = '\t';
    let mut in_define = false;
    let mut bare_rule = false;
    for line in logical_lines(text) {
        if line.starts_with(prefix) {
            if bare_rule && !line[prefix.len_utf8()..].trim().is_empty() {
                return true;
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.split_whitespace().next() {
            None => continue,
            Some("endef") => in_define = false,
            Some("define") => in_define = !is_assignment(line),
            _ => {}
        }
        if in_define {
            continue;
        }
        if let Some(value) = line.strip_prefix(".RECIPEPREFIX").and_then(|rest| rest.split_once('=')) {
            prefix = value.1.trim_start().chars().next().unwrap_or('\t');
        }
        match rule(line) {
            Some((true, true)) => return true,
            Some((mentioned, _)) => bare_rule = mentioned,
            // Conditionals and assignments may stand between a target and its recipe.
            None => {}
        }
    }
    false
}

/// If the line is a rule: whether it is one for `setup`, and whether it says more than that there is one.
fn rule(line: &str) -> Option<(bool, bool)> {
    let colon = target_end(line)?;
    let (targets, rest) = line.split_at(colon);
    let rest = rest.trim_start_matches(':');
    if rest.starts_with('=') || is_assignment(rest.split(';').next().unwrap_or_default()) {
        return None;
    }
    let targets = targets.trim_end().trim_end_matches('&');
    Some((targets.split_whitespace().any(|target| target == TARGET), !rest.trim().is_empty()))
}

/// Where the targets of a rule end: the first `:` outside of `$(…)`, if no `=` comes before it.
fn target_end(line: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in line.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => return None,
            ':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// `NAME = …`, `NAME := …`, `export NAME ?= …`: after a target's colon it sets a variable for that target.
fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let name = name.trim_end_matches([':', '?', '+', '!']);
    let mut words = name.split_whitespace().filter(|w| !["export", "override", "private", "define"].contains(w));
    words.next().is_some_and(|w| !w.contains(['$', ':'])) && words.next().is_none()
}

/// Lines, those that end in a backslash joined with the next.
fn logical_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        let mut line = lines.next()?.to_owned();
        while line.ends_with('\\') {
            line.pop();
            line.push(' ');
            line.push_str(lines.next().unwrap_or_default());
        }
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::project::testing::Repo;

    #[test]
    fn a_real_target_is_found_however_it_is_written() {
        for text in [
            "setup:\n\tnpm ci\n",
            "all:\n\tcc\n\nsetup: deps\n",
            "setup : deps",
            "setup other: deps\n\ttrue\n",
            "other setup::\n\ttrue\n",
            "setup: ; npm ci\n",
            "a \\\n  setup: x\n",
            "a setup &: x\n",
            ".PHONY: setup\nsetup:\n\n# why\n\ttrue\n",
            "setup: X = 1\nsetup:\n\ttrue",
            "ifdef CI\n  setup: deps\nendif\n",
            "setup: # nothing before\nifdef X\n\ttrue\nendif\n",
            ".RECIPEPREFIX = >\nsetup:\n> true\n",
            "setup: $(DIR)/x",
            "$(info a:b)\nsetup: x",
        ] {
            assert!(has_target(text), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_not_taken() {
        for text in [
            "",
            ".PHONY: setup\n",
            ".PHONY: setup clean\nclean:\n\ttrue\n",
            "setup = x\n",
            "setup := x\n",
            "setup ::= x\n",
            "setup:\n",
            "setup: X = 1\n",
            "setup: export X := 1\n",
            "all:\n\tsetup: x\n",
            "all: setup\n\ttrue\n",
            "# setup: x\n",
            "define T\nsetup: x\nendef\n",
            "setup-dev: x\npre-setup: y\n",
            "X = a setup: b\n",
            ".RECIPEPREFIX = >\nall:\n> setup: x\n",
            "setup:\nother:\n\ttrue\n",
        ] {
            assert!(!has_target(text), "{text}");
        }
    }

    #[test]
    fn make_reads_one_makefile() {
        let repo = Repo::of(&[("GNUmakefile", "all: x"), ("Makefile", "setup: x")]);
        assert!(read(&Project::new(&repo.files(), "")).is_none());
    }
}
