use std::fs;

use super::super::stopping::Stopping;
use super::*;
use crate::session::clock::Clock;
use crate::task::spec;

#[test]
fn a_run_without_a_record_that_can_be_read_is_not_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.yaml");
    fs::write(&file, "id: t\nrepo: {path: .}\nrun: {command: x}\n").unwrap();
    let (task, out) = (spec::read(&file).unwrap(), dir.path().to_path_buf());
    let order = Order { task, from: out.clone(), repeat: 1, batch: "b".to_owned(), out: out.clone() };
    let (state, cache, config) = (out.join("state"), out.join("cache"), out.join("config.toml"));
    let ui = Ui::new(&GlobalArgs { quiet: true, verbose: 0, color: ColorChoice::Never, no_input: true });
    let batch = Batch {
        orders: vec![order],
        options: Options {
            engine: None,
            max_log: 1,
            stream: false,
            clock: Clock::start(),
            stopping: Stopping::new().unwrap().into(),
        },
        jobs: 1,
        fail_fast: false,
        events: None,
        places: Places { state, cache, config, home: None },
        ui: &ui,
    };
    let orders = File::options().write(true).open("/dev/null").unwrap();
    let worker = Worker { pid: rustix::process::getpid(), orders, pipe: None, said: Vec::new() };
    let mut run = worker.give(0).unwrap();
    run.is_done = true;
    fs::write(dir.path().join("run.json"), "half of").unwrap();
    for place in [None, Some(out)] {
        run.dir = place;
        let entry = batch.entry(&run, false).unwrap();
        assert_eq!((entry.task.as_str(), entry.outcome), ("t", Outcome::InfraError));
        assert!(entry.reason.unwrap().starts_with("the run left no record: "));
        assert!(batch.entry(&run, true).is_none(), "whoever was stopped says nothing");
    }
    run.failure = Some("it burns".to_owned());
    assert_eq!(batch.entry(&run, false).unwrap().reason.as_deref(), Some("it burns"));
}
