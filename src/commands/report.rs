//! `run --report FILE`: where the result goes.
//!
//! The place is opened before the sandbox starts. Afterwards its name may be the sandbox's, in a
//! writable mount, and a link there would lead anywhere.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};

use super::show::Summary;
use crate::error::{Error, Result};
use crate::session::{Session, SessionId};
use crate::ui::Ui;

/// An opened place for the report.
#[derive(Debug)]
pub struct Report {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// A pipe or a device: written to as it is.
    Stream(File),
    /// A file: replaced whole.
    File {
        dir: OwnedFd,
        name: OsString,
    },
}

impl Report {
    /// Opens the place that `path` names.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io("write the report to", path, e);
        let target = if path == Path::new("-") {
            Target::Stdout
        } else if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            let flags = (OFlags::NOCTTY | OFlags::CLOEXEC).bits() as i32;
            Target::Stream(File::options().write(true).custom_flags(flags).open(path).map_err(failed)?)
        } else {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let parent = real.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = openat(CWD, parent, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
            let name = real.file_name().ok_or_else(|| failed(std::io::ErrorKind::InvalidInput.into()))?.to_owned();
            Target::File { dir, name }
        };
        Ok(Self { path: path.to_path_buf(), target })
    }

    /// Whether it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        matches!(self.target, Target::Stdout)
    }

    /// Writes what is known of the session.
    pub fn write(&self, session: &Session, ui: &Ui) -> Result<()> {
        let summary = Summary::of(session);
        let mut text =
            serde_json::to_vec_pretty(&summary).map_err(|e| Error::new(format!("cannot write the report: {e}")))?;
        text.push(b'\n');
        let written = match &self.target {
            Target::Stdout => return ui.data(&text),
            Target::Stream(file) => (&mut &*file).write_all(&text),
            Target::File { dir, name } => replace(dir, name, &text),
        };
        written.map_err(|e| Error::io("write the report to", &self.path, e))
    }
}

fn replace(dir: &OwnedFd, name: &OsString, text: &[u8]) -> std::io::Result<()> {
    let temp = format!(".cowbox-report-{}", SessionId::new());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(dir, temp.as_str(), flags, Mode::from_raw_mode(0o644))?);
    let done = file.write_all(text).and_then(|()| Ok(renameat(dir, temp.as_str(), dir, name.as_os_str())?));
    if done.is_err() {
        let _ = unlinkat(dir, temp.as_str(), AtFlags::empty());
    }
    done
}
