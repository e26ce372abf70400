//! What a task may say about its environment, from the file to the command.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Tasks, git};
use crate::common::{Engine, on, on_containers, on_every_engine};

on_every_engine!(
    a_dev_container_of_the_code_is_used_and_runs_nothing_on_the_host,
    a_mount_that_may_be_written_to_is_a_copy,
    submodules_are_part_of_the_code,
);
on_containers!(
    a_containerfile_is_built_kept_and_not_built_again_to_verify,
    a_user_of_the_image_runs_every_stage,
    a_runtime_is_named_as_the_engine_knows_it,
);
on!(podman: a_container_that_never_started_is_an_infra_error);
on!(native: what_needs_a_container_is_an_infra_error);

const AS_IT_IS: &str = "repo: {path: ../home/api}\n";

fn a_containerfile_is_built_kept_and_not_built_again_to_verify(engine: Engine) {
    let tasks = Tasks::new(engine);
    let file =
        |word: &str| format!("FROM localhost/cowbox-test/tiny:latest\nCOPY word /word\nRUN echo {word} > /made\n");
    tasks.write("tasks/image/Containerfile", file("built"));
    tasks.write("tasks/image/word", "copied\n");
    let run = tasks.one(
        "built",
        &format!(
            "{AS_IT_IS}environment: {{containerfile: image/Containerfile}}\nsetup: {{convention: none}}\n\
             run: {{command: cat /word /made}}\n"
        ),
    );
    let run = run.is("passed");
    assert_eq!(run.text("logs/run.stdout"), "copied\nbuilt\n");
    assert_eq!(run.text("task/inputs/01-Containerfile"), file("built"));
    tasks.write("tasks/image/Containerfile", file("another"));
    tasks.sandbox.cowbox(&["task", "verify", run.dir.to_str().unwrap()]).output().done();
    let again = tasks.runs().pop().unwrap();
    assert_eq!(
        (again.record["image"]["digest"].as_str(), &again.record["outcome"]),
        (run.record["image"]["digest"].as_str(), &"passed".into())
    );
    tasks.nothing_is_left();
}

fn a_dev_container_of_the_code_is_used_and_runs_nothing_on_the_host(engine: Engine) {
    let tasks = Tasks::new(engine);
    let canary = tasks.path("canary");
    let mut config = serde_json::json!({
        "containerEnv": { "WORD": "from the file" },
        "initializeCommand": format!("touch {}", canary.display()),
        "postCreateCommand": "echo created > created",
    });
    if engine.has_images() {
        config["image"] = "localhost/cowbox-test/tiny-named:latest".into();
    }
    tasks.code("code", &[(".devcontainer/devcontainer.json", &config.to_string())]);
    let run = tasks.one(
        "dev",
        "repo: {path: ../code, ref: main}\nenvironment: {devcontainer: .devcontainer/devcontainer.json}\n\
         run: {command: 'cat created; echo $WORD'}\n",
    );
    let run = run.is("passed");
    assert_eq!(run.text("logs/run.stdout"), "created\nfrom the file\n");
    assert!(!canary.exists(), "something of the code ran on the host");
    let notices: Vec<String> =
        run.events().iter().filter(|e| e["event"] == "notice").map(|e| e["data"]["text"].to_string()).collect();
    assert!(notices.iter().any(|text| text.contains("left out: initializeCommand")), "{notices:?}");
    if engine.has_images() {
        assert_eq!(run.record["image"]["name"], config["image"]);
    }
    tasks.nothing_is_left();
}

fn a_mount_that_may_be_written_to_is_a_copy(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("data/x", "old\n");
    let run = tasks.one(
        "cow",
        &format!(
            "{AS_IT_IS}environment: {{mounts: ['../data:/tmp/data:cow', '../data:/tmp/same:ro']}}\nsetup: {{convention: none}}\n\
             run: {{command: 'echo new > /tmp/data/x; cat /tmp/data/x /tmp/same/x; ! touch /tmp/same/y'}}\n"
        ),
    );
    assert_eq!(run.is("passed").text("logs/run.stdout"), "new\nold\n");
    assert_eq!(fs::read_to_string(tasks.path("data/x")).unwrap(), "old\n");
    assert_eq!(fs::read_dir(tasks.path("data")).unwrap().count(), 1);
    tasks.nothing_is_left();
}

fn submodules_are_part_of_the_code(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.code("sub", &[("s", "of the submodule\n")]);
    tasks.code("code", &[("x", "x\n")]);
    git(&tasks.path("code"), "git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub");
    let body = |submodules: bool| {
        format!(
            "repo: {{path: ../code, ref: main, submodules: {submodules}}}\nsetup: {{convention: none}}\n\
             run: {{command: 'cat sub/s && git -C sub status 2>/dev/null; test -e sub/s'}}\n"
        )
    };
    let with = tasks.one("with", &body(true)).is("passed");
    assert!(with.text("logs/run.stdout").starts_with("of the submodule\n"));
    assert_eq!(with.stage("checkout")["network"]["policy"], "host");
    tasks.one("without", &body(false)).is("failed");
    tasks.sandbox.cowbox(&["task", "verify", with.dir.to_str().unwrap()]).output().done();
    tasks.nothing_is_left();
}

