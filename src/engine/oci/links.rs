//! Plain names for host paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::paths::is_plain;

/// Names for host paths that an engine's arguments can carry. Paths may hold anything; engines
/// split at `:` and `,` and know no escape. So they get a link in a place with a plain name.
#[derive(Debug)]
pub struct Links {
    dir: PathBuf,
    /// Removed when the sandbox has ended.
    _temporary: Option<tempfile::TempDir>,
    session: PathBuf,
}

impl Links {
    /// Links for one sandbox.
    pub fn new(session_dir: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io("prepare", session_dir, e);
        if is_plain(session_dir.as_os_str()) {
            let dir = session_dir.join("links");
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).map_err(failed)?;
            return Ok(Self { dir, _temporary: None, session: session_dir.to_path_buf() });
        }
        let base =
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_dir() && is_plain(d.as_os_str()));
        let base = base.unwrap_or_else(|| PathBuf::from("/tmp"));
        let temporary = tempfile::Builder::new().prefix("cowbox-").tempdir_in(base).map_err(failed)?;
        let session = temporary.path().join("session");
        symlink(session_dir, &session).map_err(failed)?;
        Ok(Self { dir: temporary.path().to_path_buf(), _temporary: Some(temporary), session })
    }

    /// A plain name for a host path.
    pub fn link(&self, name: &str, target: &Path) -> Result<String> {
        let link = self.dir.join(name);
        symlink(target, &link).map_err(|e| Error::io("link", &link, e))?;
        Ok(link.to_string_lossy().into_owned())
    }

    /// A file with this text.
    pub fn write(&self, name: &str, text: &str) -> Result<String> {
        let file = self.dir.join(name);
        fs::write(&file, text).map_err(|e| Error::io("write", &file, e))?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// A plain name for a path below the session's directory.
    pub fn in_session(&self, path: &Path, session_dir: &Path) -> String {
        let below = path.strip_prefix(session_dir).unwrap_or(path);
        self.session.join(below).to_string_lossy().into_owned()
    }
}
