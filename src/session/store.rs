//! The sessions on disk: `<state>/sessions/<ulid>/`.
//!
//! Only the host writes here. What the sandbox can write (`upper/`, `work/`) is never read as state.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::SessionId;
use super::lock::Lock;
use super::record::Record;
use crate::changes::read::Layers;
use crate::error::{Error, Result};
use crate::layer::spread;

/// All sessions of the user.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// One session: its record and where it lies.
#[derive(Clone, Debug)]
pub struct Session {
    /// What is known about it.
    pub record: Record,
    dir: PathBuf,
}

/// The directory of a session that has no record yet, locked by us. Dropped without a record, it
/// is removed again: nothing has happened in it.
#[derive(Debug)]
pub struct NewSession {
    id: SessionId,
    dir: PathBuf,
    lock: Option<Lock>,
}

/// An entry of the store.
#[derive(Debug)]
pub enum Entry {
    /// A readable session.
    Good(Box<Session>),
    /// A session whose record cannot be read, and why.
    Broken(SessionId, Error),
}

impl Store {
    /// The store below a state directory. Nothing is created.
    pub fn new(state: &Path) -> Self {
        Self { root: state.join("sessions") }
    }

    /// Makes the directory of a new session.
    pub fn create(&self) -> Result<NewSession> {
        self.create_as(SessionId::new())
    }

    /// The same for an id that nobody else has.
    pub fn create_as(&self, id: SessionId) -> Result<NewSession> {
        let dir = self.root.join(id.as_str());
        let make = |dir: &Path, recursive: bool| DirBuilder::new().recursive(recursive).mode(0o700).create(dir);
        let made = match make(&dir, false) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                make(&self.root, true).inspect(|()| spread::entries_of(&self.root)).and_then(|()| make(&dir, false))
            }
            other => other,
        };
        made.map_err(|e| {
            Error::io("create", &dir, e).hint("set COWBOX_STATE_DIR to a directory that you can write to")
        })?;
        let lock = Lock::try_take(&dir)?;
        Ok(NewSession { id, dir, lock })
    }

    /// Every id in the store, oldest first.
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        let listing = match fs::read_dir(&self.root) {
            Ok(listing) => listing,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io("read", &self.root, e)),
        };
        let mut ids: Vec<SessionId> =
            listing.flatten().filter_map(|e| SessionId::parse(e.file_name().to_str()?)).collect();
        ids.sort();
        Ok(ids)
    }

    /// Reads one. `Ok(None)`: it has no record, so it is either being made or a leftover.
    pub fn read(&self, id: &SessionId) -> Result<Option<Session>> {
        let dir = self.dir(id);
        let path = dir.join("session.json");
        match fs::read(&path) {
            Ok(text) => Ok(Some(Session { record: Record::parse(&text, id.as_str())?, dir })),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", &path, e)),
        }
    }

    /// Every session with a record, newest first.
    pub fn newest_first(&self) -> Result<impl Iterator<Item = Entry>> {
        let store = self.clone();
        Ok(self.ids()?.into_iter().rev().filter_map(move |id| match store.read(&id) {
            Ok(None) => None,
            Ok(Some(session)) => Some(Entry::Good(Box::new(session))),
            Err(error) => Some(Entry::Broken(id, error)),
        }))
    }

    /// Where a session lies.
    pub fn dir(&self, id: &SessionId) -> PathBuf {
        self.root.join(id.as_str())
    }
}

impl NewSession {
    /// The directory of a session that is over, without its record. Whoever holds its lock has emptied it.
    pub fn after(id: SessionId, dir: PathBuf, lock: Lock) -> std::io::Result<Self> {
        fs::remove_file(dir.join("session.json"))?;
        Ok(Self { id, dir, lock: Some(lock) })
    }

    /// The same under another id.
    pub fn renamed(mut self, id: SessionId) -> std::io::Result<Self> {
        let dir = self.dir.with_file_name(id.as_str());
        fs::rename(&self.dir, &dir)?;
        (self.id, self.dir) = (id, dir);
        Ok(self)
    }

