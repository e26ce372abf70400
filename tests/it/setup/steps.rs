//! How steps run: nobody to ask, any amount of output, nobody waits for what they leave behind.

use std::fs;
use std::time::{Duration, Instant};

use super::{has_run, with_script};
use crate::common::{Engine, Sandbox, on, on_every_engine};

on_every_engine!(
    there_is_nobody_to_ask,
    what_a_step_leaves_behind_is_not_waited_for,
    any_amount_of_output_is_taken,
    output_is_the_users_to_see_with_v,
);
on!(native: a_live_line_on_a_terminal_says_what_runs, stdout_is_the_commands_alone);

fn there_is_nobody_to_ask(engine: Engine) {
    let sandbox = with_script(
        engine,
        "if read -r line; then echo \"$line\" > made; else echo end > made; fi\ntest -t 0 && exit 1\ncat\n",
    );
    let mut running = sandbox.shell(&[], "cat made; cat").spawn();
    running.write("for the command\n");
    running.expect("for the command");
    running.signal(nix::sys::signal::Signal::SIGTERM);
    let output = running.wait();
    assert!(output.stdout().starts_with("end\nfor the command\n"), "{}", output.stdout());
}

fn what_a_step_leaves_behind_is_not_waited_for(engine: Engine) {
    let sandbox = with_script(engine, "sleep 300 & (while :; do echo busy; done) & echo done > made\n");
    let started = Instant::now();
    sandbox.sh("cat made").ok().prints("done\n").done();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    sandbox.check_leftovers();
}

fn any_amount_of_output_is_taken(engine: Engine) {
    let sandbox = with_script(engine, "yes 0123456789abcdef | head -c 200000000; echo; echo last > made\n");
    let output = sandbox.sh("cat made").ok().prints("last\n");
    assert!(output.stderr().len() < 10_000);
    let dirs = fs::read_dir(sandbox.prepared_dir()).unwrap().map(|entry| entry.unwrap().path());
    let log = dirs.map(|dir| dir.join("logs/01-setup.log")).find(|log| log.exists()).unwrap();
    assert_eq!(log.metadata().unwrap().len(), 200_000_001);
}

fn output_is_the_users_to_see_with_v(engine: Engine) {
    let sandbox = with_script(engine, "echo to out; echo 'to \u{1b}[2Jerr' >&2\n");
    let output = sandbox.shell(&["-v"], "echo mine").output().ok().prints("mine\n");
    let said = output.stderr();
    assert!(said.contains("to out\n") && said.contains("err\n") && !said.contains('\u{1b}'), "{said}");
    sandbox.change_repo(|repo| fs::write(repo.join("setup.sh"), "echo to out\n").unwrap());
    let output = sandbox.sh("true").ok();
    assert!(has_run(&output) && !output.stderr().contains("to out\n"), "{}", output.stderr());
}

fn a_live_line_on_a_terminal_says_what_runs(engine: Engine) {
    let sandbox = with_script(engine, "echo noise; sleep 1.2\n");
    let mut terminal = sandbox.shell(&[], "echo handed over").env("TERM", "xterm").terminal(24, 100);
    terminal.expect("setup 1/1: sh ./setup.sh · 0.");
    terminal.expect("setup 1/1: sh ./setup.sh · 1.");
    terminal.expect("handed over");
    assert_eq!(terminal.wait(), 0);
    assert!(!terminal.screen().contains("noise"), "{}", terminal.screen());
}

fn stdout_is_the_commands_alone(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    sandbox.shell(&["--setup", "echo one; echo two >&2"], "echo mine").output().ok().prints("mine\n").done();
}
