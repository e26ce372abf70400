//! The journal of one transaction: written before the first change, removed after the last.
//!
//! Three lines, each made durable before what follows it: what will be done; what the new things are; that
//! all of it is done. Another says that it is being rolled back. What was reached is seen from the files themselves, by their inodes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::crash;
use super::intent::FORMAT;
pub use super::intent::{Intent, Looked, LooksRecord, MovedRecord, ParentRecord, SettledRecord, StepRecord};
use crate::layer::entry::Identity;
use crate::paths::BytePath;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Intent(Intent),
    /// Everything that was made, and the inode of each step's new thing.
    Staged {
        inodes: Vec<Option<u64>>,
        made: Vec<(BytePath, Identity)>,
    },
    Committed,
    /// It is being rolled back: there is no way forward any more.
    Back,
}

/// How far it came.
#[derive(Clone, Debug)]
pub enum Reached {
    /// No target has been touched.
    Nothing,
    /// Every new thing is there; targets may have been touched.
    Staged(Staged),
    /// Every target has been touched. What was there before is beside it.
    Committed(Staged),
    /// It was being rolled back.
    Back(Option<Staged>),
}

impl Reached {
    /// The new things, if all of them were there.
    pub fn staged(&self) -> Option<&Staged> {
        match self {
            Self::Nothing => None,
            Self::Staged(staged) | Self::Committed(staged) => Some(staged),
            Self::Back(staged) => staged.as_ref(),
        }
    }
}

/// The new things.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// Inode of each step's new thing.
    pub inodes: Vec<Option<u64>>,
    /// Everything that was made.
    pub made: Vec<(PathBuf, Identity)>,
}

impl Staged {
    /// Inode of a step's new thing.
    pub fn new_of(&self, step: usize) -> Option<u64> {
        self.inodes.get(step).copied().flatten()
    }
}

/// A journal on disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What will be done.
    pub intent: Intent,
}

impl Journal {
    /// Writes down what will be done.
    pub fn begin(session_dir: &Path, intent: Intent) -> io::Result<Self> {
        let dir = session_dir.join("journal");
        fs::create_dir_all(&dir)?;
        let path = dir.join(format!("{}.jsonl", intent.id));
        let mut file = File::options().append(true).create_new(true).open(&path)?;
        let begun = append(&mut file, &Line::Intent(intent.clone()))
            .and_then(|()| File::open(&dir)?.sync_all())
            .and_then(|()| File::open(session_dir)?.sync_all());
        match begun {
            Ok(()) => Ok(Self { path, file, intent }),
            Err(e) => {
                // Nothing was done, and nothing is left to be said.
                let _ = fs::remove_file(&path);
                Err(e)
            }
        }
    }

    /// Writes down that every new thing is there.
    pub fn staged(&mut self, staged: &Staged) -> io::Result<()> {
        let made = staged.made.iter().map(|(path, id)| (path.as_path().into(), *id)).collect();
        append(&mut self.file, &Line::Staged { inodes: staged.inodes.clone(), made })
    }

    /// Writes down that every target has been touched.
    pub fn committed(&mut self) -> io::Result<()> {
        append(&mut self.file, &Line::Committed)
    }

    /// Writes down that it is rolled back from here on.
    pub fn back(&mut self) -> io::Result<()> {
        append(&mut self.file, &Line::Back)
    }

    /// Removes it: nothing is left to do.
    pub fn end(self) -> io::Result<()> {
        crash::point();
        fs::remove_file(&self.path)?;
        crash::point();
        match self.path.parent() {
            Some(dir) => File::open(dir)?.sync_all(),
            None => Ok(()),
        }
    }

    /// The journal that was left behind in a session, and how far it came. For whoever holds the repo's lock:
    /// what was not written to its end is removed.
    pub fn left(session_dir: &Path) -> io::Result<Option<(Self, Reached)>> {
        for path in files(session_dir)? {
            let text = fs::read(&path)?;
            let whole = whole_lines(&text);
            if whole.is_empty() {
                // Not even the first line: nothing had been done.
                fs::remove_file(&path)?;
                continue;
            }
            let (intent, reached) = parse(whole)?;
            let file = File::options().append(true).open(&path)?;
            if whole.len() < text.len() {
                // What is written next must not become its end.
                file.set_len(whole.len() as u64)?;
            }
            return Ok(Some((Self { path, file, intent }, reached)));
        }
        Ok(None)
    }

