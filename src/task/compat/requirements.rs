//! Where Python projects write down what they need, and one requirement in it.

use std::path::Path;

/// Files that hold requirements.
pub(super) fn holds_requirements(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    matches!(name.as_str(), "pyproject.toml" | "setup.cfg" | "tox.ini" | "setup.py")
        || ((name.contains("requirements") || name.contains("constraints")) && name.ends_with(".txt"))
        || (name.ends_with(".txt") && path.parent().is_some_and(|dir| dir.ends_with("requirements")))
}

/// Replaces the version of every requirement `name`. `change` gets what follows the name, up to the end of the
/// requirement (`==5.4`, `<7,>=3`, or nothing), and says what is to stand there; `None` leaves it.
pub(super) fn change(text: &str, name: &str, change: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(&change_line(line, name, change));
    }
    out
}

fn change_line(line: &str, name: &str, change: &dyn Fn(&str) -> Option<String>) -> String {
    let comment = line.find('#').filter(|at| *at == 0 || line[..*at].ends_with(char::is_whitespace));
    let (code, rest) = line.split_at(comment.unwrap_or(line.len()));
    let mut out = String::new();
    let mut at = 0;
    while let Some(found) = code[at..].to_ascii_lowercase().find(name) {
        let (start, after) = (at + found, at + found + name.len());
        out.push_str(&code[at..after]);
        at = after;
        // A whole name at the beginning of a requirement: of a line, a string, or an item of `deps =`.
        let before = code[..start].trim_end_matches([' ', '\t']);
        let begins = before.is_empty() || before.ends_with(['"', '\'', '=', ',']) && !before.ends_with("==");
        let version = &code[after..];
        let end = version.find(['"', '\'', ';', '\n', '\r', '#']).unwrap_or(version.len());
        let version = version[..end].trim_end();
        let alone = version.is_empty() || version.trim_start().starts_with(['=', '<', '>', '~', '!']);
        if let Some(new) = Some(version).filter(|_| begins && alone).and_then(change) {
            out.push_str(&new);
            at = after + version.len();
        }
    }
    out.push_str(&code[at..]);
    out.push_str(rest);
    out
}

/// The first number of the highest version that a specifier allows; `None` if it has no upper bound.
pub(super) fn upper_bound(specifier: &str) -> Option<u32> {
    let major = |text: &str| -> Option<u32> { text.trim().split('.').next()?.trim().parse().ok() };
    let bounds = specifier.split(',').map(str::trim).filter_map(|part| {
        ["===", "==", "~=", "<=", "<"].into_iter().find_map(|sign| part.strip_prefix(sign)).and_then(major)
    });
    bounds.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_requirements_are_found() {
        let mark = |text: &str| change(text, "pytest", &|version| Some(format!("[{version}]")));
        assert_eq!(mark("pytest==5.4  # old\n"), "pytest[==5.4]  # old\n");
        assert_eq!(mark("pytest\npytest-cov==1\nmy-pytest==2\n"), "pytest[]\npytest-cov==1\nmy-pytest==2\n");
        assert_eq!(mark("deps = [\"pytest<6\", 'pytest >= 3, < 5']"), "deps = [\"pytest[<6]\", 'pytest[ >= 3, < 5]']");
        assert_eq!(mark("pytest==5; python_version<'3'\n"), "pytest[==5]; python_version<'3'\n");
        assert_eq!(mark("# pytest==5\n[tool:pytest]\n"), "# pytest==5\n[tool:pytest]\n");
    }

    #[test]
    fn the_lowest_upper_bound_counts() {
        assert_eq!(upper_bound(">=3,<6"), Some(6));
        assert_eq!(upper_bound("==5.4.1"), Some(5));
        assert_eq!(upper_bound(" >= 3 , ~= 4.0"), Some(4));
        assert_eq!((upper_bound(">=3"), upper_bound(""), upper_bound("==*")), (None, None, None));
    }
}
