//! `config.toml` of the user, who is trusted.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cli::{EngineChoice, NetworkArg, OnExit};
use crate::error::{Error, Result, show};
use crate::ui::Ui;

/// The file, key by key.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `engine = "podman"`
    pub engine: Option<EngineChoice>,
    /// `image = "debian:12"`
    pub image: Option<String>,
    /// `containerfile = "/home/u/Containerfile"`
    pub containerfile: Option<PathBuf>,
    /// `base-image = "debian:12"`: what our own images start from.
    #[serde(rename = "base-image")]
    pub base_image: Option<String>,
    /// `feature-registry = "…"`: what short names of features stand for.
    #[serde(rename = "feature-registry")]
    pub feature_registry: Option<String>,
    /// `setup = "make deps"`, `"none"` or `"auto"`
    pub setup: Option<String>,
    /// `setup-env = ["NPM_TOKEN"]`: variables for the setup alone.
    #[serde(rename = "setup-env")]
    pub setup_env: Vec<String>,
    /// `network = "none"`
    pub network: Option<NetworkArg>,
    /// `on-exit = "keep"`
    #[serde(rename = "on-exit")]
    pub on_exit: Option<OnExit>,
    /// `viewer = "delta"`, or `"difft {a} {b}"`: what `diff` is shown with.
    pub viewer: Option<String>,
    /// `[native]`
    pub native: NativeConfig,
}

/// Keys of the native engine.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NativeConfig {
    /// Replaces the list of what is hidden.
    pub mask: Option<Vec<PathBuf>>,
    /// Adds to it.
    #[serde(rename = "mask-more")]
    pub mask_more: Vec<PathBuf>,
}

/// Reads the file; none is an empty one.
pub fn read(path: &Path, ui: &Ui) -> Result<Config> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(e) => return Err(Error::io("read", path, e)),
    };
    ui.detail(&format!("configuration from {}", show(path)));
    toml::from_str(&text).map_err(|e| {
        let place = e.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::new(format!("{}, line {place}: {}", show(path), e.message().lines().next().unwrap_or_default()))
            .hint("correct the file; docs/configuration.md lists every key")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_and_a_wrong_one_is_named() {
        let text = "engine = \"native\"\nimage = \"debian:12\"\nnetwork = \"none\"\non-exit = \"discard\"\n[native]\nmask = [\".ssh\"]\nmask-more = [\"x\"]\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.engine, Some(EngineChoice::Native));
        assert_eq!(config.native.mask_more, [PathBuf::from("x")]);
        assert!(toml::from_str::<Config>("motor = 1\n").unwrap_err().message().contains("motor"));
    }
}
