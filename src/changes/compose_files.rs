//! The compose files that dev containers of the repo name, by the host's files or by the session's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Change;
use super::contents::Content;
use super::risk;
use super::sides::{Reader, Sides};
use crate::paths::by_words;

/// Where the folder of the repo is meant.
const ROOT: &str = "${localWorkspaceFolder}";

/// Relative to the root. What cannot be read names nothing: it is judged by its own name.
pub fn find(sides: &Sides<'_>, changes: &[Change]) -> Vec<PathBuf> {
    let is_config = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.eq_ignore_ascii_case("devcontainer.json") || name.eq_ignore_ascii_case(".devcontainer.json")
    };
    let changed = changes.iter().map(|change| change.path.clone()).filter(|path| is_config(path));
    let folder = Path::new(".devcontainer");
    let below = sides.host.dir(folder).ok().flatten().and_then(|dir| dir.names().ok()).unwrap_or_default();
    let below = below.iter().map(|name| folder.join(name).join("devcontainer.json"));
    let usual = [folder.join("devcontainer.json"), PathBuf::from(".devcontainer.json")];
    let configs: BTreeSet<PathBuf> = changed.chain(below).chain(usual).collect();
    let mut found = BTreeSet::new();
    for path in &configs {
        found.extend(named(&sides.host, path));
        found.extend(named(&sides.session, path));
    }
    found.into_iter().collect()
}

fn named(side: &Reader, config: &Path) -> Vec<PathBuf> {
    let Ok(Some(Content::Bytes(bytes))) = side.content(config) else { return Vec::new() };
    let folder = config.parent().unwrap_or(Path::new(""));
    let place = |name: String| match name.strip_prefix(ROOT) {
        Some(rest) => by_words(Path::new(rest.trim_start_matches('/'))),
        None => by_words(&folder.join(OsStr::new(&name))),
    };
    risk::compose_files(&bytes).into_iter().map(place).collect()
}
