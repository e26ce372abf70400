//! Copying one file: constant memory, holes stay holes, blocks are shared where the file system can.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;

use rustix::io::Errno;

/// Up to here one read and one write are cheaper than asking for more.
const SMALL: u64 = 128 * 1024;

/// Copies files; remembers what the file systems at hand can do.
#[derive(Debug)]
pub struct Copier {
    buffer: Vec<u8>,
    can_clone: bool,
    can_copy_range: bool,
}

impl Default for Copier {
    fn default() -> Self {
        Self { buffer: vec![0; SMALL as usize], can_clone: true, can_copy_range: true }
    }
}

impl Copier {
    /// Copies all of `from` to the empty file `to`.
    pub fn copy(&mut self, from: &mut File, to: &mut File) -> io::Result<()> {
        let meta = from.metadata()?;
        if meta.len() == 0 {
            return Ok(());
        }
        if self.can_clone {
            match rustix::fs::ioctl_ficlone(&*to, &*from) {
                Ok(()) => return Ok(()),
                Err(_) => self.can_clone = false,
            }
        }
        if meta.len() <= SMALL {
            return self.pump(from, to, meta.len());
        }
        if meta.blocks().saturating_mul(512) >= meta.len() {
            return self.range(from, to, 0, meta.len());
        }
        // Sparse: piece by piece, and the length at last.
        let mut at = 0;
        while let Some(start) = crate::changes::compare::next_data(from, at)? {
            let end = rustix::fs::seek(&*from, rustix::fs::SeekFrom::Hole(start))?;
            self.range(from, to, start, end)?;
            at = end;
        }
        to.set_len(meta.len())
    }

    fn range(&mut self, from: &mut File, to: &mut File, start: u64, end: u64) -> io::Result<()> {
        let (mut here, mut there) = (start, start);
        while self.can_copy_range && here < end {
            let length = usize::try_from((end - here).min(1 << 30)).unwrap_or(1 << 30);
            match rustix::fs::copy_file_range(&*from, Some(&mut here), &*to, Some(&mut there), length) {
                // It became shorter: the caller sees that it changed.
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::PERM) => {
                    self.can_copy_range = false;
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if here < end {
            from.seek(SeekFrom::Start(here))?;
            to.seek(SeekFrom::Start(there))?;
            self.pump(from, to, end - here)?;
        }
        Ok(())
    }

    fn pump(&mut self, from: &mut File, to: &mut File, length: u64) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let want = usize::try_from(left.min(SMALL)).unwrap_or(SMALL as usize);
            match from.read(&mut self.buffer[..want]) {
                Ok(0) => break,
                Ok(n) => {
                    to.write_all(&self.buffer[..n])?;
                    left -= n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
