//! What about a change deserves a second look before it lands.
//!
//! The rules are data, one file for each family of tools. They read names and, where it helps, documents key by key. A
//! file that cannot be parsed gets the risk of its name. Nothing here touches a file system or runs a program.

mod agents;
mod assignments;
mod build;
mod build_keys;
mod ci;
mod codes;
mod cowbox_file;
mod devcontainer;
mod doc;
mod editors;
mod git_files;
mod glob;
mod host;
mod key;
mod keys;
mod language_tools;
mod lines;
mod links;
mod lock_text;
mod lock_trees;
mod lockfiles;
mod mise;
mod modes;
mod program_words;
mod rule;
pub mod secrets;
mod set;
mod shells;
#[cfg(test)]
mod tests;
mod variables;

use serde::Serialize;

use super::{Change, ChangeKind, Class};
use crate::layer::entry::Kind;
pub use codes::{CODES, Code};
pub use devcontainer::compose_files;
pub use host::{Host, Links};
pub use set::{OfSet, of_set};

/// What happens with a change that carries a risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Applied, labelled, shown first.
    Notice,
    /// Left out unless said yes to.
    Consent,
    /// Never applied as a file.
    Blocked,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Risk {
    /// What `--allow` takes.
    pub code: &'static str,
    /// What happens.
    pub tier: Tier,
    /// One plain sentence. May quote the session: escape it for a terminal.
    pub reason: String,
}

impl Risk {
    fn of(code: Code, reason: String) -> Self {
        Self { code: code.0, tier: code.1, reason }
    }
}

/// Files whose new content is judged.
const FAMILIES: &[&[rule::Rule]] = &[
    cowbox_file::RULES,
    git_files::RULES,
    shells::RULES,
    editors::RULES,
    language_tools::RULES,
    agents::RULES,
    devcontainer::RULES,
    ci::RULES,
    build::RULES,
    lockfiles::RULES,
];

/// Judges one change. `old` and `new` are a file's bytes or a link's target; `None` where there is neither, or where a
/// file is larger than is read. One risk for each code at most, the heaviest first.
pub fn assess(change: &Change, old: Option<&[u8]>, new: Option<&[u8]>, host: &Host<'_>) -> Vec<Risk> {
    if in_gitdir(change) {
        return vec![Risk::of(codes::GIT_DIR, "it lies inside a gitdir, or git could take it for one".into())];
    }
    let mut risks = modes::assess(change);
    risks.extend(links::assess(change, new, host.links));
    risks.extend(host::hook(change, host).or_else(|| git_files::hook(change)));
    if !same_content(change, old, new) {
        risks.extend(host::settings(change, host));
        if host.is_compose(&change.path) {
            risks.extend(rule::judge_by(&devcontainer::NAMED_COMPOSE, change, old, new));
        }
        risks.extend(FAMILIES.iter().flat_map(|family| rule::judge(family, change, old, new)));
    }
    risks.sort_by_key(|risk| std::cmp::Reverse(risk.tier));
    let mut seen = Vec::new();
    risks.retain(|risk| {
        !seen.contains(&risk.code) && {
            seen.push(risk.code);
            true
        }
    });
    risks
}

/// Whether [`assess`] looks into the change. For all others `None` on both sides gives the same answer.
pub fn needs_content(change: &Change, host: &Host<'_>) -> bool {
    if in_gitdir(change) || change.kind == ChangeKind::ModeChanged {
        return false;
    }
    let kind = |meta: Option<super::Meta>| meta.map(|meta| meta.kind);
    match (kind(change.old), kind(change.new)) {
        (_, Some(Kind::Symlink)) => true,
        (_, Some(Kind::File)) | (Some(Kind::File), None) => {
            let reads = |family: &&[rule::Rule]| {
                rule::first(family, &change.path, false).is_some_and(|rule| rule.judge.reads())
            };
            FAMILIES.iter().any(reads) || host.is_compose(&change.path)
        }
        _ => false,
    }
}

fn in_gitdir(change: &Change) -> bool {
    change.class == Class::Vcs || change.is_vcs()
}

/// Only its mode or attributes changed: that is no new content, and no rule about content applies.
fn same_content(change: &Change, old: Option<&[u8]>, new: Option<&[u8]>) -> bool {
    let same_type = matches!((change.old, change.new), (Some(old), Some(new)) if old.kind == new.kind);
    match change.kind {
        ChangeKind::ModeChanged => true,
        ChangeKind::Renamed => false,
        _ => same_type && old.is_some() && old == new,
    }
}
