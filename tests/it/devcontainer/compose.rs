//! A service of a compose file as the sandbox.

use serde_json::json;

use super::{image, up};
use crate::common::{Engine, Sandbox, on_containers};

on_containers!(a_service_says_image_variables_user_and_place, a_service_that_is_not_there_is_named);

const CONFIG: &str = r#"{ "dockerComposeFile": "../compose.yml", "service": "app", "workspaceFolder": "/code/src",
    "postCreateCommand": "echo $WORD > made" }"#;

fn service(sandbox: &Sandbox) {
    let text = format!(
        "services:\n  app:\n    image: {}\n    user: agent\n    working_dir: /code\n    hostname: box\n    environment:\n      \
         WORD: of compose\n      OTHER: ${{WHO:-nobody}}\n    volumes: ['.:/code:cached', 'data:/data']\n    tmpfs: /scratch\n    \
         restart: always\n    ports: ['127.0.0.1:8099:80']\n  idle:\n    image: postgres\nvolumes:\n  data:\n",
        image("tiny")
    );
    sandbox.write("compose.yml", text);
    sandbox.write(".env", "WHO=somebody\n");
    sandbox.write(".devcontainer/devcontainer.json", CONFIG);
}

fn a_service_says_image_variables_user_and_place(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    service(&sandbox);
    let script = "cat made; pwd; echo $OTHER; hostname; cat ../README.md; grep -c ' /scratch tmpfs' /proc/mounts; ls -d /data; id -un";
    let expected = "of compose\n/code/src\nsomebody\nbox\n# api\n1\n/data\n";
    let output = up(&sandbox, &[], script).output().ok();
    let user = if crate::host::is_root() { "root\n" } else { "agent\n" };
    let _ = output.prints(expected.to_owned() + user).says("left out: services.app.ports");
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    let plan = sandbox.cowbox(&["prepare", "--dry-run", "--json", "--engine", engine.name()]).output().ok().json();
    let ignored: Vec<&str> = plan["ignored"].as_array().unwrap().iter().map(|i| i["key"].as_str().unwrap()).collect();
    assert!(ignored.contains(&"services.app.restart"), "{ignored:?}");
    let notices = plan["notices"].to_string();
    assert!(notices.contains("services that are not started: idle"), "{notices}");
    assert_eq!(plan["image"], json!(image("tiny")));
}

fn a_service_that_is_not_there_is_named(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    service(&sandbox);
    sandbox.write(".devcontainer/devcontainer.json", CONFIG.replace("\"app\"", "\"web\""));
    let _ = up(&sandbox, &[], "true").output().code(125).says("web");
}
