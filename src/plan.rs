//! What to run, decided: the value between settings and engine. Nothing in here is a question any more.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::policy::limits::Limits;
use crate::policy::mounts::Access;
use crate::setup::plan::{ContainerOptions, Step};
use crate::setup::service::Service;

/// One sandbox to start.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Host path of the repo.
    pub repo: PathBuf,
    /// What preparing wrote into it: a layer over the repo, below what the command writes.
    pub setup_layer: Option<PathBuf>,
    /// Layers over the repo that are below all of that, the topmost first: fixes that a task makes to it.
    pub below: Vec<PathBuf>,
    /// Which prepared environment that is.
    pub setup_key: Option<String>,
    /// The image that it was made from.
    pub setup_image: Option<String>,
    /// What preparing wrote into the home (native): a layer over it.
    pub home_layer: Option<PathBuf>,
    /// Where the repo stands inside.
    pub workspace: PathBuf,
    /// Where the command starts, inside.
    pub workdir: PathBuf,
    /// The profile whose agent it is.
    pub profile: Option<String>,
    /// The command; empty for a shell.
    pub command: Vec<OsString>,
    /// What runs in the sandbox before it, at every start.
    pub before: Vec<Step>,
    /// Its variables.
    pub env: Environment,
    /// Names of those that `--env` gave: they are the command's alone.
    pub given: Vec<OsString>,
    /// Network.
    pub network: Network,
    /// Limits.
    pub limits: Limits,
    /// `--user`
    pub user: Option<String>,
    /// Who the steps of the setup are, where that is not who the command is.
    pub setup_user: Option<String>,
    /// `--runtime`
    pub runtime: Option<String>,
    /// Image of podman or docker.
    pub image: Option<String>,
    /// Further mounts, in order.
    pub mounts: Vec<Mount>,
    /// Memory, at these places inside.
    pub tmpfs: Vec<PathBuf>,
    /// What a devcontainer wants of its container, as far as it may.
    pub container: ContainerOptions,
    /// What the image starts by itself, to be started in the background before the command.
    pub own_command: Vec<String>,
    /// Name of the service that the sandbox is, for those beside it.
    pub service: Option<String>,
    /// What runs beside the sandbox.
    pub services: Vec<Service>,
    /// What their volumes begin with, and what becomes of them.
    pub service_data: ServiceData,
    /// The user of the image in whose place the caller is (docker): what is that user's becomes the caller's.
    pub account: Option<String>,
    /// A gitdir that lies outside of the repo: always copy-on-write.
    pub gitdir: Option<GitMount>,
    /// Whether the command gets a terminal.
    pub terminal: bool,
    /// The changes will be thrown away at the end, so nothing need ever reach the disk.
    pub ephemeral: bool,
    /// What native hides, relative to home or absolute.
    pub masked: Vec<PathBuf>,
    /// Where an engine's client writes instead of our own streams: for trial runs.
    pub log: Option<PathBuf>,
    /// What the helper of a container says on stderr before the command, with the network that it finds: whoever reads
    /// the stream knows then that the command was started, and in what.
    pub announce: Option<String>,
    /// The session's own directory on the host.
    pub session_dir: PathBuf,
    /// cowbox's state and cache, never shown inside.
    pub private_dirs: Vec<PathBuf>,
}

/// The volumes of services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServiceData {
    /// Empty at first, and gone with the sandbox.
    #[default]
    Fresh,
    /// Of the environment of this name, which is being prepared: they stay with it.
    Making(String),
    /// Copies of those of an environment, gone with the sandbox.
    CopyOf {
        /// Its name.
        id: String,
        /// What the engine calls its volumes.
        names: Vec<String>,
    },
}

/// One mount of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Canonical host path.
    pub source: PathBuf,
    /// Path inside.
    pub target: PathBuf,
    /// How.
    pub access: Access,
}

/// The gitdir of a linked worktree or of a submodule on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitMount {
    /// Host path of the shared gitdir.
    pub source: PathBuf,
    /// Where `.git` will look for it inside.
    pub target: PathBuf,
    /// A config with the right working tree, to lie in its layer from the start.
    pub config: Option<Vec<u8>>,
}

/// One overlay: what is below, and the two directories of the layer on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// What is shown, the topmost first; the last one is a directory of the host.
    pub lowers: Vec<PathBuf>,
    /// Where inside.
    pub target: PathBuf,
    /// The writable layer.
    pub upper: PathBuf,
    /// The kernel's scratch directory.
    pub work: PathBuf,
    /// Leave out every sync: for layers that nobody will read after a power failure.
    pub volatile: bool,
}

impl Overlay {
    /// The directory of the host at the bottom.
    pub fn bottom(&self) -> &Path {
        self.lowers.last().map_or(Path::new(""), PathBuf::as_path)
    }
}

impl Plan {
    /// What is executed: the command, with what comes before it.
    pub fn argv(&self) -> Vec<OsString> {
        let first = self.profile.as_ref().map(|_| crate::profile::start::script(&self.mounts));
        let background =
            crate::setup::start::Background { entrypoints: &self.container.entrypoints, own: &self.own_command };
        crate::setup::start::wrap(&self.command, first.as_deref().unwrap_or_default(), &self.before, background)
    }

    /// The overlays, the repo's first; then the gitdir's and the copy-on-write mounts.
    pub fn overlays(&self) -> Vec<Overlay> {
        let dir = &self.session_dir;
        let mut all = vec![Overlay {
            lowers: self.setup_layer.iter().chain(&self.below).chain([&self.repo]).cloned().collect(),
            target: self.workspace.clone(),
            upper: dir.join("upper"),
            work: dir.join("work"),
            volatile: self.ephemeral,
        }];
        let beside = |name: String, lower: &PathBuf, target: &PathBuf| Overlay {
            lowers: vec![lower.clone()],
            target: target.clone(),
            upper: dir.join("mounts").join(&name).join("upper"),
            work: dir.join("mounts").join(&name).join("work"),
            volatile: self.ephemeral,
        };
        if let Some(git) = &self.gitdir {
            all.push(beside("gitdir".into(), &git.source, &git.target));
        }
        for (number, mount) in self.mounts.iter().enumerate() {
            if mount.access == Access::Cow {
                all.push(beside(number.to_string(), &mount.source, &mount.target));
            }
        }
        all
    }

    /// The plain binds: source, target, and whether they are read-only.
    pub fn binds(&self) -> impl Iterator<Item = (&Mount, bool)> {
        self.mounts.iter().filter(|m| m.access != Access::Cow).map(|m| (m, m.access == Access::Ro))
    }
}
