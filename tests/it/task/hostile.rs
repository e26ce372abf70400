//! Tasks, code and commands that want more than they may have.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use super::{Tasks, runs_in};
use crate::common::{Engine, on, on_every_engine};

on_every_engine!(
    a_command_cannot_pass_for_an_engine_that_failed,
    a_fix_by_script_is_kept_with_what_git_ignores,
    what_a_command_left_is_collected_after_its_time_was_up,
    records_cannot_be_seen_from_inside,
    what_cannot_be_measured_is_over_the_limit,
    artifacts_lead_nowhere_and_have_an_end,
    artifacts_that_nobody_may_read_are_kept,
    a_setup_that_writes_little_has_all_its_time,
    an_agent_cannot_blame_somebody_else,
    what_an_agent_leaves_outside_of_the_workspace_is_gone,
    no_task_sees_the_records_of_another_batch,
);
on!(native:
    a_patch_of_a_task_reaches_nothing_of_the_host,
    a_directory_for_runs_that_leads_elsewhere_is_refused,
    what_lies_beside_runs_is_neither_followed_nor_waited_for,
    a_batch_that_was_not_begun_here_is_not_gone_on_with,
    a_setup_writes_no_more_than_it_may,
    what_is_written_to_the_home_counts,
    a_failure_stays_one_whatever_it_leaves,
    what_is_too_deep_to_read_is_a_failure,
    a_setup_that_takes_too_long_says_what_it_did,
    no_file_of_a_run_holds_a_password
);

const AS_IT_IS: &str = "repo: {path: ../home/api}\nsetup: {convention: none}\n";

fn a_command_cannot_pass_for_an_engine_that_failed(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one("pass", &format!("{AS_IT_IS}run: {{command: 'echo Error: no space >&2; exit 125'}}\n"));
    assert_eq!(run.is("failed").reason(), "the command ended with 125 instead of 0");
}

fn a_fix_by_script_is_kept_with_what_git_ignores(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[(".gitignore", "made\n"), ("a", "a\n")]);
    for word in ["one", "two"] {
        let run = tasks.one(
            word,
            &format!(
                "repo: {{path: ../code, ref: main}}\n\
                 setup: {{convention: none, compat: [{{name: make, script: 'echo {word} > made'}}]}}\n\
                 run: {{command: 'cat made'}}\n"
            ),
        );
        assert_eq!(run.is("passed").text("logs/run.stdout"), format!("{word}\n"));
    }
}

fn what_a_command_left_is_collected_after_its_time_was_up(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "late",
        &format!(
            "{AS_IT_IS}environment: {{timeout: {{run: 8s}}}}\nartifacts: [big]\n\
             run: {{command: 'yes | head -c 50000000 > big; sleep 600'}}\n"
        ),
    );
    let run = run.is("timeout");
    assert_eq!(run.changed_by("run"), ["big"]);
    assert_eq!(fs::metadata(run.dir.join("artifacts/big")).unwrap().len(), 50_000_000);
    tasks.nothing_is_left();
}

fn records_cannot_be_seen_from_inside(engine: Engine) {
    let tasks = Tasks::new(engine);
    // In the home, which native shows.
    let out = tasks.path("home/runs");
    tasks.write("home/beside", "x");
    let look = format!("ls -A {0} {0}/../beside 2>/dev/null", out.display());
    tasks.task(
        "look",
        &format!(
            "repo: {{path: ../home/api}}\nsetup: {{convention: none, commands: ['({look}) > seen || :']}}\n\
             run: {{command: 'cat seen; {look} || :'}}\n"
        ),
    );
    tasks.run(&["--out", out.to_str().unwrap()], &["tasks/look.yaml"]).output().done();
    let run = runs_in(&out).pop().unwrap().is("passed");
    let seen = run.text("logs/run.stdout");
    assert!(!seen.contains("__"), "a run is seen: {seen}");
    assert_eq!(seen.matches("beside").count(), if engine == Engine::Native { 2 } else { 0 }, "{seen}");
    tasks.task("inside", &format!("{AS_IT_IS}run: {{command: 'true'}}\n"));
    // Not even a directory is made there.
    let inside = tasks.path("home/api/runs");
    let inside = ["--out", inside.to_str().unwrap()];
    let _ = tasks.run(&inside, &["tasks/inside.yaml"]).output().code(2).says("could see its own records");
    let again = tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).args(&inside);
    let _ = again.output().code(2).says("could see its own records");
}

