//! Completion as the shells do it: each script is loaded into its own shell, which asks the binary under test.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::common::{Cowbox, Engine, Sandbox, Terminal, on};

on!(native:
    bash_completes_verbs_values_sessions_and_paths,
    zsh_completes_verbs_values_sessions_and_paths,
    fish_completes_verbs_values_sessions_and_paths,
    candidates_follow_the_session_and_where_one_stands,
    a_name_of_the_sandbox_is_never_evaluated,
);

/// A session `work` that changed `src/new.c` and `my file`, and one `other` that changed nothing.
fn sandbox(engine: Engine) -> Sandbox {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--name", "work"], "echo x > src/new.c; echo x > 'my file'; rm build.sh").output().done();
    sandbox.shell(&["--name", "other"], "true").output().done();
    sandbox
}

/// A directory with `cowbox` in it: the binary under test, whatever it is called.
fn bin(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.root().join("bin");
    let _ = fs::create_dir(&dir);
    let program = crate::common::program();
    let _ = symlink(program, dir.join("cowbox"));
    dir
}

/// A shell that has the script, with cowbox in its path.
fn with_shell(sandbox: &Sandbox, name: &str, script: &str) -> Cowbox {
    let file = sandbox.root().join(format!("completion.{name}"));
    fs::write(&file, sandbox.cowbox(&["completions", name]).output().ok().stdout()).unwrap();
    let path = format!("{}:{}", bin(sandbox).display(), std::env::var("PATH").unwrap_or_default());
    sandbox.cowbox(&[]).env("PATH", path).env("SCRIPT", file).env("HOME", sandbox.home()).through(script)
}

/// Types the beginning, presses tab, and has the shell say what the line is now.
#[track_caller]
fn types(terminal: &mut Terminal, begun: &str, whole: &str) {
    terminal.send(begun);
    terminal.send("\t");
    terminal.send("\x01echo \r");
    terminal.expect(&format!("\n{whole}"));
    terminal.expect("ready> ");
}

fn bash_completes_verbs_values_sessions_and_paths(engine: Engine) {
    let sandbox = sandbox(engine);
    let mut bash = with_shell(&sandbox, "bash", "exec bash --norc --noprofile -i").terminal(40, 150);
    bash.enter("PS1='rea''dy> '; source \"$SCRIPT\"");
    bash.expect("ready> ");
    types(&mut bash, "cowbox app", "cowbox apply");
    types(&mut bash, "cowbox run --engine=pod", "cowbox run --engine=podman");
    types(&mut bash, "cowbox diff wo", "cowbox diff work");
    types(&mut bash, "cowbox diff work -- src/n", "cowbox diff work -- src/new.c");
    types(&mut bash, "cowbox apply work -- my", "cowbox apply work -- my file");
    types(&mut bash, "cowbox apply --allow hook", "cowbox apply --allow hook-dir");
    types(&mut bash, "cowbox run --profile cla", "cowbox run --profile claude");
    types(&mut bash, "cowbox show -C /us", "cowbox show -C /usr/");
    bash.enter("exit");
    assert_eq!(bash.wait(), 0);
}

fn zsh_completes_verbs_values_sessions_and_paths(engine: Engine) {
    let sandbox = sandbox(engine);
    let mut zsh = with_shell(&sandbox, "zsh", "exec zsh -f").terminal(40, 150);
    zsh.enter("autoload -Uz compinit; compinit -u -D; source \"$SCRIPT\"; PS1='rea''dy> '");
    zsh.expect("ready> ");
    types(&mut zsh, "cowbox app", "cowbox apply");
    types(&mut zsh, "cowbox run --engine=pod", "cowbox run --engine=podman");
    types(&mut zsh, "cowbox diff wo", "cowbox diff work");
    types(&mut zsh, "cowbox diff work -- src/n", "cowbox diff work -- src/new.c");
    types(&mut zsh, "cowbox apply work -- my", "cowbox apply work -- my file");
    types(&mut zsh, "cowbox apply --allow hook", "cowbox apply --allow hook-dir");
    types(&mut zsh, "cowbox run --profile cla", "cowbox run --profile claude");
    zsh.enter("exit");
    assert_eq!(zsh.wait(), 0);
}

