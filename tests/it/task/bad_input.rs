//! Whatever is wrong with a task has an outcome, a message, a record up to there, and leaves nothing.

use super::Tasks;
use crate::common::{Engine, on, on_containers, on_every_engine};

on_every_engine!(
    code_that_is_not_there_is_told,
    a_patch_that_does_not_apply_is_told,
    a_setup_that_fails_is_no_failure_of_the_task,
    a_setup_that_hangs_is_a_timeout,
    a_command_that_leaves_children_leaves_none,
    a_timeout_ends_the_whole_tree_and_is_124_on_record,
    an_agent_that_fails_or_hangs_ends_the_run_with_its_work_on_record,
    a_command_that_is_not_there_proves_nothing,
    a_pass_before_the_agent_is_unexpected,
    expectations_that_do_not_hold_are_told,
);
on_containers!(an_image_that_is_not_there_is_told);
on!(native: a_command_of_too_many_letters_is_told, scripts_of_fixes_have_the_time_of_their_stage_together);

fn code_that_is_not_there_is_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("x", "x")]);
    let body = |repo: &str| format!("repo: {{{repo}}}\nsetup: {{convention: none}}\nrun: {{command: 'true'}}\n");
    // In quotes: to YAML it is a number.
    let missing = "'0123456789012345678901234567890123456789'";
    let all = [
        ("commit", format!("path: ../code, commit: {missing}"), "there is no commit 0123"),
        ("ref", "path: ../code, ref: nope".to_owned(), "there is no branch or tag nope"),
        (
            "url",
            format!("url: 'https://127.0.0.1:9/x.git', commit: {missing}"),
            "cannot fetch https://127.0.0.1:9/x.git",
        ),
        ("path", "path: ../nowhere".to_owned(), "nowhere"),
        ("password", format!("url: 'https://me:secret@127.0.0.1:9/x.git', commit: {missing}"), "https://…@127.0.0.1"),
    ];
    for (name, repo, said) in all {
        let run = tasks.one(name, &body(&repo)).is("infra-error");
        assert!(run.reason().contains(said), "{name}: {}", run.reason());
        assert!(run.record["repo"]["source"].is_string(), "{name}: where it should have come from");
        assert!(!run.text("run.json").contains("secret") && !run.text("events.jsonl").contains("secret"));
    }
    tasks.nothing_is_left();
}

fn a_patch_that_does_not_apply_is_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("x", "x\n")]);
    tasks.write("tasks/bad.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-other\n+new\n");
    let run = tasks.one(
        "patch",
        "repo: {path: ../code, ref: main, patches: [bad.patch]}\nsetup: {convention: none}\nrun: {command: 'true'}\n",
    );
    let run = run.is("infra-error");
    assert!(run.reason().contains("cannot apply bad.patch"), "{}", run.reason());
    assert_eq!(run.stages(), ["fetch", "checkout", "patches"]);
    assert!(run.text("logs/patches.stderr").contains("patch"));
    let compat = "setup: {convention: none, compat: [{name: mine, patch: bad.patch}]}";
    let run = tasks.one("compat", &format!("repo: {{path: ../code}}\n{compat}\nrun: {{command: 'true'}}\n"));
    assert!(run.is("infra-error").reason().contains("cannot apply mine"));
    tasks.task("gone", "repo: {path: ../code, ref: main, patches: [gone.patch]}\nrun: {command: 'true'}\n");
    let output = tasks.run(&["--out", "elsewhere"], &["tasks/gone.yaml"]).output().code(1);
    assert!(output.stderr().contains("gone.patch"), "{output:?}");
    let run = super::runs_in(&tasks.path("elsewhere")).pop().unwrap().is("infra-error");
    assert!(run.text("task/task.json").contains("gone.patch"), "what was asked for is on record");
}

fn an_image_that_is_not_there_is_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "image",
        "repo: {path: ../home/api}\nenvironment: {image: 'localhost/cowbox-test/never-built:1'}\nsetup: {convention: none}\nrun: {command: 'true'}\n",
    );
    let run = run.is("infra-error");
    assert!(run.reason().contains("never-built"), "{}", run.reason());
    assert_eq!(run.record["ended_in"], "setup");
    tasks.nothing_is_left();
}

fn a_setup_that_fails_is_no_failure_of_the_task(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "setup",
        "repo: {path: ../home/api}\nsetup: {convention: none, commands: ['echo fine', 'echo broken >&2; exit 7']}\nrun: {command: 'true'}\n",
    );
    let run = run.is("infra-error");
    assert!(run.reason().contains("exit code 7"), "{}", run.reason());
    assert!(run.record["engine"]["kind"].is_string() && run.record["repo"]["source"].is_string());
    assert_eq!(run.stages(), ["checkout", "setup"]);
    let commands = run.stage("setup")["commands"].as_array().unwrap();
    assert_eq!(commands.iter().map(|c| c["exit"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 7]);
    assert_eq!(run.text("logs/setup.stdout"), "fine\nbroken\n");
    tasks.nothing_is_left();
}

fn a_command_that_leaves_children_leaves_none(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "fork",
        "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'for i in 1 2 3; do (sleep 600 &) ; done; (setsid sleep 600 >/dev/null 2>&1 &); echo done'}\n",
    );
    assert_eq!(run.is("passed").text("logs/run.stdout"), "done\n");
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
}