    /// Whether one was left behind that tells of something, readable or not. Touches nothing.
    pub fn is_left(session_dir: &Path) -> io::Result<bool> {
        for path in files(session_dir)? {
            if !whole_lines(&fs::read(path)?).is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn files(session_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(session_dir.join("journal")) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut paths = listing.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// A line that was not written to its end was never relied upon.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    &text[..end]
}

/// Reads whole lines. One that makes no sense is an error: what it says may have been done.
fn parse(text: &[u8]) -> io::Result<(Intent, Reached)> {
    #[derive(Deserialize)]
    struct Head {
        intent: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let mut lines = text.split_inclusive(|b| *b == b'\n');
    let first = lines.next().unwrap_or_default();
    // The rest of a newer one may be anything.
    if serde_json::from_slice::<Head>(first)?.intent.format > FORMAT {
        return Err(io::Error::other("it was written by a newer cowbox"));
    }
    let Line::Intent(intent) = serde_json::from_slice(first)? else { return Err(io::ErrorKind::InvalidData.into()) };
    let mut reached = Reached::Nothing;
    for line in lines {
        reached = match (serde_json::from_slice(line)?, reached) {
            (Line::Staged { inodes, made }, Reached::Nothing) => {
                let made = made.into_iter().map(|(path, id)| (path.0, id)).collect();
                Reached::Staged(Staged { inodes, made })
            }
            (Line::Committed, Reached::Staged(staged)) => Reached::Committed(staged),
            (Line::Back, Reached::Nothing) => Reached::Back(None),
            // After the last line too: that it is on disk was not certain, and so the way back was taken.
            (Line::Back, Reached::Staged(staged) | Reached::Committed(staged)) => Reached::Back(Some(staged)),
            (_, reached) => reached,
        };
    }
    Ok((intent, reached))
}

fn append(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let end = file.metadata()?.len();
    if let Err(e) = file.write_all(&text) {
        // Half a line would take the next one with it.
        let _ = file.set_len(end);
        return Err(e);
    }
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> (tempfile::TempDir, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::begin(dir.path(), Intent::new(Path::new("/repo"))).unwrap();
        (dir, journal)
    }

    fn add(journal: &Journal, text: &str) {
        File::options().append(true).open(&journal.path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_no_reason_to_forget_it() {
        for text in ["{\"intent\":{\"format\":99,\"new\":[]}}\n", "{\"begin\":{}}\n", "nonsense\n", "\n"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal/1.jsonl");
            fs::create_dir(dir.path().join("journal")).unwrap();
            fs::write(&path, text).unwrap();
            let error = Journal::left(dir.path()).unwrap_err().to_string();
            assert_eq!(error.contains("newer cowbox"), text.contains("format"), "{error}");
            assert!(Journal::is_left(dir.path()).unwrap());
            assert!(path.exists());
        }
        let (dir, journal) = begun();
        add(&journal, "nonsense\n");
        assert!(Journal::left(dir.path()).is_err());
    }

    #[test]
    fn a_first_line_that_was_cut_off_tells_of_nothing() {
        let (dir, journal) = begun();
        let text = fs::read(&journal.path).unwrap();
        fs::write(&journal.path, &text[..text.len() / 2]).unwrap();
        assert!(!Journal::is_left(dir.path()).unwrap());
        assert!(journal.path.exists(), "a look removes nothing");
        assert!(Journal::left(dir.path()).unwrap().is_none());
        assert!(!journal.path.exists());
    }

    #[test]
    fn a_line_that_was_cut_off_does_not_take_the_next_one_with_it() {
        let (dir, mut journal) = begun();
        journal.staged(&Staged::default()).unwrap();
        add(&journal, "{\"comm");
        let (mut journal, reached) = Journal::left(dir.path()).unwrap().unwrap();
        assert!(matches!(reached, Reached::Staged(_)));
        journal.committed().unwrap();
        let (_, reached) = Journal::left(dir.path()).unwrap().unwrap();
        assert!(matches!(reached, Reached::Committed(_)));
    }

    #[test]
    fn the_way_back_counts_even_after_the_last_line() {
        let (dir, mut journal) = begun();
        journal.staged(&Staged::default()).unwrap();
        journal.committed().unwrap();
        journal.back().unwrap();
        let (_, reached) = Journal::left(dir.path()).unwrap().unwrap();
        assert!(matches!(reached, Reached::Back(Some(_))));
    }
}
