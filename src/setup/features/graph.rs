//! Which features there will be: those that are asked for, and all that they depend on.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::Value;

use super::compare::is_same;
use super::id::{FeatureId, Place};
use super::lock::Lock;
use super::metadata::Metadata;
use crate::error::{Error, Result};

/// A repo that asks for more wants to keep us busy.
const MOST: usize = 200;

/// Where features come from.
pub trait Fetch {
    /// What a feature says of itself.
    fn metadata(&self, id: &FeatureId) -> Result<Fetched>;

    /// The directory with its files: relative to the repo for a local one, absolute for others.
    fn files(&self, id: &FeatureId, fetched: &Fetched) -> Result<PathBuf>;
}

/// One feature as found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetched {
    /// What it says.
    pub metadata: Metadata,
    /// What it is, if it came from elsewhere: `sha256:…` of the manifest, or of the archive.
    pub digest: Option<String>,
}

/// One feature with one set of options.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) id: FeatureId,
    pub(super) options: Value,
    pub(super) digest: Option<String>,
    /// Names that it goes by, the current one first.
    pub(super) aliases: Vec<String>,
    pub(super) metadata: Metadata,
    /// Places in [`Graph::items`].
    pub(super) depends_on: Vec<usize>,
    pub(super) installs_after: Vec<Soft>,
    pub(super) priority: usize,
}

/// A feature that goes first if it is there.
#[derive(Clone, Debug)]
pub(super) struct Soft {
    pub(super) id: FeatureId,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Everything that is asked for, the same thing perhaps twice.
    pub(super) items: Vec<Item>,
    /// Those to install: each once.
    pub(super) nodes: Vec<usize>,
}

/// Follows `dependsOn` from what the user wants, in the order of the file.
pub(super) fn build(wanted: &[(String, Value)], place: &Place<'_>, lock: &Lock, fetch: &dyn Fetch) -> Result<Graph> {
    let mut graph = Graph::default();
    // Next to each: who depends on it.
    let mut worklist: VecDeque<(String, Value, Option<usize>)> =
        wanted.iter().map(|(id, options)| (id.clone(), options.clone(), None)).collect();
    while let Some((written, options, parent)) = worklist.pop_front() {
        if graph.items.len() >= MOST {
            return Err(Error::new(format!("the features and what they depend on are more than {MOST}")));
        }
        let wants = |e: Error| match parent.and_then(|at| graph.items.get(at)) {
            Some(parent) => e.context(format!("feature {}, dependsOn", parent.id)),
            None => e,
        };
        let item = find(&written, options, place, lock, fetch).map_err(wants)?;
        let here = graph.items.len();
        if let Some(parent) = parent.and_then(|at| graph.items.get_mut(at)) {
            parent.depends_on.push(here);
        }
        let known = graph.nodes.iter().any(|at| is_same(&graph.items[*at], &item));
        if !known {
            graph.nodes.push(here);
            worklist
                .extend(item.metadata.depends_on.iter().map(|(id, options)| (id.clone(), options.clone(), Some(here))));
        }
        graph.items.push(item);
    }
    Ok(graph)
}

fn find(written: &str, options: Value, place: &Place<'_>, lock: &Lock, fetch: &dyn Fetch) -> Result<Item> {
    let mut id = FeatureId::parse(written, place)?;
    id.pin = lock.pin(&id)?;
    let fetched = fetch.metadata(&id)?;
    if let Some(want) = id.required_digest()
        && fetched.digest.as_deref() != Some(want)
    {
        return Err(Error::new(format!("the feature {id} is not the one that is pinned: its digest is not {want}"))
            .hint("if its publisher changed it on purpose, update the lock file with the tool that wrote it"));
    }
    let mut installs_after = Vec::new();
    for written in &fetched.metadata.installs_after {
        let soft = FeatureId::parse(written, place).map_err(|e| e.context(format!("feature {id}, installsAfter")))?;
        installs_after.push(Soft { id: soft });
    }
    Ok(Item {
        aliases: fetched.metadata.aliases(),
        digest: fetched.digest,
        metadata: fetched.metadata,
        id,
        options,
        depends_on: Vec::new(),
        installs_after,
        priority: 0,
    })
}
