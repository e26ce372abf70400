//! What the command does not get to see or change of the user's own: variables, keys, the home.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Cowbox, Engine, Sandbox, home_layer, on, on_every_engine};
use crate::host::{Canary, in_namespace, outside};
use crate::inside::{background, exec, inside};

on_every_engine!(variables_of_the_host_are_nowhere_to_be_read);

on!(native:
    secrets_of_the_home_are_hidden,
    a_secret_behind_a_link_is_hidden_under_both_names,
    the_list_of_secrets_can_be_changed,
    the_home_is_copy_on_write_and_part_of_the_session,
    a_home_with_a_mount_inside_is_read_only_and_that_is_said,
);

fn variables_of_the_host_are_nowhere_to_be_read(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let secret = "hunter2-the-secret";
    let script = "env; cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'; \
                  cat /run/*env* /run/.*env* /.dockerenv 2>/dev/null; echo done";
    let call = |call: Cowbox| call.env("AWS_SECRET_ACCESS_KEY", secret).env("SSH_AUTH_SOCK", "/run/agent-the-secret");
    let seen = call(sandbox.shell(&["--detach", "--name", "it"], "while :; do sleep 1; done")).output().ok();
    assert!(!seen.stdout().contains(secret));
    for output in [
        call(sandbox.shell(&[], script)).output().ok(),
        call(sandbox.cowbox(&["exec", "it", "--", "sh", "-c", script])).output().ok(),
    ] {
        assert!(output.stdout().ends_with("done\n"));
        assert!(!output.stdout().contains("the-secret"), "{}", output.stdout());
        assert!(!output.stdout().contains("COWBOX_TEST_ID"), "{}", output.stdout());
    }
    sandbox.cowbox(&["stop", "it"]).output().done();
}

/// The secrets of the issue, and what is in them.
const SECRETS: [&str; 20] = [
    ".ssh/id_ed25519",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".azure/token",
    ".kube/config",
    ".netrc",
    ".git-credentials",
    ".config/gcloud/credentials.db",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".mozilla/firefox/x.default/cookies.sqlite",
    ".config/google-chrome/Default/Cookies",
    ".config/chromium/Default/Cookies",
    ".local/share/keyrings/login.keyring",
    ".bash_history",
    ".zsh_history",
    ".python_history",
];

