//! `task verify`: a recorded run once more.

use nix::sys::signal::Signal;

use super::{Tasks, git, runs_in};
use crate::common::{Engine, engine_call, on, on_containers, on_every_engine, wait_until};

on_every_engine!(
    a_run_is_the_same_when_it_is_run_again,
    what_is_not_the_same_is_told,
    a_failure_is_the_same_when_it_is_run_again
);
on_containers!(an_image_is_held_by_its_digest);
on!(native:
    check_compares_the_runs_of_a_batch,
    what_is_no_record_is_a_usage_error,
    it_says_what_it_runs_and_where_its_record_is,
    a_verification_can_be_stopped,
    tools_that_tell_their_time_are_the_same_again
);

const BODY: &str = r#"
setup:
  convention: none
  commands: ["echo ready > prepared"]
agent: {command: "echo agent > made", network: none}
run: {command: "date; echo took 0.03s; cat v prepared made"}
artifacts: [made]
"#;

fn a_run_is_the_same_when_it_is_run_again(engine: Engine) {
    let tasks = Tasks::new(engine);
    let commit = tasks.code("code", &[("v", "1\n")]);
    let first = tasks.one("same", &format!("repo: {{path: ../code, ref: main}}{BODY}")).is("passed");
    // The branch goes on; the record holds the commit.
    git(&tasks.path("code"), "echo 2 > v; git commit -qam two");
    let dir = first.dir.to_str().unwrap();
    let json = tasks.sandbox.cowbox(&["task", "verify", dir, "--json"]).output().ok().json();
    assert_eq!((&json["same"], &json["differences"]), (&true.into(), &serde_json::json!([])));
    let runs = tasks.runs();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.record["repo"]["commit"] == commit.as_str()));
    assert_eq!(runs[0].record["setup_key"], runs[1].record["setup_key"]);
    tasks.nothing_is_left();
}

fn what_is_not_the_same_is_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    // What it prints depends on a file of the host that is mounted.
    tasks.write("data/x", "1");
    let first = tasks.one(
        "varies",
        "repo: {path: ../home/api}\nenvironment: {mounts: ['../data:/tmp/data']}\nsetup: {convention: none}\nrun: {command: 'echo; printf \"[%s] \\007\\n\" $(cat /tmp/data/x); exit $(cat /tmp/data/x)'}\nexpect: {exit: 1}\n",
    );
    let first = first.is("passed");
    tasks.write("data/x", "2");
    let out = tasks.path("again");
    let dir = first.dir.to_str().unwrap();
    let output = tasks.sandbox.cowbox(&["task", "verify", dir, "--out", out.to_str().unwrap()]).output().code(1);
    let said = output.stdout();
    assert!(said.contains("varies: ") && said.contains("exit of run: 1 → 2"), "{said}");
    assert!(said.contains("outcome: passed → failed"), "{said}");
    assert!(said.contains("\n  stdout of run: line 2: \"[1] \\u{7}\" → \"[2] \\u{7}\"\n"), "{said}");
    assert_eq!((tasks.runs().len(), runs_in(&out).len()), (1, 1));
}

fn a_failure_is_the_same_when_it_is_run_again(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = |setup: &str, run: &str| {
        format!("repo: {{path: ../home/api}}\nsetup: {{convention: none, commands: [{setup}]}}\n{run}\n")
    };
    let setup = tasks.one("setup", &body("'sleep 0.2; exit 7'", "run: {command: 'true'}")).is("infra-error");
    // What it says of the setup names places that are new each time.
    assert!(setup.reason().contains("/prepared/"), "{}", setup.reason());
    let late = "run: {command: 'sleep 60'}\nenvironment: {timeout: {run: 2s}}";
    let late = tasks.one("late", &body("", late)).is("timeout");
    for run in [setup, late] {
        tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).output().done();
    }
}

