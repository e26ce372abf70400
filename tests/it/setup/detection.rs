//! Projects that say by their manifests what they need, made ready and used offline afterwards.

use super::has_run;
use crate::common::{Engine, Sandbox, on};
use crate::conflicts::apply;

on!(native: a_python_project_is_ready_offline);

/// A package of the repo's own: nothing has to be fetched.
fn a_python_project_is_ready_offline(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("requirements.txt", "");
    sandbox.write("greet/__init__.py", "def hello():\n    return 'hello'\n");
    sandbox.write("test_greet.py", "import sys, greet\nassert sys.prefix != sys.base_prefix\nprint(greet.hello())\n");
    let output = sandbox.shell(&["--network", "none"], ".venv/bin/python -B test_greet.py").output().ok();
    assert!(has_run(&output) && output.stderr().contains("setup by what was found: requirements.txt"));
    output.prints("hello\n").done();
    let change = "sed -i s/hello\\'/hi\\'/ greet/__init__.py && .venv/bin/python -B test_greet.py";
    let output = sandbox.shell(&["--network", "none"], change).output().ok().prints("hi\n");
    assert!(!has_run(&output));
    assert_eq!(sandbox.changes(), ["M  greet/__init__.py"]);
    apply(&sandbox, &[]).done();
}
