//! `run --profile`, with an agent that is a script.

use std::fs;
use std::path::PathBuf;

use crate::common::{Engine, Fingerprint, Sandbox, on, on_containers, on_every_engine};

on_every_engine!(
    an_agent_finds_its_files_in_its_home_and_the_host_keeps_its_own,
    variables_are_passed_by_name_and_only_if_set,
    the_default_profile_is_for_a_run_without_a_command,
    a_resumed_session_goes_on_with_its_agent_and_what_that_wrote,
    an_agent_is_installed_once,
    what_is_wrong_with_a_profile_is_said_before_anything_starts,
);
on_containers!(what_an_image_has_at_that_place_is_kept_beside, every_user_of_an_image_finds_them);
on!(native: an_agent_sees_what_native_hides_from_others);

/// Settings of an agent on the host, and a profile `agent` that shows them: it prints what `script` says.
fn with_agent(sandbox: &Sandbox, script: &str) -> PathBuf {
    let dir = sandbox.root().join("settings");
    fs::create_dir_all(dir.join("dir")).unwrap();
    fs::write(dir.join("dir/login"), "token\n").unwrap();
    fs::write(dir.join("file.json"), "{}\n").unwrap();
    let profile = format!(
        "[profiles.agent]\ncommand = [\"sh\", \"-c\", '''{script}''', \"agent\"]\ndirs = [\"{0}/dir:~/.config/agent\"]\n\
         files = [\"{0}/file.json:~/.agent.json\"]\nenv = [\"AGENT_TOKEN\", \"AGENT_UNSET\"]\n",
        dir.display()
    );
    sandbox.configure(&profile);
    dir
}

fn an_agent_finds_its_files_in_its_home_and_the_host_keeps_its_own(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "cd ~ && cat .config/agent/login .agent.json && echo more >> .config/agent/login && echo new > .config/agent/new \
                  && echo 2 > .agent.tmp && mv .agent.tmp .agent.json && cat .config/agent/login .config/agent/new .agent.json && echo \"$@\"";
    let dir = with_agent(&sandbox, script);
    let before = Fingerprint::of(&dir);
    let output = sandbox.run(&["--profile", "agent"], &["an", "argument"]).output().ok();
    let _ = output.prints("token\n{}\ntoken\nmore\nnew\n2\nan argument\n");
    assert_eq!(before.differences(&Fingerprint::of(&dir)), Vec::<String>::new());
    assert_eq!(sandbox.changes(), Vec::<String>::new());
    // What is not there is done without.
    fs::remove_dir_all(&dir).unwrap();
    with_agent(&sandbox, "ls ~/.config/agent ~/.agent.json 2>/dev/null || echo none");
    fs::remove_dir_all(&dir).unwrap();
    let _ = sandbox.run(&["--profile", "agent"], &[]).output().ok().prints("none\n");
}

fn variables_are_passed_by_name_and_only_if_set(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_agent(&sandbox, "echo [$AGENT_TOKEN] [${AGENT_UNSET-unset}] [${OTHER-unset}]");
    let run = |options: &[&str]| {
        sandbox.run(options, &[]).env("AGENT_TOKEN", "secret").env("OTHER", "x").output().ok().stdout()
    };
    assert_eq!(run(&["--profile", "agent"]), "[secret] [unset] [unset]\n");
    assert_eq!(run(&["--profile", "agent", "--env", "AGENT_TOKEN=mine"]), "[mine] [unset] [unset]\n");
    let record = sandbox.cowbox(&["show", "--json"]).output().ok().stdout();
    assert!(!record.contains("secret"), "{record}");
}

fn the_default_profile_is_for_a_run_without_a_command(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_agent(&sandbox, "echo agent $AGENT_TOKEN");
    let run = |options: &[&str], command: &[&str]| {
        let run = sandbox.run(options, command).env("COWBOX_DEFAULT_PROFILE", "agent").env("AGENT_TOKEN", "t");
        run.stdin("echo shell ${AGENT_TOKEN-none}\n").output().ok().stdout()
    };
    assert_eq!(run(&[], &[]), "agent t\n");
    assert_eq!(run(&["--profile", "none"], &[]), "shell none\n");
    assert_eq!(
        run(&[], &["sh", "-c", "echo command ${AGENT_TOKEN-none}; ls ~/.config/agent || true"]),
        "command none\n"
    );
}

fn a_resumed_session_goes_on_with_its_agent_and_what_that_wrote(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_agent(&sandbox, "cat ~/.config/agent/login; echo more >> ~/.config/agent/login");
    let _ = sandbox.run(&["--name", "s", "--profile", "agent"], &[]).output().ok().prints("token\n");
    let resume = |rest: &[&str]| sandbox.cowbox(&[&["run", "--resume", "s"], rest].concat()).output();
    let _ = resume(&[]).ok().prints("token\nmore\n");
    let _ = resume(&["--profile", "agent"]).ok().prints("token\nmore\nmore\n");
    let _ = resume(&["--", "sh", "-c", "wc -l < ~/.config/agent/login"]).ok().prints("4\n");
    let _ = resume(&["--profile", "claude"]).code(125).says("keeps its profile");
}

