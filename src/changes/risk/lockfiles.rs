//! Lockfiles: where each dependency comes from and by which checksum, before and after.

use std::collections::{BTreeMap, BTreeSet};

use super::Risk;
use super::codes::LOCKFILE_SOURCE;
use super::doc::Format::{self, Json, Toml, Yaml};
use super::doc::{Doc, Unparsed};
use super::glob::fits_any;
use super::key::Key;
use super::keys::{How, KeyRules, listed, short};
use super::lock_text as text;
use super::lock_trees as trees;
use super::rule::{Judged, Rule, Sides};

/// Files by name.
pub(super) const RULES: &[Rule] = &[
    Rule::own("package-lock.json", LOCKFILE_SOURCE, |s| by_tree(s, Json, trees::npm)),
    Rule::own("npm-shrinkwrap.json", LOCKFILE_SOURCE, |s| by_tree(s, Json, trees::npm)),
    Rule::own("bun.lock", LOCKFILE_SOURCE, |s| by_tree(s, Json, trees::bun)),
    Rule::own("pnpm-lock.yaml", LOCKFILE_SOURCE, |s| by_tree(s, Yaml, trees::pnpm)),
    Rule::own("yarn.lock", LOCKFILE_SOURCE, |s| by_text(s, text::yarn)),
    Rule::own("Cargo.lock", LOCKFILE_SOURCE, |s| by_tree(s, Toml, trees::cargo)),
    Rule::own("poetry.lock", LOCKFILE_SOURCE, |s| by_tree(s, Toml, trees::poetry)),
    Rule::own("uv.lock", LOCKFILE_SOURCE, |s| by_tree(s, Toml, trees::uv)),
    Rule::own("pdm.lock", LOCKFILE_SOURCE, |s| by_tree(s, Toml, trees::poetry)),
    Rule::own("Pipfile.lock", LOCKFILE_SOURCE, |s| by_tree(s, Json, trees::pipfile)),
    Rule::own("composer.lock", LOCKFILE_SOURCE, composer),
    Rule::own("flake.lock", LOCKFILE_SOURCE, |s| by_tree(s, Json, trees::flake)),
    Rule::own("go.sum", LOCKFILE_SOURCE, |s| by_text(s, text::go_sum)),
    Rule::own("go.mod", LOCKFILE_SOURCE, |s| by_text(s, text::go_mod)),
    Rule::own("go.work", LOCKFILE_SOURCE, |s| by_text(s, text::go_mod)),
    Rule::own("Gemfile.lock", LOCKFILE_SOURCE, |s| by_text(s, text::gemfile)),
    Rule::own("requirements*.txt", LOCKFILE_SOURCE, |s| by_text(s, text::requirements)),
    Rule::any("bun.lockb", LOCKFILE_SOURCE, "is a lockfile that cannot be read"),
    Rule::own("package.json", LOCKFILE_SOURCE, package_json),
    Rule::keys("Cargo.toml", LOCKFILE_SOURCE, Toml, CARGO_MANIFEST),
    Rule::keys("pyproject.toml", LOCKFILE_SOURCE, Toml, PYPROJECT),
];

const CARGO_MANIFEST: KeyRules = KeyRules::only(&[
    "*dependencies.*.git",
    "*dependencies.*.registry*",
    "*dependencies.*.package",
    "patch.*",
    "replace.*",
]);
const PYPROJECT: KeyRules = KeyRules::only(&[
    "tool.uv.sources*",
    "tool.uv.index*",
    "tool.uv.extra-index*",
    "tool.uv.find-links*",
    "tool.poetry.source*",
    "tool.poetry.*.git",
    "tool.poetry.*.url",
    "tool.pdm.source*",
]);

/// Registries that a new package may come from without a word.
const USUAL: &[&str] = &[
    "https://registry.npmjs.org",
    "https://registry.yarnpkg.com",
    "npm",
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
    "https://pypi.org",
    "https://files.pythonhosted.org",
    "https://rubygems.org",
];

/// Where packages of composer are at home, each in a repository of its own.
const FORGES: &[&str] = &["https://api.github.com/*", "https://github.com/*", "https://gitlab.com/*"];

/// Where one package comes from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pin {
    /// Registry, host or repository; empty for a part of the project itself.
    pub(super) origin: String,
    /// The very file; the same for two versions where the format does not name it.
    pub(super) exact: String,
    /// Empty if there is none.
    pub(super) sum: String,
}

