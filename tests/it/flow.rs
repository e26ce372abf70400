//! The main flow: run, look, discard.

use crate::common::{Engine, Sandbox, on_every_engine, snapshot};

on_every_engine!(run_then_look_then_discard);

fn run_then_look_then_discard(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let ran = sandbox.sh("echo hi > hello.txt; rm README.md");
    snapshot!(ran, @r"
    exit: 0
    --- stderr
    cowbox: [ENGINE] · session api-[NAME]
    cowbox: 2 changes kept · review with `cowbox diff api-[NAME]`
    ");
    snapshot!(sandbox.cowbox(&["diff", "--name-status"]).output(), @r"
    exit: 0
    --- stdout
    D  README.md
    A  hello.txt
    ");
    snapshot!(sandbox.cowbox(&["discard", "-y"]).output(), @r"
    exit: 0
    --- stderr
    cowbox: session api-[NAME] is discarded
    ");
    snapshot!(sandbox.cowbox(&["diff"]).output(), @r"
    exit: 1
    --- stderr
    cowbox: error: there is no session of this repository
    cowbox: hint: start one with `cowbox run`, or see those of other repositories with `cowbox ls --all`
    ");
}
