//! Where to look when the root of a repo has nothing: one level down, and not everywhere.

use crate::setup::project::Project;

/// Directories that are looked into, and names in each: the cost must not grow with the repo.
const MOST_DIRS: usize = 24;
const MOST_NAMES: usize = 200;
/// A root with more names than this is no folder of projects, and every start would pay for looking.
const MOST_AT_ROOT: usize = 64;
/// Projects below the root that are prepared.
const MOST_PROJECTS: usize = 8;

/// Names that give a project away. What they mean is up to the ecosystems.
const EVIDENCE: &[&str] = &[
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile",
    "requirements.txt",
    "pyproject.toml",
    "setup.py",
    "package.json",
    "deno.json",
    "deno.jsonc",
    "deno.lock",
    "Cargo.toml",
    "go.mod",
    "go.work",
    "Gemfile",
    "pom.xml",
    "gradlew",
    "build.gradle",
    "build.gradle.kts",
    "composer.json",
    "mix.exs",
    "CMakeLists.txt",
];
const ENDINGS: &[&str] = &[".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"];

/// Directories with projects in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Below {
    pub(super) dirs: Vec<String>,
    /// How many more there are.
    pub(super) more: usize,
}

/// Looks one level below the root.
pub(super) fn below(root: &Project<'_>) -> Below {
    let mut below = Below::default();
    if root.names().len() > MOST_AT_ROOT {
        return below;
    }
    let candidates = root.names().iter().filter(|name| !is_skipped(name) && root.has_dir(name));
    for name in candidates.take(MOST_DIRS).filter(|name| is_project(root, name)) {
        if below.dirs.len() < MOST_PROJECTS {
            below.dirs.push(name.clone());
        } else {
            below.more += 1;
        }
    }
    below
}

fn is_skipped(name: &str) -> bool {
    name.starts_with(['.', '_'])
        || name.starts_with("test")
        || ["node_modules", "vendor", "examples", "example", "fixtures", "target", "third_party"].contains(&name)
}

fn is_project(root: &Project<'_>, name: &str) -> bool {
    let names = root.names_in(name, MOST_NAMES);
    // Of a full directory not all names were read.
    let full = names.len() == MOST_NAMES && EVIDENCE.iter().any(|file| root.holds(&format!("{name}/{file}")));
    full || names.iter().any(|name| EVIDENCE.contains(&name.as_str()) || ENDINGS.iter().any(|end| name.ends_with(end)))
}
