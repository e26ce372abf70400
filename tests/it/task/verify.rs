//! `task verify`: a recorded run once more.

use super::{Tasks, git, runs_in};
use crate::common::{Engine, engine_call, on, on_containers, on_every_engine};

on_every_engine!(a_run_is_the_same_when_it_is_run_again, what_is_not_the_same_is_told);
on_containers!(an_image_is_held_by_its_digest);
on!(native: check_compares_the_runs_of_a_batch, what_is_no_run_is_told);

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
        "repo: {path: ../home/api}\nenvironment: {mounts: ['../data:/tmp/data']}\nsetup: {convention: none}\nrun: {command: 'cat /tmp/data/x; exit $(cat /tmp/data/x)'}\nexpect: {exit: 1}\n",
    );
    let first = first.is("passed");
    tasks.write("data/x", "2");
    let out = tasks.path("again");
    let dir = first.dir.to_str().unwrap();
    let output = tasks.sandbox.cowbox(&["task", "verify", dir, "--out", out.to_str().unwrap()]).output().code(1);
    let said = output.stdout();
    assert!(said.contains("varies: ") && said.contains("exit of run: 1 → 2"), "{said}");
    assert!(said.contains("outcome: passed → failed") && said.contains("stdout of run (normalised)"), "{said}");
    assert_eq!((tasks.runs().len(), runs_in(&out).len()), (1, 1));
}

fn check_compares_the_runs_of_a_batch(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("steady", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: date}\n");
    tasks.task("random", "repo: {path: ../home/api}\nsetup: {convention: none}\nrun: {command: 'cat /proc/sys/kernel/random/uuid | tr -d - | cut -c1-9 > x'}\n");
    tasks.run(&["--repeat", "3", "--check"], &["tasks/steady.yaml"]).output().done();
    let output = tasks.run(&["--repeat", "2", "--check"], &["tasks/random.yaml"]).output().code(1);
    assert!(output.stderr().contains("changes by run: sha256:"), "{output:?}");
    let read = |name: &str| std::fs::read_to_string(tasks.path("runs").join(name)).unwrap();
    assert!(read("summary.txt").contains("random #2 · changes by run"), "{}", read("summary.txt"));
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

fn what_is_no_run_is_told(engine: Engine) {
    let tasks = Tasks::new(engine);
    let output = tasks.sandbox.cowbox(&["task", "verify", "."]).output().code(1);
    assert!(output.stderr().contains("run.json") && output.stderr().contains("hint:"), "{output:?}");
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
