//! Where things are: the workspace, the image's files, the inputs.

use serde_json::json;

use super::*;
use crate::setup::plan::{BuildRequest, ImageRequest};

fn workspace(case: &Case, config: Value) -> (String, String, Vec<String>) {
    let plan = case.plan(&config);
    let found = plan.workspace.unwrap();
    (found.mount.display().to_string(), found.folder.display().to_string(), plan.notices)
}

#[test]
fn the_repo_stands_where_the_config_says() {
    let case = case();
    let mount = |text: &str| json!({ "workspaceFolder": "/w/sub", "workspaceMount": text });
    let cases = [
        (json!({}), "/workspaces/app", "/workspaces/app"),
        (json!({ "workspaceFolder": "/srv/${localWorkspaceFolderBasename}/" }), "/workspaces/app", "/srv/app"),
        (mount("source=${localWorkspaceFolder},target=/w,type=bind,consistency=cached"), "/w", "/w/sub"),
        (json!({ "workspaceMount": "type=bind,src=${localWorkspaceFolder},dst=/w" }), "/w", "/w"),
    ];
    for (config, root, folder) in cases {
        assert_eq!(workspace(&case, config.clone()), (root.into(), folder.into(), vec![]), "{config}");
    }
    for other in ["source=/etc,target=/w,type=bind", "source=vol,target=/w,type=volume"] {
        let (root, _, notices) = workspace(&case, mount(other));
        assert!(root == "/w" && notices[0].contains("the repo is mounted in its place"), "{notices:?}");
    }
    let (root, folder, notices) = workspace(&case, mount(""));
    assert_eq!((root.as_str(), folder.as_str(), notices.len()), ("/w/sub", "/w/sub", 1));
}

#[test]
fn a_config_below_the_root_starts_in_its_directory() {
    let case = case().at("sub/.devcontainer/devcontainer.json");
    let (root, folder, _) = workspace(&case, json!({}));
    assert_eq!((root.as_str(), folder.as_str()), ("/workspaces/app", "/workspaces/app/sub"));
    let plan =
        case.plan(&json!({ "containerEnv": { "A": "${localWorkspaceFolder}|${containerWorkspaceFolderBasename}" } }));
    assert_eq!(plan.env["A"], format!("{}|sub", case.root().join("sub").display()));
}

#[test]
fn a_path_with_a_comma_or_a_quote_is_still_one_path() {
    let mut case = case();
    case.dir = tempfile::Builder::new().prefix("a,\"b\" é").tempdir().unwrap();
    fs::create_dir(case.root()).unwrap();
    let config = json!({ "workspaceMount": "source=${localWorkspaceFolder},target=/w,type=bind" });
    assert_eq!(workspace(&case, config), ("/w".into(), "/w".into(), vec![]));
}

#[test]
fn places_that_are_none_are_an_error() {
    let cases = [
        json!({ "workspaceFolder": "w" }),
        json!({ "workspaceMount": "source=x,type=bind" }),
        json!({ "workspaceMount": "target=w" }),
        json!({ "workspaceMount": "target=/" }),
        json!({ "remoteUser": "-x" }),
        json!({ "containerUser": "a b" }),
        json!({ "image": "--privileged" }),
        json!({ "image": "" }),
        json!({ "image": "${localEnv:SECRET}" }),
        json!({ "build": {} , "image": "${localEnv}" }),
        json!({ "build": { "args": { "A": "1" } } }),
        json!({ "runArgs": ["--device"] }),
    ];
    for config in cases {
        assert!(case().error(&config).starts_with(&format!("{PATH}: `")), "{config}");
    }
}

#[test]
fn an_image_is_named_built_or_ours() {
    let case = case()
        .file(".devcontainer/Dockerfile")
        .file("docker/D")
        .file("docker/.dockerignore")
        .file("docker/D.dockerignore");
    assert_eq!(case.plan(&json!({})).image, ImageRequest::Default);
    assert_eq!(case.plan(&json!({ "image": "x:1" })).image, ImageRequest::Named("x:1".into()));
    let request = |dockerfile: &str, context: &str| {
        ImageRequest::Build(BuildRequest {
            dockerfile: dockerfile.into(),
            context: context.into(),
            ..BuildRequest::default()
        })
    };
    let plan = case.plan(&json!({ "build": { "dockerfile": "Dockerfile" }, "image": "y" }));
    assert_eq!(plan.image, request(".devcontainer/Dockerfile", ".devcontainer"));
    let plan = case.plan(&json!({ "build": { "dockerfile": "../docker/D" } }));
    assert_eq!(plan.image, request("docker/D", "docker"));
    let inputs = [".devcontainer/devcontainer.json", "docker/.dockerignore", "docker/D", "docker/D.dockerignore"];
    assert_eq!(plan.inputs, inputs.map(PathBuf::from));
    let plan = case.plan(&json!({ "dockerFile": "Dockerfile", "context": ".." }));
    assert_eq!(plan.image, request(".devcontainer/Dockerfile", ""));
}

#[test]
fn a_build_stays_in_the_repo() {
    let case = case().file(".devcontainer/Dockerfile").file("../outside/Dockerfile");
    std::os::unix::fs::symlink("../../outside/Dockerfile", case.root().join(".devcontainer/link")).unwrap();
    let build = |dockerfile: &str, context: &str| json!({ "build": { "dockerfile": dockerfile, "context": context } });
    assert!(case.error(&build("../../outside/Dockerfile", ".")).contains("`build.dockerfile` leads out of the repo"));
    assert!(case.error(&build("/etc/passwd", ".")).contains("leads out of the repo"));
    assert!(case.error(&build("link", ".")).contains("no file `link` in the repo"));
    assert!(case.error(&build("missing", ".")).contains("no file"));
    assert!(case.error(&build("Dockerfile", "../..")).contains("`build.context` leads out"));
    assert!(case.error(&build("Dockerfile", "missing")).contains("no directory"));
}

#[test]
fn files_that_hooks_name_are_inputs() {
    let case = case().file(".devcontainer/post.sh").file("tools/a.py").file("b.sh").file("c.sh");
    let plan = case.plan(&json!({
        "postCreateCommand": "bash .devcontainer/post.sh && ls missing",
        "onCreateCommand": { "x": ["python", "${containerWorkspaceFolder}/tools/a.py"] },
        "initializeCommand": "sh c.sh"
    }));
    let inputs = [".devcontainer/devcontainer.json", ".devcontainer/post.sh", "tools/a.py"];
    assert_eq!(plan.inputs, inputs.map(PathBuf::from));
}
