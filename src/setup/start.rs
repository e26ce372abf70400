//! What runs at every start, before the command and in the same sandbox: no engine is called for it.

use std::ffi::OsString;

use super::make::argv;
use super::plan::Step;
use super::quote;
use crate::engine::oci::command_or_shell;

/// Where what runs in the background talks to: the terminal is the command's.
const LOG: &str = "/tmp/cowbox-background.log";

/// What runs in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct Background<'a> {
    /// Entrypoints of features.
    pub entrypoints: &'a [String],
    /// The image's own command.
    pub own: &'a [String],
}

/// The command with what comes before it: `first`, as a shell's own lines, what runs in the background, then the steps.
/// Their output goes to stderr, for stdout is the command's.
pub fn wrap(command: &[OsString], first: &str, steps: &[Step], background: Background<'_>) -> Vec<OsString> {
    let Background { entrypoints, own } = background;
    if steps.is_empty() && first.is_empty() && entrypoints.is_empty() && own.is_empty() {
        return command.to_vec();
    }
    let mut script = String::from(first);
    script.push_str(&start_in_background(entrypoints, own));
    script.push_str("fail() { echo \"cowbox: error: $1 failed with exit code $2\" >&2; exit 125; }\n");
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

/// Starts what is to go on beside the command. It is nobody's child then, and pid 1 looks after it. An entrypoint
/// gets a moment to come to its end: most start something and return. One that fails is not the command's trouble.
fn start_in_background(entrypoints: &[String], own: &[String]) -> String {
    if entrypoints.is_empty() && own.is_empty() {
        return String::new();
    }
    let mut script = format!("log={LOG}; (: >>$log) 2>/dev/null || log=/dev/null\n");
    for entrypoint in entrypoints {
        script.push_str(&format!(
            "p=$(/bin/sh -c {} </dev/null >>$log 2>&1 & echo $!); n=0\n\
             while [ $n -lt 50 ] && kill -0 $p 2>/dev/null; do sleep 0.1 2>/dev/null || sleep 1; n=$((n+1)); done\n",
            quote::quote(entrypoint)
        ));
    }
    if !own.is_empty() {
        let words: Vec<String> = own.iter().map(|word| quote::quote(word)).collect();
        script.push_str(&format!("({} </dev/null >>$log 2>&1 &)\n", words.join(" ")));
    }
    script
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
        run_with(steps, &[], &[])
    }

    fn run_with(steps: &[Step], entrypoints: &[&str], own: &[&str]) -> (i32, String, String) {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let words = wrap(
            &["echo".into(), "it's".into()],
            "",
            steps,
            Background { entrypoints: &owned(entrypoints), own: &owned(own) },
        );
        // Not of this machine.
        let words: Vec<OsString> = words.iter().map(|w| w.to_str().unwrap().replace(LOG, "/dev/null").into()).collect();
        let output = std::process::Command::new(&words[0]).args(&words[1..]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[test]
    fn steps_come_first_and_stdout_is_the_commands() {
        assert_eq!(wrap(&["x".into()], "", &[], Background::default()), ["x"]);
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

    #[test]
    fn what_goes_on_in_the_background_says_nothing_and_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let entrypoint = format!("echo loud; echo 'a b' > {}; exit 3", place("entry"));
        let own = format!("echo loud; echo $0 > {}; sleep 3", place("own"));
        let started = std::time::Instant::now();
        let entry = format!("cat {}", place("entry"));
        let ended = run_with(&[step(&entry, None)], &[&entrypoint], &["sh", "-c", &own, "it's"]);
        assert_eq!(ended, (0, "it's\n".into(), "a b\n".into()));
        assert!(started.elapsed().as_millis() < 2500);
    }
}
