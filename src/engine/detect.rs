//! Which engine: the first that works, not the first that exists.
//!
//! An engine that answers need not be able to run anything, so the first time it is really tried.
//! That costs most of a second; the answer is kept for as long as nothing that it depends on has
//! changed, and a "no" for five minutes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::docker::Docker;
use super::facts::{self, Facts, Unusable};
use super::native::Native;
use super::podman::Podman;
use super::{Engine, Kind, probe};
use crate::cli::EngineChoice;
use crate::error::{Error, Result};
use crate::session::record::now;
use crate::settings::{Origin, Places, Setting};
use crate::ui::Ui;

/// The chosen engine and why it was chosen.
pub struct Chosen {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Why this one, in a few words for the line that the user sees.
    pub why: &'static str,
    /// What was passed over, with the reason of each.
    pub passed_over: Vec<String>,
}

/// Chooses: what was asked for, else podman, docker, native. `image` is what the user configured.
pub fn choose(wanted: &Setting<EngineChoice>, image: Option<&str>, places: &Places, ui: &Ui) -> Result<Chosen> {
    let kind = match wanted.value {
        EngineChoice::Podman => Kind::Podman,
        EngineChoice::Docker => Kind::Docker,
        EngineChoice::Native => Kind::Native,
        EngineChoice::Auto => return first_that_works(image, places, ui),
    };
    let engine = open(kind, places, ui).map_err(|reason| {
        Error::new(format!("{kind} ({}) cannot be used: {reason}", wanted.origin))
            .hint("`cowbox doctor` tells how to mend it, or choose another with `--engine`")
    })?;
    let why = if wanted.origin == Origin::Config { "as configured" } else { "as asked for" };
    Ok(Chosen { engine, why, passed_over: Vec::new() })
}

fn first_that_works(image: Option<&str>, places: &Places, ui: &Ui) -> Result<Chosen> {
    let mut passed_over: Vec<String> = Vec::new();
    for kind in [Kind::Podman, Kind::Docker] {
        match open(kind, places, ui) {
            Ok(engine) => {
                let why = if kind == Kind::Podman { "first choice" } else { "podman does not work" };
                return Ok(Chosen { engine, why, passed_over });
            }
            Err(reason) => passed_over.push(format!("{kind}: {reason}")),
        }
    }
    if let Some(image) = image {
        return Err(Error::new(format!(
            "the image {} needs podman or docker, and neither works ({})",
            crate::ui::sanitize::text(image),
            passed_over.join("; ")
        ))
        .hint("`cowbox doctor` tells how to mend them; without an image, `--engine native` runs on this system's own files"));
    }
    match open(Kind::Native, places, ui) {
        Ok(engine) => Ok(Chosen { engine, why: "neither podman nor docker works", passed_over }),
        Err(reason) => {
            passed_over.push(format!("native: {reason}"));
            Err(Error::new(format!("no engine works ({})", passed_over.join("; ")))
                .hint("`cowbox doctor` tells how to mend each of them"))
        }
    }
}

/// Opens one engine, trying it unless its last answer still holds.
pub fn open(kind: Kind, places: &Places, ui: &Ui) -> Result<Box<dyn Engine>, Unusable> {
    let name = kind.to_string();
    if kind == Kind::Native {
        // Costs nothing to ask: starting it is the trial.
        return Ok(Box::new(Native::open()?));
    }
    let client = if kind == Kind::Podman { podman_client()? } else { Client::find("docker").ok_or("not installed")? };
    let mut key = if kind == Kind::Podman { podman_key(&client) } else { docker_key(&client) };
    key.device(&places.state);
    let memory = Memory::load(&places.cache);
    let known = memory.recall(&name, &key.0);
    let tried = known.unwrap_or_else(|| {
        let answer = ask(kind, &client).and_then(|facts| {
            let engine = ready(kind, client.clone(), facts.clone(), places);
            // Once more before it is a no: podman stumbles when containers come and go at the same time.
            let attempt = || probe::try_out(engine.as_ref(), Some(&client), places, ui);
            let tried = attempt().or_else(|_| attempt());
            tried.map(|()| facts).map_err(|e| e.message().to_owned())
        });
        memory.keep(&places.cache, &name, &key.0, &answer);
        answer
    });
    Ok(ready(kind, client, tried?, places))
}

fn ready(kind: Kind, client: Client, facts: Facts, places: &Places) -> Box<dyn Engine> {
    match kind {
        Kind::Docker => Box::new(Docker::new(client, facts, &places.cache)),
        _ => Box::new(Podman::new(client, facts, &places.cache)),
    }
}

fn ask(kind: Kind, client: &Client) -> Result<Facts, Unusable> {
    if kind == Kind::Podman { ask_podman(client) } else { ask_docker(client) }
}

/// Forgets what engines said: something failed that should have worked.
pub fn forget(cache: &Path) {
    let _ = fs::remove_file(cache.join("engines.json"));
}