fn fish_completes_verbs_values_sessions_and_paths(engine: Engine) {
    let sandbox = sandbox(engine);
    let complete = |line: &str| {
        let script = format!("exec fish --no-config -c 'source $SCRIPT; complete --do-complete \"{line}\"'");
        let said = with_shell(&sandbox, "fish", &script).output().ok().stdout();
        said.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(complete("cowbox app"), ["apply"]);
    assert_eq!(complete("cowbox run --engine=pod"), ["--engine=podman"]);
    assert_eq!(complete("cowbox diff wo"), ["work"]);
    assert_eq!(complete("cowbox diff work -- src/n"), ["src/new.c"]);
    assert_eq!(complete("cowbox apply work -- my"), ["my file"]);
    assert_eq!(complete("cowbox apply --allow hook"), ["hook-dir"]);
    assert_eq!(complete("cowbox run --profile cla"), ["claude"]);
}

/// What the binary says, without what it says about it.
fn asked(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let all = [&["__complete", "fish", "cowbox"], words].concat();
    let said = sandbox.cowbox(&all).output().ok().stdout();
    said.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

fn candidates_follow_the_session_and_where_one_stands(engine: Engine) {
    let sandbox = sandbox(engine);
    assert_eq!(asked(&sandbox, &["diff", ""]), ["words", "other", "work"]);
    assert_eq!(asked(&sandbox, &["run", "--resume", ""]), ["words", "other", "work"]);
    assert_eq!(asked(&sandbox, &["exec", ""]), ["words"], "none runs");
    assert_eq!(asked(&sandbox, &["diff", "work", "--", ""]), ["paths", "build.sh", "my file", "src/"]);
    assert_eq!(asked(&sandbox, &["diff", "--", ""]), ["paths"], "the latest changed nothing");
    let src = sandbox.repo().join("src");
    assert_eq!(asked(&sandbox, &["diff", "-C", src.to_str().unwrap(), "work", "--", ""]), ["paths", "new.c"]);
    assert_eq!(asked(&sandbox, &["diff", "work", "--", "src/../my"]), ["paths", "src/../my file"]);
    assert_eq!(asked(&sandbox, &["diff", "work", "--", "../"]), ["paths", "../build.sh", "../my file", "../src/"]);
    sandbox.cowbox(&["discard", "-y", "work"]).output().done();
    assert_eq!(asked(&sandbox, &["diff", ""]), ["words", "other"]);
    let away = sandbox.root().to_str().unwrap();
    assert_eq!(asked(&sandbox, &["diff", "-C", away, ""]), ["words", "other"], "elsewhere all are offered");
    sandbox.configure("[profiles.mine]\ncommand = [\"x\"]\nabout = \"of my own\"\n");
    assert_eq!(asked(&sandbox, &["run", "--profile", "mi"]), ["words", "mine"]);
}

fn a_name_of_the_sandbox_is_never_evaluated(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let script = "touch 'n$(touch pwned)' 'n`touch pwned`' 'n;touch pwned' \"$(printf 'n\\033[31m')\" \"$(printf 'n\\nx')\"; ln -s / out";
    sandbox.shell(&["--name", "work"], script).output().done();
    let offered = asked(&sandbox, &["diff", "--", "n"]);
    assert_eq!(offered, ["paths", "n$(touch pwned)", "n;touch pwned", "n`touch pwned`"]);
    assert_eq!(asked(&sandbox, &["diff", "--", "out/"]), ["paths"], "links are not followed");
    let mut bash = with_shell(&sandbox, "bash", "exec bash --norc --noprofile -i").terminal(40, 150);
    bash.enter("PS1='rea''dy> '; source \"$SCRIPT\"");
    bash.expect("ready> ");
    types(&mut bash, "cowbox diff -- 'n$", "cowbox diff -- n$(touch pwned)");
    types(&mut bash, "cowbox diff -- n\\$", "cowbox diff -- n$(touch pwned)");
    types(&mut bash, "cowbox diff -- n\\;", "cowbox diff -- n;touch pwned");
    types(&mut bash, "cowbox diff -- n\\`", "cowbox diff -- n`touch pwned`");
    let mut zsh = with_shell(&sandbox, "zsh", "exec zsh -f").terminal(40, 150);
    zsh.enter("autoload -Uz compinit; compinit -u -D; source \"$SCRIPT\"; PS1='rea''dy> '");
    zsh.expect("ready> ");
    types(&mut zsh, "cowbox diff -- n\\$", "cowbox diff -- n$(touch pwned)");
    types(&mut zsh, "cowbox diff -- n\\;", "cowbox diff -- n;touch pwned");
    zsh.enter("exit");
    assert_eq!(zsh.wait(), 0);
    bash.enter("exit");
    assert_eq!(bash.wait(), 0);
    let found = |dir: PathBuf| dir.join("pwned").exists();
    assert!(!found(sandbox.repo().to_path_buf()) && !found(sandbox.root().to_path_buf()) && !found(sandbox.home()));
}

#[test]
fn the_scripts_in_the_repository_are_what_the_binary_prints() {
    let sandbox = Sandbox::bare();
    let files = [
        ("bash", include_str!("../../completions/cowbox.bash")),
        ("zsh", include_str!("../../completions/_cowbox")),
        ("fish", include_str!("../../completions/cowbox.fish")),
    ];
    for (shell, text) in files {
        let _ = sandbox.cowbox(&["completions", shell]).output().ok().prints(text);
    }
}

#[test]
fn a_thousand_sessions_and_broken_records_do_not_slow_it_down() {
    let sandbox = Sandbox::bare();
    let sessions = sandbox.state().join("sessions");
    for number in 0..1000 {
        let dir = sessions.join(format!("01J0000000000000000000{number:04}"));
        fs::create_dir_all(&dir).unwrap();
        let record = serde_json::json!({
            "format": 1, "id": dir.file_name().unwrap().to_str().unwrap(), "name": format!("s{number:04}"),
            "state": "stopped", "repo": sandbox.repo(), "command": ["make", "test"], "history": vec!["x"; 200],
        });
        let text = if number % 100 == 7 { "{".to_owned() } else { record.to_string() };
        fs::write(dir.join("session.json"), text).unwrap();
    }
    fs::set_permissions(&sessions, fs::Permissions::from_mode(0o700)).unwrap();
    let times = (0..5).map(|_| {
        let start = Instant::now();
        let offered = asked(&sandbox, &["diff", ""]);
        assert!(offered.len() > 40 && offered[1] == "s0999", "{offered:?}");
        start.elapsed()
    });
    let best = times.min().unwrap();
    // No sessions that the end of the test could discard.
    fs::remove_dir_all(sandbox.state()).unwrap();
    // The time that a scan may take is bounded; a busy machine and an unoptimised binary still start slowly.
    assert!(best < Duration::from_millis(200), "{best:?}");
}
