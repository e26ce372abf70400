//! From words to types, and what is said when that fails.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use super::{Cli, GlobalArgs, RunArgs, Verb};
use crate::error::Kind;

/// Parses the arguments.
pub fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = run_alone(args) {
        return Ok(cli);
    }
    Cli::try_parse_from(args)
}

/// `cowbox run …`, which is typed all day, does not wait until the options of every other verb are built.
/// Whatever is wrong with it, or help, is for the whole command to say.
fn run_alone(args: &[OsString]) -> Option<Cli> {
    let is_run = args.get(1).is_some_and(|word| word == "run");
    let alone = is_run.then(|| RunAlone::try_parse_from(args).ok()).flatten()?;
    let OnlyRun::Run(run) = alone.verb;
    Some(Cli { global: alone.global, verb: Verb::Run(run) })
}

#[derive(Parser)]
struct RunAlone {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    verb: OnlyRun,
}

#[derive(Subcommand)]
enum OnlyRun {
    Run(Box<RunArgs>),
}

/// The whole command, for generated documents.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Prints help or a usage error and gives its exit code. A verb that runs a command must not use 2,
/// which could be the command's own: there a wrong usage is "failed before it started".
pub fn report(refused: &clap::Error, args: &[OsString]) -> u8 {
    let _ = refused.print();
    if !refused.use_stderr() {
        return 0;
    }
    let words = args.iter().skip(1).take_while(|word| *word != "--");
    let verbs: Vec<String> = command().get_subcommands().map(|v| v.get_name().to_owned()).collect();
    let verb = words.filter_map(|word| word.to_str()).find(|word| verbs.iter().any(|v| v == word));
    let runs = matches!(verb, Some("run" | "exec" | "shell"));
    if runs { Kind::NotStarted.exit_code() } else { Kind::Usage.exit_code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
        RunAlone::command().debug_assert();
    }

    #[test]
    fn run_alone_reads_what_the_whole_command_reads() {
        let lines = [
            "cowbox run",
            "cowbox run -q --engine native --mount /a:/b:ro --env A=b --timeout 5s -- make run -q",
            "cowbox run --no-input -vv --setup none -- make --engine x",
            "cowbox run --profile claude --network none -C /x --color never",
        ];
        for line in lines {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = Cli::try_parse_from(&args).unwrap();
            assert_eq!(format!("{:?}", run_alone(&args).unwrap()), format!("{whole:?}"), "{line}");
        }
        for line in ["cowbox -q run", "cowbox run --help", "cowbox run --no-such", "cowbox diff", "cowbox"] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(run_alone(&args).is_none(), "{line}");
        }
    }
}
