//! The examples of this repository do what they say.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Tasks;
use crate::common::{Engine, on_every_engine};

on_every_engine!(every_example_ends_as_it_says_and_is_verified);

/// The tests may run far from their source.
const FILES: [(&str, &str); 11] = [
    ("toy-repo/README.md", include_str!("../../../examples/toy-repo/README.md")),
    ("toy-repo/.gitignore", include_str!("../../../examples/toy-repo/.gitignore")),
    ("toy-repo/test.sh", include_str!("../../../examples/toy-repo/test.sh")),
    ("toy-repo/lib/math.sh", include_str!("../../../examples/toy-repo/lib/math.sh")),
    ("toy-repo/legacy/shapes.py", include_str!("../../../examples/toy-repo/legacy/shapes.py")),
    ("tasks/agent.yaml", include_str!("../../../examples/tasks/agent.yaml")),
    ("tasks/baseline.yaml", include_str!("../../../examples/tasks/baseline.yaml")),
    ("tasks/compat.yaml", include_str!("../../../examples/tasks/compat.yaml")),
    ("tasks/network-none.yaml", include_str!("../../../examples/tasks/network-none.yaml")),
    ("tasks/timeout.yaml", include_str!("../../../examples/tasks/timeout.yaml")),
    ("tasks/README.md", include_str!("../../../examples/tasks/README.md")),
];

fn every_example_ends_as_it_says_and_is_verified(engine: Engine) {
    let tasks = Tasks::new(engine);
    for (path, text) in FILES {
        tasks.write(&format!("examples/{path}"), text);
    }
    let script = tasks.path("examples/toy-repo/test.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = tasks.run(&["-j", "2"], &["examples/tasks"]).output().code(1);
    let runs = tasks.runs();
    let outcomes: BTreeMap<&str, &str> =
        runs.iter().map(|run| (run.record["task"].as_str().unwrap(), run.outcome())).collect();
    let expected = [
        ("agent", "passed"),
        ("baseline", "expected-failure"),
        ("compat", "passed"),
        ("network-none", "passed"),
        ("timeout", "timeout"),
    ];
    assert_eq!(outcomes, BTreeMap::from(expected));
    for run in &runs {
        let again = tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).output().ok();
        assert!(again.stdout().contains("the same in everything that must not vary"), "{again:?}");
    }
    assert_eq!(tasks.runs().len(), 2 * expected.len());
    tasks.nothing_is_left();
}