fn podman_client() -> Result<Client, Unusable> {
    // `podman-docker` installs podman as `docker`; where only that exists it is podman all the same.
    let found = Client::find("podman").or_else(|| Client::find("docker").filter(is_podman_shim));
    let client = found.ok_or("not installed")?;
    for name in ["CONTAINER_HOST", "CONTAINER_CONNECTION"] {
        if let Some(value) = std::env::var_os(name).filter(|v| !v.is_empty()) {
            let value = crate::ui::sanitize::text(&value.to_string_lossy());
            return Err(format!(
                "{name}={value} makes podman talk to a service elsewhere, where this repository is not"
            ));
        }
    }
    Ok(client)
}

fn is_podman_shim(client: &Client) -> bool {
    client.capture(&["--version"]).is_ok_and(|said| said.contains("podman"))
}

/// Asks podman itself.
pub fn ask_podman(client: &Client) -> Result<Facts, Unusable> {
    let text = client.capture(&["info", "--format", "json"]).map_err(|e| e.message().to_owned())?;
    facts::parse_podman_info(&text)
}

/// Asks the docker client where its daemon is, and then the daemon.
pub fn ask_docker(client: &Client) -> Result<Facts, Unusable> {
    let said = |e: Error| e.message().to_owned();
    if is_podman_shim(client) {
        return Err(facts::SHIM.into());
    }
    let endpoint = match std::env::var("DOCKER_HOST") {
        Ok(host) if !host.is_empty() => host,
        _ => client.capture(&["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]).map_err(said)?,
    };
    facts::local_endpoint(endpoint.trim())?;
    let text = client.capture(&["version", "--format", "{{json .}}"]).map_err(said)?;
    facts::parse_docker_version(&text, endpoint.trim())
}

/// A "no" may be mended at any time without a trace that we could see.
const NO_HOLDS: u64 = 5 * 60 * 1000;

/// What engines answered, by name.
#[derive(Default, Serialize, Deserialize)]
struct Memory(BTreeMap<String, Answer>);

#[derive(Clone, Serialize, Deserialize)]
struct Answer {
    key: String,
    time: u64,
    answer: Result<Facts, Unusable>,
}

impl Memory {
    fn load(cache: &Path) -> Self {
        let text = fs::read(cache.join("engines.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn recall(&self, name: &str, key: &str) -> Option<Result<Facts, Unusable>> {
        let known = self.0.get(name).filter(|known| known.key == key)?;
        let fresh = known.answer.is_ok() || now().saturating_sub(known.time) < NO_HOLDS;
        fresh.then(|| known.answer.clone())
    }

    fn keep(mut self, cache: &Path, name: &str, key: &str, answer: &Result<Facts, Unusable>) {
        self.0.insert(name.to_owned(), Answer { key: key.to_owned(), time: now(), answer: answer.clone() });
        // A cache that cannot be written costs time, nothing else.
        let _ = write_cache(&cache.join("engines.json"), &self);
    }
}

/// Writes a cache file whole or not at all.
pub fn write_cache(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let temp = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer(temp.as_file(), value)?;
    temp.persist(path).map_err(|e| e.error)?;
    Ok(())
}

fn podman_key(client: &Client) -> Key {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let user =
        std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("containers");
    let mut key = Key::new(client);
    key.variables(&[
        "CONTAINERS_CONF",
        "CONTAINERS_STORAGE_CONF",
        "XDG_RUNTIME_DIR",
        "XDG_DATA_HOME",
        "HOME",
        "STORAGE_DRIVER",
        "STORAGE_OPTS",
    ]);
    for name in ["CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"] {
        key.file(Path::new(&std::env::var_os(name).unwrap_or_default()));
    }
    for dir in [Path::new("/etc/containers"), Path::new("/usr/share/containers"), &user] {
        key.file(&dir.join("storage.conf"));
        key.file(&dir.join("containers.conf"));
    }
    key
}

fn docker_key(client: &Client) -> Key {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let config = std::env::var_os("DOCKER_CONFIG").map_or_else(|| home.join(".docker"), PathBuf::from);
    let mut key = Key::new(client);
    key.variables(&["DOCKER_HOST", "DOCKER_CONTEXT", "HOME"]);
    key.file(&config.join("config.json"));
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    key.file(Path::new(host.strip_prefix("unix://").unwrap_or("/var/run/docker.sock")));
    key
}

/// What an answer depends on, as text.
struct Key(String);

impl Key {
    fn new(client: &Client) -> Self {
        let mut key = Self(format!("uid={}", crate::layer::access::user()));
        key.file(client.program());
        key.file(Path::new("/etc/subuid"));
        key.text(&fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default());
        key
    }

    fn text(&mut self, text: &str) {
        self.0.push('|');
        self.0.push_str(text.trim());
    }

    fn file(&mut self, path: &Path) {
        let stamp = fs::metadata(path).map(|m| format!("{}:{}.{}:{}", m.ino(), m.mtime(), m.mtime_nsec(), m.size()));
        self.text(&format!("{}={}", path.display(), stamp.unwrap_or_default()));
    }

    /// Which file system the layers will lie on: not every one can hold them.
    fn device(&mut self, state: &Path) {
        let existing = state.ancestors().find_map(|dir| fs::metadata(dir).ok());
        self.text(&format!("{}@{}", state.display(), existing.map_or(0, |m| m.dev())));
    }

    fn variables(&mut self, names: &[&str]) {
        for name in names {
            let value = std::env::var_os(name).unwrap_or_default();
            self.text(&format!("{name}={}", value.to_string_lossy()));
        }
    }
}
