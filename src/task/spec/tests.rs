//! What is accepted, and what is said about the rest.

use super::*;

fn parse(name: &str, text: &str) -> Result<Task, String> {
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
fn what_is_wrong_is_told_with_line_and_field() {
    let cases = [
        ("t.yaml", "id: a\nrepo: {path: .}\nrun:\n  comand: x\n", "t.yaml:4: `run.comand`: unknown field `comand`"),
        ("t.yaml", "id: a\nrepo:\n  path: .\nrun: {command: x}\nexpect:\n  exit: many\n", "t.yaml:6: `expect.exit`: "),
        ("t.yaml", "id: a b\nrepo: {path: .}\nrun: {command: x}\n", "t.yaml:1: `id`: `a b` cannot be a name"),
        ("t.yaml", "id: a\nrepo: {path: ., url: x}\nrun: {command: x}\n", "t.yaml:2: `repo`: `url` and `path` exclude"),
        (
            "t.yaml",
            "id: a\nrepo: {url: x}\nrun: {command: x}\n",
            "t.yaml:2: `repo`: with `url` it needs `commit` or `ref`",
        ),
        (
            "t.yaml",
            "id: a\nrepo: {path: .}\nrun: {command: x}\nenvironment:\n  timeout:\n    run: soon\n",
            "t.yaml:6: `environment.timeout.run`: `soon` is no span",
        ),
        ("t.yaml", "id: a\nid: b\n", "t.yaml:2: "),
        ("t.yaml", "id: [\n", "t.yaml:"),
        ("t.json", "{\n\"id\": \"a\",\n\"nope\": 1}", "t.json:3: `nope`: unknown field `nope`"),
        (
            "t.json",
            "{\"id\": \"a\", \"repo\": {\"path\": \".\"}, \"run\": {\"command\": \"x\"}}\n{}",
            "t.json:2: trailing",
        ),
        ("t.toml", "id = 'a'\n[repo]\npath = '.'\n[run]\ncommand = 5\n", "t.toml:5: `run.command`: "),
        ("t.toml", "id = 'a'\n[repo\n", "t.toml:2: "),
        (
            "t.yaml",
            "id: a\nrepo: {path: .}\nrun: {command: x}\nartifacts: [../x]\n",
            "t.yaml:4: `artifacts`: `../x` must be",
        ),
        (
            "t.yaml",
            "id: a\nrepo: {path: .}\nrun: {command: x}\nenvironment: {mounts: ['/a:/b:rw']}\n",
            "t.yaml:4: `environment`: mount",
        ),
        (
            "t.yaml",
            "id: a\nrepo: {path: .}\nrun: {command: x}\nenvironment: {runtime: ./evil}\n",
            "t.yaml:4: `environment`: `runtime` must be a name",
        ),
        (
            "t.yaml",
            "id: a\nrepo: {path: .}\nrun: {command: x}\nagent: {network: none}\n",
            "t.yaml:4: `agent`: it needs",
        ),
        ("t.yaml", "id: a\nrepo: {path: .}\n", "t.yaml:2: missing field `run`"),
        ("t.txt", LEAST, "t.txt: not the name of a task file"),
    ];
    for (name, text, expected) in cases {
        let said = parse(name, text).unwrap_err();
        assert!(said.starts_with(expected), "{text}\nsaid:     {said}\nexpected: {expected}");
    }
}

#[test]
fn no_input_makes_it_panic() {
    for cut in 0..LEAST.len() {
        let _ = parse("t.yaml", &LEAST[..cut]);
        let _ = parse("t.toml", &LEAST[..cut]);
    }
    let bomb =
        "a: &a [x,x,x,x,x,x,x,x]\n".to_owned() + &(0..20).map(|n| format!("b{n}: &b{n} [*a,*a]\n")).collect::<String>();
    assert!(parse("t.yaml", &bomb).is_err());
    assert!(parse("t.json", &"[".repeat(100_000)).is_err());
}

#[test]
fn the_task_of_the_documents_is_one() {
    let text = include_str!("../../../docs/tasks.md").split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
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
fn what_is_no_file_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.json");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(read(&path).unwrap_err().message().contains("it is no file"));
}