fn put(home: &Path, path: &str, content: &str) {
    let file = home.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

fn secrets_of_the_home_are_hidden(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    SECRETS.iter().for_each(|path| put(&home, path, "chirp\n"));
    put(&home, ".gitconfig", "[user]\n\tname = me\n");
    put(&home, ".docker/other", "not secret\n");
    let canary = Canary::at(&home.join(".ssh"));
    background(&sandbox, &[]);
    let h = home.display();
    let script = format!(
        "cd {h} && grep -rl chirp . ; cat .gitconfig .docker/other; ls -A .ssh .gnupg 2>/dev/null; cat .ssh/id_ed25519 .netrc 2>/dev/null; \
         echo planted > .ssh/authorized_keys; rm -rf .ssh .netrc; mv .config moved; cat moved/gcloud/* 2>/dev/null; echo done"
    );
    for seen in
        [inside(&sandbox, &[], &script), exec(&sandbox, &script), inside(&sandbox, &["--user", "root"], &script)]
    {
        assert!(
            !seen.contains("chirp") && !SECRETS.iter().any(|s| seen.contains(s.rsplit('/').next().unwrap())),
            "{seen}"
        );
        assert!(seen.contains("name = me") && seen.contains("not secret"), "the rest is there: {seen}");
    }
    canary.check();
    sandbox.cowbox(&["stop", "it"]).output().done();
}

fn a_secret_behind_a_link_is_hidden_under_both_names(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    let real = outside();
    put(&home, "dotfiles/ssh/id_rsa", "chirp\n");
    put(real.path(), "netrc", "chirp\n");
    symlink("dotfiles/ssh", home.join(".ssh")).unwrap();
    symlink(real.path().join("netrc"), home.join(".netrc")).unwrap();
    symlink("nowhere", home.join(".aws")).unwrap();
    let script = format!(
        "cd {}; cat .ssh/id_rsa dotfiles/ssh/id_rsa .netrc {}/netrc 2>/dev/null; echo done",
        home.display(),
        real.path().display()
    );
    assert_eq!(inside(&sandbox, &[], &script), "done\n");
}

fn the_list_of_secrets_can_be_changed(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    let real = outside();
    put(&home, ".ssh/id_rsa", "ssh\n");
    put(&home, "work notes/n", "notes\n");
    put(real.path(), "private/p", "private\n");
    let script = format!(
        "cd {}; cat .ssh/id_rsa 'work notes/n' {}/private/p 2>/dev/null; echo done",
        home.display(),
        real.path().display()
    );
    assert_eq!(inside(&sandbox, &[], &script), "notes\nprivate\ndone\n");
    let absolute = real.path().join("private");
    sandbox.configure(&format!("[native]\nmask-more = [\"work notes\", \"{}\", \"no/such\"]\n", absolute.display()));
    assert_eq!(inside(&sandbox, &[], &script), "done\n");
    sandbox.configure("[native]\nmask = [\"work notes\"]\n");
    assert_eq!(inside(&sandbox, &[], &script), "ssh\nprivate\ndone\n");
    sandbox.configure("[native]\nmask = []\n");
    assert_eq!(inside(&sandbox, &[], &script), "ssh\nnotes\nprivate\ndone\n");
    // cowbox's own books are no matter of taste.
    let script = format!("ls -A {}", sandbox.state().display());
    assert_eq!(inside(&sandbox, &[], &script), "");
}

fn the_home_is_copy_on_write_and_part_of_the_session(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = sandbox.home();
    put(&home, ".profile", "mine\n");
    put(&home, "tools/tool", "tool\n");
    let canaries = [Canary::at(&home.join(".profile")), Canary::at(&home.join("tools"))];
    background(&sandbox, &[]);
    assert_eq!(
        exec(
            &sandbox,
            "cat ~/.profile; echo new >> ~/.profile; echo x > ~/made; rm -r ~/tools; mkdir -p ~/.cache/pip; echo $HOME"
        ),
        format!("mine\n{}\n", home.display())
    );
    assert_eq!(exec(&sandbox, "cat ~/.profile ~/made; ls ~/tools 2>/dev/null; echo"), "mine\nnew\nx\n\n");
    sandbox.cowbox(&["stop", "it"]).output().done();
    let id = sandbox.session_ids().remove(0);
    let resumed = sandbox.cowbox(&["run", "--resume", "it", "--", "sh", "-c", "cat ~/.profile ~/made"]);
    resumed.output().prints("mine\nnew\nx\n").done();
    canaries.iter().for_each(Canary::check);
    assert!(!home.join("made").exists());
    assert!(sandbox.changes().is_empty(), "the home is no part of the repo");
    // Another session has a home of its own.
    assert_eq!(inside(&sandbox, &[], "cat ~/.profile; ls ~/made 2>/dev/null; echo"), "mine\n\n");
    sandbox.cowbox(&["discard", "-y", "it"]).output().done();
    assert!(!home_layer(&id).exists());
}

fn a_home_with_a_mount_inside_is_read_only_and_that_is_said(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let home = outside();
    let at = home.path().join("network drive");
    fs::create_dir(&at).unwrap();
    put(home.path(), ".profile", "mine\n");
    put(home.path(), ".ssh/id_rsa", "chirp\n");
    let script = "cat ~/.profile; cat ~/.ssh/id_rsa 2>/dev/null; (echo x > ~/new) 2>/dev/null || echo refused; echo x > in-repo; cat in-repo";
    let run = sandbox.shell(&["--on-exit", "discard"], script).env("HOME", home.path());
    let output = in_namespace(run, &format!("mount -t tmpfs none '{}'", at.display())).output();
    output.says("your home is shown read-only").prints("mine\nrefused\nx\n").done();
    assert!(!home.path().join("new").exists());
}
