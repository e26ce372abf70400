//! Which session is meant: the latest, a name, an id, the beginning of one.

use std::fs;

use crate::common::{Engine, Sandbox, on, snapshot};
use crate::session::{session, show};

on!(native:
    the_latest_session_of_this_repo_is_meant,
    a_session_is_found_by_name_id_and_unique_prefix,
    a_name_wins_over_what_it_is_the_beginning_of,
    an_ambiguous_prefix_lists_what_it_could_mean,
    an_unknown_session_is_answered_with_a_near_one,
);

fn the_latest_session_of_this_repo_is_meant(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let other = sandbox.home().join("other");
    fs::create_dir(&other).unwrap();
    session(&sandbox, "one", "echo x > one");
    session(&sandbox, "two", "echo x > two");
    sandbox.shell(&["--name", "three"], "echo x > three").current_dir(&other).output().done();
    assert_eq!(sandbox.changes(), ["A  two"], "a session of another repo does not count");
    let there = sandbox.cowbox(&["diff", "--name-status", "-C", other.to_str().unwrap()]);
    there.output().prints("A  three\n").done();
    sandbox.cowbox(&["discard", "-y"]).output().says("two").done();
    assert_eq!(sandbox.changes(), ["A  one"], "a discarded one does not count");
    // With a name it does not matter where we stand.
    sandbox.cowbox(&["diff", "--name-status", "one"]).current_dir("/").output().prints("A  one\n").done();
    sandbox.cowbox(&["discard", "-y"]).output().done();
    let _ = sandbox.cowbox(&["diff"]).output().code(1).says("there is no session of this repository");
}

fn a_session_is_found_by_name_id_and_unique_prefix(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let first = session(&sandbox, "fix-login", "true");
    let second = session(&sandbox, "docs", "true");
    let common = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    for (wanted, id) in [
        ("fix-login", &first),
        ("fix", &first),
        ("f", &first),
        ("docs", &second),
        (&first[..], &first),
        (&first.to_lowercase()[..], &first),
        (&first[..common + 1], &first),
        (&second[..common + 1].to_lowercase(), &second),
    ] {
        assert_eq!(show(&sandbox, wanted)["id"], id.as_str(), "{wanted}");
    }
    for verb in ["diff", "show", "discard"] {
        let _ = sandbox.cowbox(&[verb, ""]).output().code(1).says("cowbox: error: ").says("cowbox ls --all");
        let _ = sandbox.cowbox(&[verb, "nope"]).output().code(1).says("there is no session `nope`");
    }
}

fn a_name_wins_over_what_it_is_the_beginning_of(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let short = session(&sandbox, "fix", "true");
    session(&sandbox, "fix-more", "true");
    assert_eq!(show(&sandbox, "fix")["id"], short.as_str());
}

fn an_ambiguous_prefix_lists_what_it_could_mean(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let ids = [session(&sandbox, "fix-a", "true"), session(&sandbox, "fix-b", "true"), session(&sandbox, "x", "true")];
    for verb in ["show", "diff", "discard"] {
        snapshot!(sandbox.cowbox(&[verb, "fix"]).output(), @r"
        exit: 1
        --- stderr
        cowbox: error: `fix` is the beginning of several sessions: fix-b ([ID]), fix-a ([ID])
        cowbox: hint: type more of the name or of the id
        ");
    }
    // The beginning of an id can mean several as well.
    let _ = sandbox.cowbox(&["show", "0"]).output().code(1).says(&ids[0]).says(&ids[1]).says(&ids[2]);
    let _ = sandbox.cowbox(&["exec", "fix", "--", "true"]).output().code(125).says("several sessions");
    let _ = sandbox.cowbox(&["run", "--resume", "fix", "--", "true"]).output().code(125).says("several sessions");
    // Discarded ones are no longer meant.
    sandbox.cowbox(&["discard", "-y", "fix-a"]).output().done();
    assert_eq!(show(&sandbox, "fix")["name"], "fix-b");
}

fn an_unknown_session_is_answered_with_a_near_one(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    session(&sandbox, "fix-login", "true");
    snapshot!(sandbox.cowbox(&["show", "fix-logn"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: there is no session `fix-logn`
    cowbox: hint: did you mean `fix-login`?
    ");
    snapshot!(sandbox.cowbox(&["exec", "nothing-like-it\u{1b}[31m", "--", "true"]).output(), @r"
    exit: 125
    --- stderr
    cowbox: error: there is no session `nothing-like-it\u{1b}[31m`
    cowbox: hint: `cowbox ls --all` lists them
    ");
}
