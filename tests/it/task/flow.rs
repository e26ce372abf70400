//! One task through all of its stages, and what its record says.

use std::fs;

use super::{Tasks, git};
use crate::common::{Engine, on, on_every_engine};

on_every_engine!(
    a_task_goes_through_all_stages_and_everything_is_on_record,
    fixes_are_a_layer_of_their_own_below_the_agents_work,
    setup_has_a_network_and_the_command_has_none,
    what_is_prepared_is_prepared_once,
    input_variables_and_artifacts_go_where_they_should,
    links_are_followed_as_far_as_the_workspace,
    a_long_output_keeps_head_and_tail,
    output_of_any_bytes_is_kept_and_streamed,
    a_disk_limit_ends_a_command_that_writes_more,
    the_host_repo_is_taken_as_it_is_and_not_touched,
    an_agent_by_its_profile_has_its_files_and_the_baseline_has_not,
);
on!(docker: limits_are_enforced_and_on_record, limits_of_the_quickest_command_are_seen);
on!(native: a_branch_is_looked_up_and_a_commit_is_held, a_fetch_happens_once_for_all_tasks, events_go_to_stdout_while_it_runs);

const SUM: &str = "echo $(($1 - $2))\n";
const CHECK: &str = "test \"$(sh sum.sh 2 3)\" = 5\n";

fn a_task_goes_through_all_stages_and_everything_is_on_record(engine: Engine) {
    let tasks = Tasks::new(engine);
    let commit =
        tasks.code("code", &[("sum.sh", SUM), ("check.sh", CHECK), ("old.py", "from collections import Mapping\n")]);
    tasks.write("tasks/note.patch", "--- /dev/null\n+++ b/NOTE\n@@ -0,0 +1 @@\n+patched\n");
    let run = tasks.one(
        "whole",
        &format!(
            r#"
suite: flow
repo: {{path: ../code, commit: {commit}, patches: [note.patch]}}
environment:
  timeout: {{run: 1m}}
setup:
  convention: none
  compat: [collections-abc]
  commands: ["echo ready > prepared"]
agent:
  command: sed -i 's/\$1 - \$2/$1 + $2/' sum.sh
  network: none
run:
  command: [sh, check.sh]
expect:
  failing_baseline: true
  files:
    - {{path: prepared, contains: ready}}
    - {{path: NOTE, contains: patched}}
    - {{path: old.py, contains: collections.abc}}
artifacts: [sum.sh]
"#
        ),
    );
    let run = run.is("passed");
    assert_eq!(
        run.stages(),
        ["fetch", "checkout", "patches", "compat", "setup", "baseline", "agent", "run", "collect"]
    );
    let record = &run.record;
    assert_eq!((&record["schema"], &record["suite"], &record["repeat"]), (&1.into(), &"flow".into(), &1.into()));
    assert_eq!(record["engine"]["kind"], engine.name());
    assert_eq!(record["image"].is_object(), engine.has_images());
    assert_eq!(record["repo"]["commit"], commit.as_str());
    assert_eq!(record["repo"]["tree"], git(&tasks.path("code"), "git rev-parse HEAD^{tree}").as_str());
    let patched = "git apply --index ../tasks/note.patch; git write-tree";
    assert_eq!(record["repo"]["patched_tree"], git(&tasks.path("code"), patched).as_str());
    assert_eq!(
        (&run.stage("fetch")["network"]["policy"], &run.stage("checkout")["network"]),
        (&"host".into(), &().into())
    );
    assert!(record["setup_key"].is_string());
    assert_eq!(run.stage("baseline")["commands"][0]["exit"], 1);
    let command = &run.stage("run")["commands"][0];
    assert_eq!((&command["exit"], &command["cmd"]), (&0.into(), &serde_json::json!(["sh", "check.sh"])));
    assert_eq!(command["stdout"]["path"], "logs/run.stdout");
    assert!(run.stage("setup")["commands"][0]["cmd"].to_string().contains("echo ready"));
    // What each of them did is told apart.
    assert_eq!(run.changed_by("compat"), ["old.py"]);
    assert_eq!(run.changed_by("agent"), ["sum.sh"]);
    assert!(run.text("changes.patch").contains("+echo $(($1 + $2))"));
    assert!(!run.text("changes.patch").contains("old.py") && run.text("compat.patch").contains("collections.abc"));
    let json: serde_json::Value = serde_json::from_str(&run.text("changes.json")).unwrap();
    assert_eq!((&json["changes"][0]["path"], json["changes"].as_array().unwrap().len()), (&"sum.sh".into(), 1));
    assert!(run.text("artifacts/sum.sh").contains('+'));
    assert_eq!(run.text("task/inputs/01-note.patch").lines().count(), 4);
    let events = run.events();
    assert_eq!(events.first().unwrap()["event"], "run.started");
    assert_eq!(events.last().unwrap()["data"]["outcome"], "passed");
    assert!(!run.dir.join("work").exists());
    tasks.nothing_is_left();
}

