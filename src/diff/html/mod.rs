//! `diff --html`: one page that needs nothing else. No address is ever loaded, nothing but its own script may run, and
//! without that it says the same. Files are written one at a time: two sides of one are held, never all.

mod escape;
mod file;
mod page;
mod rows;
#[cfg(test)]
mod tests;
mod tree;

use std::io::Write;
use std::path::PathBuf;

use super::Failed;
use super::omitted::Counter;
use super::stat::{LeftOut, is_listed};
use crate::changes::Change;
use crate::changes::contents::Contents;
use crate::changes::details::Details;
use crate::changes::risk::{Risk, Tier};
use crate::git::commits::Commits;
use crate::session::Session;
use crate::session::record::rfc3339;

/// Files with more changed lines are folded at first.
const OPEN_LINES: u64 = 400;

/// So are all that come after this many lines: a browser has to lay out what is open.
const OPEN_IN_ALL: u64 = 6000;

/// What stands above the changes.
#[derive(Clone, Debug)]
pub struct Head {
    /// Name of the session.
    pub name: String,
    /// Root of its repo.
    pub repo: PathBuf,
    /// Its engine.
    pub engine: String,
    /// Its last command.
    pub command: String,
    /// When it was made.
    pub created: String,
    /// Of the whole change set.
    pub digest: String,
}

impl Head {
    /// That of a session.
    pub fn of(session: &Session, digest: String) -> Self {
        let record = &session.record;
        Self {
            name: record.name.clone(),
            repo: record.repo.0.clone(),
            engine: record.engine.kind.to_string(),
            command: record.command.join(" "),
            created: rfc3339(record.created),
            digest,
        }
    }
}

/// What is known beside the changes that are shown.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// How many are not shown.
    pub left_out: LeftOut,
    /// Made inside; `None` if they cannot be listed.
    pub commits: Option<&'a Commits>,
    /// Risks that only the whole set shows.
    pub whole: &'a [Risk],
}

/// One change and the number by which the page knows it: names are the session's and make no anchors.
struct Entry<'a> {
    number: usize,
    change: &'a Change,
    details: &'a Details,
}

impl Entry<'_> {
    fn tier(&self) -> Option<Tier> {
        self.details.risks.iter().map(|risk| risk.tier).max()
    }

    fn lines(&self) -> u64 {
        self.details.insertions + self.details.deletions
    }
}

/// Writes the page. `changes` are sorted by path.
pub fn write(
    head: &Head,
    changes: &[(&Change, Details)],
    beside: Beside<'_>,
    contents: &dyn Contents,
    out: &mut dyn Write,
) -> Result<(), Failed> {
    let listed = changes.iter().filter(|(change, details)| !details.risks.is_empty() || is_listed(change));
    let entries: Vec<Entry<'_>> =
        listed.enumerate().map(|(number, (change, details))| Entry { number, change, details }).collect();
    let mut counter = Counter::default();
    changes.iter().for_each(|(change, _)| counter.count(change));
    page::open(head, out)?;
    page::summary(&entries, beside, counter.done().directories, out)?;
    page::commits(beside.commits, out)?;
    out.write_all(b"<div class=\"cols\">\n")?;
    tree::write(&entries, out)?;
    out.write_all(b"<main id=\"files\">\n")?;
    let (mut flagged, rest): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) =
        entries.iter().partition(|entry| entry.tier().is_some());
    // Stable: within one tier the order of the paths stays.
    flagged.sort_by_key(|entry| std::cmp::Reverse(entry.tier()));
    let mut room = OPEN_IN_ALL;
    let both = !flagged.is_empty() && !rest.is_empty();
    for (title, part) in [("Look at these first", flagged), ("Other changes", rest)] {
        if !part.is_empty() && (both || title.starts_with("Look")) {
            writeln!(out, "<h2>{title}</h2>")?;
        }
        for entry in part {
            let open = entry.lines() <= OPEN_LINES && entry.lines() <= room;
            room = room.saturating_sub(if open { entry.lines() } else { 0 });
            file::write(entry, open, contents, out)?;
        }
    }
    if entries.is_empty() {
        out.write_all(b"<p class=\"none\">Nothing to see: there are no changes here.</p>\n")?;
    }
    out.write_all(b"</main>\n</div>\n")?;
    Ok(page::close(head, out)?)
}
