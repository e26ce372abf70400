//! Which engine: the first that works, not the first that exists.
//!
//! Asking an engine costs up to 300 ms, so an answer is kept for as long as nothing that it depends
//! on has changed. Only "it works" is ever kept.

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
use super::{Engine, Kind};
use crate::cli::EngineChoice;
use crate::error::{Error, Result};
use crate::settings::Setting;

/// The chosen engine and why it was chosen.
pub struct Chosen {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// For the line that the user sees; empty if there was nothing to decide.
    pub why: Option<String>,
}

/// Chooses: what was asked for, else podman, docker, native. `image` is what the user configured.
pub fn choose(wanted: &Setting<EngineChoice>, image: Option<&str>, cache: &Path) -> Result<Chosen> {
    let kind = match wanted.value {
        EngineChoice::Podman => Kind::Podman,
        EngineChoice::Docker => Kind::Docker,
        EngineChoice::Native => Kind::Native,
        EngineChoice::Auto => return first_that_works(image, cache),
    };
    let engine = open(kind, cache).map_err(|reason| {
        Error::new(format!("{kind} ({}) cannot be used: {reason}", wanted.origin))
            .hint("`cowbox doctor` tells how to mend it, or choose another with `--engine`")
    })?;
    Ok(Chosen { engine, why: None })
}

fn first_that_works(image: Option<&str>, cache: &Path) -> Result<Chosen> {
    let mut passed_over: Vec<String> = Vec::new();
    for kind in [Kind::Podman, Kind::Docker] {
        match open(kind, cache) {
            Ok(engine) => {
                let why = (!passed_over.is_empty()).then(|| passed_over.join("; "));
                return Ok(Chosen { engine, why });
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
    match open(Kind::Native, cache) {
        Ok(engine) => Ok(Chosen { engine, why: Some(passed_over.join("; ")) }),
        Err(reason) => {
            passed_over.push(format!("native: {reason}"));
            Err(Error::new(format!("no engine works ({})", passed_over.join("; ")))
                .hint("`cowbox doctor` tells how to mend each of them"))
        }
    }
}

/// Opens one engine, asking it unless its last answer still holds.
pub fn open(kind: Kind, cache: &Path) -> Result<Box<dyn Engine>, Unusable> {
    Ok(match kind {
        Kind::Podman => {
            let client = podman_client()?;
            let facts = remembered(cache, "podman", &podman_key(&client), || ask_podman(&client))?;
            Box::new(Podman::new(client, facts, cache))
        }
        Kind::Docker => {
            let client = Client::find("docker").ok_or("not installed")?;
            let facts = remembered(cache, "docker", &docker_key(&client), || ask_docker(&client))?;
            Box::new(Docker::new(client, facts, cache))
        }
        Kind::Native => Box::new(Native::open()?),
    })
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
    let endpoint = match std::env::var("DOCKER_HOST") {
        Ok(host) if !host.is_empty() => host,
        _ if is_podman_shim(client) => {
            return Err("this docker is podman under another name; use the podman engine".into());
        }
        _ => client.capture(&["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]).map_err(said)?,
    };
    facts::local_endpoint(endpoint.trim())?;
    let text = client.capture(&["version", "--format", "{{json .}}"]).map_err(said)?;
    facts::parse_docker_version(&text, endpoint.trim())
}

#[derive(Default, Serialize, Deserialize)]
struct Memory(BTreeMap<String, Answer>);

#[derive(Serialize, Deserialize)]
struct Answer {
    key: String,
    facts: Facts,
}

fn remembered(
    cache: &Path,
    name: &str,
    key: &str,
    ask: impl FnOnce() -> Result<Facts, Unusable>,
) -> Result<Facts, Unusable> {
    let path = cache.join("engines.json");
    let mut memory: Memory =
        fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    if let Some(answer) = memory.0.get(name).filter(|answer| answer.key == key) {
        return Ok(answer.facts.clone());
    }
    let facts = ask()?;
    memory.0.insert(name.to_owned(), Answer { key: key.to_owned(), facts: facts.clone() });
    // A cache that cannot be written costs time, nothing else.
    let _ = write_cache(&path, &memory);
    Ok(facts)
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

fn podman_key(client: &Client) -> String {
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
    ]);
    for dir in [Path::new("/etc/containers"), &user] {
        key.file(&dir.join("storage.conf"));
        key.file(&dir.join("containers.conf"));
    }
    key.0
}

fn docker_key(client: &Client) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let config = std::env::var_os("DOCKER_CONFIG").map_or_else(|| home.join(".docker"), PathBuf::from);
    let mut key = Key::new(client);
    key.variables(&["DOCKER_HOST", "DOCKER_CONTEXT", "HOME"]);
    key.file(&config.join("config.json"));
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    key.file(Path::new(host.strip_prefix("unix://").unwrap_or("/var/run/docker.sock")));
    key.0
}

/// What an answer depends on, as text.
struct Key(String);

impl Key {
    fn new(client: &Client) -> Self {
        let mut key = Self(format!("uid={}", rustix::process::geteuid().as_raw()));
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

    fn variables(&mut self, names: &[&str]) {
        for name in names {
            let value = std::env::var_os(name).unwrap_or_default();
            self.text(&format!("{name}={}", value.to_string_lossy()));
        }
    }
}