fn what_cannot_be_measured_is_over_the_limit(engine: Engine) {
    let tasks = Tasks::new(engine);
    let deep = "i=0; while [ $i -lt 250 ]; do mkdir d && cd d || exit 9; i=$((i + 1)); done";
    let run = tasks.one(
        "deep",
        &format!(
            "{AS_IT_IS}environment: {{resources: {{disk: 50m}}}}\n\
             run: {{command: '{deep}; head -c 90000000 /dev/zero > big; sleep 60'}}\n"
        ),
    );
    let run = run.is("failed");
    assert!(run.reason().contains("cannot be measured"), "{}", run.reason());
    assert_eq!(run.stage("run")["commands"][0]["exit"], 137);
    tasks.nothing_is_left();
}

fn artifacts_lead_nowhere_and_have_an_end(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("secret", "secret\n");
    let secret = tasks.path("secret");
    let script = format!(
        "mkdir -p out/dir && cd out && echo plain > plain && ln -s {} link && ln -s .. up && ln -s ../../../.. far && \
         ln -s plain near && ln plain hard && mkfifo pipe && ln -s / dir/root && truncate -s 200G sparse && \
         printf x > \"$(printf 'odd\\033\\377')\" && chmod 6777 plain",
        secret.display()
    );
    let run =
        tasks.one("attack", &format!("{AS_IT_IS}run:\n  command: |\n    {script}\nartifacts: [out]\n")).is("passed");
    let kept = run.dir.join("artifacts/out");
    let mut names: Vec<OsString> = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let expected = [&b"hard"[..], b"near", b"odd\x1b\xff", b"plain", b"sparse"];
    assert_eq!(names, expected.map(OsStr::from_bytes));
    let near = fs::symlink_metadata(kept.join("near")).unwrap();
    assert!(near.is_file(), "what is kept is no link that others could be led by");
    assert_eq!(fs::metadata(kept.join("plain")).unwrap().permissions().mode() & 0o7777, 0o755);
    let sparse = fs::metadata(kept.join("sparse")).unwrap();
    assert_eq!((sparse.len(), sparse.blocks() < 1000), (200 << 30, true));
    let listed = run.record["artifacts"].as_array().unwrap();
    assert!(listed.contains(&serde_json::json!({"b64": "b3V0L29kZBv/"})), "{listed:?}");
    assert!(!run.text("events.jsonl").contains('\u{1b}'));
    tasks.nothing_is_left();
}

fn artifacts_that_nobody_may_read_are_kept(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "closed",
        &format!(
            "{AS_IT_IS}agent: {{command: 'true', network: none}}\nartifacts: [a, b, c]\n\
             run: {{command: 'echo 1 > a; echo 2 > b; mkdir c; echo 3 > c/d; chmod 0 b; chmod 0 c'}}\n"
        ),
    );
    let run = run.is("passed");
    assert_eq!(run.record["artifacts"], serde_json::json!(["a", "b", "c/d"]));
    assert_eq!((run.text("artifacts/a").as_str(), run.text("artifacts/b").as_str()), ("1\n", "2\n"));
    assert_eq!(run.text("artifacts/c/d"), "3\n");
    tasks.nothing_is_left();
}

fn a_patch_of_a_task_reaches_nothing_of_the_host(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("secret", "secret\n");
    let secret = tasks.path("secret");
    let new = |path: &str, mode: &str, text: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}\n"
        )
    };
    let link = new("link", "120000", secret.to_str().unwrap()) + "\\ No newline at end of file\n";
    for (name, patch, said) in
        [("git", new(".git/config", "100644", "[core]"), "it names"), ("link", link, "only files can be made")]
    {
        tasks.write("tasks/p.patch", patch);
        let run = tasks.one(
            name,
            "repo: {path: ../home/api}\nsetup: {convention: none, compat: [{name: p, patch: p.patch}]}\nrun: {command: 'true'}\n",
        );
        let run = run.is("infra-error");
        assert!(run.reason().contains(said), "{}", run.reason());
    }
}

fn a_directory_for_runs_that_leads_elsewhere_is_refused(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("t", &format!("{AS_IT_IS}run: {{command: 'true'}}\n"));
    fs::create_dir(tasks.path("elsewhere")).unwrap();
    symlink("elsewhere", tasks.path("runs")).unwrap();
    let output = tasks.run(&[], &["tasks/t.yaml"]).output();
    assert_eq!(output.exit_code(), 2, "{output:?}");
    assert!(output.stderr().contains("is a link"), "{output:?}");
    assert_eq!(fs::read_dir(tasks.path("elsewhere")).unwrap().count(), 0);
}