fn an_agent_is_installed_once(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let install = |line: &str| {
        sandbox.configure(&format!(
            "[profiles.agent]\ncommand = [\"the-agent\"]\nenv = [\"AGENT_TOKEN\"]\ninstall = '''\n\
             mkdir -p ~/.local/bin; printf '#!/bin/sh\\necho {line} ${{AGENT_TOKEN-none}} \"$@\"\\n' > ~/.local/bin/the-agent\n\
             chmod +x ~/.local/bin/the-agent; test -z \"$AGENT_TOKEN\"\n'''\n"
        ));
    };
    let run = |rest: &[&str]| {
        let words = [&["run", "--engine", engine.name(), "--profile", "agent"], rest].concat();
        let mut call = sandbox.cowbox(&words).env("AGENT_TOKEN", "t");
        if engine.has_images() {
            call = call.env("COWBOX_IMAGE", "localhost/cowbox-test/tiny:latest");
        }
        call.output()
    };
    install("one");
    let image = if engine.has_images() { "localhost/cowbox-test/tiny:latest" } else { "none" };
    let dry = ["prepare", "--dry-run", "--engine", engine.name(), "--image", image, "--profile", "agent"];
    let explained = sandbox.cowbox(&dry).output().ok().stdout();
    assert!(explained.contains("(install, profile agent)"), "{explained}");
    let _ = run(&["--", "hi"]).ok().says("prepared in").prints("one t hi\n");
    let again = run(&[]).ok();
    assert!(!again.stderr().contains("prepared in"), "{}", again.stderr());
    let _ = again.prints("one t\n");
    install("two");
    let _ = run(&[]).ok().says("prepared in").prints("two t\n");
    let _ = run(&["--setup", "none"]).code(127);
    assert_eq!(sandbox.changes(), Vec::<String>::new());
}

fn what_is_wrong_with_a_profile_is_said_before_anything_starts(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_agent(&sandbox, "true");
    let run = |profile: &str| sandbox.run(&["--profile", profile], &[]).output().code(125);
    let _ = run("agnet").says("there is no profile `agnet`").says("did you mean `agent`?");
    fs::remove_dir_all(sandbox.root().join("settings/dir")).unwrap();
    fs::write(sandbox.root().join("settings/dir"), "").unwrap();
    let _ = run("agent").says("is not a directory");
    assert_eq!(sandbox.session_ids(), Vec::<String>::new());
    let none = sandbox.run(&["--profile", "claude", "--network", "none", "--setup", "none"], &["--version"]).output();
    let _ = none.says("profile claude needs api.anthropic.com");
}

fn what_an_image_has_at_that_place_is_kept_beside(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    with_agent(&sandbox, "cat ~/.agent.json ~/.agent.json.image");
    let run = sandbox.cowbox(&["run", "--engine", engine.name(), "--profile", "agent"]);
    let run = run.env("COWBOX_IMAGE", "localhost/cowbox-test/tiny:latest");
    let _ = run.arg("--setup").arg("echo image > ~/.agent.json").output().ok().prints("{}\nimage\n");
}

fn every_user_of_an_image_finds_them(engine: Engine) {
    for image in ["tiny", "tiny-user", "tiny-named"] {
        let sandbox = Sandbox::new(engine).with_image(image);
        with_agent(&sandbox, "cat ~/.config/agent/login && echo x >> ~/.config/agent/login && cat ~/.agent.json");
        let _ = sandbox.run(&["--profile", "agent"], &[]).output().ok().prints("token\n{}\n");
    }
}

fn an_agent_sees_what_native_hides_from_others(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    for name in [".aws", ".kube"] {
        fs::create_dir(sandbox.home().join(name)).unwrap();
        fs::write(sandbox.home().join(name).join("key"), format!("{name}\n")).unwrap();
    }
    fs::write(sandbox.home().join(".netrc"), "machine\n").unwrap();
    sandbox.configure("[profiles.agent]\ncommand = [\"sh\", \"-c\", \"cat ~/.aws/key ~/.netrc; ls ~/.kube; echo x > ~/.netrc\"]\ndirs = [\"~/.aws\"]\nfiles = [\"~/.netrc\"]\n");
    let _ = sandbox.run(&["--profile", "agent"], &[]).output().ok().prints(".aws\nmachine\n");
    assert_eq!(fs::read_to_string(sandbox.home().join(".netrc")).unwrap(), "machine\n");
    let _ = sandbox.run(&[], &["sh", "-c", "cat ~/.netrc; ls ~/.aws"]).output().ok().prints("");
}
