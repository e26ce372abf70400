//! Risks that only all changes together show.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Risk;
use super::codes::{MASS_DELETION, NESTED_REPO};
use super::glob::folded;
use super::rule::name_of;
use crate::changes::Change;
use crate::layer::entry::Kind;

/// More deletions than this are a notice, if they are most of the changes.
const MANY: usize = 50;

/// What makes git take a directory for a repository: `HEAD` with `objects` and `refs`, or with `commondir`.
const HEAD: &str = "HEAD";
const MARKS: [&str; 4] = [HEAD, "objects", "refs", "commondir"];
/// What in such a directory carries the risk, each with all below it.
const PARTS: [&str; 6] = [HEAD, "objects", "refs", "commondir", "config", "hooks"];

/// What [`of_set`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfSet {
    /// Risks of the set as a whole. Nothing is left out because of them.
    pub whole: Vec<Risk>,
    /// Risks of single changes, by their index. They count like those of [`super::assess`].
    pub changes: Vec<(usize, Risk)>,
}

/// Judges all changes together. `on_host` tells whether the repo has a path now, without following a link. It is asked
/// only where a changed path is named like a part of a gitdir, about the other parts beside it.
pub fn of_set(changes: &[Change], on_host: impl Fn(&Path) -> bool) -> OfSet {
    OfSet { whole: mass_deletion(changes).into_iter().collect(), changes: nested(changes, on_host) }
}

fn mass_deletion(changes: &[Change]) -> Option<Risk> {
    let files =
        || changes.iter().filter(|c| !super::in_gitdir(c) && c.old.or(c.new).is_some_and(|m| m.kind != Kind::Dir));
    let (all, deleted) = (files().count(), files().filter(|change| change.new.is_none()).count());
    let many = deleted > MANY && deleted * 2 > all;
    many.then(|| Risk::of(MASS_DELETION, format!("{deleted} of {all} changed files are deleted")))
}

fn nested(changes: &[Change], on_host: impl Fn(&Path) -> bool) -> Vec<(usize, Risk)> {
    // One that is deleted is on the host, and the deletion may be left out: it counts as there.
    let marks: BTreeSet<Vec<u8>> =
        changes.iter().filter(|change| is_named(&change.path, &MARKS)).map(|change| folded(&change.path)).collect();
    let has = |dir: &Path, name: &str| {
        let path = dir.join(name);
        marks.contains(&folded(&path)) || on_host(&path)
    };
    let is_repo = |dir: &Path| has(dir, HEAD) && (has(dir, "commondir") || has(dir, "objects") && has(dir, "refs"));
    let mut known: BTreeMap<&Path, bool> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        if change.new.is_none() || super::in_gitdir(change) {
            continue;
        }
        // Each folder above that has a part of a repository on the way to this path.
        let parts = change.path.ancestors().filter(|path| is_named(path, &PARTS));
        let mut around = parts.filter_map(Path::parent);
        if let Some(repo) = around.find(|dir| *known.entry(dir).or_insert_with(|| is_repo(dir))) {
            let place = match repo.as_os_str().is_empty() {
                true => "the repository's root".to_owned(),
                false => format!("`{}`", name_of(repo)),
            };
            found.push((index, Risk::of(NESTED_REPO, format!("git would take {place} for a repository of its own"))));
        }
    }
    found
}

fn is_named(path: &Path, names: &[&str]) -> bool {
    path.file_name().is_some_and(|name| names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)))
}