fn fixes_are_a_layer_of_their_own_below_the_agents_work(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code(
        "code",
        &[("a.py", "from collections import Mapping, deque\n"), ("b.txt", "one\ntwo\n"), ("c.txt", "c\n")],
    );
    tasks.write(
        "tasks/own.patch",
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n",
    );
    let run = tasks.one(
        "fixes",
        r#"
repo: {path: ../code, ref: main}
setup:
  convention: none
  compat:
    - collections-abc
    - {name: by-patch, patch: own.patch}
    - {name: by-script, script: "cat b.txt > seen; test ! -e c.txt"}
agent: {command: "echo agent >> a.py; rm b.txt", network: none}
run: {command: "grep -q collections.abc a.py && grep -q agent a.py && grep -q ONE seen && test ! -e b.txt -a ! -e c.txt"}
"#,
    );
    let run = run.is("passed");
    assert_eq!(run.changed_by("compat"), ["a.py", "b.txt", "c.txt", "seen"]);
    assert_eq!(run.changed_by("agent"), ["a.py", "b.txt"]);
    let patch = run.text("changes.patch");
    assert!(patch.contains("+agent") && patch.contains("-ONE") && !patch.contains("+from collections"), "{patch}");
    tasks.nothing_is_left();
}

fn setup_has_a_network_and_the_command_has_none(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "net",
        r#"
repo: {path: ../home/api}
setup: {convention: none, commands: ["tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' > interfaces"]}
run: {command: "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; echo last >&2"}
artifacts: [interfaces]
"#,
    );
    let run = run.is("passed");
    assert_eq!((run.text("logs/run.stdout").trim(), run.text("logs/run.stderr").as_str()), ("lo", "last\n"));
    // However short it was.
    let network = &run.stage("run")["network"];
    assert_eq!((&network["policy"], &network["interfaces"]), (&"none".into(), &serde_json::json!(["lo"])));
    let network = &run.stage("setup")["network"];
    assert!(network["policy"] == "full" && network["interfaces"].as_array().unwrap().len() > 1, "{network}");
    let container = |stage: &str| run.stage(stage)["container"].is_string();
    assert_eq!((container("setup"), container("run")), (engine.has_images(), engine.has_images()));
    assert!(run.text("artifacts/interfaces").lines().count() > 1, "{}", run.text("artifacts/interfaces"));
}

fn what_is_prepared_is_prepared_once(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("x", "x")]);
    let body = "repo: {path: ../code, ref: main}\nsetup: {convention: none, commands: [\"date > when; echo $RANDOM >> when; cat /proc/uptime >> when\"]}\n";
    let first = tasks.one("one", &format!("{body}run: {{command: 'true'}}\nartifacts: [when]\n")).is("passed");
    let second = tasks.one("two", &format!("{body}run: {{command: 'ls'}}\nartifacts: [when]\n")).is("passed");
    assert_eq!(first.record["setup_key"], second.record["setup_key"]);
    assert_eq!(first.text("artifacts/when"), second.text("artifacts/when"));
    let ran = |run: &super::Run| run.stage("setup")["commands"].as_array().unwrap().len();
    assert_eq!((ran(&first), ran(&second)), (1, 0));
}

