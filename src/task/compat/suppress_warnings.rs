//! `suppress-warnings`: warnings of newer libraries are no failures. Settings of pytest that make errors of them go,
//! and Python itself is told to be quiet.

use std::path::Path;

use super::{Fixed, Tree};

pub(super) fn apply(tree: &dyn Tree) -> std::io::Result<Fixed> {
    let wanted = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        matches!(name, "pytest.ini" | "tox.ini" | "setup.cfg" | "pyproject.toml")
    };
    let mut fixed = Fixed::edit(tree, &wanted, &|text| quieter(text))?;
    fixed.env.insert("PYTHONWARNINGS".to_owned(), "ignore".to_owned());
    Ok(fixed)
}

/// Takes `error` out of `filterwarnings`, and `-W error` out of `addopts`.
fn quieter(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut filters = false;
    for line in text.split_inclusive('\n') {
        let word = line.trim();
        let key = word.split('=').next().unwrap_or_default().trim();
        if key == "filterwarnings" {
            filters = true;
        } else if filters
            && !(line.starts_with([' ', '\t', ']', '"', '\'']) || word.is_empty() || word.starts_with('#'))
        {
            filters = false;
        }
        let line = if filters { without_errors(line) } else { Some(line.to_owned()) };
        let Some(mut line) = line else { continue };
        for flag in [" -W error", " -Werror", "-W error ", "-Werror "] {
            line = line.replace(flag, "");
        }
        out.push_str(&line);
    }
    out
}

/// A line of the setting without its plain `error`; `None` if nothing else was on it.
fn without_errors(line: &str) -> Option<String> {
    let bare = line.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    if bare == "error" {
        return None;
    }
    let mut line = line.to_owned();
    for (old, new) in [
        ("= error\n", "= default\n"),
        ("=error\n", "=default\n"),
        ("[\"error\"]", "[]"),
        ("['error']", "[]"),
        ("[\"error\", ", "["),
        ("['error', ", "["),
    ] {
        line = line.replace(old, new);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, one};
    use super::*;
    use crate::task::spec::Fix;

    #[test]
    fn warnings_are_no_errors_any_more() {
        let cases = [
            (
                "[pytest]\nfilterwarnings =\n    error\n    ignore::X\nxfail_strict = true\n",
                "[pytest]\nfilterwarnings =\n    ignore::X\nxfail_strict = true\n",
            ),
            ("[pytest]\nfilterwarnings = error\n", "[pytest]\nfilterwarnings = default\n"),
            (
                "[tool.pytest.ini_options]\nfilterwarnings = [\n  \"error\",\n  \"ignore::X\",\n]\n",
                "[tool.pytest.ini_options]\nfilterwarnings = [\n  \"ignore::X\",\n]\n",
            ),
            ("[pytest]\naddopts = -q -W error --strict\n", "[pytest]\naddopts = -q --strict\n"),
        ];
        for (old, new) in cases {
            assert_eq!(one(Fix::SuppressWarnings, "tox.ini", old).as_deref(), Some(new));
            assert_eq!(one(Fix::SuppressWarnings, "tox.ini", new), None);
        }
        assert_eq!(one(Fix::SuppressWarnings, "tox.ini", "[x]\nlist =\n    error\n"), None);
        assert_eq!(apply(&Files::new(&[])).unwrap().env["PYTHONWARNINGS"], "ignore");
    }
}
