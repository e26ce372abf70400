//! Where the user wants something written: stdout, a stream, or a file that is replaced whole.
//!
//! The place is opened before anything is written. A sandbox may own its name by then, in a writable mount, and a link
//! there would lead anywhere.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};

use crate::session::SessionId;

/// An opened place.
#[derive(Debug)]
pub enum Place {
    Stdout,
    /// A pipe or a device: written to as it is.
    Stream(File),
    /// A file: replaced whole.
    File {
        dir: OwnedFd,
        name: OsString,
    },
}

impl Place {
    /// Opens the place that `path` names; `-` is stdout.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Place::Stdout);
        }
        if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            let flags = (OFlags::NOCTTY | OFlags::CLOEXEC).bits() as i32;
            return Ok(Place::Stream(File::options().write(true).custom_flags(flags).open(path)?));
        }
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let parent = real.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = openat(CWD, parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let name = real.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        Ok(Place::File { dir, name })
    }

    /// Writes with `render`. A file is the new one or what it was, never half of it.
    pub fn write<E: From<io::Error>>(&self, render: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
        match self {
            Place::Stdout => buffered(io::stdout().lock(), render),
            Place::Stream(file) => buffered(file, render),
            Place::File { dir, name } => replace(dir, name, render),
        }
    }
}

fn buffered<E: From<io::Error>>(to: impl Write, render: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
    let mut out = BufWriter::with_capacity(1 << 16, to);
    render(&mut out)?;
    Ok(out.flush()?)
}

fn replace<E: From<io::Error>>(
    dir: &OwnedFd,
    name: &OsString,
    render: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let temp = format!(".cowbox-new-{}", SessionId::new());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(dir, temp.as_str(), flags, Mode::from_raw_mode(0o644)).map_err(io::Error::from)?);
    let done = buffered(file, render)
        .and_then(|()| Ok(renameat(dir, temp.as_str(), dir, name.as_os_str()).map_err(io::Error::from)?));
    if done.is_err() {
        let _ = unlinkat(dir, temp.as_str(), AtFlags::empty());
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_stays_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        let place = Place::open(&path).unwrap();
        place.write(|out| out.write_all(b"one")).unwrap();
        let failed: io::Result<()> = place.write(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        Place::open(&dir.path().join("link")).unwrap().write(|out| out.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read_link(dir.path().join("link")).unwrap(), Path::new("real"));
        assert_eq!(std::fs::read(dir.path().join("real")).unwrap(), b"new");
    }
}
