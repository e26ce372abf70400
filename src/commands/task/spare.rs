//! Directories that a run leaves empty, for the next one of the same process: to make them and to give them back to a
//! disk can take longer than a small task.
//!
//! Nothing of a run reaches the next. What its command could write to is removed, and only if it is empty; what is left
//! belongs to the kernel (`work`) and to us.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::told::Note;
use super::worker::notes;
use crate::commands::context::Context;
use crate::engine::native;
use crate::error::{Error, Result, show};
use crate::layer::remove;
use crate::session::SessionId;
use crate::session::lock::Lock;
use crate::session::store::NewSession;

/// With less room than this on its disk, whoever made something clears it away before anything else is written.
const ROOM: u64 = 64 << 20;

/// More sessions than any task has, but for one with dozens of scripts.
const MOST: u32 = 64;

/// What there is of a session that has not begun: its record is written before anything runs.
const OF_SESSION: [&str; 4] = ["lock", "upper", "work", "home"];
const OF_HOME: [&str; 3] = ["session", "upper", "work"];

/// What the next run may use.
#[derive(Debug)]
pub struct Spare {
    /// The directory of a session, under a new id.
    pub session: NewSession,
    /// `work` of the run that is over. It says which batch it belongs to, and which session, until the next one does.
    pub work: PathBuf,
}

impl Spare {
    /// What a run leaves that is over, with its session; none if it is more than directories that are empty.
    pub fn of(context: &Context<'_>, run: &Path, own: &SessionId) -> Option<Self> {
        if !has_room(run) {
            return None;
        }
        let [note] = <[PathBuf; 1]>::try_from(notes(run)).ok()?;
        let note = Note::read(&note).filter(|note| note.container.is_none())?;
        // A note makes no session a run's own.
        let id = SessionId::parse(&note.session).filter(|id| id == own)?;
        let dir = context.store.dir(&id);
        let lock = Lock::try_take(&dir).ok().flatten()?;
        empty(&dir, native::home_layer(&dir).as_deref()).ok()?;
        // From here on it is a session that has not begun.
        let session = NewSession::after(id, dir, lock).ok()?;
        Some(Self { session, work: run.join("work") })
    }

    /// Removes all of it.
    pub fn clear(self) -> io::Result<()> {
        let removed = remove_unbegun(self.session.dir());
        drop(self.session);
        removed.and_then(|()| remove::tree(&self.work))
    }
}

/// Takes away what the command could write to. Whatever it left keeps the directory from going.
fn empty(dir: &Path, home: Option<&Path>) -> io::Result<()> {
    has_only(dir, |name| OF_SESSION.contains(&name) || name == "session.json")?;
    let home = home.filter(|home| home.exists());
    if let Some(home) = home {
        has_only(home, |name| OF_HOME.contains(&name))?;
    }
    let mut uppers = [Some(dir), home].into_iter().flatten().map(|dir| dir.join("upper"));
    uppers.try_for_each(fs::remove_dir)
}

fn has_only(dir: &Path, known: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        if !name.to_str().is_some_and(&known) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
    }
    Ok(())
}

/// The id of one of the sessions that a run makes.
pub fn of_run(run: &str, number: u32) -> Option<SessionId> {
    Some(SessionId::parse(run)?.after(number)).filter(|_| number < MOST)
}

/// Those that a run may have made.
pub fn all_of_run(run: &str) -> impl Iterator<Item = SessionId> {
    (0..MOST).filter_map(move |number| of_run(run, number))
}

/// Has a session that has not begun go on under another id, with the layer of its home.
pub fn renew(session: NewSession, id: SessionId) -> io::Result<NewSession> {
    let home = native::home_layer(session.dir()).filter(|home| !home.starts_with(session.dir()) && home.exists());
    let session = session.renamed(id)?;
    let name = session.dir().file_name().unwrap_or_default();
    if let Some(home) = home
        && fs::rename(&home, home.with_file_name(name)).is_err()
    {
        remove::tree(&home)?;
    }
    Ok(session)
}

/// Removes a session without a record. Whoever had it may have been killed before it began, or before the last step of
/// its removal. One of the run's `own` is known by its id; of others only what is empty goes. One that somebody still
/// holds is an error.
pub fn remove_leftover(dir: &Path, own: bool) -> Result<()> {
    let failed = |e: io::Error| Error::io("remove", dir, e);
    if !dir.exists() {
        // It has another name by now, and its home has not.
        return native::remove_home_layer(dir).map_err(failed);
    }
    let Some(_lock) = Lock::try_take(dir)? else {
        return Err(Error::new(format!("somebody still holds {}", show(dir))));
    };
    // It may have come to have one.
    if dir.join("session.json").exists() || !(own || is_empty(dir)) {
        return Ok(());
    }
    remove_unbegun(dir).map_err(failed)
}

