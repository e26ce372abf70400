//! What is known, on disk: `base.jsonl`, one line a path after a head.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Base, Known, Moved};
use crate::paths::BytePath;

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    /// The start of the run whose end was written down.
    stamp: Option<i64>,
    /// Whether one was: an apply writes this list too.
    #[serde(default = "yes")]
    complete: bool,
}

/// Lists from before it was said.
fn yes() -> bool {
    true
}

impl Head {
    fn parse(line: &[u8]) -> io::Result<Self> {
        let head: Self = serde_json::from_slice(line)?;
        if head.format > FORMAT {
            return Err(io::Error::other("it was written by a newer cowbox"));
        }
        Ok(head)
    }

    fn noted(&self) -> Option<Option<i64>> {
        self.complete.then_some(self.stamp)
    }
}

#[derive(Serialize, Deserialize)]
struct Line<E> {
    p: BytePath,
    #[serde(flatten)]
    entry: E,
    #[serde(rename = "z", default, skip_serializing_if = "std::ops::Not::not")]
    closed: bool,
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    xattrs: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    moved: Option<Moved>,
}

const FORMAT: u32 = 1;
const LIST: &str = "base.jsonl";

impl Base {
    /// Reads what is known of the session in `dir`; `stamp` is the start of its last run.
    pub fn load(dir: &Path, stamp: Option<i64>) -> io::Result<Self> {
        let mut base = Self { dir: dir.to_path_buf(), stamp, ..Self::default() };
        let file = match File::open(base.list()) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(base),
            Err(e) => return Err(e),
        };
        let mut lines = BufReader::new(file).split(b'\n');
        let Some(head) = lines.next() else { return Ok(base) };
        base.noted = Head::parse(&head?)?.noted();
        for line in lines {
            let Line { p, entry, closed, xattrs, moved } = serde_json::from_slice(&line?)?;
            let xattrs = xattrs.map(|pairs| pairs.into_iter().collect());
            base.entries.insert(p.0, Known { entry, closed, xattrs, moved });
        }
        Ok(base)
    }

    /// Whether the end of the run that started then has been written down for the session in `dir`.
    pub fn is_noted(dir: &Path, stamp: Option<i64>) -> io::Result<bool> {
        let file = match File::open(dir.join(LIST)) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e),
        };
        let mut head = Vec::new();
        BufReader::new(file).read_until(b'\n', &mut head)?;
        Ok(!head.is_empty() && Head::parse(&head)?.noted() == Some(stamp))
    }

    /// Writes it, whole or not at all.
    pub fn save(&mut self) -> io::Result<()> {
        let temp = self.dir.join(".new-base.jsonl");
        let mut out = BufWriter::new(File::create(&temp)?);
        let head = Head { format: FORMAT, stamp: self.noted.flatten(), complete: self.noted.is_some() };
        serde_json::to_writer(&mut out, &head)?;
        for (path, Known { entry, closed, xattrs, moved }) in &self.entries {
            out.write_all(b"\n")?;
            let xattrs = xattrs.as_ref().map(|xattrs| xattrs.clone().into_iter().collect());
            let line = Line { p: path.as_path().into(), entry, closed: *closed, xattrs, moved: *moved };
            serde_json::to_writer(&mut out, &line)?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        fs::rename(temp, self.list())
    }

    fn list(&self) -> PathBuf {
        self.dir.join(LIST)
    }
}