fn links_are_followed_as_far_as_the_workspace(engine: Engine) {
    let tasks = Tasks::new(engine);
    let script = "mkdir -p v2/deep && echo new > v2/log && echo x > v2/deep/x && ln -s v2 latest && ln -s latest/log log && \
                  ln -s gone broken && ln -s /etc etc";
    let body = format!(
        "repo: {{path: ../home/api}}\nsetup: {{convention: none}}\nrun: {{command: '{script}'}}\nartifacts: [latest, log, broken, 'latest/*/x']\n"
    );
    let expect = "expect: {files: [{path: log, contains: new}, {path: latest/deep/x}, {path: etc}]}\n";
    let run = tasks.one("inside", &format!("{body}{expect}")).is("passed");
    assert_eq!(run.record["artifacts"], serde_json::json!(["latest/deep/x", "latest/log", "log"]));
    assert_eq!((run.text("artifacts/log").as_str(), run.text("artifacts/latest/log").as_str()), ("new\n", "new\n"));
    assert!(fs::symlink_metadata(run.dir.join("artifacts/latest")).unwrap().is_dir());
    let said = run.text("events.jsonl");
    assert!(said.contains("broken is a link that leads nowhere: left out"), "{said}");
    let all = "{path: broken}, {path: etc, contains: x}, {path: etc/passwd}";
    let run = tasks.one("out", &format!("{body}expect: {{files: [{all}]}}\n")).is("failed");
    assert_eq!(
        run.record["reason"],
        "broken is a link that leads nowhere; etc is a link that leads out of the workspace; \
         etc/passwd is behind a link that leads out of the workspace, or too far"
    );
}

fn input_variables_and_artifacts_go_where_they_should(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task(
        "io",
        r#"
repo: {path: ../home/api}
environment:
  env: {SHARED: s}
  env_from_host: [FROM_HOST, NOT_SET]
  workdir: src
setup: {convention: none, commands: ["echo \"$SHARED\" > ../by-setup"]}
run:
  command: "cat; pwd; echo $SHARED $OWN $FROM_HOST; mkdir -p out/deep; echo 1 > out/deep/a.log; echo 2 > out/b; ln -s /etc/passwd out/link"
  stdin: "typed\n"
  env: {OWN: o}
expect: {exit: 0, files: [{path: src/out/b}, {path: nowhere, exists: false}]}
artifacts: ["src/out/**/*.log", "src/out/link", "by-setup"]
"#,
    );
    let output = tasks.run(&[], &["tasks/io.yaml"]).env("FROM_HOST", "h").output().ok();
    assert!(output.stdout().contains("1 passed"), "{output:?}");
    let run = tasks.runs().remove(0);
    let said = run.text("logs/run.stdout");
    assert!(said.starts_with("typed\n/") && said.ends_with("/src\ns o h\n"), "{said}");
    assert_eq!(run.record["artifacts"], serde_json::json!(["by-setup", "src/out/deep/a.log"]));
    assert_eq!(run.text("artifacts/by-setup"), "s\n");
    assert!(fs::symlink_metadata(run.dir.join("artifacts/src/out/link")).is_err());
    assert!(run.events().iter().any(|e| e["event"] == "notice" && e["data"]["text"].to_string().contains("leads out")));
    // Names are on record, values are not.
    let record = run.text("run.json");
    assert!(record.contains("FROM_HOST") && run.stage("run")["commands"][0]["env"].to_string().contains("OWN"));
}