/// Whether nothing is in a session that has not begun, nor in its home.
fn is_empty(dir: &Path) -> bool {
    let layers = [Some(dir.to_path_buf()), native::home_layer(dir)].into_iter().flatten();
    let has_none = |upper: PathBuf| fs::read_dir(upper).map_or(true, |mut entries| entries.next().is_none());
    has_only(dir, |name| OF_SESSION.contains(&name)).is_ok() && layers.map(|layer| layer.join("upper")).all(has_none)
}

fn remove_unbegun(dir: &Path) -> io::Result<()> {
    native::remove_home_layer(dir)?;
    remove::tree(dir)
}

fn has_room(run: &Path) -> bool {
    rustix::fs::statvfs(run).is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) >= ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{ColorChoice, GlobalArgs};
    use crate::paths::BytePath;
    use crate::settings::Places;
    use crate::ui::Ui;

    /// A run that is over, and its session.
    struct Over {
        root: tempfile::TempDir,
        ui: Ui,
        id: SessionId,
    }

    impl Over {
        fn new() -> Self {
            let global = GlobalArgs { quiet: true, verbose: 0, color: ColorChoice::Never, no_input: true };
            let over = Self { root: tempfile::tempdir().unwrap(), ui: Ui::new(&global), id: SessionId::new() };
            for dir in ["upper", "work/work", "home/upper", "home/work"] {
                fs::create_dir_all(over.session().join(dir)).unwrap();
            }
            fs::create_dir_all(over.run().join("work")).unwrap();
            over.write("lock", "");
            over.write("session.json", "{}");
            over.note(None);
            over
        }

        fn context(&self) -> Context<'_> {
            let [state, cache] = ["state", "cache"].map(|name| self.root.path().join(name));
            Context::at(Places { state, cache, home: None, ..Places::find().unwrap() }, &self.ui)
        }

        fn run(&self) -> PathBuf {
            self.root.path().join("run")
        }

        fn session(&self) -> PathBuf {
            self.context().store.dir(&self.id)
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.session().join(name), text).unwrap();
        }

        fn note(&self, container: Option<&str>) {
            let note = Note {
                session: self.id.to_string(),
                dir: BytePath(self.session()),
                container: container.map(str::to_owned),
                init: None,
                interfaces: None,
                limits: Default::default(),
            };
            note.write(&self.run().join("work/run.note")).unwrap();
        }

        fn spare(&self) -> Option<Spare> {
            Spare::of(&self.context(), &self.run(), &self.id)
        }

        fn is_spare(&self) -> bool {
            self.spare().is_some()
        }
    }

    #[test]
    fn what_is_left_of_a_session_goes_on_under_another_name() {
        let over = Over::new();
        let spare = over.spare().unwrap();
        assert!(!over.session().join("upper").exists() && !over.session().join("home/upper").exists());
        assert!(!over.session().join("session.json").exists());
        let next = renew(spare.session, SessionId::new()).unwrap();
        assert_ne!(next.id(), &over.id);
        assert!(!over.session().exists() && next.dir().join("work/work").exists());
        assert!(Lock::try_take(next.dir()).unwrap().is_none(), "nobody else may take it");
        let dir = next.dir().to_path_buf();
        drop(next);
        assert!(!dir.exists());
    }

    #[test]
    fn only_what_is_empty_is_used_again() {
        type Change = fn(&Over);
        let changes: [(&str, Change); 6] = [
            ("a file", |over| over.write("upper/file", "x")),
            ("a file in the home", |over| over.write("home/upper/file", "x")),
            ("something else", |over| over.write("base.jsonl", "")),
            ("something else beside the home", |over| over.write("home/file", "")),
            ("a container", |over| over.note(Some("c"))),
            ("a second session", |over| fs::write(over.run().join("work/agent.note"), "").unwrap()),
        ];
        assert!(Over::new().is_spare());
        for (what, change) in changes {
            let over = Over::new();
            change(&over);
            assert!(!over.is_spare(), "{what}");
            assert!(over.session().join("session.json").exists(), "{what}: whoever clears it away needs the record");
        }
        let over = Over::new();
        assert!(Spare::of(&over.context(), &over.run(), &SessionId::new()).is_none(), "somebody else's session");
        let _held = Lock::try_take(&over.session()).unwrap();
        assert!(!over.is_spare());
    }

    #[test]
    fn leftovers_are_sessions_that_have_not_begun() {
        let over = Over::new();
        let remove = |own| remove_leftover(&over.session(), own);
        remove(true).unwrap();
        assert!(over.session().exists(), "it has a record");
        let spare = over.spare().unwrap().session;
        assert!(remove(true).is_err(), "somebody holds it");
        spare.leave();
        for layer in ["upper", "home/upper"] {
            fs::create_dir(over.session().join(layer)).unwrap();
            over.write(&format!("{layer}/file"), "x");
            remove(false).unwrap();
            assert!(over.session().exists(), "something is in {layer}");
            fs::remove_file(over.session().join(layer).join("file")).unwrap();
        }
        fs::create_dir(over.session().join("links")).unwrap();
        remove(false).unwrap();
        assert!(over.session().exists(), "something else is in there");
        remove(true).unwrap();
        assert!(!over.session().exists());
    }
}
