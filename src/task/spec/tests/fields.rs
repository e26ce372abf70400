//! What is wrong is told with file, line and the whole way to the field, in plain words.

use super::{LEAST, parse};

/// What is said about a YAML file.
fn said(text: &str) -> String {
    parse("t.yaml", text).expect_err(text)
}

#[test]
fn a_field_that_breaks_its_rule_is_named_with_its_line() {
    let cases = [
        ("repo:\n  url: x", "t.yaml:5: `repo.url` is a path: use `path`"),
        ("repo:\n  path: ''", "t.yaml:5: `repo.path` must be a path"),
        ("repo:\n  path: ~/x", "t.yaml:5: `repo.path` must be a path without `~`: write it out"),
        (
            "repo:\n  path: .\n  commit: main",
            "t.yaml:6: `repo.commit` must be the full id of a commit: names go into `ref`",
        ),
        ("repo:\n  path: .\n  ref: a..b", "t.yaml:6: `repo.ref` must be the name of a branch or a tag"),
        ("repo:\n  path: .\n  ref: main\n  patches:\n  - a\n  - ''", "t.yaml:9: `repo.patches[1]` must be a path"),
        ("environment:\n  runtime: ./evil", "t.yaml:5: `environment.runtime` must be a name that the engine knows"),
        ("environment:\n  image: --privileged", "t.yaml:5: `environment.image` must be a name that the engine knows"),
        ("environment:\n  user: a b", "t.yaml:5: `environment.user` must be a name that the engine knows"),
        ("environment:\n  workdir: /tmp", "t.yaml:5: `environment.workdir` must be a path inside the workspace"),
        (
            "environment:\n  devcontainer: ../x",
            "t.yaml:5: `environment.devcontainer` must be a path inside the workspace",
        ),
        (
            "environment:\n  mounts:\n    - /a:/b\n    - /a",
            "t.yaml:7: `environment.mounts[1]` must be SRC:DST, with an absolute DST other than `/`, and `:ro` or `:cow` after it",
        ),
        (
            "environment:\n  mounts: ['/a:/b:rw']",
            "t.yaml:5: `environment.mounts[0]` cannot be `rw`: what a task writes does not reach the host; use `cow`",
        ),
        ("environment:\n  env:\n    A=B: x", "t.yaml:6: `environment.env.A=B` cannot be the name of a variable"),
        ("environment:\n  env:\n    A: 1", "t.yaml:6: `environment.env.A` must be text: put it in quotes"),
        ("environment:\n  env:\n    1: a", "t.yaml:6: `environment.env.1` must have text for a name: put it in quotes"),
        ("environment:\n  env: [A=1]", "t.yaml:5: `environment.env` must be names with values"),
        (
            "environment:\n  env_from_host:\n  - A\n  - B=C",
            "t.yaml:7: `environment.env_from_host[1]` cannot be the name of a variable",
        ),
        (
            "environment:\n  resources:\n    cpus: 0",
            "t.yaml:6: `environment.resources.cpus` must be a number from 0.01 to 8192",
        ),
        (
            "environment:\n  resources:\n    pids: 0",
            "t.yaml:6: `environment.resources.pids` must be a whole number from 1 to 4194304",
        ),
        (
            "environment:\n  network:\n    run: ful",
            "t.yaml:6: `environment.network.run` must be one of none, full; did you mean `full`?",
        ),
        ("setup:\n  commands:\n  - a\n  - ''", "t.yaml:7: `setup.commands[1]` cannot be empty"),
        ("setup:\n  commands: [[a, 5]]", "t.yaml:5: `setup.commands[0][1]` must be text: put it in quotes"),
        (
            "setup:\n  compat:\n  - collections-abd",
            "t.yaml:6: `setup.compat[0]` must be one of collections-abc, setuptools-cap, pytest-bump, suppress-warnings; \
             did you mean `collections-abc`?",
        ),
        (
            "setup:\n  compat:\n  - name: x\n    pach: y",
            "t.yaml:7: `setup.compat[0].pach` is unknown; did you mean `patch`?",
        ),
        ("setup:\n  compat:\n  - name: x", "t.yaml:6: `setup.compat[0]` needs `patch` or `script`"),
        ("setup:\n  compat:\n  - script: x", "t.yaml:6: `setup.compat[0].name` is missing"),
        ("setup:\n  compat: [{name: x, script: ' '}]", "t.yaml:5: `setup.compat[0].script` cannot be empty"),
        (
            "setup:\n  compat: [5]",
            "t.yaml:5: `setup.compat[0]` must be the name of a fix, or one of the task's own with `name` and `patch` or `script`",
        ),
        ("setup:\n  convention: yes", "t.yaml:5: `setup.convention` must be one of auto, none"),
        ("agent:\n  command: []", "t.yaml:5: `agent.command` cannot be empty"),
        ("agent:\n  profile: ''", "t.yaml:5: `agent.profile` cannot be empty"),
        ("agent:\n  network: none", "t.yaml:4: `agent` needs `command` or `profile`"),
        ("run:\n  command: ['', x]", "t.yaml:5: `run.command` cannot be empty"),
        ("run:\n  command: 5", "t.yaml:5: `run.command` must be a line of text or a list of words"),
        ("run:\n  command: [\"a\\0\"]", "t.yaml:5: `run.command[0]` cannot hold a NUL: programs cannot be given one"),
        ("run:\n  command: x\n  env: {A: true}", "t.yaml:6: `run.env.A` must be text: put it in quotes"),
        ("run:\n  env: {}", "t.yaml:4: `run.command` is missing"),
        ("expect:\n  exit: 256", "t.yaml:5: `expect.exit` must be a whole number from 0 to 255"),
        ("expect:\n  fail: 'no'", "t.yaml:5: `expect.fail` must be true or false"),
        (
            "expect:\n  files:\n  - path: a\n  - path: b\n  - path: ../c",
            "t.yaml:8: `expect.files[2].path` must be a path inside the workspace",
        ),
        ("expect:\n  files: [{exists: true}]", "t.yaml:5: `expect.files[0].path` is missing"),
        ("expect:\n  files: x", "t.yaml:5: `expect.files` must be a list"),
        (
            "expect:\n  tests:\n    report: /r.xml",
            "t.yaml:6: `expect.tests.report` must be a path inside the workspace",
        ),
        ("expect: {exit: 1, fail: true}", "t.yaml:4: `expect` cannot have both `exit` and `fail`"),
        ("artifacts:\n- a\n- '[z-a]'", "t.yaml:6: `artifacts[1]` must be a path or a glob inside the workspace"),
        ("artifacts: [../x]", "t.yaml:4: `artifacts[0]` must be a path or a glob inside the workspace"),
        (
            "id: a b",
            "t.yaml:4: `id` must be a name: letters, digits, `-`, `_` and `.`, at most 64, beginning with a letter or digit",
        ),
        ("suite: 5", "t.yaml:4: `suite` must be text: put it in quotes"),
    ];
    for (part, expected) in cases {
        // In place of the least part of that name, below what is not of interest.
        let name = part.split(':').next().unwrap_or_default();
        let rest: Vec<&str> = LEAST.lines().filter(|line| !line.starts_with(&format!("{name}:"))).collect();
        let filler = "#\n".repeat(3 - rest.len());
        assert_eq!(said(&format!("{filler}{}\n{part}\n", rest.join("\n"))), expected, "{part}");
    }
}