fn a_long_output_keeps_head_and_tail(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task(
        "long",
        "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: \"echo first; head -c 3000000 /dev/zero | tr '\\\\0' x; echo; echo last\"}\n",
    );
    tasks.run(&["--max-log", "64k"], &["tasks/long.yaml"]).output().done();
    let run = tasks.runs().remove(0);
    let log = run.text("logs/run.stdout");
    assert!(log.starts_with("first\n") && log.ends_with("\nlast\n"));
    assert!(log.len() < 70_000 && log.contains("bytes were left out here"), "{}", log.len());
    let cut = &run.stage("run")["commands"][0]["stdout"]["cut"];
    assert_eq!(cut["bytes"], 3_000_000 + 12 - (64 << 10));
    assert_eq!(cut["offset"], 32 << 10);
    // The same is cut when it is repeated.
    tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).output().done();
}

fn output_of_any_bytes_is_kept_and_streamed(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task(
        "bytes",
        "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: \"printf 'a\\\\000\\\\377\\\\033[31mb'; sleep 1; echo err >&2\"}\n",
    );
    tasks.run(&["--stream"], &["tasks/bytes.yaml"]).output().done();
    let run = tasks.runs().remove(0);
    assert_eq!(fs::read(run.dir.join("logs/run.stdout")).unwrap(), b"a\0\xff\x1b[31mb");
    let events = run.events();
    let output: Vec<_> = events.iter().filter(|e| e["event"] == "stage.output" && e["stage"] == "run").collect();
    assert_eq!(output.len(), 2, "{output:?}");
    assert_eq!((&output[0]["data"]["stream"], &output[1]["data"]["text"]), (&"stdout".into(), &"err\n".into()));
    assert!(output[0]["data"]["base64"].is_string());
}

fn a_disk_limit_ends_a_command_that_writes_more(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "disk",
        r#"
repo: {path: ../home/api}
environment: {resources: {disk: 2m}}
setup: {convention: none}
run: {command: "head -c 8000000 /dev/zero > big; echo written; sleep 60"}
"#,
    );
    let run = run.is("failed");
    assert!(run.reason().contains("written to the workspace"), "{}", run.reason());
    assert_eq!(run.record["limits"]["disk"]["by"], "cowbox, twice a second");
    assert_eq!(run.stage("run")["commands"][0]["exit"], 137);
    assert_eq!(run.changed_by("run"), ["big"]);
    // However quick it was; and its exit code is its own, unless somebody looked just before its end.
    let run = tasks.one(
        "quick",
        "repo: {path: ../home/api}\nenvironment: {resources: {disk: 2m}}\nsetup: {convention: none}\n\
         run: {command: 'head -c 3000000 /dev/zero > big; exit 0'}\n",
    );
    let run = run.is("failed");
    assert!(run.reason().contains("written to the workspace"), "{}", run.reason());
    assert!([0, 137].contains(&run.record["exit"].as_u64().unwrap()), "{}", run.record["exit"]);
    tasks.nothing_is_left();
}

fn the_host_repo_is_taken_as_it_is_and_not_touched(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "as-is",
        "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'rm -r src; echo new > README.md; exit 3'}\nexpect: {exit: 3}\n",
    );
    let run = run.is("passed");
    assert_eq!(run.changed_by("run")[..2], ["README.md", "src"]);
    assert_eq!(run.record["repo"]["tree"], serde_json::Value::Null);
    // That the repo is untouched, the harness checks.
}

fn a_branch_is_looked_up_and_a_commit_is_held(engine: Engine) {
    let tasks = Tasks::new(engine);
    let first = tasks.code("code", &[("v", "1\n")]);
    let body =
        |repo: &str| format!("repo: {{path: ../code, {repo}}}\nsetup: {{convention: none}}\nrun: {{command: cat v}}\n");
    assert_eq!(tasks.one("branch", &body("ref: main")).is("passed").text("logs/run.stdout"), "1\n");
    git(&tasks.path("code"), "echo 2 > v; git commit -qam two");
    assert_eq!(tasks.one("branch2", &body("ref: main")).is("passed").text("logs/run.stdout"), "2\n");
    let held = tasks.one("held", &body(&format!("commit: {first}"))).is("passed");
    assert_eq!(held.text("logs/run.stdout"), "1\n");
}

