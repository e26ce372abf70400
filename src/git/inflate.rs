//! Unpacking zlib streams with a limit that was agreed on before.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use flate2::bufread::ZlibDecoder;

use super::delta::damaged;
use crate::error::Result;

/// A file from some place on, without moving its own position.
pub(super) struct From<'a> {
    pub(super) file: &'a File,
    pub(super) at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

/// The stream of zlib that begins at a place of a file.
pub(super) fn stream(file: &File, at: u64) -> impl Read + '_ {
    ZlibDecoder::new(BufReader::with_capacity(8 << 10, From { file, at }))
}

/// Exactly `size` bytes, and the end of the stream after them.
pub(super) fn exactly(stream: impl Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(1 << 20)).map_err(|_| damaged())?);
    let read = stream.take(size.saturating_add(1)).read_to_end(&mut bytes);
    if read.is_err() || bytes.len() as u64 != size { Err(damaged()) } else { Ok(bytes) }
}
