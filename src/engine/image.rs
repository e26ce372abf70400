//! What podman's images say: which user they run as. Remembered per image, for every call counts.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::{detect, guest, passwd};
use crate::error::{Error, Result};
use crate::ui::{Ui, sanitize};

/// What an image says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Its id.
    pub id: String,
    /// `USER` as written; may be empty, a name, or numbers.
    pub user: String,
    /// `NAME=VALUE`
    pub env: Vec<String>,
    /// `ENTRYPOINT`
    pub entrypoint: Vec<String>,
    /// `CMD`
    pub command: Vec<String>,
    /// The label `devcontainer.metadata`.
    pub devcontainer: Option<String>,
}

impl ImageFacts {
    /// From what `image inspect` and the daemon's API say of one image: an object, or a list with one.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Inspected {
            id: String,
            #[serde(default)]
            config: Option<Config>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "PascalCase", default)]
        struct Config {
            user: Option<String>,
            env: Option<Vec<String>>,
            entrypoint: Option<Vec<String>>,
            cmd: Option<Vec<String>>,
            labels: Option<BTreeMap<String, String>>,
        }
        let text = text.trim();
        let found: Inspected = match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(one) => serde_json::from_str(one)?,
            None => serde_json::from_str(text)?,
        };
        let config = found.config.unwrap_or_default();
        Ok(Self {
            id: found.id,
            user: config.user.unwrap_or_default(),
            env: config.env.unwrap_or_default(),
            entrypoint: config.entrypoint.unwrap_or_default(),
            command: config.cmd.unwrap_or_default(),
            devcontainer: config.labels.and_then(|mut labels| labels.remove("devcontainer.metadata")),
        })
    }
}

/// An image that is here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    /// What it says.
    pub facts: ImageFacts,
    /// `/etc/passwd` of the image, read when a user had to be looked up.
    passwd: Option<String>,
}

/// Numbers of a user inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Images of one podman storage.
#[derive(Debug)]
pub struct Images<'a> {
    client: &'a Client,
    cache: PathBuf,
    index: PathBuf,
    stamp: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Memory {
    /// Changes whenever any image does: then what podman's own index does not bear out is asked again.
    stamp: String,
    by_name: BTreeMap<String, Image>,
}

impl<'a> Images<'a> {
    /// The images below `graph_root`.
    pub fn new(client: &'a Client, graph_root: &str, cache: &Path) -> Self {
        // Podman rewrites this file on every tag, pull, import and removal, and not on a run.
        let index = Path::new(graph_root).join("overlay-images/images.json");
        let stamp = fs::metadata(&index)
            .map(|m| format!("{}:{}:{}.{}:{}", index.display(), m.ino(), m.mtime(), m.mtime_nsec(), m.size()))
            .unwrap_or_default();
        Self { client, cache: cache.join("images.json"), index, stamp }
    }

    /// Finds an image, pulling it if it is not here.
    pub fn get(&self, name: &str, ui: &Ui) -> Result<Image> {
        if let Some(image) = self.find(name) {
            return Ok(image);
        }
        pull(self.client, name, ui)?;
        let image = self.inspect(name)?;
        self.remember(name, &image);
        Ok(image)
    }

    /// Finds an image that is here.
    pub fn find(&self, name: &str) -> Option<Image> {
        if let Some(image) = self.memory().by_name.remove(name) {
            return Some(image);
        }
        let image = self.inspect(name).ok()?;
        self.remember(name, &image);
        Some(image)
    }

