//! `diff`: the same upper gives the same answer on every engine.

use std::fs;

use crate::common::{Engine, Sandbox, on, on_every_engine, snapshot};

on_every_engine!(
    every_kind_of_change_has_its_letter,
    what_is_the_same_is_no_change,
    a_directory_that_was_replaced_is_compared_by_what_is_in_it,
    a_change_of_type_tells_both_types,
    the_mode_of_the_root_counts,
    json_has_every_field,
    json_tells_kinds_apart,
    names_of_any_bytes_are_escaped_for_people_and_exact_for_scripts,
    only_the_named_paths_are_shown,
    changes_exist_by_exit_code,
    what_is_inside_git_is_counted_apart,
    a_running_session_can_be_looked_at,
    closed_files_can_be_looked_at_and_discarded,
    a_later_edit_on_the_host_is_what_is_compared_with,
);
on!(docker: files_of_root_can_be_looked_at_and_discarded);
on!(podman: files_of_other_ids_can_be_looked_at_and_discarded);

fn every_kind_of_change_has_its_letter(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("gone/a", "a\n");
    sandbox.write("gone/b/c", "c\n");
    sandbox.write("becomes-link", "x\n");
    sandbox.write("closed/file", "x\n");
    let script = "
        echo more >> README.md
        chmod 700 closed
        chmod 600 build.sh
        rm -r gone
        rm becomes-link && ln -s README.md becomes-link
        ln -sfn src link
        mkdir -p new/sub empty
        echo x > new/sub/file
        ln -s nowhere new/dangling
        mkfifo new/pipe
    ";
    sandbox.sh(script).done();
    snapshot!(sandbox.cowbox(&["diff", "--name-status"]).output(), @r"
    exit: 0
    --- stdout
    M  README.md
    T  becomes-link
    M  build.sh
    M  closed
    A  empty
    D  gone
    D  gone/a
    D  gone/b
    D  gone/b/c
    M  link
    A  new
    A  new/dangling
    A  new/pipe
    A  new/sub
    A  new/sub/file
    ");
}

fn what_is_the_same_is_no_change(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "
        touch README.md                                         # copied up, nothing else
        cp src/main.c keep && mv keep src/main.c                # another inode, same content
        chmod 600 build.sh; chmod 755 build.sh                  # there and back
        cp -a src/deep /tmp/deep && rm -r src/deep && cp -a /tmp/deep src/deep
        echo x > temporary && rm temporary
        mkdir -p scratch/dir && rm -r scratch
        ln -sfn elsewhere link && ln -sfn README.md link
        ls -l > /dev/null
    ";
    let _ = sandbox.sh(script).ok().says("no changes");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
}

fn a_directory_that_was_replaced_is_compared_by_what_is_in_it(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for (name, content) in [("same", "same\n"), ("other", "old\n"), ("gone", "x\n"), ("sub/deep", "x\n")] {
        sandbox.write(format!("dir/{name}"), content);
    }
    sandbox.sh("rm -r dir; mkdir dir; echo same > dir/same; echo new > dir/other; echo y > dir/added").done();
    assert_eq!(sandbox.changes(), ["A  dir/added", "D  dir/gone", "M  dir/other", "D  dir/sub", "D  dir/sub/deep"]);
}

fn a_change_of_type_tells_both_types(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.write("dir/file", "x\n");
    sandbox.write("file", "x\n");
    sandbox.sh("rm -r dir && echo y > dir; rm file && mkdir file && echo z > file/in").done();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let seen: Vec<[&str; 4]> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| [&c["path"], &c["kind"], &c["old"]["type"], &c["new"]["type"]].map(|v| v.as_str().unwrap_or("-")))
        .collect();
    assert_eq!(
        seen,
        [
            ["dir", "type-changed", "dir", "file"],
            ["dir/file", "deleted", "file", "-"],
            ["file", "type-changed", "file", "dir"],
            ["file/in", "added", "-", "file"],
        ]
    );
}

fn the_mode_of_the_root_counts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.chmod("", 0o755);
    sandbox.sh("chmod 711 .").done();
    assert_eq!(sandbox.changes(), ["M  ."]);
}