    /// Leaves it to a copy of this process, which has its lock as well.
    pub fn leave(mut self) {
        self.lock = None;
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the first record: from here on the session exists. One that is to be discarded at its
    /// end anyway need not survive a power failure.
    pub fn commit(mut self, record: Record, durable: bool) -> Result<(Session, Lock)> {
        let session = Session { record, dir: self.dir.clone() };
        session.write(durable)?;
        let lock = self.lock.take().ok_or_else(|| Error::new("another process locked the new session"))?;
        Ok((session, lock))
    }
}

impl Drop for NewSession {
    fn drop(&mut self) {
        // `commit` takes the lock out; with it still here there is no record.
        if self.lock.is_some() {
            let _ = crate::engine::native::remove_home_layer(&self.dir);
            let _ = crate::layer::remove::tree(&self.dir);
        }
    }
}

impl Session {
    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// The writable top layer.
    pub fn upper(&self) -> PathBuf {
        self.dir.join("upper")
    }

    /// Its layers over the repo.
    pub fn layers(&self) -> Layers {
        let mut layers = Layers::simple(self.upper(), self.record.encoding, self.record.repo.0.clone());
        if let Some(layer) = self.record.setup.as_ref().and_then(|setup| setup.layer.as_ref()) {
            layers.setup = Some((layer.0.clone(), crate::layer::Encoding::Userxattr));
        }
        let below = self.record.below.iter().map(|layer| (layer.0.clone(), crate::layer::Encoding::Userxattr));
        layers.below.splice(0..0, below);
        layers
    }

    /// What a setup left that failed, if this session is of one.
    pub fn failed_setup(&self) -> Option<PathBuf> {
        let setup = self.record.setup.as_ref().filter(|setup| setup.failed)?;
        Some(setup.layer.as_ref()?.0.parent()?.to_path_buf())
    }

    /// Takes its lock; `None` if somebody else has it.
    pub fn try_lock(&self) -> Result<Option<Lock>> {
        Lock::try_take(&self.dir)
    }

    /// Reads the record again: another process may have changed it.
    pub fn reload(&mut self) -> Result<()> {
        let path = self.dir.join("session.json");
        let text = fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
        self.record = Record::parse(&text, &self.record.name)?;
        Ok(())
    }

    /// Writes the record so that a crash leaves the old one or the new one, whole.
    pub fn save(&self) -> Result<()> {
        self.write(true)
    }

    /// The same, and whether it must survive a power failure.
    pub fn write(&self, durable: bool) -> Result<()> {
        let path = self.dir.join("session.json");
        let mut text = serde_json::to_vec_pretty(&self.record)
            .map_err(|e| Error::new(format!("cannot write the record of {}: {e}", self.record.name)))?;
        text.push(b'\n');
        replace(&path, &text, durable).map_err(|e| Error::io("write", &path, e))
    }

    /// Notes an apply or an undo in the record.
    pub fn note_transaction(&mut self, id: &str, event: String) -> std::io::Result<()> {
        self.record.note_transaction(id, event);
        self.save().map_err(|e| std::io::Error::other(e.message().to_string()))
    }
}

/// Temp file, rename; durable: with an fsync of the file before and of the directory after.
pub(super) fn replace(path: &Path, content: &[u8], durable: bool) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::Builder::new().prefix(".new-").permissions(fs::Permissions::from_mode(0o600)).tempfile_in(dir)?;
    file.write_all(content)?;
    if durable {
        file.as_file().sync_all()?;
    }
    // ext4 writes to the disk at once what takes the place of a file. What goes soon may as well never get there.
    if !durable && renameat_with(CWD, file.path(), CWD, path, RenameFlags::EXCHANGE).is_ok() {
        return file.close();
    }
    file.persist(path).map_err(|e| e.error)?;
    if durable { File::open(dir)?.sync_all() } else { Ok(()) }
}
