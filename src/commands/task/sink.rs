//! Where the events of all runs of a batch go: `--events`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// A file, or stdout, as long as it takes what is written.
pub struct Sink {
    to: Option<File>,
    /// Why it does not any more.
    pub lost: Option<io::Error>,
}

impl Sink {
    /// `-` is stdout. What is in a file already stays before it.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = if path == Path::new("-") {
            rustix::io::dup(rustix::stdio::stdout()).map(File::from).map_err(Into::into)
        } else {
            File::options().append(true).create(true).open(path)
        };
        let to = opened.map_err(|e| Error::io("write events to", path, e))?;
        Ok(Self { to: Some(to), lost: None })
    }

    /// Writes a line.
    pub fn write(&mut self, line: &[u8]) {
        let Some(to) = &mut self.to else { return };
        if let Err(e) = to.write_all(line) {
            self.to = None;
            self.lost = Some(e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_follow_what_is_there_and_are_not_lost_unseen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        for line in ["1\n", "2\n"] {
            let mut sink = Sink::open(&path).unwrap();
            sink.write(line.as_bytes());
            assert!(sink.lost.is_none());
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"1\n2\n");
        let mut full = Sink::open(Path::new("/dev/full")).unwrap();
        full.write(b"1\n");
        assert_eq!(full.lost.map(|e| e.kind()), Some(io::ErrorKind::StorageFull));
        let (reads, writes) = io::pipe().unwrap();
        drop(reads);
        let mut left = Sink { to: Some(std::os::fd::OwnedFd::from(writes).into()), lost: None };
        left.write(b"1\n");
        assert_eq!(left.lost.map(|e| e.kind()), Some(io::ErrorKind::BrokenPipe), "whoever listened is gone");
    }
}
