//! Task files that are wrong are told before anything starts.

use super::Tasks;
use crate::common::{Engine, on};

on!(native: what_is_wrong_is_told_with_file_line_and_field_before_anything_starts, ids_are_unique_in_a_batch, all_three_formats_say_the_same);

fn what_is_wrong_is_told_with_file_line_and_field_before_anything_starts(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("good", "repo: {path: ../home/api}\nrun: {command: 'true'}\n");
    tasks.task("bad", "repo: {path: ../home/api}\nenvironment:\n  timeout:\n    runn: 3s\nrun: {command: 'true'}\n");
    tasks.task("worse", "repo: {path: ../home/api}\nrun: {command: 7}\n");
    let output = tasks.run(&[], &["tasks"]).output().code(2);
    let said = output.stderr();
    assert!(said.contains("bad.yaml:5: `environment.timeout") && said.contains("runn"), "{said}");
    assert!(said.contains("worse.yaml:3: `run.command`"), "{said}");
    assert!(!tasks.path("runs").exists());
}

fn ids_are_unique_in_a_batch(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("one", "repo: {path: ../home/api}\nrun: {command: 'true'}\n");
    tasks.write("tasks/two.yaml", "id: one\nrepo: {path: ../home/api}\nrun: {command: 'true'}\n");
    let output = tasks.run(&[], &["tasks"]).output().code(2);
    assert!(output.stderr().contains("the same id `one`"), "{output:?}");
    let output = tasks.run(&[], &["home/api"]).output().code(2);
    assert!(output.stderr().contains("there is no task file in"), "{output:?}");
}

fn all_three_formats_say_the_same(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("y", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: [cat, README.md]}\n");
    tasks.write(
        "tasks/j.json",
        r#"{"id": "j", "repo": {"path": "../home/api"}, "setup": {"convention": "none"}, "run": {"command": ["cat", "README.md"]}}"#,
    );
    tasks.write(
        "tasks/t.toml",
        "id = 't'\nrepo.path = '../home/api'\nsetup.convention = 'none'\n[run]\ncommand = ['cat', 'README.md']\n",
    );
    let summary = tasks.run(&["--json"], &["tasks"]).output().ok().json();
    assert_eq!(summary["counts"], serde_json::json!({"passed": 3}));
    assert!(tasks.runs().iter().all(|run| run.text("logs/run.stdout") == "# api\n"));
}