fn a_user_of_the_image_runs_every_stage(engine: Engine) {
    let tasks = Tasks::with_image(engine, "tiny-named");
    let run = tasks.one(
        "root",
        &format!(
            "{AS_IT_IS}environment: {{user: root}}\nsetup: {{convention: none, commands: ['id -u > by-setup']}}\n\
             agent: {{command: 'id -u > by-agent', network: none}}\nrun: {{command: cat by-setup by-agent && id -u}}\n"
        ),
    );
    assert_eq!(run.is("passed").text("logs/run.stdout"), "0\n0\n0\n");
    // By number: nobody whom the image knows, and who may write nothing.
    let run = tasks.one(
        "number",
        &format!(
            "{AS_IT_IS}environment: {{user: '1234:1235'}}\nsetup: {{convention: none}}\n\
             agent: {{command: 'id -u; id -g', network: none}}\nrun: {{command: id -u; id -g}}\n"
        ),
    );
    let run = run.is("passed");
    assert_eq!(
        (run.text("logs/agent.stdout").as_str(), run.text("logs/run.stdout").as_str()),
        ("1234\n1235\n", "1234\n1235\n")
    );
    tasks.nothing_is_left();
}

fn a_runtime_is_named_as_the_engine_knows_it(engine: Engine) {
    let tasks = Tasks::new(engine);
    let body = |runtime: &str| {
        format!(
            "{AS_IT_IS}environment: {{runtime: {runtime}}}\nsetup: {{convention: none}}\nrun: {{command: 'echo x > y'}}\n"
        )
    };
    // Each has its own by this name.
    let known = if engine == Engine::Docker { "runc" } else { "crun" };
    let run = tasks.one("known", &body(known)).is("passed");
    assert_eq!(run.changed_by("run"), ["y"]);
    let run = tasks.one("unknown", &body("no-such-runtime")).is("infra-error");
    assert!(run.reason().contains("no-such-runtime"), "{}", run.reason());
    tasks.nothing_is_left();
}

fn a_container_that_never_started_is_an_infra_error(engine: Engine) {
    let tasks = Tasks::new(engine);
    let runtime = tasks.path("runtime");
    // A file of its own takes the place of all others: what this machine needs must be in it.
    let drop_ins = fs::read_dir("/etc/containers/containers.conf.d").into_iter().flatten().flatten();
    let mut conf: String = drop_ins.map(|entry| fs::read_to_string(entry.path()).unwrap() + "\n").collect();
    conf.push_str(&format!("[engine.runtimes]\nbroken = [\"{}\"]\n", runtime.display()));
    tasks.write("containers.conf", conf);
    for (said, code) in [("permission denied", 126), ("no such file or directory", 127)] {
        let script =
            format!("#!/bin/sh\ncase \" $* \" in *' create '*) echo {said} >&2; exit 1;; esac\nexec crun \"$@\"\n");
        tasks.write("runtime", script);
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
        for (name, expect) in [("any", "fail: true".to_owned()), ("this", format!("exit: {code}"))] {
            let name = format!("{name}-{code}");
            tasks.task(
                &name,
                &format!(
                    "{AS_IT_IS}environment: {{runtime: broken}}\nsetup: {{convention: none}}\n\
                     run: {{command: id}}\nexpect: {{{expect}}}\n"
                ),
            );
            let cowbox = tasks.run(&[], &[&format!("tasks/{name}.yaml")]);
            let _ = cowbox.env("CONTAINERS_CONF", tasks.path("containers.conf")).output().code(1);
            let run = tasks.runs().into_iter().find(|run| run.record["task"] == name.as_str()).unwrap();
            let run = run.is("infra-error");
            assert_eq!(run.stage("run")["commands"][0]["exit"], code);
            assert!(run.reason().starts_with("the engine could not start the command: "), "{}", run.reason());
        }
    }
    tasks.nothing_is_left();
}

fn what_needs_a_container_is_an_infra_error(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("tasks/C", "FROM x\n");
    for (name, environment) in
        [("user", "user: daemon"), ("runtime", "runtime: runsc"), ("containerfile", "containerfile: C")]
    {
        let body = format!(
            "{AS_IT_IS}environment: {{{environment}}}\nsetup: {{convention: none}}\nrun: {{command: 'true'}}\n"
        );
        let run = tasks.one(name, &body).is("infra-error");
        assert!(run.reason().contains("native"), "{name}: {}", run.reason());
        assert_eq!(run.record["engine"]["kind"], "native", "{name}: what was chosen is on record");
    }
    tasks.nothing_is_left();
}
