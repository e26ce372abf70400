//! A service beside the sandbox, decided: what runs, and when it counts as there.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::plan::{BuildRequest, ContainerOptions};

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Its name, which is also its host name.
    pub name: String,
    /// Its image; none until it is built.
    pub image: Option<String>,
    /// How to build it.
    pub build: Option<BuildRequest>,
    /// What replaces the entrypoint of its image.
    pub entrypoint: Option<Vec<String>>,
    /// Its command.
    pub command: Option<Vec<String>>,
    /// Directory to start in.
    pub working_dir: Option<String>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// User.
    pub user: Option<String>,
    /// Volumes of the session.
    pub volumes: Vec<Volume>,
    /// Memory, at these places inside.
    pub tmpfs: Vec<String>,
    /// Paths of the host, with the user's consent.
    pub binds: Vec<Bind>,
    /// Further settings that are allowed, or that the user allowed.
    #[serde(skip)]
    pub container: ContainerOptions,
    /// When others may begin.
    pub condition: Condition,
    /// How to ask it whether it is well; none: as its image says.
    pub health: Option<Health>,
}

/// A volume of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// Where inside.
    pub target: String,
    /// Services that name the same one share it; none: nobody does.
    pub name: Option<String>,
}

/// A path of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bind {
    /// Where on the host.
    pub source: String,
    /// Where inside.
    pub target: String,
    /// Cannot be written to.
    pub readonly: bool,
}

/// What somebody who depends on a service waits for. Ordered: the last is the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// That it was started.
    #[default]
    Started,
    /// That its health check succeeds.
    Healthy,
    /// That it has ended well.
    Completed,
}

/// A health check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// What is executed in the service's container.
    pub test: Vec<String>,
    /// How long it may go on failing.
    pub patience: Duration,
}

impl Health {
    /// By compose's rules: it may fail for the whole of its start period, and `retries` times after that.
    /// Never for longer than a person would wait.
    pub fn new(test: Vec<String>, start: Duration, interval: Duration, timeout: Duration, retries: u32) -> Self {
        let most = Duration::from_secs(600);
        let all = (interval.min(most) + timeout.min(most)).saturating_mul(retries.min(1000)).min(most);
        Self { test, patience: (start.min(most) + all).clamp(Duration::from_secs(5), most) }
    }

    /// A test as compose and images write it; none where it says that there is none.
    pub fn test(words: &[String]) -> Option<Vec<String>> {
        match words.split_first() {
            Some((first, rest)) if first == "CMD" && !rest.is_empty() => Some(rest.to_vec()),
            Some((first, [script])) if first == "CMD-SHELL" => {
                Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), script.clone()])
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_check_may_fail_for_a_while_and_not_for_ever() {
        let seconds = Duration::from_secs;
        let patience = |start, interval, timeout, retries| {
            Health::new(vec![], seconds(start), seconds(interval), seconds(timeout), retries).patience
        };
        assert_eq!(patience(10, 5, 1, 3), seconds(28));
        assert_eq!(patience(0, 0, 0, 0), seconds(5));
        assert_eq!(patience(u64::MAX, u64::MAX, u64::MAX, u32::MAX), seconds(600));
    }

    #[test]
    fn a_test_is_a_command_a_script_or_none() {
        let test = |words: &[&str]| Health::test(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(test(&["CMD", "pg_isready", "-q"]).unwrap(), ["pg_isready", "-q"]);
        assert_eq!(test(&["CMD-SHELL", "a | b"]).unwrap(), ["/bin/sh", "-c", "a | b"]);
        assert_eq!((test(&["NONE"]), test(&[]), test(&["CMD"])), (None, None, None));
    }
}