fn check_compares_the_runs_of_a_batch(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("steady", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: date}\n");
    tasks.task("random", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'cat /proc/sys/kernel/random/uuid | tr -d - | cut -c1-9 > x'}\n");
    tasks.run(&["--repeat", "3", "--check"], &["tasks/steady.yaml"]).output().done();
    let output = tasks.run(&["--repeat", "2", "--check"], &["tasks/random.yaml"]).output().code(1);
    assert!(output.stderr().contains("changes by run: sha256:"), "{output:?}");
    let read = |name: &str| std::fs::read_to_string(tasks.path("runs").join(name)).unwrap();
    let said = read("summary.txt");
    assert!(said.contains("  random #2\n") && said.contains("  changes by run: sha256:"), "{said}");
    assert!(read("summary.txt").contains("2 passed, 1 not-the-same in "));
    assert!(read("junit.xml").contains("<failure type=\"not-the-same\" message=\"changes by run"));
    assert!(read("report.html").contains("Not the same as the first run"));
    let json: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(json["checks"][0]["differences"][0]["what"], "changes by run");
    let options = ["-q", "--repeat", "2", "--check", "--events", "-"];
    let quiet = tasks.run(&options, &["tasks/random.yaml"]).output().code(1);
    assert!(quiet.stderr().contains("changes by run: sha256:"), "{quiet:?}");
    let output = tasks.run(&["--check"], &["tasks/random.yaml"]).output().code(2);
    assert!(output.stderr().contains("--repeat 2"), "{output:?}");
}

fn what_is_no_record_is_a_usage_error(engine: Engine) {
    let tasks = Tasks::new(engine);
    let run =
        tasks.one("t", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'true'}\n").is("passed");
    let dir = |name: &str| tasks.path("runs").join(name);
    let copy = |name: &str, record: &str| {
        git(&tasks.path("runs"), &format!("cp -r {} {name}", run.dir.display()));
        std::fs::write(dir(name).join("run.json"), record).unwrap();
    };
    copy("broken", "{\"schema\": 1,");
    copy("other", "{\"schema\": 1}");
    copy("newer", "{\"schema\": 99, \"id\": {}}");
    copy("cut-off", "");
    std::fs::remove_file(dir("cut-off/run.json")).unwrap();
    copy("unlogged", &run.text("run.json"));
    std::fs::remove_file(dir("unlogged/logs/run.stdout")).unwrap();
    copy("taskless", &run.text("run.json"));
    std::fs::remove_file(dir("taskless/task/task.json")).unwrap();
    tasks.write("runs/empty/x", "");
    tasks.write("runs/file", "");
    for (name, said, hint) in [
        ("empty", "run.json", "name the directory of a run"),
        ("file", "is no directory", "name the directory of a run"),
        ("nowhere", "nowhere", "name the directory of a run"),
        ("broken", "run.json is broken", "name the directory of a run"),
        ("other", "run.json is broken", "name the directory of a run"),
        ("newer", "was written by a newer cowbox", "update cowbox"),
        ("cut-off", "was cut off", "task run --resume"),
        ("unlogged", "logs/run.stdout", "name the directory of a run"),
        ("taskless", "task.json", "name the directory of a run"),
    ] {
        let output = tasks.sandbox.cowbox(&["task", "verify", dir(name).to_str().unwrap()]).output().code(2).says(said);
        assert!(output.stderr().contains("hint: ") && output.stderr().contains(hint), "{output:?}");
        assert_eq!(output.stdout(), "");
    }
    let begun = std::fs::read_dir(tasks.path("runs")).unwrap().flatten();
    assert_eq!(begun.filter(|entry| entry.file_name().to_string_lossy().contains("__")).count(), 1, "nothing was run");
}

