//! `setuptools-cap`: setuptools 81 and later have no `pkg_resources`, and dropped old ways to build. It is held below,
//! where the project asks for it and, through a constraints file, where pip would fetch it unasked.

use std::path::Path;

use super::requirements::{change, holds_requirements, upper_bound};
use super::{Fixed, Tree};

/// The first version that is too new.
const CAP: u32 = 81;
/// Where pip is told.
const CONSTRAINTS: &str = ".cowbox-constraints.txt";

pub(super) fn apply(tree: &dyn Tree) -> std::io::Result<Fixed> {
    let cap = |version: &str| {
        let is_open = upper_bound(version).is_none_or(|bound| bound > CAP) && !version.contains("==");
        let comma = if version.trim().is_empty() { "" } else { "," };
        is_open.then(|| format!("{}{comma}<{CAP}", version.trim_end()))
    };
    let mut fixed = Fixed::edit(tree, &holds_requirements, &|text| change(text, "setuptools", &cap))?;
    fixed.files.insert(Path::new(CONSTRAINTS).into(), format!("setuptools<{CAP}\n"));
    for name in ["PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_CONSTRAINT", "UV_BUILD_CONSTRAINT"] {
        fixed.env.insert(name.to_owned(), format!("{{workspace}}/{CONSTRAINTS}"));
    }
    Ok(fixed)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Files, one};
    use super::*;
    use crate::task::spec::Fix;

    #[test]
    fn open_requirements_get_a_bound_and_pip_is_told() {
        let fixed = |text: &str| one(Fix::SetuptoolsCap, "pyproject.toml", text);
        let old = "[build-system]\nrequires = [\"setuptools>=40\", \"wheel\"]\n";
        assert_eq!(fixed(old).as_deref(), Some("[build-system]\nrequires = [\"setuptools>=40,<81\", \"wheel\"]\n"));
        let bare = "requires = ['setuptools', 'setuptools_scm']\n";
        assert_eq!(fixed(bare).as_deref(), Some("requires = ['setuptools<81', 'setuptools_scm']\n"));
        for good in ["requires = ['setuptools<60']\n", "requires = ['setuptools==58.1']\n"] {
            assert_eq!(fixed(good), None, "{good}");
        }
        let made = apply(&Files::new(&[("setup.py", "")])).unwrap();
        assert_eq!(made.files[Path::new(CONSTRAINTS)], "setuptools<81\n");
        assert_eq!(made.env["PIP_CONSTRAINT"], "{workspace}/.cowbox-constraints.txt");
    }
}
