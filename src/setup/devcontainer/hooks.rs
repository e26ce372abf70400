//! Commands in their three forms, and the order in which they run.

use serde_json::{Value, json};

use super::node::{At, Data, Problem};
use super::substitute::Values;
use crate::error::Result;
use crate::setup::plan::{Hook, Step, StepCommand};

/// The hooks that run inside, in order.
pub(super) const HOOKS: [(Hook, &str); 5] = [
    (Hook::OnCreateCommand, "onCreateCommand"),
    (Hook::UpdateContentCommand, "updateContentCommand"),
    (Hook::PostCreateCommand, "postCreateCommand"),
    (Hook::PostStartCommand, "postStartCommand"),
    (Hook::PostAttachCommand, "postAttachCommand"),
];

/// What a hook says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Commands {
    /// Nothing to do.
    #[default]
    Nothing,
    /// One command.
    One(StepCommand),
    /// Commands by name, all at the same time.
    Together(Vec<(String, StepCommand)>),
}

impl Commands {
    /// A string is for a shell, a list is run as it is, an object has several of them.
    pub(super) fn read(at: &At<'_>) -> Result<Self, Problem> {
        if !matches!(at.node.data, Data::Map(_)) {
            let one = command(at, "a string, a list of strings or an object of these")?;
            return Ok(one.map_or(Commands::Nothing, Commands::One));
        }
        let mut named = Vec::new();
        for (name, at) in at.entries()? {
            if at.node.data != Data::Null
                && let Some(command) = command(&at, "a string or a list of strings")?
            {
                named.push((name.to_owned(), command));
            }
        }
        Ok(if named.is_empty() { Commands::Nothing } else { Commands::Together(named) })
    }

    /// The commands with their names.
    pub(super) fn each(&self) -> Vec<(Option<&str>, &StepCommand)> {
        match self {
            Commands::Nothing => Vec::new(),
            Commands::One(command) => vec![(None, command)],
            Commands::Together(named) => named.iter().map(|(name, command)| (Some(name.as_str()), command)).collect(),
        }
    }

    /// As it would be written, for a person: secrets are not in it.
    pub(super) fn shown(&self, values: &Values<'_>) -> Result<Value> {
        let show = |command: &StepCommand| -> Result<Value> {
            Ok(match command {
                StepCommand::Shell(text) => json!(values.shown(text)?),
                StepCommand::Argv(argv) => json!(argv.iter().map(|a| values.shown(a)).collect::<Result<Vec<_>>>()?),
            })
        };
        match self {
            Commands::Nothing => Ok(Value::Null),
            Commands::One(command) => show(command),
            Commands::Together(named) => {
                let entries = named.iter().map(|(name, command)| Ok((name.clone(), show(command)?)));
                entries.collect::<Result<_>>().map(Value::Object)
            }
        }
    }
}

fn command(at: &At<'_>, wanted: &str) -> Result<Option<StepCommand>, Problem> {
    match &at.node.data {
        Data::Text(text) if text.trim().is_empty() => Ok(None),
        Data::Text(text) => Ok(Some(StepCommand::Shell(text.clone()))),
        Data::List(list) if list.is_empty() => Ok(None),
        Data::List(_) => at.strings().map(|argv| Some(StepCommand::Argv(argv))),
        _ => at.must_be(wanted),
    }
}

/// A command with its tokens replaced.
pub(super) fn substituted(command: &StepCommand, values: &Values<'_>) -> Result<StepCommand> {
    Ok(match command {
        StepCommand::Shell(text) => StepCommand::Shell(values.text(text)?),
        StepCommand::Argv(argv) => StepCommand::Argv(values.list(argv)?),
    })
}

/// All steps: hook by hook, and for each hook in the order of `sources` (image, features, config).
pub(super) fn steps(sources: &[(String, &[Commands; 5])], values: &Values<'_>) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut groups = 0;
    for (place, (hook, _)) in HOOKS.into_iter().enumerate() {
        for (origin, hooks) in sources {
            let commands = &hooks[place];
            let parallel_group = matches!(commands, Commands::Together(_)).then(|| {
                groups += 1;
                groups
            });
            for (name, command) in commands.each() {
                steps.push(Step {
                    hook,
                    origin: origin.clone(),
                    parallel_group,
                    command: substituted(command, values)?,
                    name: name.map(str::to_owned),
                    fallbacks: Vec::new(),
                    env: Default::default(),
                    dir: None,
                    needs: None,
                });
            }
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::super::node::Node;
    use super::*;

    fn read(value: Value) -> Result<Commands, String> {
        let node = Node::of(&json!({ "h": value }));
        Commands::read(&At::top(&node).get("h").unwrap()).map_err(|problem| problem.what)
    }

    #[test]
    fn there_are_three_forms() {
        let shell = |text: &str| StepCommand::Shell(text.into());
        let argv = |words: &[&str]| StepCommand::Argv(words.iter().map(|w| (*w).to_owned()).collect());
        assert_eq!(read(json!("a && b")).unwrap(), Commands::One(shell("a && b")));
        assert_eq!(read(json!(["a", "# b"])).unwrap(), Commands::One(argv(&["a", "# b"])));
        let both = Commands::Together(vec![("x".into(), shell("a")), ("y".into(), argv(&["b"]))]);
        assert_eq!(read(json!({ "x": "a", "y": ["b"], "z": " ", "n": [] })).unwrap(), both);
    }

    #[test]
    fn blank_ones_are_none() {
        for nothing in [json!(" \n"), json!([]), json!({}), json!({ "a": "" })] {
            assert_eq!(read(nothing).unwrap(), Commands::Nothing);
        }
    }

    #[test]
    fn other_forms_are_a_problem() {
        assert_eq!(read(json!({ "a": { "b": "c" } })).unwrap_err(), "`h.a` must be a string or a list of strings");
        assert_eq!(read(json!(["a", 1])).unwrap_err(), "`h[1]` must be a string");
        assert!(read(json!(true)).unwrap_err().starts_with("`h` must be"));
    }
}
