//! Many tasks at once: stopped, killed, gone on with, and nothing lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Tasks;
use crate::common::{Engine, Process, Running, home_layers, on, on_every_engine, wait_until};

on_every_engine!(
    a_batch_that_is_stopped_goes_on_where_it_was,
    many_tasks_with_failures_survive_a_kill,
    every_repetition_is_gone_on_with,
    a_run_whose_process_dies_leaves_nothing,
);
on!(native:
    after_a_failure_fail_fast_begins_nothing,
    one_batch_at_a_time_in_a_directory,
    what_nobody_got_to_is_cleared_away_by_resume,
    runs_one_after_the_other_share_nothing,
    nothing_that_a_run_did_to_its_directories_reaches_the_next,
    a_session_of_a_task_that_is_stopped_is_a_failure,
    a_batch_that_is_stopped_unwatched_goes_on_where_it_was,
    a_batch_whose_processes_are_all_asked_to_end_was_stopped,
    no_run_gives_the_next_more_rights,
    a_run_that_is_killed_at_any_time_is_cleared_away,
    a_run_that_is_killed_in_its_setup_is_cleared_away,
    a_second_signal_says_nothing_about_a_task,
    a_terminal_shows_a_table,
    nothing_of_a_table_stays_on_the_screen,
    events_that_are_lost_are_told_of,
    reports_are_written_in_four_forms
);

const NONE: &str = "repo: {path: ../home/api}\nsetup: {convention: none}\n";

fn a_batch_that_is_stopped_goes_on_where_it_was(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("a-quick", &format!("{NONE}run: {{command: 'true'}}\n"));
    tasks.task("b-slow", &format!("{NONE}run: {{command: 'test -e /tmp/nothing; echo under way; sleep 5'}}\n"));
    tasks.task("c-later", &format!("{NONE}run: {{command: 'true'}}\n"));
    let mut running = tasks.run(&["--events", "-", "--stream"], &["tasks"]).patiently(Duration::from_secs(120)).spawn();
    running.expect("under way");
    running.signal(Signal::SIGINT);
    let output = running.wait().code(130);
    assert!(output.stderr().contains("--resume"), "{output:?}");
    assert_eq!(tasks.runs().len(), 1);
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
    let refused = tasks.run(&[], &["tasks/c-later.yaml"]).output().code(2);
    assert!(refused.stderr().contains("has not ended: 1 of 3 runs have"), "{refused:?}");
    assert!(refused.stderr().contains("--resume"), "{refused:?}");
    let first = tasks.runs().remove(0).dir;
    let output = tasks.run(&["--resume", "runs"], &[]).patiently(Duration::from_secs(120)).output().ok();
    assert!(output.stdout().contains("3 passed"), "{output:?}");
    assert!(tasks.runs().iter().any(|run| run.dir == first), "what had ended is not run again");
    assert_eq!(tasks.runs().len(), 3);
    tasks.nothing_is_left();
    let summary = || -> serde_json::Value {
        serde_json::from_slice(&fs::read(tasks.path("runs/summary.json")).unwrap()).unwrap()
    };
    let took = summary()["duration_ms"].as_u64().unwrap();
    assert!(took >= 5000, "{took} with what it took before");
    let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
    assert!(summary()["duration_ms"].as_u64().unwrap() >= took);
    // Neither other tasks nor another engine are the same batch.
    let other = Engine::ALL.into_iter().find(|other| *other != engine).unwrap().name();
    let resumed = tasks.sandbox.cowbox(&["task", "run", "--resume", "runs", "--engine", other]);
    let _ = resumed.current_dir(tasks.sandbox.root()).output().code(2).says("begun with another engine");
    tasks.task("b-slow", &format!("{NONE}run: {{command: 'true'}}\n"));
    let _ = tasks.run(&["--resume", "runs"], &[]).output().code(2).says("b-slow.yaml has changed since");
    // It has ended now, and another may take its place.
    let _ = tasks.run(&[], &["tasks/c-later.yaml"]).output().ok();
}

