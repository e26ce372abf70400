//! Dev containers from their file to the command, on real engines.

mod background;
mod build_network;
mod compose;
mod failures;
mod hooks;
mod hostile;
mod images;
mod native;
mod options;
mod places;
mod secrets;
mod services;
mod trust;
mod users;
mod variables;

use serde_json::{Value, json};

use crate::common::{Cowbox, Engine, Sandbox};

/// A test image's whole name.
fn image(name: &str) -> String {
    format!("localhost/cowbox-test/{name}:latest")
}

/// A repo with this `devcontainer.json`. Where it names no image, engines that have some get the smallest.
fn with(engine: Engine, config: Value) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    write(&sandbox, config);
    sandbox
}

/// The text of a `devcontainer.json` for the engine.
fn config_for(engine: Engine, mut config: Value) -> String {
    let says = ["image", "build", "dockerComposeFile"].iter().any(|key| config.get(key).is_some());
    if engine.has_images() && !says {
        config["image"] = json!(image("tiny"));
    }
    config.to_string()
}

fn write(sandbox: &Sandbox, config: Value) {
    sandbox.write(".devcontainer/devcontainer.json", config_for(sandbox.engine(), config));
}

/// The same for one that has been used already.
fn rewrite(sandbox: &Sandbox, config: Value) {
    let text = config_for(sandbox.engine(), config);
    sandbox.change_repo(|repo| crate::conflicts::replace(repo, ".devcontainer/devcontainer.json", &text));
}

/// A config that builds its image: `FROM` the smallest one, then `lines`.
fn built(engine: Engine, lines: &str, mut config: Value) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    sandbox.write(".devcontainer/Dockerfile", format!("FROM {}\n{lines}\n", image("tiny")));
    if config.get("build").is_none() {
        config["build"] = json!({ "dockerfile": "Dockerfile" });
    }
    write(&sandbox, config);
    sandbox
}

/// `cowbox run … -- sh -c SCRIPT` with the image that the file names.
fn up(sandbox: &Sandbox, options: &[&str], script: &str) -> Cowbox {
    run(sandbox, options, &["sh", "-c", script])
}

fn run(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> Cowbox {
    sandbox.cowbox(&["run", "--engine", sandbox.engine().name()]).args(options).arg("--").args(command)
}