fn a_timeout_ends_the_whole_tree_and_is_124_on_record(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "late",
        r#"
repo: {path: ../home/api}
environment: {timeout: {run: 3s}}
setup: {convention: none}
run: {command: "trap '' TERM; echo partial > half; echo started; sleep 600 & sleep 600"}
artifacts: [half]
"#,
    );
    let run = run.is("timeout");
    assert_eq!(run.reason(), "run took longer than 3s");
    assert_eq!(run.stage("run")["commands"][0]["exit"], 124);
    // What there was by then is kept.
    assert_eq!((run.text("logs/run.stdout").as_str(), run.text("artifacts/half").as_str()), ("started\n", "partial\n"));
    assert_eq!(run.changed_by("run"), ["half"]);
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
}

fn an_agent_that_fails_or_hangs_ends_the_run_with_its_work_on_record(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = |agent: &str| {
        format!(
            "repo: {{path: ../home/api}}\nsetup: {{convention: none}}\nagent: {{{agent}, network: none}}\nrun: {{command: 'true'}}\n"
        )
    };
    let run = tasks.one("fails", &body("command: 'echo half > work; exit 5'")).is("failed");
    assert_eq!((run.reason(), run.record["ended_in"].as_str()), ("the agent ended with 5", Some("agent")));
    assert_eq!(run.changed_by("agent"), ["work"]);
    let run = tasks.one("hangs", &body("command: 'echo half > work; sleep 600', timeout: 3s")).is("timeout");
    assert_eq!(run.reason(), "agent took longer than 3s");
    assert_eq!(run.changed_by("agent"), ["work"]);
    tasks.nothing_is_left();
}

fn a_command_that_is_not_there_proves_nothing(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: [no-such-program]}\n";
    for (name, expect) in [("plain", "{}"), ("fails", "{fail: true}")] {
        let run = tasks.one(name, &format!("{body}expect: {expect}\n")).is("infra-error");
        assert_eq!(run.reason(), "the command could not be run: it ended with 127");
        assert!(run.text("logs/run.stderr").contains("no-such-program"));
    }
    tasks.one("wanted", &format!("{body}expect: {{exit: 127}}\n")).is("passed");
    let agent = "agent: {command: 'true', network: none}\nexpect: {fail: true}\n";
    // Who could have taken it away has not failed as expected, and is not excused.
    tasks.one("agent", &format!("{body}{agent}")).is("failed");
}

/// What is said about it is more than a pipe holds.
fn a_command_of_too_many_letters_is_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = format!(
        "repo: {{path: ../home/api}}\nsetup: {{convention: none}}\nrun: {{command: ['{}']}}\n",
        "x".repeat(100_000)
    );
    let run = tasks.one("long", &body).is("infra-error");
    assert_eq!(run.reason(), "the command could not be run: it ended with 126");
    assert!(run.text("logs/run.stderr").contains("xxx"));
}

fn scripts_of_fixes_have_the_time_of_their_stage_together(engine: Engine) {
    let tasks = Tasks::new(engine);
    let script = |name: &str| format!("{{name: {name}, script: 'sleep 3; echo {name} > {name}'}}");
    let body = format!(
        "repo: {{path: ../home/api}}\nenvironment: {{timeout: {{setup: 5s}}}}\nrun: {{command: 'true'}}\n\
         setup: {{convention: none, compat: [{}, {}]}}\n",
        script("one"),
        script("two")
    );
    let run = tasks.one("slow", &body).is("timeout");
    assert_eq!(run.reason(), "compat took longer than 5s");
}

fn a_pass_before_the_agent_is_unexpected(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = "repo: {path: ../home/api}\nsetup: {convention: none}\n";
    let agent = "agent: {command: 'true', network: none}\nrun: {command: 'true'}\nexpect: {failing_baseline: true}\n";
    let run = tasks.one("early", &format!("{body}{agent}")).is("unexpected-pass");
    assert_eq!(run.stages(), ["checkout", "setup", "baseline"]);
    let run = tasks.one("fine", &format!("{body}run: {{command: 'true'}}\nexpect: {{fail: true}}\n"));
    run.is("unexpected-pass");
    let run = tasks.one("bad", &format!("{body}run: {{command: 'false'}}\nexpect: {{fail: true}}\n"));
    run.is("expected-failure");
}

fn expectations_that_do_not_hold_are_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'echo x > made'}\n";
    let expect = "expect: {files: [{path: made, contains: y}, {path: not/there}], tests: {report: r.xml}}\n";
    let run = tasks.one("wrong", &format!("{body}{expect}")).is("failed");
    assert_eq!(run.reason(), "made does not contain `y`; not/there is not there; the report r.xml is not there");
    let collect = run.stage("collect");
    assert_eq!(
        (&run.record["ended_in"], &collect["ok"], &run.record["exit"]),
        (&"collect".into(), &false.into(), &0.into())
    );
}

fn a_setup_that_hangs_is_a_timeout(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "hang",
        "repo: {path: ../home/api}\nenvironment: {timeout: {setup: 5s}}\nsetup: {convention: none, commands: ['sleep 600']}\nrun: {command: 'true'}\n",
    );
    assert_eq!(run.is("timeout").reason(), "setup took longer than 5s");
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
}
