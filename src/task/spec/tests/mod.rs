//! What is accepted, and what is said about the rest.

mod fields;
mod formats;
mod hostile;

use super::*;

/// Reads a task file of that name; or what is said about it, without the directory.
fn parse(name: &str, text: impl AsRef<[u8]>) -> Result<Task, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let place = format!("{}/", dir.path().display());
    read(&path).map_err(|error| error.message().replace(&place, ""))
}

const LEAST: &str = "id: a\nrepo: {path: .}\nrun: {command: make test}\n";

#[test]
fn the_least_task_has_safe_defaults() {
    let task = parse("t.yaml", LEAST).unwrap();
    assert_eq!(task.run.command, Command::Shell("make test".into()));
    assert_eq!((task.environment.network.setup, task.environment.network.run), (Network::Full, Network::None));
    assert_eq!((task.setup.convention, task.expect.fail, task.repo.submodules), (Convention::Auto, false, false));
}

#[test]
fn the_same_task_in_three_formats_is_the_same() {
    let yaml = "id: fix\nsuite: s\nrepo:\n  url: https://host/x.git\n  ref: v1\n  patches: [a.patch]\n\
        environment:\n  image: img\n  network: {run: full}\n  timeout: {run: 90s}\n  resources: {cpus: 1.5, memory: 2g, pids: 10, disk: 1024}\n\
        setup:\n  convention: none\n  commands: [make deps, [a, b c]]\n  compat: [collections-abc, {name: x, script: 'true'}]\n\
        agent: {command: fixit, timeout: 5m}\nrun: {command: [make, test], stdin: hi}\n\
        expect: {exit: 3, files: [{path: out.txt, contains: yes-it-is}]}\nartifacts: ['**/*.xml']\n";
    let toml = "id = 'fix'\nsuite = 's'\nartifacts = ['**/*.xml']\n[repo]\nurl = 'https://host/x.git'\nref = 'v1'\npatches = ['a.patch']\n\
        [environment]\nimage = 'img'\nnetwork = {run = 'full'}\ntimeout = {run = '90s'}\nresources = {cpus = 1.5, memory = '2g', pids = 10, disk = 1024}\n\
        [setup]\nconvention = 'none'\ncommands = ['make deps', ['a', 'b c']]\ncompat = ['collections-abc', {name = 'x', script = 'true'}]\n\
        [agent]\ncommand = 'fixit'\ntimeout = '5m'\n[run]\ncommand = ['make', 'test']\nstdin = 'hi'\n\
        [expect]\nexit = 3\nfiles = [{path = 'out.txt', contains = 'yes-it-is'}]\n";
    let from_yaml = parse("t.yml", yaml).unwrap();
    assert_eq!(parse("t.toml", toml).unwrap(), from_yaml);
    let json = serde_json::to_string_pretty(&from_yaml).unwrap();
    assert_eq!(parse("t.json", &json).unwrap(), from_yaml);
    assert_eq!(from_yaml.environment.resources.memory, Some(Size(2 << 30)));
}

#[test]
fn the_task_of_the_documents_is_one() {
    let text =
        include_str!("../../../../docs/tasks.md").split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("task.yaml");
    std::fs::write(&path, text).unwrap();
    let task = read(&path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((task.id.as_str(), task.artifacts.len()), ("fix-parser", 2));
    // What it calls defaults are those.
    let least = r#"{"id": "x", "repo": {"path": "."}, "run": {"command": "x"}}"#;
    let least: Task = serde_json::from_str(least).unwrap();
    assert_eq!(task.environment.network, least.environment.network);
    assert_eq!(task.environment.timeout, least.environment.timeout);
    assert_eq!(task.setup.convention, least.setup.convention);
}

#[test]
fn the_examples_are_tasks() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tasks");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let tasks: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    assert!(tasks.len() > 3);
    for path in tasks {
        read(&path).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.json");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(read(&path).unwrap_err().message().contains("it is no file"));
}
