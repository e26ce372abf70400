//! Contents that are kept as bases to merge with: `base.pack`, and which content may become one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::compare::next_data;
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

/// A content that was kept in `dir`; `None`: it has been freed since whoever asks read its place.
pub fn read(dir: &Path, (offset, length): (u64, u64)) -> io::Result<Option<Vec<u8>>> {
    let mut pack = File::open(dir.join(PACK))?;
    pack.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    pack.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        // Only text is kept, and a hole begins in the first block that it covers.
        Ok(is_text(&bytes).then_some(bytes))
    } else {
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "base.pack is shorter than its list says"))
    }
}

/// What file systems free at once.
const BLOCK: u64 = 4096;

/// Frees all that is kept in `dir` but what lies at these places; gives the bytes. The places stay what they are, so
/// that no list has to be written anew. With `dry_run` it only tells.
pub fn free_all_but(dir: &Path, mut places: Vec<(u64, u64)>, dry_run: bool) -> io::Result<u64> {
    let file = match File::options().write(!dry_run).read(true).open(dir.join(PACK)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    if !dry_run {
        // A list that names what is freed must not come back after a power failure.
        rustix::fs::syncfs(&file)?;
    }
    places.sort_unstable();
    let end = file.metadata()?.len().next_multiple_of(BLOCK);
    let (mut at, mut freed) = (0, 0);
    for (offset, length) in places.into_iter().chain([(end, 0)]) {
        let gap = u64::next_multiple_of(at, BLOCK)..offset - offset % BLOCK;
        freed += if gap.is_empty() { 0 } else { free(&file, gap, dry_run)? };
        at = at.max(offset.saturating_add(length));
    }
    Ok(freed)
}

/// Frees one range.
fn free(file: &File, range: Range<u64>, dry_run: bool) -> io::Result<u64> {
    let mut taken = 0;
    let mut at = range.start;
    while let Some(data) = next_data(file, at)?.filter(|data| *data < range.end) {
        at = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(data))?.clamp(data + 1, range.end);
        taken += at - data;
    }
    if taken == 0 || dry_run {
        return Ok(taken);
    }
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, how, range.start, range.end - range.start) {
        // A file system without holes keeps it until the session goes.
        Err(Errno::OPNOTSUPP) => Ok(0),
        other => Ok(other.map(|()| taken)?),
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
    fn what_nobody_names_is_freed_and_the_rest_stays_in_its_place() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let mut pack = Pack::open(dir.path()).unwrap();
        let texts: Vec<Vec<u8>> = (b'a'..b'k').map(|letter| vec![letter; 10_000 + usize::from(letter)]).collect();
        let places: Vec<(u64, u64)> = texts.iter().map(|text| pack.keep(text).unwrap()).collect();
        pack.finish().unwrap();
        let blocks = || fs::metadata(dir.path().join(PACK)).unwrap().blocks() * 512;
        let (before, live) = (blocks(), [7, 1, 2]);
        let wanted = || live.iter().map(|number| places[*number]).collect();
        let told = free_all_but(dir.path(), wanted(), true).unwrap();
        assert_eq!((blocks(), told > 50_000), (before, true));
        assert_eq!(free_all_but(dir.path(), wanted(), false).unwrap(), told);
        // The last block is not full.
        assert_eq!((before - blocks()) / BLOCK, told.div_ceil(BLOCK));
        assert_eq!(free_all_but(dir.path(), wanted(), false).unwrap(), 0);
        for (number, place) in places.iter().enumerate() {
            let text = read(dir.path(), *place).unwrap();
            assert_eq!(text.as_ref(), live.contains(&number).then_some(&texts[number]), "{number}");
        }
        // What is kept next comes after all that.
        let mut pack = Pack::open(dir.path()).unwrap();
        let place = pack.keep(b"next").unwrap();
        pack.finish().unwrap();
        assert_eq!(read(dir.path(), place).unwrap().unwrap(), b"next");
        assert_eq!(read(dir.path(), places[7]).unwrap().unwrap(), texts[7]);
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
