//! mise, which sets up the folder that you enter: variables, hooks and tools.

use super::Risk;
use super::codes::{BUILD_ENTRY, SHELL_AUTOLOAD};
use super::doc::Format;
use super::key::Key;
use super::keys::{How, KeyRules, Keys, describe};
use super::rule::{Judged, Sides};

const TOOLS: KeyRules = KeyRules::only(&["tools.*"]);
const REST: KeyRules = KeyRules::all_but(&["tools.*", "min_version"]);

/// Backends that run the code of a plugin, which anybody may have written.
const PLUGINS: &[&str] = &["asdf:", "vfox:", "vfox-backend:"];

/// Environment, hooks, tasks and plugins act by themselves; tools are installed when asked for, unless they are a
/// program that is there already, or bring one.
pub(super) fn judge(sides: &Sides<'_>) -> Judged {
    let (old, new) = sides.keys(Format::Toml)?;
    let changed = new.since(&old).into_iter().filter(|(_, how)| *how != How::Removed);
    let programs: Vec<_> = changed.filter(|(key, _)| brings_program(key, &new)).collect();
    let program = || Risk::of(SHELL_AUTOLOAD, describe(&sides.name, &programs));
    let risks = [
        sides.by_keys(SHELL_AUTOLOAD, &old, &new, &REST),
        (!programs.is_empty()).then(program),
        sides.by_keys(BUILD_ENTRY, &old, &new, &TOOLS),
    ];
    Ok(risks.into_iter().flatten().collect())
}

fn brings_program(key: &Key, keys: &Keys) -> bool {
    let mut names = key.names();
    if names.next() != Some("tools") {
        return false;
    }
    let tool = names.next().unwrap_or_default();
    PLUGINS.iter().any(|backend| tool.starts_with(backend))
        || tool.contains("://")
        || names.any(|name| name == "path" || name == "postinstall")
        || keys.values(key).iter().any(|value| is_program(value))
}

/// A version is a choice; a path is a program, and a revision is code that nobody released.
pub(super) fn is_program(version: &str) -> bool {
    ["path:", "ref:"].iter().any(|prefix| version.starts_with(prefix))
}
