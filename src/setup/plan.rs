//! What preparing would do, decided and explained: the value between the sources and the runner.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::service::Service;
use crate::policy::environment::Environment;

/// Where the plan comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// `--setup COMMAND`
    Flag,
    /// `setup = …` in the user's configuration.
    Config,
    /// `setup = …` in `.cowbox.toml`.
    RepoFile,
    /// A `devcontainer.json`.
    Devcontainer,
    /// A script or a target that repos have for this by convention.
    Convention,
    /// Lock files and manifests.
    Detection,
    /// Nothing to do, or `--setup none`.
    None,
}

/// Everything to be done before the hand-over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupPlan {
    /// Where it comes from.
    pub source: Option<Source>,
    /// The file that says so, relative to the repo.
    pub config_file: Option<PathBuf>,
    /// Which image.
    pub image: ImageRequest,
    /// Features to lay over the image, in the order of their installation.
    pub features: Vec<FeatureInstall>,
    /// `containerUser`; none: the image's.
    pub container_user: Option<String>,
    /// `remoteUser`: hooks and the command run as this one; none: as `container_user`.
    pub remote_user: Option<String>,
    /// Whether the ids of that user are to be the caller's.
    pub update_remote_user_uid: bool,
    /// Where the repo's root stands inside, and where commands start; none: `/workspace`.
    pub workspace: Option<Workspace>,
    /// Variables of the container.
    pub env: BTreeMap<String, String>,
    /// Variables of hooks and the command alone; `None` unsets. May hold `${containerEnv:…}` still.
    pub remote_env: BTreeMap<String, Option<String>>,
    /// Variables of steps that run once, and of nothing else: they hold secrets.
    pub secret_env: Environment,
    /// How to ask a shell of the user's for more variables.
    pub user_env_probe: EnvProbe,
    /// Volumes and tmpfs of the session, and binds that have the user's consent.
    pub mounts: Vec<MountRequest>,
    /// Further settings of the container that are allowed, or that the user allowed.
    pub container: ContainerOptions,
    /// What runs, in order. Steps of one `parallel_group` run together.
    pub steps: Vec<Step>,
    /// Runtimes that the repo needs, for our own images: `python`, `node`, …
    pub runtimes: Vec<Runtime>,
    /// Secrets that the repo would like to have, by name.
    pub secrets: BTreeMap<String, String>,
    /// Name of the service that the sandbox is, for others to find it by.
    pub service: Option<String>,
    /// Services to start beside the sandbox, each after those that it depends on.
    pub services: Vec<Service>,
    /// What was not done, and the user could allow it.
    pub refused: Vec<Refused>,
    /// What was not done, because it means nothing here.
    pub ignored: Vec<Ignored>,
    /// What the user should know, one line each.
    pub notices: Vec<String>,
    /// Files of the repo that decide what the steps do, relative to its root: part of the key.
    pub inputs: Vec<PathBuf>,
}

/// Which image to start from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ImageRequest {
    /// The plan does not say: what the user configured, else one of ours.
    #[default]
    Default,
    /// A name.
    Named(String),
    /// To be built.
    Build(BuildRequest),
}

/// An image to build. Paths are relative to the repo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildRequest {
    /// The file.
    pub dockerfile: PathBuf,
    /// Its context.
    pub context: PathBuf,
    /// `--build-arg`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// `--target`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `--cache-from`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cache_from: Vec<String>,
    /// Raw arguments that the user allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Where things are inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Where the repo's root stands.
    pub mount: PathBuf,
    /// Where hooks and the command start: `workspaceFolder`.
    pub folder: PathBuf,
}

/// `userEnvProbe`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EnvProbe {
    /// Ask nobody.
    #[default]
    None,
    /// `-lc`
    LoginShell,
    /// `-ic`
    InteractiveShell,
    /// `-lic`
    LoginInteractiveShell,
}

/// One mount that a repo asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MountRequest {
    /// Where inside.
    pub target: String,
    /// What.
    #[serde(flatten)]
    pub what: MountKind,
}

