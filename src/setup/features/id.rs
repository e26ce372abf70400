//! What a feature is called: in a registry, at an address, or in the repo.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::short;
use crate::error::{Error, Result};
use crate::ui::sanitize;

/// One feature that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureId {
    /// As it was written.
    pub written: String,
    /// Where it is.
    pub source: Source,
    /// The digest that the lock file pins it to.
    pub pin: Option<String>,
}

/// Where a feature is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In a registry.
    Registry(RegistryRef),
    /// An archive at an address.
    Tarball(String),
    /// A directory, relative to the repo.
    Local(PathBuf),
    /// The release of a repository: the form from before registries, `owner/repo/id[@version]`.
    Release(String),
}

/// A name in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryRef {
    /// Host, perhaps with a port.
    pub registry: String,
    /// What lies between host and id.
    pub namespace: String,
    /// Its own name.
    pub id: String,
    /// The tag, unless a digest was written instead.
    pub tag: Option<String>,
    /// `sha256:…` where it was written.
    pub digest: Option<String>,
}

impl RegistryRef {
    /// Host, namespace and id, without any version.
    pub fn resource(&self) -> String {
        format!("{}/{}/{}", self.registry, self.namespace, self.id)
    }

    /// Whether `other` has the same host and namespace.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.registry == other.registry && self.namespace == other.namespace
    }
}

/// What an id is relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// The `devcontainer.json`, relative to the repo.
    pub(super) config_file: &'a Path,
    /// The workspace that it belongs to, relative to the repo.
    pub(super) workspace: &'a Path,
    /// Where short names live.
    pub(super) default_registry: Option<&'a str>,
}

impl FeatureId {
    /// Reads an id in any of its forms.
    pub(super) fn parse(written: &str, place: &Place<'_>) -> Result<Self> {
        let full = short::expand(written, place.default_registry)?;
        let source = parse_source(&full, place).map_err(|why| {
            let hint =
                "write `registry/namespace/id:version`, `https://…/devcontainer-feature-<id>.tgz` or `./directory`";
            Error::new(format!("the feature `{}` cannot be used: {why}", sanitize::text(written))).hint(hint)
        })?;
        Ok(Self { written: written.to_owned(), source, pin: None })
    }

    /// The digest that it must have: pinned, or a part of its id.
    pub fn required_digest(&self) -> Option<&str> {
        let written = if let Source::Registry(reference) = &self.source { reference.digest.as_deref() } else { None };
        self.pin.as_deref().or(written)
    }

    /// The last part of its name.
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Registry(reference) => &reference.id,
            Source::Tarball(address) => archive_id(address).unwrap_or("feature"),
            Source::Local(dir) => dir.file_name().and_then(|name| name.to_str()).unwrap_or("feature"),
            Source::Release(name) => name.rsplit('/').next().unwrap_or("feature"),
        }
    }
}

impl fmt::Display for FeatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sanitize::text(&self.written))
    }
}

fn parse_source(full: &str, place: &Place<'_>) -> Result<Source, String> {
    if full.len() > 1024 || full.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("the name is too long or has blanks in it".to_owned());
    }
    if full.starts_with("https://") {
        return tarball(full);
    }
    if full.contains("://") {
        return Err("only https addresses are fetched".to_owned());
    }
    if full.starts_with('/') {
        return Err("an absolute path is not allowed".to_owned());
    }
    if full.starts_with("./") || full.starts_with("../") {
        return local(full, place).map(Source::Local);
    }
    let host = full.split('/').next().unwrap_or_default();
    if host.contains(['.', ':']) || host == "localhost" { registry(full).map(Source::Registry) } else { release(full) }
}

/// The rule of the reference: only below `.devcontainer/`, wherever the file stands that names it.
fn local(written: &str, place: &Place<'_>) -> Result<PathBuf, String> {
    let base = place.config_file.parent().unwrap_or(Path::new(""));
    let allowed = place.workspace.join(".devcontainer");
    let outside = || "a local feature must lie in `.devcontainer/` of the repo".to_owned();
    let dir = normal(&base.join(written)).ok_or_else(outside)?;
    if dir.starts_with(&allowed) { Ok(dir) } else { Err(outside()) }
}

/// Without `.` and `..`; none where it would leave the repo.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => out.push(name),
            Component::ParentDir if out.pop() => {}
            _ => return None,
        }
    }
    Some(out)
}

fn tarball(address: &str) -> Result<Source, String> {
    let rest = address.trim_start_matches("https://");
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !is_host(&host.to_ascii_lowercase()) {
        return Err("its address has no plain host name".to_owned());
    }
    match archive_id(address) {
        Some(_) => Ok(Source::Tarball(address.to_owned())),
        None => Err("the archive must be called `devcontainer-feature-<id>.tgz`".to_owned()),
    }
}

fn archive_id(address: &str) -> Option<&str> {
    let file = address.split(['?', '#']).next()?.rsplit('/').next()?;
    let id = file.strip_prefix("devcontainer-feature-")?.strip_suffix(".tgz")?;
    is_plain(id).then_some(id)
}

fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn release(full: &str) -> Result<Source, String> {
    let (name, version) = full.split_once('@').map_or((full, None), |(name, version)| (name, Some(version)));
    let parts: Vec<&str> = name.split('/').collect();
    let well_formed = parts.len() == 3
        && parts[..2].iter().all(|part| !part.is_empty() && part.chars().all(is_release_char))
        && is_plain(parts[2])
        && version.is_none_or(|v| !v.is_empty() && v.chars().all(is_release_char));
    if well_formed { Ok(Source::Release(full.to_owned())) } else { Err("it has none of the known forms".to_owned()) }
}

fn is_release_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A name in a registry, in lower case as the reference takes it.
pub(super) fn registry(full: &str) -> Result<RegistryRef, String> {
    let full = full.to_lowercase();
    let (resource, tag, digest) = match full.split_once('@') {
        Some((resource, digest)) if is_digest(digest) => (resource, None, Some(digest.to_owned())),
        Some(_) => return Err("its digest is not `sha256:` with 64 digits".to_owned()),
        None => match full.rsplit_once(':') {
            Some((resource, tag)) if !tag.contains('/') => (resource, Some(tag), None),
            _ => (full.as_str(), Some("latest"), None),
        },
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("its version is not a tag".to_owned());
    }
    let mut parts: Vec<&str> = resource.split('/').collect();
    if parts.get(1) == Some(&"devcontainers-contrib") {
        parts[1] = "devcontainers-extra";
    }
    match parts.as_slice() {
        [host, namespace @ .., id]
            if !namespace.is_empty() && is_host(host) && namespace.iter().chain([id]).all(|part| is_segment(part)) =>
        {
            Ok(RegistryRef {
                registry: (*host).to_owned(),
                namespace: namespace.join("/"),
                id: (*id).to_owned(),
                tag: tag.map(str::to_owned),
                digest,
            })
        }
        _ => Err("it is not `registry/namespace/id`".to_owned()),
    }
}

/// `sha256:` and 64 lower-case digits: it becomes the name of a directory.
pub(super) fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= 128 && tag.starts_with(word) && tag.chars().all(|c| word(c) || matches!(c, '.' | '-'))
}

fn is_segment(part: &str) -> bool {
    part.split(['.', '_', '-'])
        .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
}

fn is_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    name.split('.').all(label)
        && !name.starts_with('-')
        && port.is_none_or(|port| !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit()))
}
