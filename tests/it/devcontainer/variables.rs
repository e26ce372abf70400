//! Variables: of the container, of hooks and command, of the user's shell, and of the host.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{built, run, up, with};
use crate::common::{Engine, on_containers, on_every_engine};

on_every_engine!(variables_arrive_and_null_unsets, only_harmless_ones_of_the_host_are_put_in);
on_containers!(what_the_user_s_shell_sets_is_there, a_shell_that_hangs_is_given_up, the_label_of_the_image_comes_first,);

fn variables_arrive_and_null_unsets(engine: Engine) {
    let sandbox = with(
        engine,
        json!({
            "containerEnv": { "A": "of the container", "BOTH": "container", "GONE": "there" },
            "remoteEnv": { "BOTH": "remote $HOME", "GONE": null, "PATH": "${containerEnv:PATH}:/extra", "IN": "[${containerEnv:A}]" },
            "postCreateCommand": "echo \"$A|$BOTH|${GONE-unset}|$IN\" > hook",
            "postStartCommand": "echo \"$A|$BOTH|${GONE-unset}|$IN\" > start",
        }),
    );
    let script = "cat hook start; echo \"$A|$BOTH|${GONE-unset}|$IN\"; echo $PATH";
    let expected = "of the container|remote $HOME|unset|[of the container]\n";
    for options in [&[][..], &["--env", "A=given"]] {
        let printed = up(&sandbox, options, script).output().ok().stdout();
        let lines: Vec<&str> = printed.lines().collect();
        let with_a =
            expected.replacen("of the container", if options.is_empty() { "of the container" } else { "given" }, 1);
        assert_eq!(lines[0], expected.trim_end());
        assert!(lines[2].starts_with(with_a.split("|[").next().unwrap()), "{printed}");
        assert!(lines[3].ends_with(":/extra") && lines[3].contains("/bin:") && !lines[3].contains('$'), "{printed}");
    }
    // The same where a session goes on.
    let name = sandbox.record(&sandbox.session_ids()[0]).unwrap()["name"].as_str().unwrap().to_owned();
    let resumed =
        sandbox.cowbox(&["run", "--resume", &name, "--", "sh", "-c", "echo \"$BOTH|${GONE-unset}\"; echo $PATH"]);
    let printed = resumed.output().ok().stdout();
    assert!(printed.starts_with("remote $HOME|unset\n") && printed.ends_with(":/extra\n"), "{printed}");
}

fn only_harmless_ones_of_the_host_are_put_in(engine: Engine) {
    let sandbox = with(
        engine,
        json!({
            "remoteEnv": { "L": "${localEnv:LANG}", "S": "${localEnv:SECRET_TOKEN}", "D": "${localEnv:SECRET_TOKEN:https://x/y}" },
            "containerEnv": { "C": "<${env:SECRET_TOKEN}>", "W": "${localWorkspaceFolderBasename}" },
            "postCreateCommand": "echo ${localEnv:SECRET_TOKEN} > leak; env >> leak",
        }),
    );
    let script = "echo \"$L|$S|$D|$C|$W\"; grep -c planted leak; env | grep -c planted";
    let run = up(&sandbox, &[], script).env("SECRET_TOKEN", "planted-by-the-test");
    let output = run.output().code(1).prints("C.UTF-8||https://x/y|<>|api\n0\n0\n");
    let output = output.says("variables of the host are not passed in: `SECRET_TOKEN`");
    assert!(!output.stderr().contains("planted"));
}

fn what_the_user_s_shell_sets_is_there(engine: Engine) {
    let lines = "RUN echo 'export FROM_PROFILE=\"of the profile\" PATH=$PATH:/opt/tool' > /root/.profile";
    let config = json!({ "remoteUser": "root", "postCreateCommand": "echo $FROM_PROFILE > hook" });
    let sandbox = built(engine, lines, config);
    let output = up(&sandbox, &[], "cat hook; echo $FROM_PROFILE; echo $PATH").output().ok().stdout();
    assert!(output.starts_with("of the profile\nof the profile\n") && output.ends_with(":/opt/tool\n"), "{output}");
    let without = up(&sandbox, &["--env", "FROM_PROFILE=given"], "echo $FROM_PROFILE").output().ok();
    let _ = without.prints("given\n");
}

fn a_shell_that_hangs_is_given_up(engine: Engine) {
    let lines = "RUN echo 'sleep 1000' > /root/.profile";
    let config = json!({ "remoteUser": "root", "postCreateCommand": "echo x > made" });
    let sandbox = built(engine, lines, config);
    let started = Instant::now();
    let output = run(&sandbox, &[], &["cat", "made"]).output().ok().prints("x\n");
    let _ = output.says("did not tell its variables");
    assert!(started.elapsed() < Duration::from_secs(45), "{:?}", started.elapsed());
}

fn the_label_of_the_image_comes_first(engine: Engine) {
    let label = json!([
        { "remoteEnv": { "FROM": "label", "ONLY": "label" }, "postCreateCommand": "echo label >> order" },
        { "postStartCommand": "echo label starts >> order", "privileged": true },
    ]);
    let lines = format!("LABEL devcontainer.metadata='{label}'");
    let config =
        json!({ "remoteEnv": { "FROM": "file" }, "postCreateCommand": "echo file >> order", "remoteUser": "root" });
    let sandbox = built(engine, &lines, config);
    let output = up(&sandbox, &[], "cat order; echo $FROM $ONLY").output().ok();
    let _ = output.prints("label\nfile\nlabel starts\nfile label\n").says("left out: privileged");
}
