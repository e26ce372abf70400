//! Counting what a session changed, for `ls` and `show`.

use super::context::Context;
use super::look::Look;
use crate::changes::classify::Classifier;
use crate::changes::details::Details;
use crate::changes::{Change, Class};
use crate::diff::body::Body;
use crate::diff::lines::LineDiff;
use crate::diff::stat::is_listed;
use crate::layer::entry::Kind;
use crate::session::Session;
use crate::session::tally::Tally;

/// More changes or more bytes than this are not compared line by line when a run ends: nobody has asked yet.
const MOST_CHANGES: usize = 500;
const MOST_BYTES: u64 = 4 << 20;

impl Context<'_> {
    /// Counts when a run has ended. What cannot be counted is left blank.
    pub fn tally_at_end(&self, session: &Session, look: &Look) {
        let classifier = Classifier::new(&session.record.repo.0);
        let counts = |change: &&Change| {
            let is_dir = change.new.or(change.old).is_some_and(|meta| meta.kind == Kind::Dir);
            let class = classifier.classify(&change.path, is_dir).unwrap_or_default();
            !change.is_vcs() && is_listed(change) && class != Class::Ignored
        };
        let changes: Vec<&Change> = look.set().changes.iter().filter(counts).collect();
        let lines = count_lines(session, look, &changes);
        session.note_tally(Tally {
            files: changes.len() as u64,
            insertions: lines.map(|(insertions, _)| insertions),
            deletions: lines.map(|(_, deletions)| deletions),
            bytes: written(look),
        });
    }

    /// Notes what has been counted for another view: of all changes but the ignored ones.
    pub fn tally_of(&self, session: &Session, look: &Look, rows: &[(&Change, Details)]) {
        let sum = |count: fn(&Details) -> u64| rows.iter().map(|(_, details)| count(details)).sum();
        session.note_tally(Tally {
            files: rows.iter().filter(|(change, _)| is_listed(change)).count() as u64,
            insertions: Some(sum(|details| details.insertions)),
            deletions: Some(sum(|details| details.deletions)),
            bytes: written(look),
        });
    }
}

fn count_lines(session: &Session, look: &Look, changes: &[&Change]) -> Option<(u64, u64)> {
    let size = |change: &&Change| [change.old, change.new].iter().flatten().map(|meta| meta.size).sum::<u64>();
    if changes.len() > MOST_CHANGES || changes.iter().map(size).sum::<u64>() > MOST_BYTES {
        return None;
    }
    // As this process is: taking rights for a number would be too much.
    let sides = look.sides(session.name()).ok()?;
    let (mut insertions, mut deletions) = (0, 0);
    for change in changes {
        let Body::Texts(pairs) = Body::of(change, &sides).ok()? else { continue };
        for (old, new) in &pairs {
            let diff = LineDiff::of(old, new);
            insertions += diff.insertions();
            deletions += diff.deletions();
        }
    }
    Some((insertions, deletions))
}

/// Bytes of all files in the session's layer.
fn written(look: &Look) -> u64 {
    look.reading.seen.iter().filter_map(|seen| seen.session).filter(|id| !id.is_dir()).map(|id| id.size).sum()
}
