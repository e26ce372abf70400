//! Python: pip, uv and poetry, each with a package from PyPI.

use super::{Project, prepare, serves_a_command_offline};
use crate::common::{Engine, Sandbox, on, on_containers};

on_containers!(requirements_of_pip);
on!(podman: a_lock_of_uv, a_lock_of_poetry, a_stale_lock_falls_back_with_a_notice);

/// `python` by its plain name is that of the project.
const APP: &str = "import six, sys\nassert sys.prefix != sys.base_prefix\nprint(six.__version__)\n";
const RUN: &str = "python -B app.py > out.txt";

fn requirements_of_pip(engine: Engine) {
    // The same as the others ask for, so that one image serves all.
    let floor = "[project]\nname = \"the-app\"\nversion = \"1\"\nrequires-python = \">=3.9\"\n";
    let requirements = "six==1.16.0 --hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254\n";
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "python",
            files: &[("requirements.txt", requirements), ("pyproject.toml", floor), ("app.py", APP)],
            evidence: "requirements.txt",
            command: RUN,
            output: "1.16.0\n",
        },
    );
}

const UV_PROJECT: &str = r#"[project]
name = "greet"
version = "0.1.0"
requires-python = ">=3.9"
dependencies = ["six==1.16.0"]
"#;

const UV_LOCK: &str = r#"version = 1
revision = 3
requires-python = ">=3.9"

[[package]]
name = "greet"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "six" },
]

[package.metadata]
requires-dist = [{ name = "six", specifier = "==1.16.0" }]

[[package]]
name = "six"
version = "1.16.0"
source = { registry = "https://pypi.org/simple" }
wheels = [
    { url = "https://files.pythonhosted.org/packages/d9/5a/e7c31adbe875f2abbb91bd84cf2dc52d792b5a01506781dbcf25c91daf11/six-1.16.0-py2.py3-none-any.whl", hash = "sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254" },
]
"#;

fn a_lock_of_uv(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "python",
            files: &[("pyproject.toml", UV_PROJECT), ("uv.lock", UV_LOCK), ("app.py", APP)],
            evidence: "uv.lock",
            command: &format!("{RUN} && uv run --offline --no-sync python -B app.py"),
            output: "1.16.0\n",
        },
    );
}

/// The source is said: PyPI's own interface is another than that of its mirrors.
const POETRY_PROJECT: &str = r#"[tool.poetry]
name = "greet"
version = "0.1.0"
description = ""
authors = []
packages = [{ include = "greet" }]

[tool.poetry.dependencies]
python = ">=3.9"
six = "1.16.0"

[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"

[[tool.poetry.source]]
name = "simple"
url = "https://pypi.org/simple/"
priority = "primary"
"#;

const POETRY_LOCK: &str = r#"[[package]]
name = "six"
version = "1.16.0"
description = "Python 2 and 3 compatibility utilities"
optional = false
python-versions = ">=2.7, !=3.0.*, !=3.1.*, !=3.2.*"
groups = ["main"]
files = [
    {file = "six-1.16.0-py2.py3-none-any.whl", hash = "sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254"},
]

[package.source]
type = "legacy"
url = "https://pypi.org/simple"
reference = "simple"

[metadata]
lock-version = "2.1"
python-versions = ">=3.9"
content-hash = "3d3b77c156bc19bf939239a0687fc9a0b2565e9e81b7a6d7857779fe8999201b"
"#;

fn a_lock_of_poetry(engine: Engine) {
    serves_a_command_offline(
        engine,
        &Project {
            runtime: "python",
            files: &[
                ("pyproject.toml", POETRY_PROJECT),
                ("poetry.lock", POETRY_LOCK),
                ("greet/__init__.py", "import six\n"),
                ("app.py", APP),
            ],
            evidence: "poetry.lock",
            command: &format!("{RUN} && python -B -c 'import greet' && poetry run python -B app.py"),
            output: "1.16.0\n",
        },
    );
}

/// What the fallback writes into tracked files is the setup's, not the command's.
fn a_stale_lock_falls_back_with_a_notice(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("pyproject.toml", UV_PROJECT);
    sandbox.write("uv.lock", UV_LOCK.replace("==1.16.0", "==1.15.0"));
    prepare(&sandbox, "python", &[]).ok().says("failed with 1; trying `rm -rf .venv && uv sync --frozen`").done();
    let run = ["run", "--engine", engine.name(), "--network", "none", "--", "python", "-B", "-c", "import six"];
    sandbox.cowbox(&run).output().done();
    assert_eq!(sandbox.changes(), Vec::<String>::new());
}
