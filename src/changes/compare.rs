//! Whether two entries are the same: copying up alone is no change.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};

use crate::layer::entry::open_file;

/// Compares two regular files byte by byte. Sizes were compared before.
pub fn same_content(a: BorrowedFd<'_>, b: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
    let (mut a, mut b) = (open_file(a, name)?, open_file(b, name)?);
    let (mut x, mut y) = (vec![0u8; 64 * 1024], vec![0u8; 64 * 1024]);
    let mut at = 0;
    // What is a hole in both is the same: terabytes of nothing cost nothing.
    while let Some(next) = next_data(&a, at)?.into_iter().chain(next_data(&b, at)?).min() {
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

/// Prefixes that an overlay or an engine writes: not the user's.
const FOREIGN: [&[u8]; 3] = [b"user.overlay.", b"user.fuseoverlayfs.", b"user.containers."];

/// The user's own attributes of a file or directory.
pub fn user_xattrs(dir: BorrowedFd<'_>, name: &OsStr, is_dir: bool) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    if is_dir { of(crate::layer::entry::open_dir(dir, name)?.as_fd()) } else { of(open_file(dir, name)?.as_fd()) }
}

fn of(fd: BorrowedFd<'_>) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut list = vec![0u8; 1024];
    let length = loop {
        match rustix::fs::flistxattr(fd, &mut list) {
            Ok(n) => break n,
            Err(rustix::io::Errno::RANGE) => list.resize(list.len() * 4, 0),
            Err(rustix::io::Errno::OPNOTSUPP) => return Ok(found),
            Err(e) => return Err(e.into()),
        }
    };
    for name in list[..length].split(|b| *b == 0).filter(|n| n.starts_with(b"user.")) {
        if FOREIGN.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let c_name = std::ffi::CString::new(name).unwrap_or_default();
        let mut value = vec![0u8; 65536];
        match rustix::fs::fgetxattr(fd, &c_name, &mut value) {
            Ok(n) => value.truncate(n),
            Err(rustix::io::Errno::NODATA) => continue,
            Err(e) => return Err(e.into()),
        }
        found.insert(name.to_vec(), value);
    }
    Ok(found)
}
