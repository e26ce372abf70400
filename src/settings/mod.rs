//! Flags, environment and configuration become one value; later stages read none of them.

mod file;
pub mod keys;
mod repo_file;
pub mod schema;
mod unknown;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;
pub use file::{Config, Sources};
pub use repo_file::RepoSettings;

use crate::cli::{EngineChoice, NetworkArg, OnExit, RunArgs};
use crate::engine::native::secrets;
use crate::error::{Error, Result};
use crate::policy::Network;
use crate::profile::Partial;
use crate::review::viewer::Viewer;
use crate::ui::Ui;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line, or an environment variable that is read with it.
    Flag,
    /// The user's configuration.
    Config,
    /// Nothing said otherwise.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Flag => "as asked for",
            Origin::Config => "from the configuration",
            Origin::Default => "the default",
        })
    }
}

/// A value with its origin.
#[derive(Clone, Debug)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// Directories of the user.
#[derive(Clone, Debug)]
pub struct Places {
    /// Sessions: cannot be made again.
    pub state: PathBuf,
    /// What can.
    pub cache: PathBuf,
    /// The configuration file.
    pub config: PathBuf,
    /// The home directory.
    pub home: Option<PathBuf>,
}

impl Places {
    /// From the environment.
    pub fn find() -> Result<Self> {
        let from_env = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let dirs = ProjectDirs::from("", "", "cowbox");
        let homeless =
            || Error::new("cannot tell where your home is").hint("set HOME, or COWBOX_STATE_DIR and COWBOX_CACHE_DIR");
        let state =
            from_env("COWBOX_STATE_DIR").or_else(|| dirs.as_ref().and_then(|d| d.state_dir().map(Path::to_path_buf)));
        let cache = from_env("COWBOX_CACHE_DIR").or_else(|| dirs.as_ref().map(|d| d.cache_dir().to_path_buf()));
        let config = dirs.as_ref().map(|d| d.config_dir().join("config.toml")).unwrap_or_default();
        Ok(Self {
            state: absolute(state.ok_or_else(homeless)?)?,
            cache: absolute(cache.ok_or_else(homeless)?)?,
            config,
            home: from_env("HOME").and_then(|h| h.canonicalize().ok()),
        })
    }
}

/// Resolves links as far as the path exists: engines and overlays compare real paths.
fn absolute(path: PathBuf) -> Result<PathBuf> {
    let path = std::path::absolute(&path).map_err(|e| Error::io("resolve", &path, e))?;
    let existing = path.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/")).to_path_buf();
    let rest = path.strip_prefix(&existing).map(Path::to_path_buf).unwrap_or_default();
    let real = existing.canonicalize().map_err(|e| Error::io("resolve", &existing, e))?;
    Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}

/// Who says how to get ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupSetting {
    /// The repo: its own files tell.
    Auto,
    /// Nobody: nothing is to be done.
    None,
    /// The user, with a command.
    Command {
        /// For a shell, in the repo's root.
        command: String,
        /// By flag, not by configuration.
        from_flag: bool,
    },
}

impl SetupSetting {
    fn new(flag: Option<&str>, config: Option<&str>) -> Self {
        let word = flag.or(config).map(str::trim);
        match word {
            None | Some("auto" | "") => SetupSetting::Auto,
            Some("none") => SetupSetting::None,
            Some(command) => SetupSetting::Command { command: command.to_owned(), from_flag: flag.is_some() },
        }
    }
}

/// What `run` goes by.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Engine.
    pub engine: Setting<EngineChoice>,
    /// Image, if one is configured.
    pub image: Option<String>,
    /// A Containerfile to build the image from.
    pub containerfile: Option<PathBuf>,
    /// What our own images start from.
    pub base_image: Option<String>,
    /// The registry that short names of features stand for.
    pub feature_registry: Option<String>,
    /// Who says how to get ready.
    pub setup: SetupSetting,
    /// Variables for the setup alone, as `--env` writes them.
    pub setup_env: Vec<OsString>,
    /// Which devcontainer, where there are several.
    pub devcontainer: Option<String>,
    /// Network.
    pub network: Setting<Network>,
    /// What to do at the end; `None`: by whether there is a terminal.
    pub on_exit: Option<OnExit>,
    /// What native hides.
    pub masked: Vec<PathBuf>,
    /// Where native shows the repo, if not at its own path. Nobody can set it: tasks have one place on every host.
    pub workspace: Option<PathBuf>,
    /// Profile of a run that names neither a profile nor a command.
    pub default_profile: Option<String>,
    /// The user's own profiles.
    pub profiles: BTreeMap<String, Partial>,
}

impl RunSettings {
    /// Flags over configuration over defaults.
    pub fn resolve(args: &RunArgs, places: &Places, ui: &Ui) -> Result<Self> {
        let config = Sources::read(&places.config, ui)?.config()?;
        let engine = pick(args.engine, config.engine, EngineChoice::Auto);
        let network = pick(args.network, config.network, NetworkArg::Full);
        // What was asked for here counts more than another way to say it elsewhere.
        let image = args.image.clone().or(config.image.filter(|_| args.setup.containerfile.is_none()));
        let file = config.containerfile.filter(|_| args.image.is_none());
        if image
            .as_deref()
            .is_some_and(|i| i.is_empty() || i.starts_with('-') || i.chars().any(|c| c.is_control() || c == ' '))
        {
            return Err(Error::new("that is not the name of an image").hint("write --image NAME[:TAG]"));
        }
        let mut masked = config.native.mask.unwrap_or_else(secrets::default_list);
        masked.extend(config.native.mask_more);
        let mut setup_env: Vec<OsString> = config.setup_env.iter().map(OsString::from).collect();
        setup_env.extend(args.setup.setup_env.iter().cloned());
        Ok(Self {
            engine,
            image,
            containerfile: args.setup.containerfile.clone().or(file),
            base_image: config.base_image,
            feature_registry: config.feature_registry,
            setup: SetupSetting::new(args.setup.setup.as_deref(), config.setup.as_deref()),
            setup_env,
            devcontainer: args.setup.config.clone(),
            network: Setting {
                value: match network.value {
                    NetworkArg::None => Network::None,
                    NetworkArg::Full => Network::Full,
                },
                origin: network.origin,
            },
            on_exit: args.on_exit.or(config.on_exit),
            masked,
            workspace: None,
            default_profile: config.default_profile,
            profiles: config.profiles,
        })
    }
}

/// The viewer that `diff` is shown with on a terminal: only the user names one.
pub fn viewer(places: &Places, ui: &Ui) -> Result<Option<Viewer>> {
    // An empty variable says that there is none, whatever the file says.
    if std::env::var_os("COWBOX_VIEWER").is_some_and(|value| value.is_empty()) {
        return Ok(None);
    }
    let value = file::Sources::read(&places.config, ui)?.config()?.viewer.map(OsString::from);
    Ok(value.and_then(|value| Viewer::parse(&value)))
}

fn pick<T>(flag: Option<T>, config: Option<T>, default: T) -> Setting<T> {
    match (flag, config) {
        (Some(value), _) => Setting { value, origin: Origin::Flag },
        (None, Some(value)) => Setting { value, origin: Origin::Config },
        (None, None) => Setting { value: default, origin: Origin::Default },
    }
}
