//! Contents that are kept as bases to merge with: `base.pack`, and which content may become one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::merge::is_text;
use crate::layer::entry::Identity;

/// Larger files are not kept.
pub const LARGEST: u64 = 1 << 20;

/// The content that a file had when the session saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// This.
    Seen(Vec<u8>),
    /// The commit had this. Whether the file had edits on top of it, nobody can tell any more.
    Committed(Vec<u8>),
}

/// The content of a text file in this very state; `None`: it is none, is too large, or has changed since, and what
/// the host wrote meanwhile must not become the base of its own edit.
pub fn text_of(file: &File, state: &Identity) -> io::Result<Option<Vec<u8>>> {
    let unchanged = || Ok::<_, io::Error>(Identity::from(&rustix::fs::fstat(file)?) == *state);
    if state.size > LARGEST || !unchanged()? {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(state.size as usize);
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok((unchanged()? && bytes.len() as u64 <= LARGEST && is_text(&bytes)).then_some(bytes))
}

const PACK: &str = "base.pack";

/// A content that was kept in `dir`.
pub fn read(dir: &Path, (offset, length): (u64, u64)) -> io::Result<Vec<u8>> {
    let mut pack = File::open(dir.join(PACK))?;
    pack.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    pack.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "base.pack is shorter than its list says"))
    }
}

/// Contents being kept.
#[derive(Debug)]
pub struct Pack {
    out: BufWriter<File>,
    end: u64,
}

impl Pack {
    /// Opens the one in `dir` to keep more.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(dir.join(PACK))?;
        let end = file.metadata()?.len();
        Ok(Self { out: BufWriter::with_capacity(1 << 16, file), end })
    }

    /// Keeps one; gives its place.
    pub fn keep(&mut self, bytes: &[u8]) -> io::Result<(u64, u64)> {
        let place = (self.end, bytes.len() as u64);
        self.out.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(place)
    }

    /// Makes them durable; before the list that names their places.
    pub fn finish(self) -> io::Result<()> {
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn state_of(path: &Path) -> Identity {
        Identity::from(&rustix::fs::stat(path).unwrap())
    }

    #[test]
    fn only_the_state_that_was_compared_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "one\n").unwrap();
        let state = state_of(&path);
        let file = File::open(&path).unwrap();
        assert_eq!(text_of(&file, &state).unwrap().as_deref(), Some(&b"one\n"[..]));
        // Edited in place, to the same size.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, "two\n").unwrap();
        assert_eq!(text_of(&File::open(&path).unwrap(), &state).unwrap(), None);
        fs::write(&path, "a\0b").unwrap();
        assert_eq!(text_of(&File::open(&path).unwrap(), &state_of(&path)).unwrap(), None);
    }
}