#[test]
fn fields_that_do_not_go_together_are_told_of_their_part() {
    let cases = [
        ("{path: ., url: 'h:x'}", "cannot have both `url` and `path`"),
        ("{}", "needs `url` or `path`"),
        ("{url: 'h:x'}", "needs `commit` or `ref` with `url`"),
        (
            "{path: ., ref: a, commit: 'ffffffffffffffffffffffffffffffffffffffff'}",
            "cannot have both `commit` and `ref`",
        ),
        ("{path: ., submodules: true}", "needs `commit` or `ref` with `submodules`: a directory is taken as it is"),
        ("{path: ., patches: [a]}", "needs `commit` or `ref` with `patches`: a directory is taken as it is"),
        ("here", "must have fields; there are url, path, commit, ref, patches, submodules"),
        ("[]", "must have fields; there are url, path, commit, ref, patches, submodules"),
    ];
    for (expect, expected) in [
        ("{exit: 1, fail: true}", "cannot have both `exit` and `fail`"),
        (
            "{files: [{path: x}, {path: y, exists: false, contains: z}]}",
            "cannot have both `contains` and `exists: false` in `files[1]`",
        ),
        ("{tests: {report: r, pass: [a, b], fail: [b]}}", "cannot have the test `b` both pass and fail"),
    ] {
        assert_eq!(
            said(&format!("id: a\nrun: {{command: x}}\nrepo: {{path: .}}\nexpect: {expect}\n")),
            format!("t.yaml:4: `expect` {expected}")
        );
    }
    for (repo, expected) in cases {
        assert_eq!(
            said(&format!("id: a\nrun: {{command: x}}\nrepo: {repo}\n")),
            format!("t.yaml:3: `repo` {expected}")
        );
    }
    let both = format!("{LEAST}environment:\n  image: a\n  containerfile: b\n");
    let only = "can have only one of `image`, `containerfile` and `devcontainer`";
    assert_eq!(said(&both), format!("t.yaml:4: `environment` {only}"));
    let fix = format!("{LEAST}setup: {{compat: [{{name: a, patch: b, script: c}}]}}\n");
    assert_eq!(said(&fix), "t.yaml:4: `setup.compat[0]` cannot have both `patch` and `script`");
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    assert_eq!(said("id: a\nrepo: {path: .}\n"), "t.yaml:1: `run` is missing");
    assert_eq!(said("run: {command: x}\nid: a\n"), "t.yaml:1: `repo` is missing");
    assert_eq!(
        said("repo: {path: .}\nrun:\n  comand: x\n"),
        "t.yaml:3: `run.comand` is unknown; did you mean `command`?"
    );
    assert_eq!(
        said("id: a\nnope: 1\n"),
        "t.yaml:2: `nope` is unknown; there are id, suite, repo, environment, setup, agent, run, expect, artifacts"
    );
    assert_eq!(
        said("just text\n"),
        "t.yaml:1: must have fields; there are id, suite, repo, environment, setup, agent, run, expect, artifacts"
    );
    for nothing in ["", "\n\n", "# only this\n", "---\n", "~\n"] {
        assert_eq!(said(nothing), "t.yaml:1: there is nothing in it", "{nothing:?}");
    }
    assert_eq!(parse("t.json", " ").unwrap_err(), "t.json:1: there is nothing in it");
    assert_eq!(parse("t.json", "null").unwrap_err(), "t.json:1: there is nothing in it");
    assert_eq!(parse("t.toml", "\n").unwrap_err(), "t.toml:1: there is nothing in it");
    assert_eq!(parse("t.txt", LEAST).unwrap_err(), "t.txt: not the name of a task file");
}

