use super::*;
use crate::setup::project::testing::Repo;

fn of(files: &[(&str, &str)]) -> Option<Recipe> {
    read(&Project::new(&Repo::of(files).files(), ""))
}

fn installs(files: &[(&str, &str)]) -> Vec<String> {
    of(files).map(|recipe| recipe.install).unwrap_or_default()
}

const VENV: &str = "rm -rf .venv && python3 -m venv .venv && .venv/bin/python -m pip install";

#[test]
fn a_real_lock_file_comes_before_requirements_and_those_before_the_manifest() {
    let all = [
        ("uv.lock", ""),
        ("poetry.lock", ""),
        ("pdm.lock", ""),
        ("Pipfile.lock", "{}"),
        ("Pipfile", ""),
        ("requirements.txt", "x"),
        ("pyproject.toml", "[project]\nname = 'x'"),
        ("setup.py", ""),
    ];
    let needs = ["uv", "poetry", "pdm", "pipenv", "pipenv", "python3", "python3", "python3"];
    for first in 0..all.len() {
        let recipe = of(&all[first..]).unwrap();
        assert_eq!((recipe.evidence.as_str(), recipe.needs), (all[first].0, needs[first]));
    }
}

#[test]
fn the_strict_command_comes_first_and_every_environment_is_new() {
    for files in [
        [("uv.lock", "")].as_slice(),
        &[("poetry.lock", "")],
        &[("pdm.lock", "")],
        &[("Pipfile.lock", "")],
        &[("requirements.txt", "x"), ("requirements-dev.txt", "y")],
        &[("setup.py", "")],
    ] {
        assert!(installs(files).iter().all(|command| command.starts_with("rm -rf .venv")), "{files:?}");
    }
    assert_eq!(
        installs(&[("uv.lock", "")]),
        ["rm -rf .venv && uv sync --locked", "rm -rf .venv && uv sync --frozen", "rm -rf .venv && uv sync"]
    );
}

#[test]
fn extras_and_groups_for_development_are_installed_if_they_exist() {
    let pyproject = "[project]\nname = 'x'\n[project.optional-dependencies]\ntest = []\ngpu = []\ndev = []\n\
                     [dependency-groups]\ndev = []\ntest = []\ndocs = []\n";
    assert_eq!(
        installs(&[("pyproject.toml", pyproject)]),
        [
            format!("{VENV} 'pip>=25.1' && .venv/bin/python -m pip install -e '.[dev,test]' --group dev --group test"),
            format!("{VENV} -e '.[dev,test]'"),
            format!("{VENV} -e ."),
        ]
    );
    let uv = installs(&[("pyproject.toml", pyproject), ("uv.lock", "")]);
    assert_eq!(uv[0], "rm -rf .venv && uv sync --locked --extra dev --extra test --group test");
    let poetry = installs(&[("pyproject.toml", pyproject), ("poetry.lock", "")]);
    assert_eq!(poetry[0], "rm -rf .venv && poetry install --no-interaction --extras dev --extras test");
}

#[test]
fn requirements_for_development_and_the_package_itself_go_along() {
    let files =
        [("requirements.txt", "x\n-r more.txt\n"), ("more.txt", ""), ("dev-requirements.txt", ""), ("setup.py", "")];
    let expected = [
        "-r requirements.txt -r dev-requirements.txt -e .",
        "-r requirements.txt -r dev-requirements.txt",
        "-r requirements.txt",
    ];
    assert_eq!(installs(&files), expected.map(|arguments| format!("{VENV} {arguments}")));
    let hashed = [("requirements.txt", "x==1 --hash=sha256:00"), ("setup.py", "")];
    assert_eq!(installs(&hashed), [format!("{VENV} -r requirements.txt")]);
    let itself = [("requirements.txt", "-e .[dev]"), ("setup.py", "")];
    assert_eq!(installs(&itself), [format!("{VENV} -r requirements.txt")]);
    assert_eq!(installs(&[("requirements-prod.txt", "")]), [format!("{VENV} -r requirements-prod.txt")]);
}

#[test]
fn files_that_requirements_include_are_inputs() {
    let repo = Repo::of(&[("requirements/dev.txt", "-r base.txt\n-c ../../x\n"), ("requirements/base.txt", "")]);
    let files = repo.files();
    let project = Project::new(&files, "");
    read(&project).unwrap();
    let (inputs, _) = project.into_found();
    assert_eq!(inputs.len(), 2);
}

#[test]
fn settings_of_tools_alone_are_no_project() {
    assert!(of(&[("pyproject.toml", "[tool.black]\nline-length = 100")]).is_none());
    assert!(of(&[("setup.cfg", "[flake8]\nignore = E501")]).is_none());
    assert!(of(&[("pyproject.toml", "not toml")]).is_none());
    assert!(of(&[("pyproject.toml", "[tool.black]"), ("setup.cfg", "[metadata]\nname = x")]).is_some());
}

#[test]
fn an_application_that_only_poetry_understands_needs_poetry() {
    let text = "[tool.poetry]\npackage-mode = false\n[build-system]\nrequires = []";
    assert_eq!(of(&[("pyproject.toml", text)]).unwrap().needs, "poetry");
    let text = "[tool.poetry]\nname = 'x'\n[build-system]\nrequires = []";
    assert_eq!(of(&[("pyproject.toml", text)]).unwrap().needs, "python3");
}

#[test]
fn the_projects_own_package_is_imported_if_it_is_there() {
    let verify = |name: &str, file: &str| {
        let text = format!("[project]\nname = {name:?}\n");
        of(&[("pyproject.toml", &text), (file, "")]).unwrap().verify.remove(0)
    };
    assert_eq!(verify("My-Pkg", "src/my_pkg/__init__.py"), ".venv/bin/python -c 'import my_pkg'");
    assert_eq!(verify("zope.thing", "zope/thing/__init__.py"), ".venv/bin/python -c 'import zope.thing'");
    assert_eq!(verify("single", "single.py"), ".venv/bin/python -c 'import single'");
    assert_eq!(verify("PIL", "PIL/__init__.py"), ".venv/bin/python -c 'import PIL'");
    for hostile in ["x; import os", "../up", "a'b", "x\ny", ""] {
        assert!(verify(hostile, "x/__init__.py").starts_with(RUNS), "{hostile}");
    }
}

#[test]
fn dependencies_are_the_last_resort_and_never_options() {
    let text = "[project]\nname = 'x'\ndependencies = ['a>=1; python_version<\"4\"', 'b $(id)']\n";
    let last = installs(&[("pyproject.toml", text)]).pop().unwrap();
    assert_eq!(last, format!("{VENV} -- 'a>=1; python_version<\"4\"' 'b $(id)'"));
    let text = "[project]\nname = 'x'\ndependencies = ['--index-url=x']\n";
    assert_eq!(installs(&[("pyproject.toml", text)]), [format!("{VENV} -e .")]);
}
