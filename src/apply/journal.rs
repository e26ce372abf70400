//! The journal of one transaction: written before the first change, removed after the last.
//!
//! Three lines, each made durable before what follows it: what will be done; what the new things are; that
//! all of it is done. Another says that it is being rolled back. What was reached is seen from the files themselves, by their inodes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::crash;
use super::recover::Done;
use crate::changes::base::Entry;
use crate::layer::entry::Identity;
use crate::paths::BytePath;

/// Format number of journals, and of what they leave for an undo.
pub(super) const FORMAT: u32 = 1;

/// What will be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intent {
    /// Format number.
    pub format: u32,
    /// Its id.
    pub id: String,
    /// Milliseconds since 1970.
    pub time: u64,
    /// Whether it takes back the apply of this id.
    pub undoes: Option<String>,
    /// The repo.
    pub repo: BytePath,
    /// The steps, in order; the n-th one's temporary name is `.cowbox-<id>-<n>`.
    pub steps: Vec<StepRecord>,
    /// New looks, at the very end.
    pub looks: Vec<LooksRecord>,
    /// Directories in which names change: their permission bits and times before.
    pub parents: Vec<ParentRecord>,
    /// Changes that are done with afterwards, with the state of the session's side.
    pub settled: Vec<SettledRecord>,
    /// What an undo leaves to be taken back later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Box<Done>>,
}

/// One step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// Where.
    pub path: BytePath,
    /// Whether something new lands there.
    pub put: bool,
    /// What the host has there before.
    pub old: Option<Identity>,
    /// The number under which an earlier apply put the new thing aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<usize>,
}

/// New looks of something that stays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LooksRecord {
    /// Where.
    pub path: BytePath,
    /// Before.
    pub old: Looked,
    /// After.
    pub new: Looked,
}

/// How something looks: permission bits, and attributes where they are part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// Permission bits.
    pub mode: u32,
    /// Attributes of the user's; `None`: they stay as they are.
    pub xattrs: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

/// A directory in which names change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParentRecord {
    /// Where.
    pub path: BytePath,
    /// Permission bits before.
    pub mode: u32,
    /// Nanoseconds since 1970, before.
    pub mtime: i64,
}

/// A change that is done with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettledRecord {
    /// Where.
    pub path: BytePath,
    /// The session's side.
    pub session: Option<Identity>,
    /// What was known of the path before.
    pub before: Option<Entry>,
    /// Where the session's content is kept, if that is not what lands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<(u64, u64)>,
}

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

/// The new things.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// Inode of each step's new thing.
    pub inodes: Vec<Option<u64>>,
    /// Everything that was made.
    pub made: Vec<(PathBuf, Identity)>,
}

/// A journal on disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What will be done.
    pub intent: Intent,
}

impl Intent {
    /// A new one.
    pub fn new(repo: &Path) -> Self {
        Self {
            format: FORMAT,
            id: crate::session::SessionId::new().to_string(),
            time: crate::session::record::now(),
            undoes: None,
            repo: repo.into(),
            steps: Vec::new(),
            looks: Vec::new(),
            parents: Vec::new(),
            settled: Vec::new(),
            left: None,
        }
    }

    /// The temporary name of a step, in the directory of its target.
    pub fn temp(&self, step: usize) -> String {
        // The end of an id is its random part.
        format!(".cowbox-{}-{step}", self.id.get(self.id.len().saturating_sub(10)..).unwrap_or(&self.id).to_lowercase())
    }

    /// The temporary name for what the host had, where two names cannot be exchanged.
    pub fn aside(&self, step: usize) -> String {
        format!("{}o", self.temp(step))
    }
}

impl Journal {
    /// Writes down what will be done.
    pub fn begin(session_dir: &Path, intent: Intent) -> io::Result<Self> {
        let dir = session_dir.join("journal");
        fs::create_dir_all(&dir)?;
        let path = dir.join(format!("{}.jsonl", intent.id));
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        append(&mut file, &Line::Intent(intent.clone()))?;
        File::open(&dir)?.sync_all()?;
        File::open(session_dir)?.sync_all()?;
        Ok(Self { path, file, intent })
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

    /// The journal that was left behind in a session, and how far it came.
    pub fn left(session_dir: &Path) -> io::Result<Option<(Self, Reached)>> {
        let listing = match fs::read_dir(session_dir.join("journal")) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut paths: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let text = fs::read(&path)?;
            // A line that was not written to its end was never relied upon.
            let whole = text.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n"));
            let lines: Vec<Line> = whole.map_while(|line| serde_json::from_slice(line).ok()).collect();
            let mut lines = lines.into_iter();
            let Some(Line::Intent(intent)) = lines.next() else {
                // Not even the first line: nothing had been done.
                fs::remove_file(&path)?;
                continue;
            };
            if intent.format > FORMAT {
                return Err(io::Error::other("it was written by a newer cowbox"));
            }
            let mut reached = Reached::Nothing;
            for line in lines {
                reached = match (line, reached) {
                    (Line::Staged { inodes, made }, Reached::Nothing) => {
                        let made = made.into_iter().map(|(path, id)| (path.0, id)).collect();
                        Reached::Staged(Staged { inodes, made })
                    }
                    (Line::Committed, Reached::Staged(staged)) => Reached::Committed(staged),
                    (Line::Back, Reached::Nothing) => Reached::Back(None),
                    (Line::Back, Reached::Staged(staged)) => Reached::Back(Some(staged)),
                    (_, reached) => reached,
                };
            }
            let file = File::options().append(true).open(&path)?;
            return Ok(Some((Self { path, file, intent }, reached)));
        }
        Ok(None)
    }
}

fn append(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_data()
}
