//! What is built.

use super::super::{BuildContext, ContextSource, Users, containerfile};
use super::*;
use crate::setup::plan::FeatureInstall;

fn feature(name: &str) -> FeatureInstall {
    FeatureInstall {
        id: format!("./{name}"),
        short: name.to_owned(),
        dir: PathBuf::from(".devcontainer").join(name),
        options: BTreeMap::from([("VERSION".to_owned(), "it's $(1)".to_owned())]),
        env: vec![("Z".to_owned(), "/z".to_owned()), ("PATH".to_owned(), "$Z/bin:\"${PATH}\"\\".to_owned())],
    }
}

fn users(image: &str, container: &str, remote: &str) -> Users {
    Users { image: image.to_owned(), container: container.to_owned(), remote: remote.to_owned() }
}

fn text(context: &BuildContext, name: &str) -> String {
    let found = context.files.iter().find(|(path, _)| path == Path::new(name));
    match found {
        Some((_, ContextSource::Text(text))) => text.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn each_feature_is_copied_and_run_as_root_and_the_user_is_restored() {
    let context =
        containerfile("localhost/base:1", &[feature("b"), feature("a")], &users("vscode", "", "dev")).unwrap();
    let lines: Vec<&str> = context.text.lines().filter(|line| !line.is_empty()).collect();
    let inside = "/tmp/dev-container-features";
    assert_eq!(lines[..2], ["FROM localhost/base:1", "USER root"]);
    assert!(
        lines[2].starts_with("COPY devcontainer-features.builtin.env ") && lines[3].starts_with("RUN [\"/bin/sh\"")
    );
    assert_eq!(
        lines[4..7],
        ["ENV Z=\"/z\"", "ENV PATH=\"$Z/bin:\\\"${PATH}\\\"\\\\\"", &format!("COPY 0-b {inside}/0-b/")]
    );
    assert!(lines[7].contains(&format!("cd {inside}/0-b && chmod -R 0755 . && ./devcontainer-features-install.sh")));
    assert_eq!(lines[10], format!("COPY 1-a {inside}/1-a/"));
    assert_eq!(lines[lines.len() - 1], "USER vscode");
    assert_eq!(text(&context, "devcontainer-features.builtin.env"), "_CONTAINER_USER='vscode'\n_REMOTE_USER='dev'\n");
    assert_eq!(text(&context, "0-b/devcontainer-features.env"), "VERSION='it'\\''s $(1)'\n");
    assert!(context.files.contains(&("1-a".into(), ContextSource::Dir(".devcontainer/a".into()))));
}

#[test]
fn nothing_that_only_new_builders_know_is_used() {
    let context = containerfile("b", &[feature("a")], &Users::default()).unwrap();
    for word in ["--mount", "<<", "# syntax", "--chmod", "--link", "bash"] {
        assert!(!context.text.contains(word), "{word}");
    }
    assert_eq!(context.text.lines().filter(|line| line.starts_with("USER root")).count(), 2);
}

#[test]
fn names_that_are_more_than_one_word_are_refused() {
    for image in ["", "a b", "a\nRUN x", "--platform=x", "$X", "a`b"] {
        assert!(containerfile(image, &[], &Users::default()).is_err(), "{image}");
    }
    for user in ["a b", "a\nRUN x", "-x", "$(id)", "a'b"] {
        assert!(containerfile("i", &[], &users(user, "", "")).is_err(), "{user}");
        assert!(containerfile("i", &[], &users("", user, "")).is_err(), "{user}");
        assert!(containerfile("i", &[], &users("", "", user)).is_err(), "{user}");
    }
}

/// Lays the context out as a builder would, and runs the scripts in it with a plain shell.
fn run(script: &str, name: &str) -> (tempfile::TempDir, std::process::Output) {
    let mut feature = feature("tool");
    feature.id = name.to_owned();
    let me = String::from_utf8(std::process::Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let context = containerfile("i", &[feature], &users(me.trim(), "", "0:0")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (path, source) in &context.files {
        let path = dir.path().join(path);
        match source {
            ContextSource::Dir(_) => {
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("install.sh"), script).unwrap();
            }
            ContextSource::Text(text) => fs::write(path, text).unwrap(),
        }
    }
    let homes = dir.path().join("devcontainer-features-homes.sh");
    assert!(std::process::Command::new("sh").arg(homes).status().unwrap().success());
    let cwd = dir.path().join("0-tool");
    let output = std::process::Command::new("sh").arg("./devcontainer-features-install.sh").current_dir(cwd).output();
    (dir, output.unwrap())
}

#[test]
fn the_installer_sees_its_options_the_users_and_their_homes() {
    let script =
        "#!/bin/sh\necho \"$VERSION|$_CONTAINER_USER_HOME|$_REMOTE_USER|$_REMOTE_USER_HOME|$(basename \"$PWD\")\"\n";
    let (_dir, output) = run(script, "./tool");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let parts: Vec<&str> = said.trim().split('|').collect();
    assert_eq!((parts[0], parts[2], parts[3], parts[4]), ("it's $(1)", "0:0", "/root", "0-tool"));
    assert!(parts[1].starts_with('/'), "{said}");
}

#[test]
fn a_failed_installer_fails_and_says_which_one() {
    let (_dir, output) = run("#!/bin/sh\nexit 7\n", "./it's $(touch x)");
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8(output.stderr).unwrap().contains("the feature ./it's $(touch x) failed"));
}