    /// The numbers behind `user` in an image: `""` is root, `1000`, `1000:1000`, `agent`, `agent:staff`.
    pub fn identity(&self, name: &str, image: &mut Image, user: &str) -> Result<Identity> {
        let (user, group) = user.split_once(':').map_or((user, None), |(u, g)| (u, Some(g)));
        let group = match group.map(str::parse::<u32>) {
            Some(Err(_)) => {
                return Err(Error::new("a group inside must be a number").hint("write --user UID:GID"));
            }
            Some(Ok(gid)) => Some(gid),
            None => None,
        };
        if matches!(user, "" | "root" | "0") {
            return Ok(Identity { uid: 0, gid: group.unwrap_or(0) });
        }
        let number = user.parse::<u32>().ok();
        if let (Some(uid), Some(gid)) = (number, group) {
            return Ok(Identity { uid, gid });
        }
        if image.passwd.is_none() {
            image.passwd = Some(self.read_passwd(name)?);
            self.remember(name, image);
        }
        let entries = passwd::parse(image.passwd.as_deref().unwrap_or_default());
        let entry = entries.into_iter().find(|e| number.map_or(e.name == user, |uid| e.uid == uid));
        match (entry, number) {
            (Some(entry), _) => Ok(Identity { uid: entry.uid, gid: group.unwrap_or(entry.gid) }),
            (None, Some(uid)) => Ok(Identity { uid, gid: group.unwrap_or(uid) }),
            (None, None) => {
                Err(Error::new(format!("the image {} has no user `{}`", sanitize::text(name), sanitize::text(user)))
                    .hint("write --user UID:GID, or a user of the image"))
            }
        }
    }

    fn inspect(&self, name: &str) -> Result<Image> {
        let text = self.client.capture(&["image", "inspect", "--format", "json", "--", name])?;
        let facts = ImageFacts::parse(&text).map_err(|e| {
            Error::new(format!("podman's answer about the image {} is unreadable: {e}", sanitize::text(name)))
        })?;
        Ok(Image { facts, passwd: None })
    }

    fn read_passwd(&self, name: &str) -> Result<String> {
        let guest = guest::path(self.cache.parent().unwrap_or(Path::new("/")))?;
        let mount = format!("{}:{}:ro", guest.display(), guest::INSIDE);
        let args = [
            "run",
            "--rm",
            "--pull",
            "never",
            "--network",
            "none",
            "--cap-drop",
            "all",
            "--log-driver",
            "none",
            "--security-opt",
            "label=disable",
            "--user",
            "0:0",
            "-v",
        ];
        let args = args.into_iter().chain([mount.as_str(), "--entrypoint", guest::INSIDE, name, "cat", "/etc/passwd"]);
        self.client.capture(&args.collect::<Vec<_>>()).map_err(|e| e.context("cannot read the users of the image"))
    }

    fn memory(&self) -> Memory {
        let read: Option<Memory> = fs::read(&self.cache).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut memory = read.filter(|m| !m.stamp.is_empty() && !self.stamp.is_empty()).unwrap_or_default();
        if memory.stamp != self.stamp {
            // Another image may have come or gone; what an id stands for never changes.
            let ids = self.ids();
            memory.by_name.retain(|name, image| ids.get(name) == Some(&image.facts.id));
            memory.stamp = self.stamp.clone();
        }
        memory
    }

    /// What podman's index says is behind each name; nothing where it is not what we know.
    fn ids(&self) -> BTreeMap<String, String> {
        #[derive(Deserialize)]
        struct Indexed {
            id: String,
            #[serde(default)]
            names: Vec<String>,
        }
        let text = fs::read(&self.index).unwrap_or_default();
        let images: Vec<Indexed> = serde_json::from_slice(&text).unwrap_or_default();
        images.into_iter().flat_map(|image| image.names.into_iter().map(move |name| (name, image.id.clone()))).collect()
    }

    fn remember(&self, name: &str, image: &Image) {
        let mut memory = self.memory();
        memory.by_name.insert(name.to_owned(), image.clone());
        let _ = detect::write_cache(&self.cache, &memory);
    }
}

/// How podman names images that are not in a registry. To pull one brings the names along that are written in it.
const OF_HOST: [&str; 10] = [
    "atomic",
    "containers-storage",
    "dir",
    "docker-archive",
    "docker-daemon",
    "oci",
    "oci-archive",
    "ostree",
    "sif",
    "tarball",
];

