//! `pytest-bump`: pytest before 6.2.5 cannot rewrite assertions on Python 3.10 and later. Requirements that hold it
//! below 7 ask for 7 or 8 instead.

use super::requirements::{change, holds_requirements, upper_bound};
use super::{Fixed, Tree};

pub(super) fn apply(tree: &dyn Tree) -> std::io::Result<Fixed> {
    let too_old = |version: &str| upper_bound(version).filter(|bound| *bound < 7 || is_below_seven(version));
    let edit = |text: &str| change(text, "pytest", &|version| too_old(version).map(|_| ">=7,<9".to_owned()));
    Fixed::edit(tree, &holds_requirements, &edit)
}

/// `<7` and `<7.0` allow nothing of 7.
fn is_below_seven(version: &str) -> bool {
    let parts = version.split(',').map(str::trim).filter_map(|part| part.strip_prefix('<'));
    let mut tight = parts.filter(|rest| !rest.starts_with('='));
    tight.any(|rest| matches!(rest.trim(), "7" | "7.0" | "7.0.0"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::one;
    use crate::task::spec::Fix;

    #[test]
    fn old_pins_are_lifted_and_new_ones_stay() {
        let fixed = |text: &str| one(Fix::PytestBump, "requirements-dev.txt", text);
        assert_eq!(fixed("pytest==5.4.3\nsix\n").as_deref(), Some("pytest>=7,<9\nsix\n"));
        assert_eq!(fixed("pytest>=3,<7\n").as_deref(), Some("pytest>=7,<9\n"));
        for good in ["pytest\n", "pytest>=6\n", "pytest==7.4\n", "pytest<9\n", "pytest-xdist==1.0\n"] {
            assert_eq!(fixed(good), None, "{good}");
        }
        let toml = "[project.optional-dependencies]\ntest = [\"pytest~=5.0\", \"mock\"]\n";
        let new = "[project.optional-dependencies]\ntest = [\"pytest>=7,<9\", \"mock\"]\n";
        assert_eq!(one(Fix::PytestBump, "pyproject.toml", toml).as_deref(), Some(new));
        assert_eq!(one(Fix::PytestBump, "README.md", "pytest==5\n"), None);
    }
}