fn json_has_every_field(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.chmod("README.md", 0o644);
    sandbox.sh("echo more >> README.md; chmod 644 README.md").done();
    snapshot!(sandbox.cowbox(&["diff", "--json"]).output(), @r#"
    exit: 0
    --- stdout
    {
      "schema": 1,
      "session": "[ID]",
      "name": "api-[NAME]",
      "repo": "[ROOT]/home/api",
      "repo_b64": null,
      "engine": "[ENGINE]",
      "digest": "sha256:[DIGEST]",
      "changes": [
        {
          "path": "README.md",
          "path_b64": null,
          "kind": "modified",
          "from": null,
          "from_b64": null,
          "old": {
            "type": "file",
            "mode": "0644",
            "size": 6
          },
          "new": {
            "type": "file",
            "mode": "0644",
            "size": 11
          },
          "class": "untracked",
          "binary": false,
          "insertions": 1,
          "deletions": 0,
          "risks": [],
          "conflict": null,
          "merged": false
        }
      ],
      "summary": {
        "added": 0,
        "modified": 1,
        "deleted": 0,
        "renamed": 0,
        "insertions": 1,
        "deletions": 0,
        "ignored": 0,
        "vcs": 0,
        "special": 0
      },
      "commits": [],
      "commits_truncated": false
    }
    "#);
}

fn json_tells_kinds_apart(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.chmod("build.sh", 0o755);
    sandbox
        .sh("echo x > new; echo y >> README.md; rm src/main.c; chmod 700 build.sh; mkfifo pipe; rm link; mkdir link")
        .done();
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let seen: Vec<(&str, &str)> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (c["path"].as_str().unwrap(), c["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        seen,
        [
            ("README.md", "modified"),
            ("build.sh", "mode-changed"),
            ("link", "type-changed"),
            ("new", "added"),
            ("pipe", "added"),
            ("src/main.c", "deleted"),
        ]
    );
    let summary = &json["summary"];
    assert_eq!(
        [&summary["added"], &summary["modified"], &summary["deleted"], &summary["special"]],
        [2, 3, 1, 1].map(|n| serde_json::json!(n)).each_ref()
    );
}

fn names_of_any_bytes_are_escaped_for_people_and_exact_for_scripts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = r#"
        touch -- "$(printf 'new\nline')" "$(printf 'not-utf8\377')" -dash "$(printf '\033[31mred')" 'quo"te' 'back\slash'
        touch "$(printf 'right\342\200\256left')" 'spa ce' 'ünï' "$(printf 'bell\007')"
    "#;
    sandbox.sh(script).done();
    snapshot!(sandbox.cowbox(&["diff", "--name-status"]).output(), @r#"
    exit: 0
    --- stdout
    A  "\033[31mred"
    A  -dash
    A  "back\\slash"
    A  "bell\007"
    A  "new\nline"
    A  "not-utf8\377"
    A  "quo\"te"
    A  "right\342\200\256left"
    A  spa ce
    A  ünï
    "#);
    let raw = sandbox.cowbox(&["diff", "--name-status", "-z"]).output().ok().stdout;
    let mut fields: Vec<&[u8]> = raw.split(|b| *b == 0).collect();
    assert_eq!(fields.pop(), Some(&b""[..]), "the last field is ended too");
    let names: Vec<&[u8]> = fields.chunks(2).map(|pair| pair[1]).collect();
    let expected: [&[u8]; 10] = [
        b"\x1b[31mred",
        b"-dash",
        b"back\\slash",
        b"bell\x07",
        b"new\nline",
        b"not-utf8\xff",
        b"quo\"te",
        "right\u{202e}left".as_bytes(),
        b"spa ce",
        "ünï".as_bytes(),
    ];
    assert_eq!(names, expected);
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    let bad = &json["changes"][5];
    assert_eq!((bad["path"].as_str(), bad["path_b64"].as_str()), (Some("not-utf8\u{fffd}"), Some("bm90LXV0Zjj/")));
    assert_eq!(json["changes"][4]["path"], "new\nline");
}

fn only_the_named_paths_are_shown(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo x > src/new; echo x > srcs; rm README.md").done();
    let paths = |paths: &[&str]| {
        let args = [&["diff", "--name-status", "--"], paths].concat();
        sandbox.cowbox(&args).output().ok().stdout()
    };
    assert_eq!(paths(&["src"]), "A  src/new\n");
    assert_eq!(paths(&["src/", "README.md"]), "D  README.md\nA  src/new\n");
    assert_eq!(paths(&["."]), "D  README.md\nA  src/new\nA  srcs\n");
    assert_eq!(paths(&["nothing"]), "");
}

fn changes_exist_by_exit_code(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("true").done();
    let _ = sandbox.cowbox(&["diff", "--exit-code"]).output().code(0);
    sandbox.sh("touch new").done();
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--name-status"]).output().code(1).prints("A  new\n");
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--stat"]).output().code(1);
    let _ = sandbox.cowbox(&["diff", "--exit-code"]).output().code(1);
    let _ = sandbox.cowbox(&["diff", "--exit-code", "--", "src"]).output().code(0);
}

fn what_is_inside_git_is_counted_apart(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let ran = sandbox.sh("echo x > .git/hooked; echo x > new");
    snapshot!(ran, @r"
    exit: 0
    --- stderr
    cowbox: [ENGINE] · session api-[NAME]
    cowbox: 1 change (1 more inside .git) kept · review with `cowbox diff api-[NAME]`
    ");
    snapshot!(sandbox.cowbox(&["diff", "--name-status"]).output(), @r"
    exit: 0
    --- stdout
    A  new
    --- stderr
    cowbox: 1 more inside .git, never applied as files (`--json` lists them)
    ");
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["summary"]["vcs"], 1);
    assert_eq!((&json["changes"][0]["path"], &json["changes"][0]["class"]), (&".git/hooked".into(), &"vcs".into()));
}

fn a_running_session_can_be_looked_at(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let mut running = sandbox.shell(&[], "echo x > so-far; echo ready; read line; echo y > later").spawn();
    running.expect("ready");
    let _ = sandbox.cowbox(&["diff", "--name-status"]).output().ok().prints("A  so-far\n").says("is running");
    running.write("go on\n");
    let _ = running.wait().ok();
    assert_eq!(sandbox.changes(), ["A  later", "A  so-far"]);
}

/// Modes that keep even the owner out.
const CLOSING: &str =
    "mkdir -p closed/deep; echo secret > closed/deep/file; echo secret > secret; chmod 0 secret closed/deep closed";

fn closed_files_can_be_looked_at_and_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.sh(CLOSING).ok().says("4 changes kept");
    let expected = ["A  closed", "A  closed/deep", "A  closed/deep/file", "A  secret"];
    assert_eq!(sandbox.changes(), expected);
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["changes"][3]["new"]["mode"], "0000");
    sandbox.cowbox(&["discard", "-y"]).output().done();
}

fn files_of_root_can_be_looked_at_and_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.shell(&["--user", "root"], CLOSING).output().ok().says("4 changes kept");
    assert_eq!(sandbox.changes(), ["A  closed", "A  closed/deep", "A  closed/deep/file", "A  secret"]);
    let json = sandbox.cowbox(&["diff", "--json"]).output().ok().json();
    assert_eq!(json["changes"][3]["new"]["mode"], "0000");
    sandbox.cowbox(&["discard", "-y"]).output().done();
}

fn files_of_other_ids_can_be_looked_at_and_discarded(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = format!("{CLOSING}; chown -R 1234:1234 closed secret");
    let _ = sandbox.sh(&script).ok().says("4 changes kept");
    assert_eq!(sandbox.changes(), ["A  closed", "A  closed/deep", "A  closed/deep/file", "A  secret"]);
    sandbox.cowbox(&["discard", "-y"]).output().done();
}

fn a_later_edit_on_the_host_is_what_is_compared_with(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.sh("echo same > README.md").done();
    assert_eq!(sandbox.changes(), ["M  README.md"]);
    let digest = || sandbox.cowbox(&["diff", "--json"]).output().ok().json()["digest"].as_str().unwrap().to_owned();
    let before = digest();
    sandbox.change_repo(|repo| fs::write(repo.join("README.md"), "same\n").unwrap());
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    assert_ne!(digest(), before);
}
