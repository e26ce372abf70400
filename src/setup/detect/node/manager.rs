//! Which package manager, and which of its versions can read the lock file.

use serde_json::Value;

use crate::setup::pins::version;
use crate::setup::project::Project;
use crate::setup::quote::{quote, quote_path};

/// Programs that were not in the image are put below this directory.
const OWN: &str = "$HOME/.local";

/// pnpm writes the place of its store into `node_modules` and refuses another one later, so the place outlives the
/// step. Left alone it would be in the repo, because the home directory is on another file system.
const STORE: &str = "export npm_config_store_dir=\"$HOME/.local/share/pnpm/store\" && \
                     { pnpm config set --global store-dir \"$npm_config_store_dir\" || true; } && ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Npm,
    Pnpm,
    /// Yarn 1.
    Yarn,
    /// Yarn 2 and later.
    Berry,
    Bun,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Manager {
    pub(super) kind: Kind,
    /// Its lock file, if there is one.
    pub(super) lock: Option<&'static str>,
    /// The version that `packageManager` names.
    version: Option<String>,
    /// The format of pnpm's lock file.
    format: Option<String>,
    /// Yarn as a file of the repo.
    own_file: Option<String>,
    named: bool,
}

impl Manager {
    pub(super) fn choose(project: &Project<'_>, manifest: &Value) -> Self {
        let named = manifest.get("packageManager").and_then(Value::as_str).and_then(named);
        let has_config = project.has(".yarnrc.yml");
        let kind = match &named {
            Some((kind, _)) => *kind,
            None => by_lock(project).map_or(Kind::Npm, |(kind, lock)| match kind {
                Kind::Yarn if has_config || is_berry_lock(&project.text(lock).unwrap_or_default()) => Kind::Berry,
                kind => kind,
            }),
        };
        let lock = project.first(locks(kind));
        Self {
            kind,
            lock,
            format: lock.filter(|_| kind == Kind::Pnpm).and_then(|lock| format(&project.text(lock)?)),
            own_file: (kind == Kind::Berry && has_config).then(|| own_file(project)).flatten(),
            named: named.is_some(),
            version: named.and_then(|(_, version)| version),
        }
    }

    /// Whether the repo says so, or it is only the default.
    pub(super) fn is_certain(&self) -> bool {
        self.named || self.lock.is_some()
    }

    /// The program.
    pub(super) fn run(&self) -> String {
        match self.kind {
            Kind::Npm => "npm".to_owned(),
            Kind::Pnpm => "pnpm".to_owned(),
            Kind::Bun => "bun".to_owned(),
            Kind::Yarn => "yarn".to_owned(),
            Kind::Berry => {
                self.own_file.as_ref().map_or("yarn".to_owned(), |file| format!("node {}", quote_path(file)))
            }
        }
    }

    /// Gets a program that can read the lock file, where the one at hand cannot or there is none. Both kinds of yarn
    /// come with a program of one name, so the older one must not be in the way.
    pub(super) fn prelude(&self) -> String {
        let major = self.version.as_ref().and_then(|version| version.split('.').next());
        let of_major = |default: &str| major.map_or(default.to_owned(), |major| format!("{major}.*"));
        let version = |default: &str| self.version.clone().unwrap_or(default.to_owned());
        let (program, accepted, package) = match self.kind {
            Kind::Npm | Kind::Bun => return String::new(),
            Kind::Berry if self.own_file.is_some() => return String::new(),
            Kind::Berry => ("yarn", of_major("[2-9].*"), format!("@yarnpkg/cli-dist@{}", version("4"))),
            Kind::Yarn => ("yarn", of_major("1.*"), format!("yarn@{}", version("1"))),
            Kind::Pnpm => {
                let (accepted, default) = pnpm_of(self.format.as_deref());
                ("pnpm", of_major(accepted), format!("pnpm@{}", version(default)))
            }
        };
        let get = format!(
            "PATH=\"{OWN}/bin:$PATH\"; case \"$({program} --version 2>/dev/null)\" in {accepted}) ;; \
             *) npm install --global --force --prefix \"{OWN}\" --no-audit --no-fund {} ;; esac && ",
            quote(&package)
        );
        if self.kind == Kind::Pnpm { get + STORE } else { get }
    }
}

/// `pnpm@9.1.0+sha512.…`
fn named(text: &str) -> Option<(Kind, Option<String>)> {
    let (name, rest) = text.split_once('@').unwrap_or((text, ""));
    let version = version::exact(rest.split('+').next().unwrap_or_default());
    let kind = match name {
        "npm" => Kind::Npm,
        "pnpm" => Kind::Pnpm,
        "bun" => Kind::Bun,
        "yarn" if version.as_ref().is_some_and(|version| version.starts_with("1.") || version == "1") => Kind::Yarn,
        "yarn" => Kind::Berry,
        _ => return None,
    };
    Some((kind, version))
}

fn locks(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Npm => &["package-lock.json", "npm-shrinkwrap.json"],
        Kind::Pnpm => &["pnpm-lock.yaml"],
        Kind::Yarn | Kind::Berry => &["yarn.lock"],
        Kind::Bun => &["bun.lock", "bun.lockb"],
    }
}

fn by_lock(project: &Project<'_>) -> Option<(Kind, &'static str)> {
    let kinds = [Kind::Pnpm, Kind::Bun, Kind::Yarn, Kind::Npm];
    kinds.into_iter().find_map(|kind| Some((kind, project.first(locks(kind))?)))
}

fn is_berry_lock(text: &str) -> bool {
    text.lines().take(20).any(|line| line.starts_with("__metadata:"))
}

/// `lockfileVersion: '9.0'`
fn format(lock: &str) -> Option<String> {
    let value = lock.lines().take(20).find_map(|line| line.strip_prefix("lockfileVersion:"))?;
    Some(value.trim().trim_matches(['\'', '"']).to_owned())
}

/// Versions of pnpm that read a format, as a pattern, and the one to get.
fn pnpm_of(format: Option<&str>) -> (&'static str, &'static str) {
    match format {
        Some("5.3") => ("6.*", "6"),
        Some("5.4") => ("7.*", "7"),
        Some(text) if text.starts_with("6.") => ("8.*", "8"),
        Some(text) if text.starts_with("9.") => ("9.*|1[0-9].*", "10"),
        _ => ("?*", "10"),
    }
}

/// `yarnPath: .yarn/releases/yarn-4.1.0.cjs`
fn own_file(project: &Project<'_>) -> Option<String> {
    let text = project.text(".yarnrc.yml")?;
    let value = text.lines().find_map(|line| line.strip_prefix("yarnPath:"))?;
    let path = value.trim().trim_matches(['\'', '"']);
    project.has(path).then(|| path.to_owned())
}