fn it_says_what_it_runs_and_where_its_record_is(engine: Engine) {
    let tasks = Tasks::new(engine);
    let commit = tasks.code("code", &[("v", "1\n")]);
    let body = "repo: {path: ../code, ref: main}\nsetup: {convention: none}\nrun: {command: 'cat v'}\n";
    let run = tasks.one("told", body).is("passed");
    let dir = run.dir.to_str().unwrap();
    let verify = |flags: &[&str]| tasks.sandbox.cowbox(&["task", "verify", dir]).args(flags).output().ok();
    let said = verify(&[]).stderr();
    let name = run.dir.file_name().unwrap().to_str().unwrap();
    assert!(said.contains(&format!("running told again on native: it was passed in {name}\n")), "{said}");
    let new = tasks.runs().pop().unwrap();
    assert!(said.contains(&format!("its record is in {}\n", new.dir.display())), "{said}");
    assert!(!said.contains(&commit), "{said}");
    assert_eq!(verify(&["-q"]).stderr(), "");
    let said = verify(&["-v"]).stderr();
    assert!(said.contains(&format!("commit {commit}\n")) && said.contains("told: run\n"), "{said}");
}

fn a_verification_can_be_stopped(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("data/x", "0");
    let body = "repo: {path: ../home/api}\nenvironment: {mounts: ['../data:/tmp/data']}\nsetup: {convention: none}\n\
        run: {command: 'sleep $(cat /tmp/data/x)'}\n";
    let run = tasks.one("slow", body).is("passed");
    tasks.write("data/x", "600");
    let running = tasks.sandbox.cowbox(&["-v", "task", "verify", run.dir.to_str().unwrap()]).spawn();
    wait_until("the command runs", || running.stderr_so_far().contains("slow: run").then_some(()));
    running.signal(Signal::SIGINT);
    let output = running.wait().code(130);
    assert!(output.stderr().contains("stopped; nothing was compared"), "{output:?}");
    assert_eq!((output.stdout().as_str(), tasks.runs().len()), ("", 1));
    tasks.nothing_is_left();
}

fn tools_that_tell_their_time_are_the_same_again(engine: Engine) {
    let tasks = Tasks::new(engine);
    let test = "import unittest, time, os\nclass T(unittest.TestCase):\n    def test_a(self): time.sleep(os.getpid() % 7 / 100)\n    \
        def test_b(self): print(object(), os.urandom(16).hex()[:0], time.ctime())\n";
    tasks.code("code", &[("test_a.py", test)]);
    let body = "repo: {path: ../code, ref: main}\nsetup: {convention: none}\nrun: {command: 'python3 -m unittest -v; mktemp; date; date -R'}\n";
    let run = tasks.one("python", body).is("passed");
    assert!(run.text("logs/run.stderr").contains("Ran 2 tests in"));
    tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).output().done();
}

/// A name for an image, while a test needs it.
struct Name {
    engine: Engine,
    name: String,
}

impl Name {
    fn points_to(&self, image: &str) {
        let image = format!("localhost/cowbox-test/{image}:latest");
        engine_call(self.engine, &["tag", &image, &self.name]).expect("a tag");
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // The name alone: others have the image by theirs.
        engine_call(self.engine, &["rmi", &self.name]);
    }
}

fn an_image_is_held_by_its_digest(engine: Engine) {
    let tasks = Tasks::new(engine);
    let name = Name { engine, name: format!("localhost/cowbox-test/held-{}:1", tasks.sandbox.id().to_lowercase()) };
    name.points_to("tiny-user");
    let environment = format!("environment: {{image: '{}'}}\n", name.name);
    let setup = "setup: {convention: none, commands: ['echo ready > prepared']}\n";
    let body = format!("repo: {{path: ../home/api}}\n{environment}{setup}run: {{command: cat prepared}}\n");
    let first = tasks.one("held", &body).is("passed");
    // From now on it means something else.
    name.points_to("tiny");
    tasks.sandbox.cowbox(&["task", "verify", first.dir.to_str().unwrap()]).output().done();
    let digest = &first.record["image"]["digest"];
    assert!(tasks.runs().iter().all(|run| run.record["image"]["digest"] == *digest && digest.is_string()));
    let second = tasks.runs().remove(1);
    assert!(second.text("task/task.json").contains(digest.as_str().unwrap()));
    let third = tasks.one("moved", &body).is("passed");
    assert_ne!(third.record["image"]["digest"], *digest, "the name does mean something else");
}