fn a_fetch_happens_once_for_all_tasks(engine: Engine) {
    let tasks = Tasks::new(engine);
    let commit = tasks.code("code", &[("v", "1\n")]);
    let body = format!(
        "repo: {{url: 'file://{}', commit: {commit}}}\nsetup: {{convention: none}}\nrun: {{command: cat v}}\n",
        tasks.path("code").display()
    );
    tasks.one("first", &body).is("passed");
    fs::rename(tasks.path("code"), tasks.path("gone")).unwrap();
    tasks.one("second", &body).is("passed");
}

fn events_go_to_stdout_while_it_runs(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("slow", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'echo hello; sleep 3'}\n");
    let mut running = tasks.run(&["--events", "-", "--stream"], &["tasks/slow.yaml"]).spawn();
    running.expect("hello");
    assert!(running.is_running());
    let output = running.wait().ok();
    let own = tasks.runs().remove(0);
    assert_eq!(output.stdout(), own.text("events.jsonl"));
}

fn an_agent_by_its_profile_has_its_files_and_the_baseline_has_not(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("settings/login", "token\n");
    let image = if engine.has_images() { "image = \"localhost/cowbox-test/tiny:latest\"\n" } else { "" };
    tasks.sandbox.configure(&format!(
        "{image}[profiles.agent]\ncommand = [\"sh\", \"-c\", \"cat ~/.config/agent/login > made; echo $TOKEN >> made\"]\n\
         dirs = [\"{}:~/.config/agent\"]\nenv = [\"TOKEN\"]\ninstall = \"echo installed > $HOME/by-install || :\"\n",
        tasks.path("settings").display()
    ));
    tasks.task(
        "profile",
        r#"
repo: {path: ../home/api}
setup: {convention: none}
agent: {profile: agent, network: none}
run: {command: "test ! -n \"$TOKEN\" && cat made"}
expect: {failing_baseline: true}
"#,
    );
    tasks.run(&[], &["tasks/profile.yaml"]).env("TOKEN", "t1").output().done();
    let run = tasks.runs().remove(0).is("passed");
    assert_eq!(run.text("logs/run.stdout"), "token\nt1\n");
    assert_eq!(run.changed_by("agent"), ["made"]);
    assert!(!run.text("run.json").contains("t1\""));
    tasks.nothing_is_left();
}

fn limits_of_the_quickest_command_are_seen(engine: Engine) {
    let tasks = Tasks::new(engine);
    let limits = "environment: {resources: {memory: 64m, pids: 20, cpus: 0.5}}";
    let body =
        format!("repo: {{path: ../home/api}}\n{limits}\nsetup: {{convention: none}}\nrun: {{command: ['true']}}\n");
    let run = tasks.one("quick", &body).is("passed");
    let seen = |name: &str| run.record["limits"][name]["seen"].as_str().unwrap_or_default().to_owned();
    assert_eq!((seen("memory"), seen("pids")), ("67108864".to_owned(), "20".to_owned()));
    assert!(seen("cpus").starts_with("50000"), "{}", run.record["limits"]);
    assert_eq!(run.text("logs/run.stderr"), "");
}

fn limits_are_enforced_and_on_record(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "limits",
        r#"
repo: {path: ../home/api}
environment: {resources: {memory: 64m, pids: 20, cpus: 0.5}}
setup: {convention: none}
run: {command: "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; sleep 3; for i in $(seq 40); do sleep 5 & done; wait"}
expect: {fail: true}
"#,
    );
    let run = run.is("expected-failure");
    assert!(run.text("logs/run.stdout").contains("20"), "{}", run.text("logs/run.stdout"));
    let limits = &run.record["limits"];
    assert_eq!((&limits["memory"]["value"], &limits["pids"]["value"]), (&"67108864".into(), &"20".into()));
    assert!(limits["cpus"]["by"].as_str().unwrap().contains("docker"));
    let seen = |name: &str| limits[name]["seen"].as_str().unwrap_or_default().to_owned();
    assert_eq!((seen("memory"), seen("pids")), ("67108864".to_owned(), "20".to_owned()));
    assert!(seen("cpus").starts_with("50000"), "{limits}");
}
