//! Names of one file: which of them is made, and which are linked to it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::picks::Picks;
use super::steps::Source;
use crate::changes::{Change, ChangeSet};

/// For every chosen name of a linked file: the name that it will be linked to.
pub(super) fn leaders(set: &ChangeSet, chosen: &[&Change], picks: &Picks) -> HashMap<PathBuf, Source> {
    let mut leaders = HashMap::new();
    let plain: HashSet<&Path> = chosen
        .iter()
        .filter(|c| c.new.is_some() && !c.merged && c.conflict.is_none() && picks.part(&c.path).is_none())
        .map(|c| c.path.as_path())
        .collect();
    for group in &set.links {
        let mut names = group.names.iter().filter(|name| plain.contains(name.as_path()));
        let source = match &group.on_host {
            Some(on_host) => Source::LinkToHost(on_host.clone()),
            None => match names.next() {
                Some(first) => Source::LinkToNew(first.clone()),
                None => continue,
            },
        };
        leaders.extend(names.map(|name| (name.clone(), source.clone())));
    }
    leaders
}
