//! A command for a sandbox, and what is wanted of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::gather::Asked;
use crate::session::SessionId;
use crate::task::spec::{Command, Network};

/// A command for the sandbox.
#[derive(Clone, Debug)]
pub struct Job {
    /// What runs; none: the agent's own.
    pub command: Option<Command>,
    /// Variables of its own.
    pub env: BTreeMap<String, String>,
    /// Its network.
    pub network: Network,
    /// How long it may take.
    pub timeout: Duration,
    /// The session that it goes on in.
    pub session: Option<SessionId>,
    /// Whether it stands on what was prepared.
    pub prepared: bool,
    /// Whether it is the agent.
    pub agent: bool,
    /// Whether what it changes is looked at.
    pub compared: bool,
    /// What is wanted of it when it has ended.
    pub asked: Option<Asked>,
}

/// A command on its way into a sandbox.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// What is to run.
    pub job: &'a Job,
    /// What its sandbox says first, if somebody listens.
    pub word: Option<&'a str>,
    /// Told of the sandbox as soon as there is one.
    pub note: &'a Path,
}

/// A command as it is executed.
pub fn argv(command: &Command) -> Vec<OsString> {
    match command {
        Command::Shell(line) => ["/bin/sh", "-c", line].map(Into::into).to_vec(),
        Command::Argv(words) => words.iter().map(Into::into).collect(),
    }
}