/// Whether podman would take the name of an image for something on the host.
pub fn is_file_of_host(name: &str) -> bool {
    name.split_once(':').is_some_and(|(first, _)| OF_HOST.contains(&first))
}

/// Whether it can only be the name of an image: no option of an engine, and no path of the host in the spelling of one.
pub fn is_name(image: &str) -> bool {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "._-:/@+".contains(c));
    !(image.is_empty() || image.starts_with(['-', '/', '.']) || image.contains(odd) || image.contains(":/"))
}

/// Pulls an image, with the engine's own progress on stderr.
pub fn pull(client: &Client, name: &str, ui: &Ui) -> Result<()> {
    let missing = |why: &str| {
        Error::new(format!("the image {} is not here and cannot be pulled{why}", sanitize::text(name)))
            .hint("build or import it, name another with `--image`, or run without an image: `--engine native`")
    };
    if name.starts_with("localhost/") || name.starts_with('-') || name.is_empty() {
        return Err(missing(""));
    }
    if is_file_of_host(name) {
        return Err(missing(": it is a file of this system, and no name in a registry"));
    }
    ui.say(&format!("pulling {}", sanitize::text(name)));
    let mut command = client.command();
    command.args(["pull", "--quiet", "--", name]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(|e| missing(&format!(": {}", crate::error::reason(&e))))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|l| !l.trim().is_empty()).unwrap_or_default();
    let last = last.trim().trim_start_matches("Error: ");
    Err(missing(&format!(": {}", sanitize::text(&last.chars().take(300).collect::<String>()))))
}

/// An image with nothing in it: the helper needs nothing. Dropped, it is removed again.
#[derive(Debug)]
pub struct EmptyImage {
    client: Client,
    name: String,
}

impl EmptyImage {
    /// Makes it, under a name of its own.
    pub fn import(client: &Client) -> Result<Self> {
        let engine = client.program().display();
        let failed = |why: String| Error::new(format!("{engine} cannot import an image: {why}"));
        // Two first starts at the same time must not take it away from each other.
        let name = format!("localhost/cowbox-probe:{}", crate::session::SessionId::new().as_str().to_lowercase());
        let mut command = client.command();
        command.args(["import", "-", &name]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed(crate::error::reason(&e)))?;
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(&archive());
        }
        let output = child.wait_with_output().map_err(|e| failed(crate::error::reason(&e)))?;
        if !output.status.success() {
            // It may be there all the same: podman stumbles over what others do at the same time, also at its end.
            let _ = (0..3).any(|_| client.attempt(&["rmi", &name]));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = said.lines().last().unwrap_or_default().trim_start_matches("Error: ").to_owned();
            return Err(failed(crate::ui::sanitize::text(&last)));
        }
        Ok(Self { client: client.clone(), name })
    }
}

impl EmptyImage {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for EmptyImage {
    fn drop(&mut self) {
        // Without force, which would only take the name away while a container is still going.
        for _ in 0..50 {
            if self.client.attempt(&["rmi", &self.name]) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
}

/// A tar with one empty directory, `workspace`: an engine wants at least one entry.
fn archive() -> Vec<u8> {
    let mut header = [0u8; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, b"workspace/");
    put(100, b"0000755\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, b"00000000000\0");
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"5");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut tar = header.to_vec();
    tar.resize(512 * 4, 0);
    tar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_names() {
        for good in ["ubuntu", "registry.example/library/x:1.2-y", "localhost:5000/a_b/c@sha256:00ff"] {
            assert!(is_name(good), "{good}");
        }
        let of_caches = ["type=local,src=/home", "type=gha", "\"type=local\",src=/"];
        let others = ["", "-v", "--privileged", "a b", "oci:/etc", "dir:/", "docker://x", "/etc", "./x", "a\nb", "é"];
        for bad in others.into_iter().chain(of_caches) {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