/// A tenth takes too long, a tenth has no code.
fn many_tasks_with_failures_survive_a_kill(engine: Engine) {
    let count = if engine == Engine::Native { 50 } else { 20 };
    let tasks = Tasks::new(engine);
    tasks.code("code", &[("x", "x\n")]);
    for number in 0..count {
        let name = format!("t{number:02}");
        let body = match number % 10 {
            3 => {
                "repo: {path: ../code, ref: main}\nenvironment: {timeout: {run: 1s}}\nsetup: {convention: none}\nrun: {command: sleep 60}\n"
            }
            7 => "repo: {path: ../code, ref: missing}\nsetup: {convention: none}\nrun: {command: 'true'}\n",
            _ => "repo: {path: ../code, ref: main}\nsetup: {convention: none}\nrun: {command: cat x}\n",
        };
        tasks.task(&name, body);
    }
    let running = tasks.run(&["-j", "4"], &["tasks"]).spawn();
    wait_until("some have ended", || (tasks.runs().len() >= count / 5).then_some(()));
    running.signal(Signal::SIGKILL);
    drop(running);
    tasks.sandbox.check_leftovers();
    let before: BTreeSet<_> = tasks.runs().into_iter().map(|run| run.dir).collect();
    assert!(before.len() < count, "it was killed in the middle");
    let resumed = tasks.run(&["--resume", "runs", "-j", "4", "--json"], &[]).patiently(Duration::from_secs(900));
    let summary = resumed.output().code(1).json();
    let tenth = count / 10;
    assert_eq!(
        summary["counts"],
        serde_json::json!({"infra-error": tenth, "passed": count - 2 * tenth, "timeout": tenth})
    );
    assert_eq!((&summary["not_run"], summary["runs"].as_array().unwrap().len()), (&0.into(), count));
    let after = tasks.runs();
    assert_eq!(after.len(), count);
    assert!(before.iter().all(|dir| after.iter().any(|run| run.dir == *dir)));
    let names: BTreeSet<_> = after.iter().map(|run| run.record["task"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), count);
    tasks.nothing_is_left();
}

fn every_repetition_is_gone_on_with(engine: Engine) {
    let tasks = Tasks::new(engine);
    // It is never the same, and prints more than is kept.
    let random = "head -c 9000 /dev/zero; cat /proc/sys/kernel/random/uuid | tr -d - | cut -c1-9 > x";
    tasks.task("a", &format!("{NONE}run: {{command: 'sleep 0.2; {random}'}}\n"));
    tasks.task("b", &format!("{NONE}run: {{command: 'sleep 0.3'}}\n"));
    let options = ["-j", "2", "--repeat", "4", "--check", "--max-log", "4k"];
    let running = tasks.run(&options, &["tasks"]).spawn();
    wait_until("some have ended", || (tasks.runs().len() >= 2).then_some(()));
    running.signal(Signal::SIGKILL);
    drop(running);
    tasks.sandbox.check_leftovers();
    let before = tasks.runs().len();
    assert!(before < 8, "it was killed in the middle");
    let resumed = tasks.run(&["--resume", "runs", "-j", "2", "--json"], &[]).patiently(Duration::from_secs(120));
    let output = resumed.output().code(1);
    assert!(output.stderr().contains("a #2: ") && output.stderr().contains("a #4: "), "{output:?}");
    let summary = output.json();
    let runs = summary["runs"].as_array().unwrap().iter();
    let found: Vec<(&str, u64)> =
        runs.map(|run| (run["task"].as_str().unwrap(), run["repeat"].as_u64().unwrap())).collect();
    let all: Vec<(&str, u64)> = ["a", "b"].into_iter().flat_map(|task| (1..=4).map(move |n| (task, n))).collect();
    assert_eq!(found, all);
    assert_eq!(tasks.runs().len(), 8, "{before} had ended already");
    assert!(tasks.runs().iter().all(|run| run.record["max_log"] == 4096), "what was asked for at first counts");
    tasks.nothing_is_left();
}

