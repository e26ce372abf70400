//! `tally.json`: how much a session changed, noted when it was counted anyway, so that `ls` need not count.

use serde::{Deserialize, Serialize};

use super::Session;
use super::store::replace;

const FILE: &str = "tally.json";

/// How much a session changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Changed files, without what git ignores.
    pub files: u64,
    /// Lines that are new; `None` where there was too much to count them.
    pub insertions: Option<u64>,
    /// Lines that are gone.
    pub deletions: Option<u64>,
    /// Bytes of all files that the session wrote.
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    /// Entries of the session's history then: whatever was done since may have changed the numbers.
    events: usize,
    tally: Tally,
}

impl Session {
    /// The numbers, if they were noted and nothing was done since.
    pub fn tally(&self) -> Option<Tally> {
        let text = std::fs::read(self.dir().join(FILE)).ok()?;
        let noted: Noted = serde_json::from_slice(&text).ok()?;
        (noted.events == self.record.history.len()).then_some(noted.tally)
    }

    /// Notes the numbers. Without them `ls` shows less, and that is all.
    pub fn note_tally(&self, tally: Tally) {
        let noted = Noted { events: self.record.history.len(), tally };
        if let Ok(text) = serde_json::to_vec(&noted) {
            let _ = replace(&self.dir().join(FILE), &text, false);
        }
    }
}

impl Tally {
    /// `+12 -3`, or nothing where lines were not counted.
    pub fn lines(&self) -> Option<String> {
        Some(format!("+{} -{}", self.insertions?, self.deletions?))
    }

    /// `3 files`
    pub fn files(&self) -> String {
        format!("{} {}", self.files, if self.files == 1 { "file" } else { "files" })
    }
}