#[test]
fn lines_are_those_of_the_fields_in_every_format() {
    let cases = [
        ("t.json", "{\n\"id\": \"a\",\n\"nope\": 1}", "t.json:3: `nope` is unknown"),
        ("t.json", "{\"id\": \"a\",\n\"repo\": {\n\"path\":\n5}}", "t.json:3: `repo.path` must be text"),
        ("t.json", "{\n\"artifacts\": [\n\"a\",\n\"/b\"\n]}", "t.json:4: `artifacts[1]` must be"),
        ("t.toml", "id = 'a'\n[repo]\npath = '.'\n[run]\ncommand = 5\n", "t.toml:5: `run.command` must be"),
        ("t.toml", "id = 'a'\nrepo.path = '.'\nrepo.ref = ''\n", "t.toml:3: `repo.ref` must be"),
        (
            "t.toml",
            "[[expect.files]]\npath = 'a'\n[[expect.files]]\npath = '/b'\n",
            "t.toml:4: `expect.files[1].path` must be",
        ),
        (
            "t.toml",
            "[[expect.files]]\npath = 'a'\n[[expect.files]]\nexists = true\n",
            "t.toml:3: `expect.files[1].path` is missing",
        ),
        ("t.toml", "id = 'a'\n[agent]\nnetwork = 'full'\n", "t.toml:2: `agent` needs"),
        ("t.toml", "artifacts = [\n'a',\n'/b',\n]\n", "t.toml:3: `artifacts[1]` must be"),
        ("t.yaml", "artifacts:\n- a\n\n- |\n  /b\n", "t.yaml:5: `artifacts[1]` must be"),
        ("t.yaml", "artifacts: &a\n- b\nsuite: *a\n", "t.yaml:3: `suite` must be text"),
    ];
    for (name, text, expected) in cases {
        let said = parse(name, text).unwrap_err();
        assert!(said.starts_with(expected), "{text}\nsaid:     {said}\nexpected: {expected}");
    }
}