/// Package to pin.
pub(super) type Pins = BTreeMap<String, Pin>;

fn by_tree(sides: &Sides<'_>, format: Format, read: fn(&Doc) -> Pins) -> Judged {
    let (old, new) = sides.docs(format)?;
    Ok(compare(sides, &read(&old), &read(&new), USUAL))
}

fn composer(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.docs(Json)?;
    Ok(compare(sides, &trees::composer(&old), &trees::composer(&new), FORGES))
}

fn by_text(sides: &Sides<'_>, read: fn(&str) -> Pins) -> Judged {
    const LARGEST: usize = 16 << 20;
    let new = sides.new.unwrap_or_default();
    if new.len() > LARGEST {
        return Err(Unparsed::Large);
    }
    let old = sides.old.filter(|old| old.len() <= LARGEST).unwrap_or_default();
    let read = |bytes| read(&String::from_utf8_lossy(bytes));
    Ok(compare(sides, &read(old), &read(new), USUAL))
}

/// `usual`: patterns of origins from which a new package is no surprise.
fn compare(sides: &Sides<'_>, old: &Pins, new: &Pins, usual: &[&str]) -> Vec<Risk> {
    let known: BTreeSet<&str> = old.values().map(|pin| pin.origin.as_str()).collect();
    let summed = new.values().chain(old.values()).any(|pin| !pin.sum.is_empty());
    let differs = |name: &String, pin: &Pin| {
        let before = old.get(name);
        let origin = short(&pin.origin);
        Some(match before {
            Some(before) if before.origin != pin.origin && !pin.origin.is_empty() => {
                format!("now comes from `{origin}`")
            }
            Some(before) if !before.sum.is_empty() && pin.sum.is_empty() => "lost its checksum".to_owned(),
            Some(before) if before.exact == pin.exact && before.sum != pin.sum && !before.sum.is_empty() => {
                "has another checksum for the same version".to_owned()
            }
            None if pin.origin.is_empty() => return None,
            None if fits_any(usual, &pin.origin) => {
                // Formats that know checksums have one for all that comes from a registry.
                (summed && pin.sum.is_empty()).then(|| "has no checksum".to_owned())?
            }
            None if !known.contains(pin.origin.as_str()) => format!("comes from `{origin}`"),
            _ => return None,
        })
    };
    let parts: Vec<String> =
        new.iter().filter_map(|(name, pin)| Some(format!("`{}` {}", short(name), differs(name, pin)?))).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    vec![Risk::of(LOCKFILE_SOURCE, listed(&sides.name, parts.into_iter()))]
}

/// Scheme and host of an address. On a host where everyone can publish, owner and repository too.
pub(super) fn origin(url: &str) -> String {
    const FORGES: &[&str] = &["github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "raw.githubusercontent.com"];
    let url = url.split(['#', '?']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let bare = host.rsplit('@').next().unwrap_or(host);
    let parts = match () {
        () if FORGES.iter().any(|forge| bare == *forge || bare.ends_with(&format!(".{forge}"))) => 3,
        // A repository is not a registry: all of its path says which one.
        () if scheme.starts_with("git") || scheme.starts_with("ssh") => usize::MAX,
        () => 0,
    };
    let path: Vec<&str> = path.split('/').take(parts).collect();
    if path.is_empty() { format!("{scheme}://{host}") } else { format!("{scheme}://{host}/{}", path.join("/")) }
}

/// Versions that are addresses, folders or other packages.
fn package_json(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Json)?;
    let section = |key: &Key| {
        let key = key.shown();
        ["dependencies.", "devDependencies.", "optionalDependencies.", "overrides.", "resolutions.", "pnpm.overrides."]
            .iter()
            .any(|section| key.starts_with(section))
    };
    let foreign = |value: &String| {
        let local = value.starts_with("workspace:") || value.starts_with("catalog:");
        !local && (value.contains('/') || value.contains(':'))
    };
    let changed = new.since(&old);
    let added = changed.iter().filter(|(key, how)| *how != How::Removed && section(key));
    let found: Vec<String> = added
        .filter_map(|(key, _)| new.values(key).iter().find(|value| foreign(value)).map(|value| (key, value)))
        .map(|(key, value)| format!("`{}` comes from `{}`", short(&key.shown()), short(value)))
        .collect();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Risk::of(LOCKFILE_SOURCE, listed(&sides.name, found.into_iter()))])
}
