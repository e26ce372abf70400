//! The binary: parse, run, exit once.

use std::process::ExitCode;

fn main() -> ExitCode {
    cowbox::run(std::env::args_os())
}
