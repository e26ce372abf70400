//! Where the repo stands inside, and repos in odd places.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{config_for, image, run, up, with, write};
use crate::common::{Engine, Sandbox, on_containers, on_every_engine};
use crate::host::{Canary, git, git_init};

on_every_engine!(a_path_of_any_kind_can_have_a_devcontainer, git_works_in_a_worktree, two_at_once_prepare_once,);
on_containers!(the_workspace_folder_is_the_usual_one_or_its_own, a_subfolder_and_a_link_lead_to_the_same_place,);

fn the_workspace_folder_is_the_usual_one_or_its_own(engine: Engine) {
    let sandbox = with(engine, json!({ "postCreateCommand": "pwd > where" }));
    let _ = up(&sandbox, &[], "cat where; pwd").output().ok().prints("/workspaces/api\n/workspaces/api\n");
    super::rewrite(&sandbox, json!({ "postCreateCommand": "pwd > /where", "workspaceFolder": "/workspaces/api/src" }));
    let _ = up(&sandbox, &[], "cat /where; pwd").output().ok().prints("/workspaces/api/src\n/workspaces/api/src\n");
    let mount = "source=${localWorkspaceFolder},target=/code,type=bind,consistency=cached";
    super::rewrite(&sandbox, json!({ "workspaceMount": mount, "workspaceFolder": "/code", "userEnvProbe": "none" }));
    let _ = up(&sandbox, &[], "pwd; cat README.md; echo x > new").output().ok().prints("/code\n# api\n");
    assert_eq!(sandbox.changes(), ["A  new"]);
}

fn a_subfolder_and_a_link_lead_to_the_same_place(engine: Engine) {
    let sandbox = with(engine, json!({ "userEnvProbe": "none", "postStartCommand": "pwd > /tmp/started" }));
    let run_in = |dir: &std::path::Path| run(&sandbox, &[], &["pwd"]).current_dir(dir).output().ok();
    let _ = run_in(&sandbox.repo().join("src/deep")).prints("/workspaces/api/src/deep\n");
    let link = sandbox.home().join("link to it");
    symlink(sandbox.repo(), &link).unwrap();
    let _ = run_in(&link).prints("/workspaces/api\n");
    let _ = run_in(&link.join("src")).prints("/workspaces/api/src\n");
}

fn a_path_of_any_kind_can_have_a_devcontainer(engine: Engine) {
    let mut sandbox = Sandbox::new(engine);
    let repo = sandbox.home().join("odd, \"na'me\": ünï\\x");
    fs::create_dir(&repo).unwrap();
    sandbox.use_repo(&repo);
    sandbox.write("README.md", "# odd\n");
    write(
        &sandbox,
        json!({ "postCreateCommand": "cat README.md > made; pwd > where", "containerEnv": { "W": "${containerWorkspaceFolder}" } }),
    );
    let printed = up(&sandbox, &[], "cat made where; pwd; echo more >> README.md").output().ok().stdout();
    let place = if engine.has_images() { "/workspaces/odd- -na-me-- ünï-x" } else { repo.to_str().unwrap() };
    assert_eq!(printed, format!("# odd\n{place}\n{place}\n"));
    assert_eq!(sandbox.changes(), ["M  README.md"]);
    if engine.has_images() {
        let _ = up(&sandbox, &[], "echo $W").output().ok().prints(format!("{place}\n"));
    }
}

fn git_works_in_a_worktree(engine: Engine) {
    let mut sandbox = Sandbox::new(engine);
    let main = sandbox.home().join("the main repo");
    fs::create_dir_all(main.join(".devcontainer")).unwrap();
    let hook = "git log --format=%s > subject && git status --porcelain >> subject";
    let mut config = json!({ "postCreateCommand": hook });
    if engine.has_images() {
        config["image"] = json!(image("debian"));
    }
    fs::write(main.join(".devcontainer/devcontainer.json"), config_for(engine, config)).unwrap();
    fs::write(main.join(".gitignore"), "subject\n").unwrap();
    git_init(&main);
    let tree = sandbox.home().join("tree");
    git(&main, &["worktree", "add", "--quiet", "-b", "work", tree.to_str().unwrap()]);
    sandbox.use_repo(&tree);
    let canary = Canary::at(&main);
    let _ = up(&sandbox, &[], "cat subject; git log --format=%s; git branch --show-current")
        .output()
        .ok()
        .prints("first\nfirst\nwork\n");
    canary.check();
}

fn two_at_once_prepare_once(engine: Engine) {
    let hook = "sleep 1; cat /proc/sys/kernel/random/uuid > stamp";
    let sandbox = with(engine, json!({ "postCreateCommand": hook }));
    let first = run(&sandbox, &[], &["cat", "stamp"]).spawn();
    let second = run(&sandbox, &[], &["cat", "stamp"]).spawn();
    let (first, second) = (first.wait().ok(), second.wait().ok());
    assert!(first.stdout().len() > 30);
    assert_eq!(first.stdout(), second.stdout());
    let both = first.stderr() + &second.stderr();
    assert_eq!(both.matches("setup 1/1").count(), 1, "{both}");
}
