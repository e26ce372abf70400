//! A repo, a home and a state of its own for one test, and the checks at its end.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use super::leftovers::{self, Process};
use super::tiers::image;
use super::{Cowbox, Engine, Fingerprint, Output, within};

/// How long an engine may take to clear away what has ended.
const SETTLE: Duration = Duration::from_secs(10);

/// Everything that one test needs. See the module's own page.
pub struct Sandbox {
    engine: Option<Engine>,
    root: TempDir,
    repo: PathBuf,
    /// Elsewhere than in the home.
    state: Option<PathBuf>,
    image: &'static str,
    /// Taken by the first command.
    before: RefCell<Option<Fingerprint>>,
}

impl Sandbox {
    /// A repo called `api`: a git root with a few files of every kind. The engine was tried before: its first
    /// trial costs a second and more, and is kept in the cache.
    pub fn new(engine: Engine) -> Self {
        Self::warm(engine, scratch())
    }

    /// The same in memory, for tests with thousands of commands: what is written there need not reach a disk.
    /// Kernels before 6.6 have no overlay over it, and get the usual place.
    pub fn in_memory(engine: Engine) -> Self {
        let memory = PathBuf::from("/dev/shm");
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut numbers = kernel.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
        let new_enough = (numbers.next(), numbers.next()) >= (Some(6), Some(6));
        Self::warm(engine, if new_enough && memory.is_dir() { memory } else { scratch() })
    }