fn what_lies_beside_runs_is_neither_followed_nor_waited_for(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one("t", &format!("{AS_IT_IS}run: {{command: 'true'}}\n")).is("passed");
    let batch = run.record["batch"].as_str().unwrap();
    tasks.write("elsewhere/work/batch", batch);
    symlink("../elsewhere", tasks.path("runs/20260101T000000Z__x")).unwrap();
    let pipe = |path: &str| nix::unistd::mkfifo(&run.dir.join(path), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(run.dir.join("work")).unwrap();
    fs::write(run.dir.join("work/batch"), batch).unwrap();
    pipe("work/a.note");
    symlink("/dev/zero", run.dir.join("work/b.note")).unwrap();
    let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
    assert!(!run.dir.join("work").exists() && tasks.path("elsewhere/work/batch").exists());
    fs::remove_file(run.dir.join("task/task.json")).unwrap();
    pipe("task/task.json");
    let _ = tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).output().code(2).says("it is no file");
}

fn a_batch_that_was_not_begun_here_is_not_gone_on_with(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one("t", &format!("{AS_IT_IS}run: {{command: 'true'}}\n")).is("passed");
    let plan = fs::read_to_string(tasks.path("runs/batch.json")).unwrap();
    let refused = |out: &str| tasks.run(&["--resume", out], &[]).output().code(2).says("was not begun by you");
    tasks.write("copy/batch.json", &plan);
    let _ = refused("copy");
    tasks.write("runs/batch.json", plan.replace("tasks/t.yaml", "tasks/other.yaml"));
    let _ = refused("runs");
    tasks.write("runs/batch.json", &plan);
    let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
    // What a record says of its image is no name that could be asked for.
    let record = run.text("run.json").replace("\"image\": null", "\"image\": {\"name\": \"x\", \"digest\": \"x\"}");
    fs::write(run.dir.join("run.json"), record).unwrap();
    let again = tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]);
    let _ = again.output().code(2).says("the digest of its image is none");
}

fn a_setup_writes_no_more_than_it_may(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "setup-disk",
        "repo: {path: ../home/api}\nenvironment: {resources: {disk: 2m}}\n\
         setup: {convention: none, commands: ['head -c 8000000 /dev/zero > big; sleep 60']}\nrun: {command: 'true'}\n",
    );
    let run = run.is("infra-error");
    assert!(run.reason().starts_with("more than 2.1 MB were written"), "{}", run.reason());
    for name in ["quick", "prepared"] {
        let run = tasks.one(
            name,
            "repo: {path: ../home/api}\nenvironment: {resources: {disk: 2m}}\n\
             setup: {convention: none, commands: ['head -c 3000000 /dev/zero > big']}\nrun: {command: 'true'}\n",
        );
        assert!(run.is("infra-error").reason().starts_with("more than 2.1 MB were written"), "{name}");
    }
    tasks.nothing_is_left();
}

fn an_agent_cannot_blame_somebody_else(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("src/x", "x")]);
    let run = tasks.one(
        "workdir",
        "repo: {path: ../code, ref: main}\nenvironment: {workdir: src}\nsetup: {convention: none}\n\
         agent: {command: 'rm -rf ../src', network: none}\nrun: {command: 'exit 1'}\n",
    );
    let _ = run.is("failed");
    tasks.nothing_is_left();
}

fn what_an_agent_leaves_outside_of_the_workspace_is_gone(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "home",
        "repo: {path: ../home/api}\nsetup: {convention: none}\n\
         agent: {command: 'echo a > ~/planted; echo a > seen; cat ~/planted', network: none}\n\
         run: {command: 'test -e seen && test ! -e ~/planted'}\n",
    );
    let run = run.is("passed");
    assert_eq!(run.text("logs/agent.stdout"), "a\n");
    assert_eq!(run.changed_by("agent"), ["seen"]);
    tasks.nothing_is_left();
}

fn no_task_sees_the_records_of_another_batch(engine: Engine) {
    let tasks = Tasks::new(engine);
    // In the home, which native shows.
    let first = tasks.path("home/first");
    tasks.task("first", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'true'}\n");
    tasks.run(&["--out", first.to_str().unwrap()], &["tasks/first.yaml"]).output().done();
    let body = format!(
        "repo: {{path: ../home/api}}\nsetup: {{convention: none}}\nrun: {{command: 'ls -A {} | wc -l'}}\n",
        first.display()
    );
    assert_eq!(tasks.one("second", &body).is("passed").text("logs/run.stdout").trim(), "0");
}

