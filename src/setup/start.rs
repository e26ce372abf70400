//! What runs at every start, before the command and in the same sandbox: no engine is called for it.

use std::ffi::OsString;

use super::make::argv;
use super::plan::Step;
use super::quote;
use crate::engine::oci::command_or_shell;

/// The command with the steps before it, and `first` before them, as a shell's own lines. Their output goes to stderr,
/// for stdout is the command's.
pub fn wrap(command: &[OsString], first: &str, steps: &[Step]) -> Vec<OsString> {
    if steps.is_empty() && first.is_empty() {
        return command.to_vec();
    }
    let mut script = String::from("fail() { echo \"cowbox: error: $1 failed with exit code $2\" >&2; exit 125; }\n");
    script.push_str(first);
    let groups =
        steps.chunk_by(|a, b| a.parallel_group.is_some() && a.hook == b.hook && a.parallel_group == b.parallel_group);
    for group in groups {
        if let [step] = group {
            script.push_str(&format!("{} || fail {} $?\n", call(step), quote::quote(&name(step))));
            continue;
        }
        // All are started, all are waited for; then the first that failed counts.
        script.push_str("pids=\n");
        for step in group {
            script.push_str(&format!("{} & pids=\"$pids $!\"\n", call(step)));
        }
        let name = quote::quote(&name(&group[0]));
        script.push_str(&format!(
            "bad=0; for p in $pids; do wait $p || bad=$?; done; [ $bad = 0 ] || fail {name} $bad\n"
        ));
    }
    script.push_str("exec \"$@\"\n");
    let mut words: Vec<OsString> = ["/bin/sh", "-c", &script, "cowbox-start"].map(Into::into).to_vec();
    words.extend(command_or_shell(command));
    words
}

fn call(step: &Step) -> String {
    let words: Vec<String> = argv(&step.command).iter().map(|word| quote::quote(&word.to_string_lossy())).collect();
    format!("{} </dev/null >&2", words.join(" "))
}

fn name(step: &Step) -> String {
    let hook = serde_json::to_value(step.hook).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    format!("{hook} of {}", step.origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::plan::{Hook, StepCommand};

    fn step(command: &str, group: Option<u32>) -> Step {
        Step {
            hook: Hook::PostStartCommand,
            origin: "devcontainer.json".into(),
            parallel_group: group,
            command: StepCommand::Shell(command.into()),
            name: None,
            fallbacks: Vec::new(),
            env: std::collections::BTreeMap::new(),
            dir: None,
            needs: None,
        }
    }

    fn run(steps: &[Step]) -> (i32, String, String) {
        let words = wrap(&["echo".into(), "it's".into()], "", steps);
        let output = std::process::Command::new(&words[0]).args(&words[1..]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[test]
    fn steps_come_first_and_stdout_is_the_commands() {
        assert_eq!(wrap(&["x".into()], "", &[]), ["x"]);
        assert_eq!(run(&[step("echo 'a b'", None)]), (0, "it's\n".into(), "a b\n".into()));
        let (code, out, said) = run(&[step("exit 3", None), step("echo never", None)]);
        assert_eq!((code, out.as_str()), (125, ""));
        assert!(
            said.contains("postStartCommand of devcontainer.json failed with exit code 3") && !said.contains("never")
        );
    }

    #[test]
    fn those_of_a_group_run_together_and_are_all_waited_for() {
        let (code, out, said) = run(&[step("exit 4", Some(1)), step("sleep 0.2; echo waited", Some(1))]);
        assert_eq!((code, out.as_str()), (125, ""));
        assert!(said.contains("waited") && said.contains("exit code 4"));
        assert_eq!(run(&[step("true", Some(1)), step("true", Some(1))]).0, 0);
    }
}
