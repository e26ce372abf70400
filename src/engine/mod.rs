//! What runs the sandbox: podman, docker, or the kernel itself.

pub mod client;
pub mod detect;
pub mod docker;
pub mod facts;
pub mod guest;
pub mod idmap;
pub mod image;
pub mod native;
pub mod oci;
pub mod passwd;
pub mod podman;
pub mod probe;

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use nix::sys::signal::Signal;
use rustix::process::{Pid, WaitStatus};
use serde::{Deserialize, Serialize};

use client::Client;
use image::ImageFacts;

use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::policy::environment::Environment;
use crate::process::relay::Relay;
use crate::session::Record;
use crate::session::liveness::ProcessId;
use crate::settings::Places;
use crate::ui::Ui;

/// The three engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// podman
    Podman,
    /// docker
    Docker,
    /// The built-in one.
    Native,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Podman => "podman",
            Kind::Docker => "docker",
            Kind::Native => "native",
        })
    }
}

/// What a session remembers of its engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRecord {
    /// Which.
    pub kind: Kind,
    /// Its version; the kernel's for native.
    pub version: String,
    /// Whether it runs without root.
    pub rootless: bool,
}

/// Another command for a live session.
#[derive(Debug)]
pub struct ExecSpec<'a> {
    /// The command; empty for a shell.
    pub command: &'a [OsString],
    /// Its variables.
    pub env: &'a Environment,
    /// User inside, where it is not the session's own.
    pub user: Option<&'a str>,
    /// Directory inside to start in, where it is not the session's own.
    pub workdir: Option<&'a Path>,
    /// Whether it gets a terminal.
    pub terminal: bool,
}

/// Called when the sandbox exists and before its command can run: the place to record it.
pub type OnCreated<'a> = &'a mut dyn FnMut(Option<ProcessId>) -> Result<()>;

/// One engine, ready to use.
pub trait Engine {
    /// What a session remembers of it.
    fn record(&self) -> EngineRecord;

    /// How it presents itself: `podman 4.3.1 (rootless, overlay)`.
    fn describe(&self) -> String;

    /// Refuses what this engine cannot enforce, and gets the image. Nothing has been created yet.
    fn prepare(&self, plan: &mut Plan, ui: &Ui) -> Result<()>;

    /// Its client, for engines that have images.
    fn client(&self) -> Option<&Client>;

    /// What an image says about itself; `None` if it is not here. Nothing is pulled.
    fn image_facts(&self, name: &str) -> Result<Option<ImageFacts>>;

    /// Starts the sandbox. `container` is the name for engines that have names.
    fn start(&self, plan: &Plan, container: &str, created: OnCreated<'_>) -> Result<Box<dyn Sandbox>>;

    /// Whether a started sandbox can be entered.
    fn is_ready(&self, container: &str) -> bool;

    /// Runs another command in a live session.
    fn exec(&self, record: &Record, spec: &ExecSpec<'_>) -> Result<Box<dyn Sandbox>>;

    /// What somebody else has to put before a command to run it in a live session.
    fn exec_prefix(&self, record: &Record) -> Result<Vec<OsString>>;

    /// Ends whatever is left of a sandbox whose supervisor died. Nothing left is fine.
    fn sweep(&self, record: &Record) -> Result<()>;

    /// Hands files below `dir` that a daemon wrote under other ids to the user. Ids of the user's own
    /// range need no such help (`layer::access`).
    fn reclaim(&self, dir: &Path) -> Result<()>;
}

/// A sandbox, or a command in one, that is running.
pub trait Sandbox {
    /// The process whose end is the end of it.
    fn pid(&self) -> Pid;

    /// Passes a signal to the command.
    fn signal(&mut self, signal: Signal);

    /// Ends the whole tree, now.
    fn kill(&mut self);

    /// Whether what a terminal sends to our group reaches the command without our help.
    fn shares_group(&self) -> bool {
        true
    }

    /// The terminal to pass bytes to and from, if that is our job and not a client's.
    fn relay(&mut self) -> Option<&mut Relay> {
        None
    }

    /// The command's exit code from how `pid` ended.
    fn exit_code(&mut self, status: WaitStatus) -> Result<u8>;
}

/// Exit code of a plain process: its own, or 128+n.
pub fn plain_exit_code(status: WaitStatus) -> u8 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code & 0xff) as u8,
        (None, Some(signal)) => ((128 + signal) & 0xff) as u8,
        (None, None) => 125,
    }
}

/// The engine that a session was made with.
pub fn of_session(record: &Record, places: &Places, ui: &Ui) -> Result<Box<dyn Engine>> {
    detect::open(record.engine.kind, places, ui).map_err(|reason| {
        Error::new(format!(
            "session {} was made with {}, which does not work now: {reason}",
            record.name, record.engine.kind
        ))
        .hint("`cowbox doctor` tells how to mend it; the session's changes are safe")
    })
}
