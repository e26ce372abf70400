//! `runArgs`: some are allowed, some are ours to decide, the rest needs consent.

use std::collections::BTreeMap;

use serde_json::Value;

use super::args::{Argument, take_apart};
use super::ledger::{CONFIG, Ledger};
use super::substitute::Values;
use crate::error::Result;
use crate::setup::plan::ContainerOptions;

/// Options of `run` without a value.
const SWITCHES: &[&str] = &[
    "--init",
    "--privileged",
    "--read-only",
    "--no-healthcheck",
    "--no-hosts",
    "--oom-kill-disable",
    "--publish-all",
    "-P",
    "--rm",
    "--rmi",
    "--detach",
    "-d",
    "--interactive",
    "-i",
    "--tty",
    "-t",
    "--quiet",
    "-q",
    "--replace",
    "--sig-proxy",
    "--disable-content-trust",
    "--env-host",
    "--http-proxy",
    "--passwd",
    "--tls-verify",
    "--use-api-socket",
];
/// Whoever runs the container decides these.
const OURS: &[&str] = &[
    "--name",
    "--rm",
    "--attach",
    "-a",
    "--detach",
    "-d",
    "--interactive",
    "-i",
    "--tty",
    "-t",
    "--quiet",
    "-q",
    "--sig-proxy",
];

/// Decides about all of them. Variables go to `env`. Returns whether `--init` is among them.
pub(super) fn decide(
    raw: &[String],
    values: &Values<'_>,
    ledger: &mut Ledger<'_>,
    options: &mut ContainerOptions,
    env: &mut BTreeMap<String, String>,
) -> Result<bool> {
    let mut init = false;
    for argument in take_apart("runArgs", raw, SWITCHES, values)? {
        let key = format!("runArgs[{}]", argument.place);
        let Some(flag) = argument.flag.as_deref() else {
            ledger.ignore(CONFIG, &key, "not an option: it would take the place of the image");
            continue;
        };
        let value = argument.value.as_deref();
        match (flag, value) {
            ("-e" | "--env", Some(text)) if sets_variable(text) => {
                let (name, value) = text.split_once('=').unwrap_or_default();
                env.insert(name.to_owned(), value.to_owned());
            }
            ("--init", None | Some("true")) => init = true,
            ("-h" | "--hostname", Some(value)) => options.run_args.push(format!("--hostname={value}")),
            ("--shm-size" | "--ulimit" | "--add-host" | "--tmpfs", Some(_)) => options.run_args.push(argument.word()),
            ("--cap-add", Some(name)) if is_free(name) => add_free(options),
            (flag, _) if OURS.contains(&flag) => ledger.ignore(CONFIG, &key, format!("cowbox decides about `{flag}`")),
            _ => {
                if ledger.ask(CONFIG, &key, reason(&argument), &Value::String(argument.shown.clone())) {
                    options.run_args.push(argument.word());
                }
            }
        }
    }
    Ok(init)
}

/// `NAME=VALUE`. A name alone would copy the host's variable.
fn sets_variable(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(char::is_control))
}

fn reason(argument: &Argument) -> &'static str {
    match argument.flag.as_deref() {
        Some("-e" | "--env" | "--env-file" | "--env-host") => "passes variables or files of the host in",
        Some("-v" | "--volume" | "--mount" | "--volumes-from" | "--device") => "mounts files of the host",
        Some("--network" | "--net" | "-p" | "--publish" | "-P" | "--publish-all") => "changes the network",
        _ => "is not known to be harmless",
    }
}

/// A debugger needs this one, and it reaches no further than the container.
const FREE: &str = "SYS_PTRACE";

pub(super) fn is_free(capability: &str) -> bool {
    let name = capability.to_ascii_uppercase();
    name.strip_prefix("CAP_").unwrap_or(&name) == FREE
}

