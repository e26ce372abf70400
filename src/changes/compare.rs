//! Whether two entries are the same: copying up alone is no change.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::BorrowedFd;

/// Compares two regular files byte by byte. Sizes were compared before.
pub fn same_content(mut a: &File, mut b: &File) -> io::Result<bool> {
    let (mut x, mut y) = (vec![0u8; 64 * 1024], vec![0u8; 64 * 1024]);
    let mut at = 0;
    // What is a hole in both is the same: terabytes of nothing cost nothing.
    while let Some(next) = next_data(a, at)?.into_iter().chain(next_data(b, at)?).min() {
        at = next;
        a.seek(SeekFrom::Start(at))?;
        b.seek(SeekFrom::Start(at))?;
        let n = read_full(&mut a, &mut x)?;
        let m = read_full(&mut b, &mut y)?;
        if n != m || x[..n] != y[..m] {
            return Ok(false);
        }
        if n == 0 {
            break;
        }
        at += n as u64;
    }
    Ok(true)
}

/// Gives every block of a file that is not all zero, with its place. Where a file has holes makes no difference,
/// but those cost nothing.
pub fn blocks(mut file: &File, mut each: impl FnMut(u64, &[u8])) -> io::Result<()> {
    let mut buffer = vec![0u8; 64 * 1024];
    let size = buffer.len() as u64;
    let mut at = 0;
    while let Some(next) = next_data(file, at)? {
        let start = next - next % size;
        file.seek(SeekFrom::Start(start))?;
        let n = read_full(&mut file, &mut buffer)?;
        if n == 0 {
            break;
        }
        if buffer[..n].iter().any(|b| *b != 0) {
            each(start, &buffer[..n]);
        }
        at = start + n as u64;
    }
    Ok(())
}

/// Where the next data begins; `None`: only holes follow, or nothing.
pub fn next_data(file: &File, at: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(next) => Ok(Some(next)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn read_full(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// Target of a link.
pub fn link_target(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Vec<u8>> {
    Ok(rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes())
}