    fn warm(engine: Engine, base: PathBuf) -> Self {
        let sandbox = Self::make_in(Some(engine), base);
        let warm = warm_cache(engine);
        for (path, mode, content) in &warm.files {
            let path = sandbox.cache().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match std::str::from_utf8(content) {
                // What is kept about an engine holds for one state directory.
                Ok(text) => fs::write(&path, text.replace(&warm.id, sandbox.id())).unwrap(),
                Err(_) => fs::write(&path, content).unwrap(),
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        sandbox
    }

    /// The same on a machine where cowbox never ran.
    pub fn cold(engine: Engine) -> Self {
        Self::make(Some(engine))
    }

    /// Without an engine: for verbs that need none.
    pub fn bare() -> Self {
        Self::make(None)
    }

    fn make(engine: Option<Engine>) -> Self {
        Self::make_in(engine, scratch())
    }

    fn make_in(engine: Option<Engine>, base: PathBuf) -> Self {
        let root = tempfile::Builder::new().prefix("cowbox-it-").tempdir_in(base).unwrap();
        let repo = root.path().join("home/api");
        fs::create_dir_all(repo.join(".git/refs/heads")).unwrap();
        fs::create_dir_all(root.path().join("config")).unwrap();
        let sandbox = Self { engine, root, repo, state: None, image: "tiny", before: RefCell::new(None) };
        sandbox.link_podman_config();
        fs::create_dir(sandbox.repo.join(".git/objects")).unwrap();
        sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        sandbox.write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
        sandbox.write("README.md", "# api\n");
        sandbox.write("src/main.c", "int main(void) { return 0; }\n");
        sandbox.write("src/deep/er/leaf", "leaf\n");
        sandbox.write("build.sh", "#!/bin/sh\necho built\n");
        sandbox.chmod("build.sh", 0o755);
        symlink("README.md", sandbox.repo.join("link")).unwrap();
        sandbox
    }

    /// Podman looks for its storage in XDG_CONFIG_HOME, where cowbox must find a configuration of the test's own.
    fn link_podman_config(&self) {
        let real = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
        if let Some(containers) = real.map(|r| r.join("containers")).filter(|c| c.is_dir()) {
            symlink(containers, self.root().join("config/containers")).unwrap();
        }
    }

    /// Uses another of the test images: `tiny-user`, `tiny-named`, `debian`.
    pub fn with_image(mut self, name: &'static str) -> Self {
        self.image = name;
        self
    }

    /// The engine of the test.
    pub fn engine(&self) -> Engine {
        self.engine.expect("a test without an engine")
    }

    /// The same; none where the test needs none.
    pub(super) fn engine_if_any(&self) -> Option<Engine> {
        self.engine
    }

    /// Scratch directory of the test: everything is below it.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The protected repo.
    pub fn repo(&self) -> &Path {
        &self.repo
    }

    /// Where the repo is inside.
    pub fn workspace(&self) -> String {
        match self.engine() {
            Engine::Native => self.repo.to_str().unwrap().to_owned(),
            _ => "/workspace".to_owned(),
        }
    }

    /// The home of native tests; podman and docker have the real one.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// COWBOX_STATE_DIR.
    pub fn state(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| self.home().join(".local/state/cowbox"))
    }

    /// Has the state elsewhere. Before the first command.
    pub fn use_state(&mut self, state: impl Into<PathBuf>) {
        assert!(self.before.borrow().is_none(), "a command has run already");
        self.state = Some(state.into());
    }

    /// COWBOX_CACHE_DIR.
    pub fn cache(&self) -> PathBuf {
        self.home().join(".cache/cowbox")
    }

    /// Makes another directory of the scratch space the repo. Before the first command.
    pub fn use_repo(&mut self, repo: impl Into<PathBuf>) {
        assert!(self.before.borrow().is_none(), "a command has run already");
        self.repo = repo.into();
    }

    /// Writes a file of the host's repo; `change_repo` for later.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        assert!(self.before.borrow().is_none(), "use change_repo after the first command");
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Changes the mode of a file of the host's repo; `change_repo` for later.
    #[track_caller]
    pub fn chmod(&self, path: impl AsRef<Path>, mode: u32) {
        assert!(self.before.borrow().is_none(), "use change_repo after the first command");
        fs::set_permissions(self.repo.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Writes the user's configuration.
    pub fn configure(&self, toml: &str) {
        let dir = self.root().join("config/cowbox");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("config.toml"), toml).unwrap();
    }

    /// Edits the host's repo on purpose, between commands.
    #[track_caller]
    pub fn change_repo(&self, change: impl FnOnce(&Path)) {
        self.check_repo();
        change(&self.repo);
        *self.before.borrow_mut() = Some(Fingerprint::of(&self.repo));
    }

    /// Takes the repo as it is: for tests that must not look at it through a fingerprint.
    #[track_caller]
    pub fn accept_repo(&self) {
        *self.before.borrow_mut() = Some(Fingerprint::of(&self.repo));
    }

    /// Compares the repo with its fingerprint, and takes one if there is none.
    #[track_caller]
    pub fn check_repo(&self) {
        let now = Fingerprint::of(&self.repo);
        let mut before = self.before.borrow_mut();
        if let Some(before) = &*before {
            let differences = before.differences(&now);
            assert!(differences.is_empty(), "the repo was touched:\n{}", differences.join("\n"));
        }
        *before = Some(now);
    }

    /// `cowbox ARGS` in the repo.
    pub fn cowbox(&self, args: &[&str]) -> Cowbox {
        if self.before.borrow().is_none() {
            *self.before.borrow_mut() = Some(Fingerprint::of(&self.repo));
        }
        let mut cowbox = Cowbox::new(self.root()).args(args).current_dir(&self.repo);
        let variable = |name: &str| std::env::var_os(name);
        let path = variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into());
        cowbox = cowbox
            .env("PATH", path)
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", self.root().join("config"))
            .env("COWBOX_STATE_DIR", self.state())
            .env("COWBOX_CACHE_DIR", self.cache())
            .env("COWBOX_TEST_ID", self.id())
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("COLUMNS", "100")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        for name in ["XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINERS_STORAGE_CONF"] {
            if let Some(value) = variable(name) {
                cowbox = cowbox.env(name, value);
            }
        }
        if self.engine.is_some_and(Engine::has_images) {
            // Podman's images are there, and what was found out about an engine holds for one home.
            for name in ["HOME", "XDG_DATA_HOME", "USER"] {
                cowbox = match variable(name) {
                    Some(value) => cowbox.env(name, value),
                    None => cowbox.env_remove(name),
                };
            }
        }
        cowbox
    }

    /// `cowbox run --engine … --image … OPTIONS -- COMMAND`
    pub fn run(&self, options: &[&str], command: &[&str]) -> Cowbox {
        let mut cowbox = self.cowbox(&["run", "--engine", self.engine().name()]);
        if self.engine().has_images() {
            cowbox = cowbox.args(&["--image", &image(self.image)]);
        }
        cowbox = cowbox.args(options);
        if command.is_empty() { cowbox } else { cowbox.arg("--").args(command) }
    }

    /// `cowbox run -- sh -c SCRIPT`, to the end.
    pub fn sh(&self, script: &str) -> Output {
        self.run(&[], &["sh", "-c", script]).output()
    }

    /// `cowbox run -- sh -c SCRIPT`, not started yet.
    pub fn shell(&self, options: &[&str], script: &str) -> Cowbox {
        self.run(options, &["sh", "-c", script])
    }

    /// `cowbox diff --name-status` as lines.
    #[track_caller]
    pub fn changes(&self) -> Vec<String> {
        let output = self.cowbox(&["diff", "--name-status"]).output().ok();
        output.stdout().lines().map(str::to_owned).collect()
    }

    /// Something that only this test has, in the environment of every cowbox.
    pub fn id(&self) -> &str {
        self.root().file_name().unwrap().to_str().unwrap()
    }

    /// Ids of the sessions on disk, oldest first.
    pub fn session_ids(&self) -> Vec<String> {
        let Ok(listing) = fs::read_dir(self.state().join("sessions")) else { return Vec::new() };
        let mut ids: Vec<String> = listing.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        ids.sort();
        ids
    }

    /// The record of a session, as it is on disk.
    pub fn record(&self, id: &str) -> Option<serde_json::Value> {
        let text = fs::read(self.session_dir(id).join("session.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The only session's record.
    #[track_caller]
    pub fn only_record(&self) -> serde_json::Value {
        let ids = self.session_ids();
        assert_eq!(ids.len(), 1, "{ids:?}");
        self.record(&ids[0]).unwrap()
    }

    /// Where a session lies.
    pub fn session_dir(&self, id: &str) -> PathBuf {
        self.state().join("sessions").join(id)
    }

    /// What is left of the sandboxes of this test.
    pub fn leftovers(&self) -> Vec<String> {
        let ids = self.session_ids();
        let mut found = leftovers::mounts(self.root());
        found.extend(Process::with(self.id()).iter().map(|p| format!("process {} {}", p.pid, p.arguments)));
        if let Some(engine) = self.engine {
            let ours = |name: &String| ids.iter().any(|id| *name == container_name(id));
            // With what stood beside it.
            let of_ours = |name: &String| ids.iter().any(|id| name.starts_with(&container_name(id)));
            found.extend(leftovers::containers(engine).into_iter().filter(of_ours).map(|c| format!("container {c}")));
            found.extend(leftovers::networks(engine).into_iter().filter(of_ours).map(|n| format!("network {n}")));
            found.extend(leftovers::volumes(engine).into_iter().filter(ours).map(|c| format!("volume of {c}")));
        }
        found
    }

    /// Asserts that no container, volume, mount or process is left, after a moment for the engine.
    #[track_caller]
    pub fn check_leftovers(&self) {
        let found = self.lasting_leftovers();
        assert!(found.is_empty(), "left behind:\n{}", found.join("\n"));
    }

    fn lasting_leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        within(SETTLE, || {
            found = self.leftovers();
            found.is_empty().then_some(())
        });
        found
    }

    /// Every session goes the way that users have: layers of root's or of sub-ids included.
    fn discard_all(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for id in self.session_ids() {
            let state = self.record(&id).map(|r| r["state"].as_str().unwrap_or_default().to_owned());
            if matches!(state.as_deref(), Some("stopped" | "failed")) {
                let output = self.cowbox(&["discard", "-y", &id]).output();
                if !output.status.success() {
                    problems.push(format!("session {id} cannot be discarded: {}", output.stderr()));
                }
                problems.extend(self.failed_image(&id).map(|image| format!("the image {image} is left")));
            }
            let layers = [self.session_dir(&id).join("upper"), self.session_dir(&id).join("work")];
            let left = layers.into_iter().chain([home_layer(&id)]).filter(|l| fs::symlink_metadata(l).is_ok());
            problems.extend(left.map(|l| format!("{} is left of session {id} ({state:?})", l.display())));
        }
        problems
    }

    /// After a failed test: what can be cleared away is, without a word.
    fn clear_away(&self) {
        for id in self.session_ids() {
            let running = self.record(&id).is_some_and(|r| r["state"] == "running");
            if running {
                let _ = self.cowbox(&["stop", &id]).output();
            }
            if let Some(engine) = self.engine.filter(|e| e.has_images()) {
                leftovers::remove_container(engine, &container_name(&id));
            }
            let _ = self.cowbox(&["discard", "-y", &id]).output();
        }
        let _ = self.remove_prepared();
    }
}

/// What cowbox keeps in its cache after a first run on an engine.
struct WarmCache {
    /// Of the sandbox that it comes from.
    id: String,
    /// Path, mode, content.
    files: Vec<(PathBuf, u32, Vec<u8>)>,
}

fn warm_cache(engine: Engine) -> &'static WarmCache {
    static CACHES: [OnceLock<WarmCache>; 3] = [const { OnceLock::new() }; 3];
    CACHES[engine as usize].get_or_init(|| {
        let sandbox = Sandbox::cold(engine);
        // Where it fails the tests themselves tell.
        let _ = sandbox.sh("true");
        let mut files = Vec::new();
        let mut left = vec![sandbox.cache()];
        while let Some(path) = left.pop() {
            let Ok(meta) = fs::metadata(&path) else { continue };
            if meta.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            } else {
                let name = path.strip_prefix(sandbox.cache()).unwrap().to_path_buf();
                files.push((name, meta.permissions().mode(), fs::read(&path).unwrap()));
            }
        }
        WarmCache { id: sandbox.id().to_owned(), files }
    })
}

/// What an engine calls the container of a session.
pub fn container_name(id: &str) -> String {
    format!("cowbox-{}", id.to_lowercase())
}

/// Where native keeps what a session writes to a home that holds the state directory.
pub fn home_layer(id: &str) -> PathBuf {
    let places = home_layers();
    let there = places.iter().map(|dir| dir.join(id)).find(|layer| fs::symlink_metadata(layer).is_ok());
    there.unwrap_or_else(|| places[0].join(id))
}

/// The directories of such layers, the one of new ones first: root in a user's namespace may have taken root's name.
pub fn home_layers() -> Vec<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let names = std::iter::once(format!("cowbox-{uid}")).chain((1..8).map(|n| format!("cowbox-{uid}-{n}")));
    let is_ours = |dir: &PathBuf| fs::symlink_metadata(dir).map_or(true, |meta| meta.uid() == uid);
    names.map(|name| Path::new("/var/tmp").join(name)).filter(is_ours).collect()
}

/// Where tests have their files.
fn scratch() -> PathBuf {
    std::env::var_os("COWBOX_TEST_TMP").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let cleared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.clear_away()));
            drop(cleared);
            return;
        }
        if self.before.borrow().is_none() {
            return;
        }
        let left = self.lasting_leftovers();
        if !left.is_empty() {
            self.clear_away();
            panic!("left behind:\n{}", left.join("\n"));
        }
        self.check_repo();
        let mut problems = self.discard_all();
        problems.extend(self.remove_prepared());
        self.check_repo();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        let removed = fs::remove_dir_all(self.root());
        assert!(removed.is_ok(), "{} cannot be removed: {removed:?}", self.root().display());
    }
}