/// Adds it, once.
pub(super) fn add_free(options: &mut ContainerOptions) {
    if options.cap_add.first().is_none_or(|first| first != FREE) {
        options.cap_add.insert(0, FREE.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::ledger::Host;
    use super::*;
    use crate::setup::files::RepoFiles;
    use crate::setup::plan::SetupPlan;

    /// The plan for these arguments, with consent for those that hold one of `allowed`.
    fn plan(raw: &[&str], allowed: &[&str]) -> (SetupPlan, bool) {
        let dir = tempfile::tempdir().unwrap();
        let (env, files) = (BTreeMap::new(), RepoFiles::open(dir.path()).unwrap());
        let consent = |asked: &crate::setup::plan::Refused| allowed.iter().any(|word| asked.consent.contains(word));
        let host = Host { files: &files, env: &env, passed: &env, cpus: || None, memory: || None, consent: &consent };
        let values = Values {
            env: &env,
            secrets: BTreeMap::new(),
            local_folder: String::new(),
            container_folder: None,
            id: String::new(),
            withheld: RefCell::default(),
        };
        let raw: Vec<String> = raw.iter().map(|word| (*word).to_owned()).collect();
        let (mut plan, mut ledger) = (SetupPlan::default(), Ledger::new(&host));
        let init = decide(&raw, &values, &mut ledger, &mut plan.container, &mut plan.env).unwrap();
        ledger.close(&mut plan);
        (plan, init)
    }

    #[test]
    fn the_allowed_ones_are_taken_in_every_spelling() {
        let raw = ["-e", "A=1", "--env=B=2=3", "-eC=", "--shm-size", "1g", "--ulimit=nofile=9", "-h", "box", "--init"];
        let (found, init) = plan(&raw, &[]);
        assert_eq!(found.env.into_iter().map(|(k, v)| k + ":" + &v).collect::<Vec<_>>(), ["A:1", "B:2=3", "C:"]);
        assert_eq!(found.container.run_args, ["--shm-size=1g", "--ulimit=nofile=9", "--hostname=box"]);
        assert!(init && found.refused.is_empty());
        let (found, _) =
            plan(&["--cap-add=SYS_PTRACE", "--cap-add", "cap_sys_ptrace", "--tmpfs=/x", "--add-host=a:b"], &[]);
        assert_eq!(found.container.cap_add, ["SYS_PTRACE"]);
        assert_eq!(found.container.run_args, ["--tmpfs=/x", "--add-host=a:b"]);
    }

    #[test]
    fn every_other_one_is_refused_with_its_value() {
        let raw =
            ["--network", "host", "--privileged", "-v", "/:/host", "--cap-add=ALL", "-e", "SECRET", "-e*", "--init=x"];
        let (found, init) = plan(&raw, &[]);
        let asked: Vec<_> = found.refused.iter().map(|refused| refused.consent.as_str()).collect();
        assert_eq!(
            asked,
            [
                "runArgs: \"--network=host\"",
                "runArgs: \"--privileged\"",
                "runArgs: \"-v=/:/host\"",
                "runArgs: \"--cap-add=ALL\"",
                "runArgs: \"-e=SECRET\"",
                "runArgs: \"-e*\"",
                "runArgs: \"--init=x\"",
            ]
        );
        assert_eq!(found.refused[2].key, "runArgs[3]");
        assert!(!init && found.container == ContainerOptions::default() && found.env.is_empty());
    }

    #[test]
    fn consent_lets_one_through_and_no_other() {
        let (found, _) = plan(&["--device", "/dev/kvm", "--network=host"], &["/dev/kvm"]);
        assert_eq!(found.container.run_args, ["--device=/dev/kvm"]);
        assert_eq!(found.refused.len(), 1);
    }

    #[test]
    fn what_would_confuse_the_engine_is_ignored() {
        let (found, _) = plan(&["image", "--rm", "-it", "--name", "x", "--", ""], &["image", "rm", "x"]);
        assert_eq!(found.ignored.len(), 7);
        assert_eq!(found.container, ContainerOptions::default());
        // Without its streams nobody would hear that the container is up.
        let (found, _) = plan(&["--attach=stdout", "-a", "stdout"], &["attach", "stdout"]);
        assert_eq!(found.ignored.len(), 2);
        assert_eq!(found.container, ContainerOptions::default());
    }
}
