//! The order of installation, round by round.

use super::compare::{compare, is_meant, is_same};
use super::graph::{Graph, Item, Soft};
use super::id::{FeatureId, Place, Source};
use crate::error::{Error, Result};
use crate::ui::sanitize;

/// Lets those that `overrideFeatureInstallOrder` names go before others. Tells which of them are not there.
pub(super) fn prefer(graph: &mut Graph, ids: &[String], place: &Place<'_>) -> Result<Vec<String>> {
    let mut absent = Vec::new();
    for (at, written) in ids.iter().enumerate() {
        let id = FeatureId::parse(written, place).map_err(|e| e.context("overrideFeatureInstallOrder"))?;
        let mut found = false;
        for node in graph.nodes.clone() {
            let item = &mut graph.items[node];
            if is_named(item, &id) {
                item.priority = item.priority.max(ids.len() - at);
                found = true;
            }
        }
        if !found {
            absent.push(sanitize::text(written));
        }
    }
    Ok(absent)
}

/// Versions do not count here, and neither do old names.
fn is_named(item: &Item, id: &FeatureId) -> bool {
    match (&item.id.source, &id.source) {
        (Source::Registry(have), Source::Registry(want)) => have.resource() == want.resource(),
        (have, want) => have == want,
    }
}

/// Places in [`Graph::items`], first to last.
pub(super) fn rounds(graph: &Graph) -> Result<Vec<usize>> {
    let item = |at: usize| &graph.items[at];
    let mut rest = graph.nodes.clone();
    let mut installed: Vec<usize> = Vec::new();
    // An edge to something that nobody wants is no edge.
    let counts = |soft: &&Soft| graph.nodes.iter().any(|at| is_meant(item(*at), soft));
    while !rest.is_empty() {
        let has = |dep: &usize| installed.iter().any(|at| is_same(item(*at), item(*dep)));
        let has_soft = |soft: &Soft| installed.iter().any(|at| is_meant(item(*at), soft));
        let is_ready = |at: &usize| {
            let item = item(*at);
            item.depends_on.iter().all(has) && item.installs_after.iter().filter(counts).all(has_soft)
        };
        let ready: Vec<usize> = rest.iter().copied().filter(is_ready).collect();
        let Some(priority) = ready.iter().map(|at| item(*at).priority).max() else {
            return Err(cycle(graph, &rest));
        };
        let round: Vec<usize> = ready.into_iter().filter(|at| item(*at).priority == priority).collect();
        rest.retain(|at| !round.contains(at));
        installed.extend(sorted(graph, round));
    }
    Ok(installed)
}

/// By insertion: the rules of [`compare`] are not always consistent, and the library's sort may panic over that.
fn sorted(graph: &Graph, round: Vec<usize>) -> Vec<usize> {
    let mut out: Vec<usize> = Vec::with_capacity(round.len());
    for at in round {
        let before = |other: &usize| compare(&graph.items[*other], &graph.items[at]).is_le();
        let place = out.iter().rposition(before).map_or(0, |last| last + 1);
        out.insert(place, at);
    }
    out
}

/// Names those that wait for each other. Each of `rest` waits for another of them: following that leads round.
fn cycle(graph: &Graph, rest: &[usize]) -> Error {
    let waits_for = |at: usize| {
        let item = &graph.items[at];
        let hard = item
            .depends_on
            .iter()
            .find_map(|dep| rest.iter().copied().find(|other| is_same(&graph.items[*other], &graph.items[*dep])));
        let soft = || {
            item.installs_after
                .iter()
                .find_map(|soft| rest.iter().copied().find(|other| is_meant(&graph.items[*other], soft)))
        };
        hard.or_else(soft)
    };
    let mut walked: Vec<usize> = Vec::new();
    let mut next = rest.first().copied();
    while let Some(at) = next {
        if let Some(start) = walked.iter().position(|seen| *seen == at) {
            walked.drain(..start);
            break;
        }
        walked.push(at);
        next = waits_for(at);
    }
    let names: Vec<String> = walked.iter().chain(walked.first()).map(|at| graph.items[*at].id.to_string()).collect();
    Error::new(format!("these features wait for each other: {}", names.join(" → ")))
        .hint("take one of them out of `features`, or out of the other's `dependsOn` or `installsAfter`")
}
