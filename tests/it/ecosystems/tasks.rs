//! Real projects as tasks: their own tests are the command, what they need is prepared with a network, and used without one.

use super::{BUILDING, have_base, turn};
use crate::common::{Engine, on, on_containers, on_every_engine};
use crate::task::{Run, Tasks};

on_every_engine!(an_old_python_project_passes_after_fixes_and_an_agent, a_node_project_is_tested_by_npm);
on_containers!(a_rust_crate_is_tested_by_cargo);
on!(native: a_rust_crate_is_tested_by_a_toolchain_of_its_own, old_python_code_passes_after_a_fix);

/// Runs a task in an image of cowbox's own, where the engine has images: two at a time would build the same one twice.
/// native has what this machine has, which must be Python with `venv`, Node with npm, and a C compiler.
#[track_caller]
fn project(engine: Engine, runtime: &str, name: &str, files: &[(&str, &str)], yaml: &str) -> (Tasks, Run) {
    let _turn = engine.has_images().then(|| {
        have_base(engine);
        turn(engine, runtime)
    });
    let tasks = Tasks::without_image(engine);
    tasks.code("code", files);
    tasks.task(name, &format!("repo: {{path: ../code, ref: main}}\n{yaml}"));
    let file = format!("tasks/{name}.yaml");
    let output = tasks.run(&[], &[&file]).patiently(BUILDING).output();
    let run = tasks.runs().pop().unwrap_or_else(|| panic!("no record: {output:?}"));
    (tasks, run)
}

/// pytest 5 and the old place of Mapping need a Python that nobody has any more; `add` is broken.
const OLD: [(&str, &str); 5] = [
    ("requirements.txt", "pytest==5.4.3\n"),
    ("pyproject.toml", "[project]\nname = \"the-app\"\nversion = \"1\"\nrequires-python = \">=3.9\"\n"),
    ("shapes.py", "from collections import Mapping\n\n\ndef add(a, b):\n    return a - b\n"),
    ("test_shapes.py", "from shapes import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"),
    (".gitignore", "__pycache__\n.venv\n.pytest_cache\nreport.xml\n"),
];

fn an_old_python_project_passes_after_fixes_and_an_agent(engine: Engine) {
    let (tasks, run) = project(
        engine,
        "python",
        "old-python",
        &OLD,
        r#"
setup:
  compat: [collections-abc, pytest-bump, setuptools-cap, suppress-warnings]
agent: {command: "sed -i 's/a - b/a + b/' shapes.py", network: none}
run: {command: python -m pytest -q --junitxml=report.xml}
expect:
  failing_baseline: true
  tests: {report: report.xml, pass: [test_shapes.test_add]}
artifacts: [report.xml]
"#,
    );
    let run = run.is("passed");
    assert_eq!(run.changed_by("compat"), [".cowbox-constraints.txt", "requirements.txt", "shapes.py"]);
    assert_eq!(run.changed_by("agent"), ["shapes.py"]);
    assert!(run.text("logs/baseline.stdout").contains("1 failed") && run.text("logs/run.stdout").contains("1 passed"));
    assert_eq!(run.stage("run")["network"]["policy"], "none");
    let dir = run.dir.to_str().unwrap();
    tasks.sandbox.cowbox(&["task", "verify", dir]).output().done();
    tasks.nothing_is_left();
}

fn a_node_project_is_tested_by_npm(engine: Engine) {
    let lock = r#"{"name": "toy", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"":
        {"name": "toy", "version": "1.0.0", "dependencies": {"ms": "2.1.3"}}, "node_modules/ms": {"version": "2.1.3",
        "resolved": "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz",
        "integrity": "sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA=="}}}"#;
    let package =
        r#"{"name": "toy", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {"ms": "2.1.3"}}"#;
    let test = "require('assert').strictEqual(require('ms')(60000), '1m'); console.log('fine');\n";
    let files = [("package.json", package), ("package-lock.json", lock), ("test.js", test)];
    let (tasks, run) = project(engine, "node", "node", &files, "run: {command: npm test}\n");
    assert!(run.is("passed").text("logs/run.stdout").contains("fine"));
    tasks.nothing_is_left();
}

const CRATE: [(&str, &str); 5] = [
    ("Cargo.toml", "[package]\nname = \"count\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"count\"\nversion = \"0.1.0\"\n"),
    ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 { a + b }\n#[test]\nfn adds() { assert_eq!(add(2, 3), 5); }\n"),
    ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.80\"\n"),
    (".gitignore", "target\n.rust\n"),
];

fn a_rust_crate_is_tested_by_cargo(engine: Engine) {
    let (tasks, run) = project(engine, "rust", "crate", &CRATE, "run: {command: cargo test --locked --offline}\n");
    assert!(run.is("passed").text("logs/run.stdout").contains("1 passed"));
    tasks.nothing_is_left();
}

fn a_rust_crate_is_tested_by_a_toolchain_of_its_own(engine: Engine) {
    // Whether this machine has cargo does not matter: the setup fetches what the command uses.
    let yaml = r#"
setup:
  convention: none
  commands:
    - |
      set -e
      mkdir .rust
      for part in rustc cargo rust-std; do
        name=$part-1.80.1-$(uname -m)-unknown-linux-gnu
        curl -sSf --retry 3 https://static.rust-lang.org/dist/$name.tar.xz | tar -xJ
        cp -r $name/$part*/* .rust/
        rm -r $name
      done
run: {command: PATH=$PWD/.rust/bin:$PATH cargo test --locked --offline}
"#;
    let (tasks, run) = project(engine, "rust", "crate", &CRATE, yaml);
    assert!(run.is("passed").text("logs/run.stdout").contains("1 passed"));
    tasks.nothing_is_left();
}

fn old_python_code_passes_after_a_fix(engine: Engine) {
    let tasks = Tasks::new(engine);
    let test = "import unittest\nfrom shapes import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n";
    tasks.code("code", &[("shapes.py", OLD[2].1), ("test_shapes.py", test)]);
    let body = "repo: {path: ../code, ref: main}\n";
    let run = "run: {command: python3 -m unittest -q}\n";
    let without = tasks.one("without", &format!("{body}setup: {{convention: none}}\n{run}")).is("failed");
    assert!(without.text("logs/run.stderr").contains("ImportError"));
    let agent =
        "agent: {command: \"sed -i 's/a - b/a + b/' shapes.py\", network: none}\nexpect: {failing_baseline: true}\n";
    let setup = "setup: {convention: none, compat: [collections-abc]}\n";
    let with = tasks.one("with", &format!("{body}{setup}{agent}{run}")).is("passed");
    assert_eq!((with.changed_by("compat"), with.changed_by("agent")), (vec!["shapes.py"], vec!["shapes.py"]));
    assert!(!with.text("changes.patch").contains("+from"));
}
