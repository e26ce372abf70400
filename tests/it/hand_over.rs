//! The hand-over: streams, exit codes, signals and the terminal are the command's.

use crate::common::{Engine, Sandbox, on_every_engine};

on_every_engine!(the_exit_code_is_the_commands_own);

fn the_exit_code_is_the_commands_own(engine: Engine) {
    let sandbox = Sandbox::new(engine);
    let _ = sandbox.sh("exit 0").code(0);
    let _ = sandbox.sh("exit 3").code(3);
}
