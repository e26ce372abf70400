//! A task file, as types: what can be written in one is what is here.

mod check;
mod document;
mod either;
mod keep;
mod read;
mod rule;
mod scalar;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
mod url;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use check::{is_commit, is_hex};
pub use read::{digest, read};
pub use scalar::{Size, Span};

/// One task: a command to run on a commit, in an environment, with what is expected of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What the task is called: letters, digits, `-`, `_` and `.`.
    #[cfg_attr(test, schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")))]
    #[serde(deserialize_with = "keep::one::<rule::Id, _>")]
    pub id: String,
    /// The group that it belongs to, for reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// What it works on.
    #[serde(deserialize_with = "check::checked")]
    pub repo: Repo,
    /// What it runs in.
    #[serde(default, deserialize_with = "check::checked")]
    pub environment: Environment,
    /// How that is made ready.
    #[serde(default)]
    pub setup: Setup,
    /// An agent that works on the repo before the command: then the command verifies.
    #[serde(default, deserialize_with = "check::checked", skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The command.
    pub run: Run,
    /// What must come of it.
    #[serde(default, deserialize_with = "check::checked")]
    pub expect: Expect,
    /// Files and folders of the workspace to keep: paths and globs, relative to it.
    #[serde(default, deserialize_with = "keep::each::<rule::Glob, _>", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

/// Where the code comes from: `url` or `path`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Repo {
    /// Where git fetches it from: `https://…`, `ssh://…`, `file:///…` or `host:path`. A directory goes into `path`.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Url, _>", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A directory, relative to the task file. Without `commit` and `ref` it is taken as it is.
    #[serde(default, deserialize_with = "keep::maybe::<rule::HostPath, _>", skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The full id of a commit.
    #[cfg_attr(test, schemars(regex(pattern = r"^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$")))]
    #[serde(default, deserialize_with = "keep::maybe::<rule::Commit, _>", skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A branch or tag: looked up at every run.
    #[serde(
        default,
        deserialize_with = "keep::maybe::<rule::Reference, _>",
        rename = "ref",
        skip_serializing_if = "Option::is_none"
    )]
    pub reference: Option<String>,
    /// Patch files, relative to the task file, applied in order and committed.
    #[serde(default, deserialize_with = "keep::each::<rule::HostPath, _>", skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<PathBuf>,
    /// Whether submodules are checked out too.
    #[serde(default)]
    pub submodules: bool,
}

impl Repo {
    /// Where it comes from, as it was written.
    pub fn from(&self) -> String {
        let path = || self.path.as_deref().unwrap_or(std::path::Path::new("")).to_string_lossy().into_owned();
        self.url.clone().unwrap_or_else(path)
    }
}

/// What the command sees and may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// An image.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Known, _>", skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// A Containerfile to build it from, relative to the task file.
    #[serde(default, deserialize_with = "keep::maybe::<rule::HostPath, _>", skip_serializing_if = "Option::is_none")]
    pub containerfile: Option<PathBuf>,
    /// A devcontainer.json of the repo, relative to its root.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Inside, _>", skip_serializing_if = "Option::is_none")]
    pub devcontainer: Option<PathBuf>,
    /// Where commands start, relative to the workspace.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Inside, _>", skip_serializing_if = "Option::is_none")]
    pub workdir: Option<PathBuf>,
    /// Variables of every stage.
    #[serde(default, deserialize_with = "keep::variables", skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables that are taken from the host, where they are set.
    #[serde(default, deserialize_with = "keep::each::<rule::Variable, _>", skip_serializing_if = "Vec::is_empty")]
    pub env_from_host: Vec<String>,
    /// Network.
    #[serde(default)]
    pub network: Networks,
    /// How long a stage may take.
    #[serde(default)]
    pub timeout: Timeouts,
    /// What it may use.
    #[serde(default)]
    pub resources: Resources,
    /// Further mounts: `SRC:DST[:ro|cow]`, SRC relative to the task file.
    #[serde(default, deserialize_with = "keep::each::<rule::Mount, _>", skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<String>,
    /// The user inside.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Known, _>", skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The OCI runtime.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Runtime, _>", skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

/// Network by stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Networks {
    /// While the environment is made ready.
    #[serde(default = "full")]
    pub setup: Network,
    /// While the command runs.
    #[serde(default = "none")]
    pub run: Network,
}

