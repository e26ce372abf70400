//! Python: a real lock file before `requirements.txt`, that before `pyproject.toml`. Always into a new `.venv`:
//! the programs in one that the host made name paths of the host.

mod manifest;
mod pip;

use super::caches;
use super::recipe::Recipe;
use crate::setup::project::Project;
use manifest::Manifest;

/// A link is removed, not what it points to.
const FRESH: &str = "rm -rf .venv";
/// What any environment can do. Some come without pip.
const RUNS: &str = ".venv/bin/python -c 'import sys'";
const CHECK: &str = "if .venv/bin/python -c 'import pip' 2>/dev/null; then .venv/bin/python -m pip check; fi";
const PIP_ENV: [(&str, &str); 2] = [("PIP_NO_INPUT", "1"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")];

pub(super) fn read(project: &Project<'_>) -> Option<Recipe> {
    let manifest = Manifest::read(project);
    project.remember(&["pip.conf", "constraints.txt"]);
    uv(project, &manifest)
        .or_else(|| poetry(project, &manifest))
        .or_else(|| pdm(project, &manifest))
        .or_else(|| pipenv(project, &manifest))
        .or_else(|| pip::requirements(project, &manifest))
        .or_else(|| pip::package(project, &manifest))
        .map(|recipe| Recipe { name: "python", runtimes: vec!["python"], ..recipe })
}

/// Imports the project's own package; where its name cannot be told, asks whether dependencies fit together.
fn verify(manifest: &Manifest) -> Vec<String> {
    vec![manifest.import().unwrap_or_else(|| format!("{RUNS} && {CHECK}"))]
}

/// Several commands, each in a new environment.
fn fresh<const N: usize>(commands: [String; N]) -> Vec<String> {
    commands.map(|command| format!("{FRESH} && {command}")).into()
}

fn uv(project: &Project<'_>, manifest: &Manifest) -> Option<Recipe> {
    if !project.has("uv.lock") {
        return None;
    }
    project.remember(&["uv.toml", ".python-version"]);
    let mut all = manifest.extras.iter().map(|extra| format!(" --extra {extra}")).collect::<String>();
    // Of groups uv takes `dev` by itself.
    all.extend(manifest.groups.iter().filter(|group| *group != "dev").map(|group| format!(" --group {group}")));
    if manifest.is_uv_workspace {
        all.push_str(" --all-packages");
    }
    let checked = format!("{RUNS} && uv pip check --python .venv/bin/python");
    Some(Recipe {
        evidence: "uv.lock".to_owned(),
        needs: "uv",
        install: fresh([format!("uv sync --locked{all}"), format!("uv sync --frozen{all}"), "uv sync".to_owned()]),
        // Overrides make a sound environment look inconsistent.
        verify: manifest.import().map_or_else(|| vec![checked, RUNS.to_owned()], |import| vec![import]),
        env: vec![("UV_PROJECT_ENVIRONMENT", ".venv"), ("UV_NO_PROGRESS", "1")],
        caches: vec![caches::UV],
        ..Recipe::default()
    })
}

fn poetry(project: &Project<'_>, manifest: &Manifest) -> Option<Recipe> {
    let locked = project.has("poetry.lock");
    if !locked && !manifest.only_poetry {
        return None;
    }
    project.remember(&["poetry.toml"]);
    let extras: String = manifest.extras.iter().map(|extra| format!(" --extras {extra}")).collect();
    let install = format!("poetry install --no-interaction{extras}");
    Some(Recipe {
        evidence: if locked { "poetry.lock" } else { "pyproject.toml" }.to_owned(),
        needs: "poetry",
        install: fresh([
            install.clone(),
            // An application has no package of its own, and not everyone says so.
            format!("{install} --no-root"),
            format!("poetry lock --no-interaction && {install}"),
        ]),
        verify: verify(manifest),
        env: vec![
            ("POETRY_VIRTUALENVS_IN_PROJECT", "true"),
            ("POETRY_VIRTUALENVS_CREATE", "true"),
            ("POETRY_NO_INTERACTION", "1"),
            // Without a desktop the search for a key ring may wait for ever.
            ("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring"),
        ],
        caches: vec![caches::POETRY],
        ..Recipe::default()
    })
}

fn pdm(project: &Project<'_>, manifest: &Manifest) -> Option<Recipe> {
    if !project.has("pdm.lock") {
        return None;
    }
    project.remember(&["pdm.toml"]);
    // `.pdm-python` holds the path of the host's interpreter.
    let fresh = |command: &str| format!("rm -rf .venv .pdm-python && {command}");
    Some(Recipe {
        evidence: "pdm.lock".to_owned(),
        needs: "pdm",
        install: ["pdm install --check", "pdm install --frozen-lockfile", "pdm install"].map(fresh).into(),
        verify: verify(manifest),
        env: vec![
            ("PDM_NON_INTERACTIVE", "1"),
            ("PDM_USE_VENV", "1"),
            ("PDM_VENV_IN_PROJECT", "1"),
            ("PDM_CHECK_UPDATE", "0"),
        ],
        caches: vec![caches::PDM],
        ..Recipe::default()
    })
}

fn pipenv(project: &Project<'_>, manifest: &Manifest) -> Option<Recipe> {
    let locked = project.has("Pipfile.lock");
    if !project.has("Pipfile") && !locked {
        return None;
    }
    let unlocked = "pipenv install --dev --skip-lock".to_owned();
    Some(Recipe {
        evidence: if locked { "Pipfile.lock" } else { "Pipfile" }.to_owned(),
        needs: "pipenv",
        install: if locked { fresh(["pipenv sync --dev".to_owned(), unlocked]) } else { fresh([unlocked]) },
        verify: verify(manifest),
        env: [("PIPENV_VENV_IN_PROJECT", "1"), ("PIPENV_IGNORE_VIRTUALENVS", "1"), ("PIPENV_YES", "1")]
            .into_iter()
            .chain(PIP_ENV)
            .collect(),
        caches: vec![caches::PIPENV, caches::PIP],
        ..Recipe::default()
    })
}

#[cfg(test)]
mod tests;