fn a_run_whose_process_dies_leaves_nothing(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("dies", &format!("{NONE}run: {{command: 'echo under way; sleep 600'}}\n"));
    let options = ["--events", "-", "--stream"];
    let mut running = tasks.run(&options, &["tasks"]).patiently(Duration::from_secs(120)).spawn();
    running.expect("under way");
    for worker in workers(&running) {
        kill(worker, Signal::SIGKILL).unwrap();
    }
    let output = running.wait().code(1);
    assert!(!output.stderr().contains("warning"), "{output:?}");
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(tasks.path("runs/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["runs"][0]["reason"], "the process of the run died");
    // Without `--resume`.
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
}

fn a_second_signal_says_nothing_about_a_task(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.write("data/x", "");
    let body = format!(
        "{NONE}environment: {{mounts: ['../data:/tmp/data']}}\nrun: {{command: \"test ! -e /tmp/data/y || exit 0; trap '' TERM INT; echo under way; while :; do sleep 1; done\"}}\n"
    );
    tasks.task("a-stubborn", &body);
    tasks.task("b-later", &format!("{NONE}run: {{command: 'true'}}\n"));
    let mut running = tasks.run(&["--events", "-", "--stream"], &["tasks"]).spawn();
    running.expect("under way");
    running.signal(Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGINT);
    let _ = running.wait().code(130);
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(tasks.path("runs/summary.json")).unwrap()).unwrap();
    assert_eq!((&summary["counts"], &summary["not_run"]), (&serde_json::json!({}), &2.into()));
    tasks.sandbox.check_leftovers();
    tasks.write("data/y", "");
    let output = tasks.run(&["--resume", "runs"], &[]).output().ok();
    assert!(output.stdout().contains("2 passed"), "{output:?}");
    tasks.nothing_is_left();
}

fn after_a_failure_fail_fast_begins_nothing(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("a", &format!("{NONE}run: {{command: 'true'}}\n"));
    tasks.task("b", &format!("{NONE}run: {{command: 'false'}}\n"));
    tasks.task("c", &format!("{NONE}run: {{command: 'true'}}\n"));
    let output = tasks.run(&["--fail-fast"], &["tasks"]).output().code(1);
    assert!(
        output.stdout().ends_with("1 passed, 1 failed, 1 not run in 0.1s\n") || output.stdout().contains("1 not run")
    );
    assert_eq!(tasks.runs().len(), 2);
}

/// A run has its record before its session goes: whoever is killed between leaves both.
fn what_nobody_got_to_is_cleared_away_by_resume(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("a", &format!("{NONE}run: {{command: 'true'}}\n"));
    let _ = tasks.run(&[], &["tasks"]).output().ok();
    tasks.sandbox.sh("echo x > x").done();
    let session = tasks.sandbox.session_ids().remove(0);
    let run = tasks.runs().remove(0);
    let work = run.dir.join("work");
    let dir = tasks.sandbox.state().join("sessions").join(&session);
    let note = serde_json::json!({
        "session": session, "dir": dir, "container": null, "init": null, "interfaces": null, "limits": {},
    });
    let put_back = || {
        let _ = fs::create_dir(&work);
        fs::write(work.join("batch"), run.record["batch"].as_str().unwrap()).unwrap();
        fs::write(work.join("run.note"), note.to_string()).unwrap();
    };
    put_back();
    let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
    assert!(!work.exists());
    assert_eq!(tasks.sandbox.session_ids(), std::slice::from_ref(&session), "a note makes no session a task's");
    let record = dir.join("session.json");
    let mut said: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    said["task"] = run.record["id"].clone();
    fs::write(&record, said.to_string()).unwrap();
    put_back();
    let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
    assert!(!work.exists());
    assert!(tasks.sandbox.session_ids().is_empty());
    // Killed right before the last step, or between one run and the next in the same directories.
    for (file, directory) in [(None, None), (Some("lock"), None), (Some("lock"), Some("work"))] {
        fs::create_dir(&dir).unwrap();
        file.inspect(|name| fs::write(dir.join(name), "").unwrap());
        directory.inspect(|name| fs::create_dir(dir.join(name)).unwrap());
        put_back();
        let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
        assert!(tasks.sandbox.session_ids().is_empty());
    }
    assert_eq!(tasks.runs().len(), 1, "it is not run again");
}

/// One process does them all: a failure, a death and a long log say nothing about the next.
fn runs_one_after_the_other_share_nothing(engine: Engine) {
    let tasks = Tasks::new(engine);
    let bodies = [
        "run: {command: 'echo one; echo made > made; exit 3'}\nexpect: {exit: 3}\n",
        "run: {command: 'test ! -e made; kill -9 $$'}\n",
        "environment: {env: {A: b}}\nrun: {command: 'echo $A; head -c 300000 /dev/zero'}\n",
        "run: {command: 'test -z \"$A\"; test ! -e made; echo four'}\nartifacts: [made]\n",
    ];
    for (number, body) in bodies.iter().enumerate() {
        tasks.task(&format!("t{number}"), &format!("{NONE}{body}"));
    }
    let _ = tasks.run(&["-j", "1"], &["tasks"]).output().code(1);
    let mut runs = tasks.runs();
    runs.sort_by_key(|run| run.record["task"].as_str().unwrap().to_owned());
    let outcomes: Vec<_> = runs.iter().map(|run| run.record["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["passed", "failed", "passed", "passed"]);
    let printed = |run: usize| fs::read(runs[run].dir.join("logs/run.stdout")).unwrap();
    assert_eq!((printed(0), printed(1), printed(2).len()), (b"one\n".to_vec(), Vec::new(), 300_002));
    assert_eq!(printed(3), b"four\n");
    assert!(fs::read_to_string(runs[0].dir.join("changes.patch")).unwrap().contains("+made"));
    assert_eq!(fs::read(runs[3].dir.join("changes.patch")).unwrap(), b"");
    tasks.nothing_is_left();
}

/// Who stops a session stops its command; the batch goes on, and the run has ended.
fn a_session_of_a_task_that_is_stopped_is_a_failure(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("a", &format!("{NONE}run: {{command: 'echo up; exec sleep 600'}}\n"));
    tasks.task("b", &format!("{NONE}run: {{command: 'true'}}\n"));
    let batch = tasks.run(&["-j", "1"], &["tasks"]).spawn();
    runs_a_session(&tasks);
    let id = tasks.sandbox.session_ids().remove(0);
    let _ = tasks.sandbox.cowbox(&["stop", &id]).output();
    let _ = batch.wait().code(1);
    let mut runs = tasks.runs();
    runs.sort_by_key(|run| run.record["task"].as_str().unwrap().to_owned());
    let outcomes: Vec<_> = runs.iter().map(|run| run.record["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["failed", "passed"]);
    assert_eq!(runs[0].record["exit"], 143);
    tasks.nothing_is_left();
}

/// The same where nobody listens to what happens: the run waits for its sandbox by itself.
fn a_batch_that_is_stopped_unwatched_goes_on_where_it_was(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("a", &format!("{NONE}run: {{command: 'exec sleep 5'}}\n"));
    let batch = tasks.run(&[], &["tasks"]).spawn();
    runs_a_session(&tasks);
    batch.signal(Signal::SIGTERM);
    let _ = batch.wait().code(130);
    assert_eq!(tasks.runs().len(), 0);
    tasks.nothing_is_left();
    tasks.sandbox.check_leftovers();
    let _ = tasks.run(&["--resume", "runs"], &[]).output().ok();
}

/// As a service manager does: whoever hears of it first, none of the runs has come to an end.
fn a_batch_whose_processes_are_all_asked_to_end_was_stopped(engine: Engine) {
    for own_first in [true, false] {
        let tasks = Tasks::new(engine);
        tasks.task("a", &format!("{NONE}run: {{command: 'exec sleep 600'}}\n"));
        let batch = tasks.run(&[], &["tasks"]).spawn();
        runs_a_session(&tasks);
        let run = workers(&batch)[0];
        let ask = || kill(run, Signal::SIGTERM).unwrap();
        if own_first {
            ask();
        }
        batch.signal(Signal::SIGTERM);
        if !own_first {
            ask();
        }
        let _ = batch.wait().code(130);
        assert_eq!(tasks.runs().len(), 0);
        tasks.nothing_is_left();
    }
    // A batch that is busy learns of it last.
    let tasks = Tasks::new(engine);
    tasks.task("a", &format!("{NONE}run: {{command: 'exec sleep 600'}}\n"));
    let batch = tasks.run(&[], &["tasks"]).spawn();
    runs_a_session(&tasks);
    batch.signal(Signal::SIGSTOP);
    batch.signal(Signal::SIGTERM);
    kill(workers(&batch)[0], Signal::SIGTERM).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    batch.signal(Signal::SIGCONT);
    let _ = batch.wait().code(130);
    assert_eq!(tasks.runs().len(), 0);
    tasks.nothing_is_left();
}

/// What a command closes may take more rights to read. Whoever takes them does nothing else.
fn no_run_gives_the_next_more_rights(engine: Engine) {
    let tasks = Tasks::new(engine);
    let who = "id -u; cat /proc/self/uid_map";
    for (number, mode) in ["755", "444", "400", "000", "755"].into_iter().enumerate() {
        tasks.task(&format!("t{number}"), &format!("{NONE}run: {{command: '{who}; chmod {mode} .'}}\n"));
    }
    let _ = tasks.run(&["-j", "1"], &["tasks"]).output().ok();
    let runs = tasks.runs();
    let said: BTreeSet<_> = runs.iter().map(|run| run.text("logs/run.stdout")).collect();
    assert_eq!((runs.len(), said.len()), (5, 1), "{said:?}");
    for run in runs {
        assert!(run.dir.join("changes.json").exists(), "{}", run.record["task"]);
    }
    tasks.nothing_is_left();
}

/// In the middle of a batch, of which the rest goes on; `--resume` clears up, and runs what has no record.
fn a_run_that_is_killed_at_any_time_is_cleared_away(engine: Engine) {
    let tasks = Tasks::new(engine);
    for number in 10..30 {
        tasks.task(&format!("t{number}"), &format!("{NONE}run: {{command: 'true'}}\n"));
    }
    for round in 0..12 {
        let out = format!("runs-{round}");
        let batch = tasks.run(&["-j", "2", "--out", &out], &["tasks"]).spawn();
        wait_until("a run begins", || workers(&batch).first().copied());
        // Somewhere between two steps, of which there are hundreds.
        std::thread::sleep(Duration::from_micros(20_000 + 7_300 * round));
        for run in workers(&batch) {
            let _ = kill(run, Signal::SIGKILL);
        }
        let _ = batch.wait();
        let output = tasks.run(&["--resume", &out], &[]).output();
        assert!(tasks.sandbox.session_ids().is_empty(), "{round}: {output:?}");
        assert_eq!(homes_of(&tasks), Vec::<PathBuf>::new(), "{round}: {output:?}");
        tasks.sandbox.check_leftovers();
    }
}

/// What one run left for the next is not in the way of whoever is killed in that.
fn a_run_that_is_killed_in_its_setup_is_cleared_away(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("a", &format!("{NONE}run: {{command: 'true'}}\n"));
    let setup = "setup: {commands: ['touch made; sleep 6127'], convention: none}\n";
    tasks.task("b", &format!("repo: {{path: ../home/api}}\n{setup}run: {{command: 'true'}}\n"));
    let batch = tasks.run(&["-j", "1"], &["tasks"]).spawn();
    wait_until("the setup runs", || Process::with("sleep\x006127").first().map(|_| ()));
    for run in workers(&batch) {
        kill(run, Signal::SIGKILL).unwrap();
    }
    let output = batch.wait().code(1);
    assert!(tasks.sandbox.session_ids().is_empty(), "{output:?}");
    assert_eq!(homes_of(&tasks), Vec::<PathBuf>::new(), "{output:?}");
}

/// The layers of homes that belong to sessions of the test, each by what it says.
fn homes_of(tasks: &Tasks) -> Vec<PathBuf> {
    let layers = home_layers().into_iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let owners = layers.filter_map(|layer| fs::read_link(layer.path().join("session")).ok());
    owners.filter(|owner| owner.starts_with(tasks.sandbox.state())).collect()
}

/// The processes of a batch that do its runs.
fn workers(batch: &Running) -> Vec<Pid> {
    let pid = batch.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

fn runs_a_session(tasks: &Tasks) {
    let runs = |id: &String| tasks.sandbox.record(id).is_some_and(|record| record["state"] == "running");
    wait_until("a command runs", || tasks.sandbox.session_ids().iter().any(runs).then_some(()));
}

/// Runs that leave nothing have their directories after each other. What they did to those is gone.
fn nothing_that_a_run_did_to_its_directories_reaches_the_next(engine: Engine) {
    let tasks = Tasks::new(engine);
    let looks = "stat -c '%a %Y' .; stat -c %a ~; ls -A ~";
    let bodies = [looks, "chmod 700 . ~; touch -d 2001-02-03 . ~; mkdir d ~/d; touch d/f ~/d/f; rm -r d ~/d", looks];
    for (number, body) in bodies.into_iter().enumerate() {
        let body = serde_json::to_string(body).unwrap();
        tasks.task(&format!("t{number}"), &format!("{NONE}run: {{command: {body}}}\n"));
    }
    let _ = tasks.run(&["-j", "1"], &["tasks"]).output().ok();
    let mut runs = tasks.runs();
    runs.sort_by_key(|run| run.record["task"].as_str().unwrap().to_owned());
    let printed = |run: usize| fs::read_to_string(runs[run].dir.join("logs/run.stdout")).unwrap();
    assert_eq!(printed(0), printed(2));
    assert!(fs::read_to_string(runs[2].dir.join("changes.json")).unwrap().contains("\"changes\": []"));
    let session = |run: usize| runs[run].stage("run")["session"].clone();
    assert!(session(0) != session(1) && session(1) != session(2), "each has a session of its own");
    tasks.nothing_is_left();
}

fn one_batch_at_a_time_in_a_directory(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("slow", &format!("{NONE}run: {{command: 'echo under way; sleep 60'}}\n"));
    let mut running = tasks.run(&["--events", "-", "--stream"], &["tasks"]).spawn();
    running.expect("under way");
    let refused = tasks.run(&[], &["tasks"]).output().code(1);
    assert!(refused.stderr().contains("another batch is running"), "{refused:?}");
    running.signal(Signal::SIGTERM);
    let _ = running.wait().code(130);
}

fn a_terminal_shows_a_table(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("alpha", &format!("{NONE}run: {{command: sleep 2}}\n"));
    tasks.task("beta", &format!("{NONE}run: {{command: sleep 2}}\n"));
    let mut terminal = tasks.run(&["-j", "2"], &["tasks"]).env("TERM", "xterm").terminal(24, 100);
    terminal.expect("2 running · 0 passed · 0 failed · 0 left");
    terminal.expect("run       alpha");
    terminal.expect("2 passed in");
    assert_eq!(terminal.wait(), 0);
}

fn nothing_of_a_table_stays_on_the_screen(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("alpha", &format!("{NONE}run: {{command: sleep 600}}\n"));
    let mut terminal = tasks.run(&[], &["tasks"]).env("TERM", "xterm").terminal(24, 100);
    terminal.expect("run       alpha");
    terminal.send("\u{3}");
    assert_eq!(terminal.wait(), 130);
    let screen = terminal.now().text();
    assert!(screen.contains("stopping; once more to stop at once") && screen.contains("1 not run"), "{screen}");
    assert!(!screen.contains("running") && !screen.contains("left ·"), "{screen}");
    assert!(!screen.contains("^C"), "{screen}");
}

fn events_that_are_lost_are_told_of(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("t", &format!("{NONE}run: {{command: 'true'}}\n"));
    let output = tasks.run(&["--events", "/dev/full"], &["tasks"]).output().code(1);
    assert!(output.stderr().contains("not all events are in /dev/full"), "{output:?}");
    let _ = tasks.run(&["--events", "-", "--json"], &["tasks"]).output().code(2).says("both write to stdout");
    tasks.write("events", "before\n");
    let _ = tasks.run(&["--events", "events"], &["tasks"]).output().ok();
    let events = fs::read_to_string(tasks.path("events")).unwrap();
    assert!(events.starts_with("before\n{") && events.contains("run.ended"), "{events}");
}

fn reports_are_written_in_four_forms(engine: Engine) {
    let tasks = Tasks::new(engine);
    tasks.task("good", &format!("suite: s\n{NONE}run: {{command: 'true'}}\n"));
    tasks.task("bad", &format!("{NONE}run: {{command: 'echo why >&2; exit 9'}}\n"));
    let output = tasks.run(&[], &["tasks"]).output().code(1);
    let read = |name: &str| fs::read_to_string(tasks.path("runs").join(name)).unwrap();
    // What failed comes last, with its log, as one can type it from where one stands.
    let lines = output.stdout();
    let lines: Vec<&str> = lines.lines().map(str::trim).collect();
    assert!(
        lines[0].ends_with("good") && lines[1].ends_with("bad · the command ended with 9 instead of 0"),
        "{lines:?}"
    );
    assert_eq!(fs::read_to_string(tasks.path(lines[2])).unwrap(), "why\n");
    assert!(lines[3].starts_with("1 passed, 1 failed in "));
    assert_eq!(read("summary.txt"), output.stdout().replace(" runs/", " "));
    let log = lines[2].strip_prefix("runs/").unwrap();
    assert!(read("junit.xml").contains(&format!("\n{log}</failure>")));
    assert!(read("report.html").contains(&format!("<a href=\"./{log}\">run.stderr</a>")));
    assert!(read("junit.xml").contains("<testcase classname=\"s\" name=\"good\""));
    assert!(read("report.html").contains("the command ended with 9 instead of 0"));
    let json: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(json["counts"], serde_json::json!({"failed": 1, "passed": 1}));
    assert_eq!((&json["runs"][0]["logs"], &json["runs"][0]["ended_in"]), (&serde_json::json!([log]), &"run".into()));
}
