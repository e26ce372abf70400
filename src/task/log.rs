//! The output of a stage in a file that cannot grow without end: its head and its tail are kept.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How much is copied at a time.
const CHUNK: usize = 64 << 10;

/// A log that is being written. The tail goes round in a part of the file of fixed size: memory stays small.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// None as long as nothing was written.
    file: Option<File>,
    head: u64,
    tail: u64,
    written: u64,
}

/// What was left out of the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cut {
    /// Where in the file the gap is told of.
    pub offset: u64,
    /// How many bytes are missing there.
    pub bytes: u64,
}

impl Log {
    /// A new one, of at most `most` bytes and the line that tells of the gap.
    pub fn new(path: &Path, most: u64) -> Self {
        let head = most / 2;
        Self { path: path.to_path_buf(), file: None, head, tail: (most - head).max(1), written: 0 }
    }

    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(File::options().read(true).write(true).create_new(true).open(&self.path)?);
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Adds to it.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (at, room) = if self.written < self.head {
                (self.written, self.head - self.written)
            } else {
                let round = (self.written - self.head) % self.tail;
                (self.head + round, self.tail - round)
            };
            let count = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            self.file()?.write_all_at(&bytes[..count], at)?;
            self.written += count as u64;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Puts the tail in order; what is missing, if anything is. Most logs are empty, and a new file costs more than all
    /// that is written: those are one file with many names, of which `empty` is the first.
    pub fn finish(mut self, empty: &mut Option<PathBuf>) -> io::Result<Option<Cut>> {
        if self.file.is_none() {
            let linked = empty.as_ref().is_some_and(|first| fs::hard_link(first, &self.path).is_ok());
            if !linked {
                self.file()?;
                *empty = Some(self.path);
            }
            return Ok(None);
        }
        let kept = self.head + self.tail;
        let Some(missing) = self.written.checked_sub(kept).filter(|bytes| *bytes > 0) else {
            return Ok(None);
        };
        let beside = self.path.with_extension("cut");
        self.put_in_order(&beside, missing).inspect_err(|_| drop(fs::remove_file(&beside)))?;
        fs::rename(&beside, &self.path)?;
        Ok(Some(Cut { offset: self.head, bytes: missing }))
    }

    fn put_in_order(&self, beside: &Path, missing: u64) -> io::Result<()> {
        let kept = self.head + self.tail;
        let mut out = File::create(beside)?;
        self.copy(&mut out, 0, self.head)?;
        write!(out, "\n[cowbox: {missing} bytes were left out here; `--max-log` says how much is kept]\n")?;
        let oldest = self.head + (self.written - self.head) % self.tail;
        self.copy(&mut out, oldest, kept)?;
        self.copy(&mut out, self.head, oldest)
    }

    fn copy(&self, out: &mut File, from: u64, to: u64) -> io::Result<()> {
        let mut at = from;
        let mut buffer = vec![0; CHUNK];
        while at < to {
            let wanted = buffer.len().min(usize::try_from(to - at).unwrap_or(usize::MAX));
            self.file.as_ref().ok_or(io::ErrorKind::NotFound)?.read_exact_at(&mut buffer[..wanted], at)?;
            out.write_all(&buffer[..wanted])?;
            at += wanted as u64;
        }
        Ok(())
    }
}

/// The last lines of a log, for the screen: at most `most` bytes, not escaped.
pub fn last_words(path: &Path, most: u64) -> Vec<u8> {
    let read = || -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut bytes = vec![0; usize::try_from(size.min(most)).unwrap_or(0)];
        file.read_exact_at(&mut bytes, size - size.min(most))?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(most: u64, pieces: &[&[u8]]) -> (Vec<u8>, Option<Cut>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.stdout");
        let mut log = Log::new(&path, most);
        pieces.iter().for_each(|piece| log.write(piece).unwrap());
        let cut = log.finish(&mut None).unwrap();
        let names = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(names, 1, "nothing else is left");
        (fs::read(path).unwrap(), cut)
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(log(10, &[b"01234", b"56789"]), (b"0123456789".to_vec(), None));
        assert_eq!(log(10, &[]), (Vec::new(), None));
    }

    #[test]
    fn empty_ones_are_one_file_and_no_other_is() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let mut empty = None;
        for (name, text) in [("a", ""), ("b", "x"), ("c", ""), ("d", "")] {
            let mut log = Log::new(&dir.path().join(name), 10);
            log.write(text.as_bytes()).unwrap();
            assert_eq!(log.finish(&mut empty).unwrap(), None);
        }
        let of = |name: &str| fs::metadata(dir.path().join(name)).unwrap();
        assert_eq!((of("a").len(), of("a").nlink(), of("c").ino() == of("d").ino()), (0, 3, true));
        assert_eq!((of("b").len(), of("b").nlink()), (1, 1));
    }

    #[test]
    fn of_more_than_that_head_and_tail_are_kept_and_the_gap_is_told() {
        let whole: Vec<u8> = (0..100_000u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        for size in [1, 7, 4096, whole.len()] {
            let pieces: Vec<&[u8]> = whole.chunks(size.max(7)).collect();
            let (kept, cut) = log(1000, &pieces);
            let cut = cut.unwrap();
            assert_eq!((cut.offset, cut.bytes), (500, whole.len() as u64 - 1000));
            assert!(kept.starts_with(&whole[..500]) && kept.ends_with(&whole[whole.len() - 500..]));
            let middle = String::from_utf8_lossy(&kept[500..kept.len() - 500]).into_owned();
            assert!(middle.contains(&format!("{} bytes were left out", cut.bytes)), "{middle}");
        }
    }

    #[test]
    fn the_last_words_are_the_end_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(last_words(&path, 4), b"two\n");
        assert_eq!(last_words(&path, 400), b"one\ntwo\n");
        assert_eq!(last_words(&dir.path().join("none"), 4), b"");
    }
}
