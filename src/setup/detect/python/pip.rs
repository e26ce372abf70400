//! pip: from `requirements.txt`, or the project itself.

use super::manifest::Manifest;
use super::{CHECK, FRESH, PIP_ENV, RUNS};
use crate::setup::detect::caches;
use crate::setup::detect::recipe::Recipe;
use crate::setup::project::Project;
use crate::setup::quote::{join, quote};

/// What is installed beside `requirements.txt`.
const DEVELOPMENT: &[&str] = &[
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements/dev.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "test-requirements.txt",
    "requirements/test.txt",
];
/// Files that requirements include, for the key.
const MOST_INCLUDED: usize = 16;

/// `pip install ARGUMENTS` into a new environment.
fn install(arguments: &str) -> String {
    format!("{FRESH} && python3 -m venv .venv && .venv/bin/python -m pip install {arguments}")
}

fn recipe(evidence: &str, install: Vec<String>, verify: Vec<String>) -> Recipe {
    Recipe {
        evidence: evidence.to_owned(),
        needs: "python3",
        install,
        verify,
        env: PIP_ENV.into(),
        caches: vec![caches::PIP],
        ..Recipe::default()
    }
}

/// From `requirements*.txt`; the project itself too, if it is a package.
pub(super) fn requirements(project: &Project<'_>, manifest: &Manifest) -> Option<Recipe> {
    let base = project.first(&["requirements.txt", "requirements/base.txt"]);
    let more: Vec<&str> = DEVELOPMENT.iter().copied().filter(|file| project.has(file)).collect();
    let named = |name: &&str| name.starts_with("requirements");
    let files: Vec<&str> = match (base, more.is_empty()) {
        (Some(base), _) => std::iter::once(base).chain(more).collect(),
        (None, false) => more,
        (None, true) => project.ending(".txt").filter(named).take(1).collect(),
    };
    let (first, rest) = files.split_first()?;
    let texts: Vec<String> = files.iter().filter_map(|file| project.text(file)).collect();
    files.iter().zip(&texts).for_each(|(file, text)| remember_included(project, file, text));
    let arguments = join(files.iter().flat_map(|file| ["-r", *file]));
    let mut commands = Vec::new();
    // With hashes pip refuses whatever has none, and a directory has none.
    if manifest.is_package && !texts.iter().any(|text| text.contains("--hash=") || has_itself(text)) {
        commands.push(install(&format!("{arguments} -e .")));
    }
    commands.push(install(&arguments));
    if !rest.is_empty() {
        commands.push(install(&join(["-r", first])));
    }
    let weak = format!("{RUNS} && {CHECK}");
    // Not every fallback installs the package.
    let verify = manifest.import().into_iter().chain([weak]).collect();
    Some(recipe(first, commands, verify))
}

/// `-e .`
fn has_itself(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line == "." || line.strip_prefix("-e").is_some_and(|path| path.trim_start().starts_with('.'))
    })
}

/// `-r base.txt`, relative to the file that says so.
fn remember_included(project: &Project<'_>, file: &str, text: &str) {
    let dir = file.rsplit_once('/').map_or("", |(dir, _)| dir);
    let options = ["-r", "-c", "--requirement", "--constraint"];
    let included = text.lines().filter_map(|line| line.trim().split_once([' ', '=']));
    let included = included.filter(|(option, _)| options.contains(option)).map(|(_, path)| path.trim());
    for path in included.take(MOST_INCLUDED) {
        let path = if dir.is_empty() { path.to_owned() } else { format!("{dir}/{path}") };
        project.has(&path);
    }
}

/// The project itself, with its extras and groups for development.
pub(super) fn package(project: &Project<'_>, manifest: &Manifest) -> Option<Recipe> {
    let mut commands = Vec::new();
    if manifest.is_package {
        let extras = manifest.extras.join(",");
        let extended =
            if extras.is_empty() { "-e .".to_owned() } else { format!("-e {}", quote(&format!(".[{extras}]"))) };
        commands.extend(with_groups(manifest, &format!(" {extended}")));
        commands.push(install(&extended));
        if !extras.is_empty() {
            commands.push(install("-e ."));
        }
        // An application in several directories is no package to pip. Its dependencies are what matters.
        if !manifest.dependencies.is_empty() {
            commands.push(install(&format!("-- {}", join(manifest.dependencies.iter().map(String::as_str)))));
        }
    } else {
        commands.extend(with_groups(manifest, ""));
    }
    if commands.is_empty() {
        return None;
    }
    let evidence = project.first(&["pyproject.toml", "setup.py"])?;
    Some(recipe(evidence, commands, super::verify(manifest)))
}

/// The pip of a new environment may be too old to know groups.
fn with_groups(manifest: &Manifest, package: &str) -> Option<String> {
    if manifest.groups.is_empty() {
        return None;
    }
    let groups: String = manifest.groups.iter().map(|group| format!(" --group {group}")).collect();
    Some(install(&format!("'pip>=25.1' && .venv/bin/python -m pip install{package}{groups}")))
}