/// How much network there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Only the loopback.
    None,
    /// As outside.
    Full,
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Network::None => "none",
            Network::Full => "full",
        })
    }
}

fn full() -> Network {
    Network::Full
}

fn none() -> Network {
    Network::None
}

impl Default for Networks {
    fn default() -> Self {
        Self { setup: full(), run: none() }
    }
}

/// How long a stage may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Getting the code.
    pub clone: Span,
    /// Making the environment ready.
    pub setup: Span,
    /// The command.
    pub run: Span,
}

impl Default for Timeouts {
    fn default() -> Self {
        let minutes = |n: u64| Span(std::time::Duration::from_secs(60 * n));
        Self { clone: minutes(10), setup: minutes(30), run: minutes(30) }
    }
}

/// Limits of every stage inside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Processors.
    #[cfg_attr(test, schemars(range(min = 0.01, max = 8192)))]
    #[serde(default, deserialize_with = "scalar::cpus", skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Processes and threads.
    #[cfg_attr(test, schemars(range(min = 1, max = 4194304)))]
    #[serde(default, deserialize_with = "scalar::pids", skip_serializing_if = "Option::is_none")]
    pub pids: Option<u32>,
    /// What the command may write into the workspace; looked at twice a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Size>,
}

/// How the environment is made ready: what the repo says, then `commands`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Whether devcontainer, setup scripts and detection are used.
    #[serde(default)]
    pub convention: Convention,
    /// Commands after that, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// Fixes for old code, before all of it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compat: Vec<Compat>,
}

/// Whether the repo's own way to get ready is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// As `cowbox run` does it.
    #[default]
    Auto,
    /// Only what the task says.
    None,
}

/// A command: a line for the shell, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Command {
    /// For `/bin/sh -c`.
    Shell(String),
    /// As it is executed.
    Argv(Vec<String>),
}

/// A fix for code that is older than its environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Compat {
    /// One of cowbox's own.
    Named(Fix),
    /// The task's own.
    Own(OwnFix),
}

/// The fixes that cowbox knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// Names that moved from `collections` to `collections.abc` in Python 3.10.
    CollectionsAbc,
    /// setuptools below the version that dropped `setup.py install` and `pkg_resources`.
    SetuptoolsCap,
    /// pytest as new as its Python needs.
    PytestBump,
    /// Warnings are no errors.
    SuppressWarnings,
}

/// A fix that comes with the task: `patch` or `script`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnFix {
    /// What reports call it.
    #[serde(deserialize_with = "keep::one::<rule::Filled, _>")]
    pub name: String,
    /// A patch file, relative to the task file.
    #[serde(default, deserialize_with = "keep::maybe::<rule::HostPath, _>", skip_serializing_if = "Option::is_none")]
    pub patch: Option<PathBuf>,
    /// A command that runs in the sandbox, in the workspace.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Filled, _>", skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

/// The agent's stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// What is started; without it the profile's own command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// A profile of the user's.
    #[serde(default, deserialize_with = "keep::maybe::<rule::Filled, _>", skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its network.
    #[serde(default = "full")]
    pub network: Network,
    /// How long it may take.
    #[serde(default = "an_hour")]
    pub timeout: Span,
}

fn an_hour() -> Span {
    Span(std::time::Duration::from_secs(3600))
}

/// The command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// What is run.
    pub command: Command,
    /// What it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Its own variables.
    #[serde(default, deserialize_with = "keep::variables", skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// What must come of the command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Its exit code; 0 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<u8>,
    /// It must fail, in whichever way.
    #[serde(default)]
    pub fail: bool,
    /// The command must fail before the agent has worked.
    #[serde(default)]
    pub failing_baseline: bool,
    /// Tests of a JUnit report that the command writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// Files of the workspace afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ExpectedFile>,
}

/// What a JUnit report must say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// Where the report is, relative to the workspace.
    #[serde(deserialize_with = "keep::one::<rule::Inside, _>")]
    pub report: PathBuf,
    /// Tests that must pass: `class.name` or `name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass: Vec<String>,
    /// Tests that must fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail: Vec<String>,
}

/// What a file must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpectedFile {
    /// Relative to the workspace.
    #[serde(deserialize_with = "keep::one::<rule::Inside, _>")]
    pub path: PathBuf,
    /// Whether it must be there.
    #[serde(default = "yes")]
    pub exists: bool,
    /// Text that it must hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

fn yes() -> bool {
    true
}
