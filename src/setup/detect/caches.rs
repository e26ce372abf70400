//! Where the package managers keep what they download, as data: sharing it is somebody else's work.

use serde::Serialize;

/// The downloads of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PackageCache {
    /// The tool, which is also the name of its directory in the shared cache.
    pub tool: &'static str,
    /// How it is told where.
    pub place: CachePlace,
    /// Variables that go with it.
    pub env: &'static [(&'static str, &'static str)],
}

/// How a tool finds its downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CachePlace {
    /// Only needed while installing: the variable may name any directory, and be gone afterwards.
    Variable(&'static str),
    /// What was installed is used from here later: restored before the step, saved after it, and left in place.
    Store {
        /// Names the directory if the image or the session sets it.
        variable: Option<&'static str>,
        /// Where it is otherwise, below the home directory.
        home: &'static str,
        /// What of it is downloads; empty: everything. The rest may be settings and secrets.
        parts: &'static [&'static str],
    },
}

const fn variable(tool: &'static str, name: &'static str) -> PackageCache {
    PackageCache { tool, place: CachePlace::Variable(name), env: &[] }
}

const fn store(
    tool: &'static str,
    variable: Option<&'static str>,
    home: &'static str,
    parts: &'static [&'static str],
) -> PackageCache {
    PackageCache { tool, place: CachePlace::Store { variable, home, parts }, env: &[] }
}

pub(super) const PIP: PackageCache = variable("pip", "PIP_CACHE_DIR");
/// Links into a cache that goes away would be dead.
pub(super) const UV: PackageCache = PackageCache { env: &[("UV_LINK_MODE", "copy")], ..variable("uv", "UV_CACHE_DIR") };
pub(super) const POETRY: PackageCache = variable("poetry", "POETRY_CACHE_DIR");
pub(super) const PDM: PackageCache = variable("pdm", "PDM_CACHE_DIR");
pub(super) const PIPENV: PackageCache = variable("pipenv", "PIPENV_CACHE_DIR");
pub(super) const NPM: PackageCache = variable("npm", "npm_config_cache");
/// Files in `node_modules` are links into it where both are on one file system.
pub(super) const PNPM: PackageCache = store("pnpm", Some("npm_config_store_dir"), ".local/share/pnpm/store", &[]);
pub(super) const YARN: PackageCache = variable("yarn", "YARN_CACHE_FOLDER");
/// Plug'n'Play loads packages out of the archives in it.
pub(super) const BERRY: PackageCache = store("berry", Some("YARN_GLOBAL_FOLDER"), ".yarn/berry", &["cache"]);
pub(super) const BUN: PackageCache = variable("bun", "BUN_INSTALL_CACHE_DIR");
pub(super) const DENO: PackageCache = store("deno", Some("DENO_DIR"), ".cache/deno", &["npm", "remote", "deps"]);
pub(super) const CARGO: PackageCache = store("cargo", Some("CARGO_HOME"), ".cargo", &["registry", "git"]);
pub(super) const GO: PackageCache = store("go", Some("GOMODCACHE"), "go/pkg/mod", &[]);
pub(super) const BUNDLER: PackageCache =
    PackageCache { env: &[("BUNDLE_GLOBAL_GEM_CACHE", "true")], ..variable("bundler", "BUNDLE_USER_CACHE") };
pub(super) const MAVEN: PackageCache = store("maven", None, ".m2", &["repository", "wrapper"]);
pub(super) const GRADLE: PackageCache = store("gradle", Some("GRADLE_USER_HOME"), ".gradle", &["caches", "wrapper"]);
pub(super) const COMPOSER: PackageCache = variable("composer", "COMPOSER_CACHE_DIR");
pub(super) const HEX: PackageCache = variable("hex", "HEX_HOME");
pub(super) const NUGET: PackageCache = store("nuget", Some("NUGET_PACKAGES"), ".nuget/packages", &[]);