/// What is to be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum MountKind {
    /// A volume of the session, empty at first.
    Volume,
    /// Memory.
    Tmpfs,
    /// A path of the host, with the user's consent.
    Bind {
        /// Host path.
        source: String,
        /// Cannot be written to.
        readonly: bool,
    },
}

/// Settings of a container beyond image, user and mounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerOptions {
    /// `--privileged`, with the user's consent.
    pub privileged: bool,
    /// Added capabilities, those that need consent only with it.
    pub cap_add: Vec<String>,
    /// `--security-opt`, with the user's consent.
    pub security_opt: Vec<String>,
    /// Arguments of `run` from the allow-list or with consent, ready to use.
    pub run_args: Vec<String>,
    /// Start the image's own entrypoint and command in the background: `overrideCommand: false`.
    pub image_command: bool,
    /// What a compose file has instead of the image's entrypoint.
    pub entrypoint: Option<Vec<String>>,
    /// What a compose file has instead of the image's command.
    pub command: Option<Vec<String>>,
    /// Entrypoints of features, to be started in the background.
    pub entrypoints: Vec<String>,
}

/// When something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Hook {
    /// Once.
    OnCreateCommand,
    /// Once.
    UpdateContentCommand,
    /// Once.
    PostCreateCommand,
    /// At every start.
    PostStartCommand,
    /// At every start, after that.
    PostAttachCommand,
    /// Once: a script or command that is not a devcontainer's.
    Setup,
    /// Once: what detection installs.
    Install,
    /// Once: checks that it works.
    Verify,
}

impl Hook {
    /// Runs at every start, not only when the environment is made.
    pub fn is_per_start(self) -> bool {
        matches!(self, Hook::PostStartCommand | Hook::PostAttachCommand)
    }
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepCommand {
    /// For `/bin/sh -c`.
    Shell(String),
    /// As it is, no shell.
    Argv(Vec<String>),
}

/// One thing to run inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// When.
    pub hook: Hook,
    /// Who asks for it: `devcontainer.json`, `feature ./tools`, `the image`, `uv.lock`.
    pub origin: String,
    /// Steps with the same number run at the same time.
    pub parallel_group: Option<u32>,
    /// What.
    #[serde(flatten)]
    pub command: StepCommand,
    /// What to call it.
    pub name: Option<String>,
    /// Tried in order, with a notice, when the command fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<StepCommand>,
    /// Variables of this step alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Directory to run in, relative to where the repo's root stands; none: the workspace folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// A program that must be there; where it is not, the step is left out with a notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// A language runtime with the version that the repo asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Runtime {
    /// `python`, `node`, `rust`, `go`, `ruby`, `java`, `php`, `elixir`, `dotnet`, `deno`, `bun`, `cpp`
    pub name: String,
    /// The version as written in `from`, none if nothing is pinned.
    pub version: Option<String>,
    /// Whether the version is a floor (`requires-python`), not a pin (`.python-version`).
    pub floor: bool,
    /// The file that says so.
    pub from: PathBuf,
}

/// One feature, resolved: where its files are and how to call its `install.sh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureInstall {
    /// As the user wrote it.
    pub id: String,
    /// A short name that is safe in a path.
    pub short: String,
    /// Directory with its files: relative to the repo for local ones, absolute for fetched ones.
    pub dir: PathBuf,
    /// Options as variables.
    pub options: BTreeMap<String, String>,
    /// `containerEnv` of the feature, in the order of its file: `ENV` before its installation.
    pub env: Vec<(String, String)>,
}

/// Something that needs the user's consent and does not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Key in the file: `privileged`, `mounts[0]`, `initializeCommand`.
    pub key: String,
    /// Why, in one sentence.
    pub reason: String,
    /// What exactly is asked for, as one line of text: shown by `cowbox trust`, and what a consent is bound to.
    pub consent: String,
}

/// Something that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Key in the file.
    pub key: String,
    /// Why, in one sentence.
    pub reason: String,
}