fn what_is_written_to_the_home_counts(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "home-disk",
        &format!(
            "{AS_IT_IS}environment: {{resources: {{disk: 2m}}}}\n\
             run: {{command: 'head -c 8000000 /dev/zero > ~/big; sleep 60'}}\n"
        ),
    );
    let run = run.is("failed");
    assert!(run.reason().starts_with("more than 2.1 MB were written"), "{}", run.reason());
    tasks.nothing_is_left();
}

fn a_failure_stays_one_whatever_it_leaves(engine: Engine) {
    let tasks = Tasks::new(engine);
    // Paths of nearly 4 KiB, each byte of which takes six in JSON: more than a record may hold.
    let count = 3300;
    let make = format!(
        "n=$(printf \"%240s\" | tr \" \" \"\\001\"); i=0; \
         while [ $i -lt 15 ]; do mkdir $n; cd $n; i=$((i + 1)); done; \
         i=0; while [ $i -lt {count} ]; do : > $i; i=$((i + 1)); done"
    );
    tasks.task("names", &format!("{AS_IT_IS}run: {{command: '{make}; exit 1'}}\n"));
    let _ = tasks.run(&[], &["tasks/names.yaml"]).patiently(Duration::from_secs(300)).output().code(1);
    let run = tasks.runs().pop().unwrap().is("failed");
    assert_eq!(run.reason(), "the command ended with 1 instead of 0");
    let more = run.record["changes"][0]["more"].as_u64().unwrap();
    assert_eq!(run.changed_by("run").len() as u64 + more, count + 15);
    tasks.nothing_is_left();
}

fn what_is_too_deep_to_read_is_a_failure(engine: Engine) {
    let tasks = Tasks::new(engine);
    let deep = "i=0; while [ $i -lt 1300 ]; do mkdir d && cd d || exit 9; i=$((i + 1)); done";
    let run = tasks.one("bad", &format!("{AS_IT_IS}run: {{command: '{deep}; exit 1'}}\n")).is("failed");
    assert_eq!(run.reason(), "the command ended with 1 instead of 0");
    assert!(run.text("events.jsonl").contains("not everything could be collected"));
    for (name, stage) in [("good", "run"), ("agent", "agent")] {
        let rest = if stage == "run" { "" } else { ", network: none}\nrun: {command: 'true'" };
        let run = tasks.one(name, &format!("{AS_IT_IS}{stage}: {{command: '{deep}'{rest}}}\n")).is("failed");
        assert!(run.reason().contains("1200"), "{}", run.reason());
    }
    tasks.nothing_is_left();
}

fn a_setup_that_writes_little_has_all_its_time(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "slow",
        "repo: {path: ../home/api}\nenvironment: {resources: {disk: 100m}}\n\
         setup: {convention: none, commands: ['echo hi > made; mkdir d; echo x > d/x; sleep 3']}\n\
         run: {command: 'cat made'}\n",
    );
    assert_eq!(run.is("passed").text("logs/run.stdout"), "hi\n");
    tasks.nothing_is_left();
}

fn a_setup_that_takes_too_long_says_what_it_did(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run = tasks.one(
        "steps",
        "repo: {path: ../home/api}\nenvironment: {timeout: {setup: 3s}}\n\
         setup: {convention: none, commands: ['exit 0', 'sleep 600']}\nrun: {command: 'true'}\n",
    );
    let run = run.is("timeout");
    let commands = run.stage("setup")["commands"].as_array().unwrap();
    let exits: Vec<u64> = commands.iter().map(|command| command["exit"].as_u64().unwrap()).collect();
    assert_eq!(exits, [0, 124]);
    // What was cut off is of no use to anybody.
    let left = || fs::read_dir(tasks.sandbox.prepared_dir()).unwrap().flatten().filter(|entry| entry.path().is_dir());
    assert_eq!(left().count(), 1);
    let _ = tasks.sandbox.cowbox(&["gc"]).output().ok();
    assert_eq!(left().count(), 0);
}

fn no_file_of_a_run_holds_a_password(engine: Engine) {
    let tasks = Tasks::new(engine);
    let commit = "0123456789012345678901234567890123456789";
    let run = tasks.one(
        "password",
        &format!(
            "repo: {{url: 'https://me:geheim@127.0.0.1:9/x.git', commit: {commit}}}\nsetup: {{convention: none}}\nrun: {{command: 'true'}}\n"
        ),
    );
    let run = run.is("infra-error");
    let mut left = vec![run.dir.clone()];
    let mut files = 0;
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
                continue;
            }
            files += 1;
            let text = fs::read(entry.path()).unwrap();
            assert!(!text.windows(6).any(|word| word == b"geheim"), "{}", entry.path().display());
        }
    }
    assert!(files > 3, "{files}");
}
