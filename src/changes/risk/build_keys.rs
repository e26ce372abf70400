//! Which keys of a manifest run something. Every other key may change without a word.

use super::codes::BUILD_ENTRY;
use super::doc::Format;
use super::keys::KeyRules;
use super::lines;
use super::rule::{Judged, Sides};

/// Lifecycle scripts, hooks at a commit, and what chooses the package manager itself.
const PACKAGE_JSON: KeyRules = KeyRules::only(&[
    "scripts.*",
    "bin",
    "bin.*",
    "husky.*",
    "simple-git-hooks*",
    "gitHooks.*",
    "pre-commit*",
    "pre-push*",
    "lint-staged*",
    "packageManager",
    "devEngines.*",
    "volta.*",
    "gypfile",
    "binary.*",
    "trustedDependencies*",
    "pnpm.onlyBuiltDependencies*",
    "pnpm.neverBuiltDependencies*",
    "pnpm.patchedDependencies*",
    "pnpm.executionEnv*",
    "dependenciesMeta.*.built",
    "config.*",
    "ava.*",
    "jest.*",
    "mocha.*",
    "wireit.*",
    "nx.*",
]);

pub(super) fn package_json(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Json)?;
    Ok(sides.by_keys(BUILD_ENTRY, &old, &new, &PACKAGE_JSON).into_iter().collect())
}

/// Of npm's settings, those that only change looks or layout are harmless.
const NPMRC: KeyRules = KeyRules::all_but(&[
    "save*",
    "fund",
    "audit*",
    "progress",
    "color",
    "loglevel",
    "engine-strict",
    "legacy-peer-deps",
    "strict-peer-dependencies",
    "auto-install-peers",
    "shamefully-hoist",
    "hoist*",
    "package-lock",
    "prefer-offline",
    "message",
    "tag-version-prefix",
]);

pub(super) fn npmrc(sides: &Sides<'_>) -> Judged {
    let (old, new) = lines::both(sides, lines::ini)?;
    Ok(sides.by_keys(BUILD_ENTRY, &old, &new, &NPMRC).into_iter().collect())
}

pub(super) fn all_settings(sides: &Sides<'_>) -> Judged {
    let (old, new) = lines::both(sides, lines::ini)?;
    Ok(sides.by_keys(BUILD_ENTRY, &old, &new, &KeyRules::all_but(&[])).into_iter().collect())
}

pub(super) const YARNRC: KeyRules = KeyRules::only(&[
    "yarnPath",
    "plugins*",
    "npmRegistry*",
    "npmScopes*",
    "npmPublishRegistry",
    "npmAuth*",
    "enableScripts",
    "enableImmutable*",
    "checksumBehavior",
    "unsafeHttpWhitelist*",
    "enableStrictSsl",
    "injectEnvironmentFiles*",
    "httpProxy",
    "httpsProxy",
    "initScope",
    "supportedArchitectures*",
    "networkSettings*",
]);

pub(super) const PNPM_WORKSPACE: KeyRules = KeyRules::only(&[
    "onlyBuiltDependencies*",
    "neverBuiltDependencies*",
    "ignoredBuiltDependencies*",
    "dangerouslyAllowAllBuilds",
    "allowBuilds*",
    "configDependencies*",
    "pnpmfile*",
    "globalPnpmfile",
    "patchedDependencies*",
    "scriptShell",
    "shellEmulator",
    "nodeOptions",
    "registry",
    "registries*",
    "overrides*",
    "packageManager*",
    "executionEnv*",
    "useNodeVersion",
    "ignoreScripts",
]);

pub(super) const BUNFIG: KeyRules = KeyRules::only(&[
    "preload*",
    "test.preload*",
    "install.registry*",
    "install.scopes*",
    "run.*",
    "serve.static.plugins*",
]);

pub(super) const DENO: KeyRules = KeyRules::only(&[
    "tasks*",
    "importMap",
    "imports.*",
    "scopes.*",
    "lock*",
    "permissions*",
    "links*",
    "allowScripts*",
]);

pub(super) const COMPOSER: KeyRules = KeyRules::only(&[
    "scripts.*",
    "bin*",
    "repositories*",
    "config.allow-plugins*",
    "config.*-dir",
    "autoload*.files*",
]);

pub(super) const PYPROJECT: KeyRules = KeyRules::only(&[
    "build-system.*",
    "project.scripts.*",
    "project.gui-scripts.*",
    "project.entry-points.*",
    "tool.poetry.scripts.*",
    "tool.poetry.plugins.*",
    "tool.poetry.build*",
    "tool.poetry.requires-plugins*",
    "tool.pytest.*addopts*",
    "tool.pytest.*pythonpath*",
    "tool.pytest.*testpaths*",
    "tool.hatch.*hooks*",
    "tool.hatch.*scripts*",
    "tool.hatch.*commands*",
    "tool.hatch.env*",
    "tool.setuptools.cmdclass*",
    "tool.setuptools.ext-modules*",
    "tool.pdm.scripts*",
    "tool.pdm.build*",
    "tool.pdm.plugins*",
    "tool.poe.*",
    "tool.taskipy.*",
    "tool.tox.*",
    "tool.nox.*",
    "tool.cibuildwheel.*",
    "tool.maturin.*",
    "tool.uv.build-backend*",
    "tool.uv.*no-build*",
    "tool.uv.python*",
    "tool.pylint.*init-hook*",
    "tool.pylint.*load-plugins*",
    "tool.mypy.plugins*",
]);

pub(super) const PIXI: KeyRules =
    KeyRules::only(&["tasks*", "*.tasks*", "*channels*", "*pypi-options*", "*build*", "*s3-options*"]);

pub(super) const HATCH: KeyRules = KeyRules::only(&["*hooks*", "*scripts*", "*commands*", "env*"]);

pub(super) const CARGO_MANIFEST: KeyRules = KeyRules::only(&[
    "package.build",
    "package.links",
    "package.metadata.*runner*",
    "build-dependencies.*",
    "target.*.build-dependencies.*",
    "lib.proc-macro",
    "lib.proc_macro",
    "*.path",
    "workspace.members*",
]);

/// Of cargo's settings, those that only change looks or places of output are harmless.
pub(super) const CARGO_CONFIG: KeyRules = KeyRules::all_but(&[
    "term.*",
    "profile.*",
    "cargo-new.*",
    "future-incompat-report.*",
    "cache.*",
    "build.jobs",
    "build.target",
    "build.target-dir",
    "build.incremental",
    "resolver.*",
]);

pub(super) const NEXTEST: KeyRules = KeyRules::only(&["*run-wrapper*", "script*", "*.command*", "*setup*"]);

pub(super) const CMAKE_PRESETS: KeyRules = KeyRules::only(&[
    "*.cacheVariables.*",
    "*.environment.*",
    "*.cmakeExecutable",
    "*.toolchainFile",
    "*.generator",
    "include*",
]);
