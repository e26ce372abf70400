//! The programs of the host that can ask a registry.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::engine::client::is_executable;
use crate::error::{Error, Result, reason};
use crate::process::capture;
use crate::ui::sanitize;

/// A manifest is a page of text.
const ASK: Duration = Duration::from_secs(60);
/// The largest features are some megabytes.
const LOAD: Duration = Duration::from_secs(600);

/// What is installed.
#[derive(Debug, Default)]
pub(super) struct Tools {
    skopeo: Option<PathBuf>,
    oras: Option<PathBuf>,
    curl: Option<PathBuf>,
}

impl Tools {
    /// Looks into `dirs`, in order.
    pub(super) fn find(dirs: &[PathBuf]) -> Self {
        let find = |name: &str| dirs.iter().map(|dir| dir.join(name)).find(|file| is_executable(file));
        Self { skopeo: find("skopeo"), oras: find("oras"), curl: find("curl") }
    }

    /// The one to ask a registry with.
    pub(super) fn registry(&self) -> Option<Registry<'_>> {
        self.skopeo.as_deref().map(Registry::Skopeo).or_else(|| self.oras.as_deref().map(Registry::Oras))
    }

    /// The one to ask an address with.
    pub(super) fn curl(&self) -> Option<Curl<'_>> {
        self.curl.as_deref().map(Curl)
    }
}

/// Asks a registry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Registry<'a> {
    Skopeo(&'a Path),
    Oras(&'a Path),
}

impl Registry<'_> {
    /// The very bytes of the manifest, for its digest is taken of them.
    pub(super) fn manifest(&self, reference: &str) -> Result<Vec<u8>> {
        match self {
            Registry::Skopeo(program) => ask(program, &skopeo_manifest(reference), ASK),
            Registry::Oras(program) => ask(program, &oras_manifest(reference), ASK),
        }
    }

    /// Loads the archive `layer` of the manifest `digest` into `dir`, and tells which file it is.
    pub(super) fn layer(&self, resource: &str, digest: &str, layer: &str, dir: &Path) -> Result<PathBuf> {
        match self {
            Registry::Skopeo(program) => {
                let to = dir.join("copy");
                ask(program, &skopeo_copy(resource, digest, &to), LOAD)?;
                Ok(to.join(layer.trim_start_matches("sha256:")))
            }
            Registry::Oras(program) => {
                let to = dir.join("layer.tar");
                ask(program, &oras_blob(resource, layer, &to), LOAD)?;
                Ok(to)
            }
        }
    }
}

/// Loads from an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curl<'a>(&'a Path);

impl Curl<'_> {
    pub(super) fn download(&self, address: &str, to: &Path) -> Result<()> {
        ask(self.0, &curl_args(address, to), LOAD).map(|_| ())
    }
}

fn args<const N: usize>(list: [&str; N]) -> Vec<OsString> {
    list.map(OsString::from).to_vec()
}

fn skopeo_manifest(reference: &str) -> Vec<OsString> {
    args(["inspect", "--raw", &format!("docker://{reference}")])
}

fn skopeo_copy(resource: &str, digest: &str, to: &Path) -> Vec<OsString> {
    let mut target = OsString::from("dir:");
    target.push(to);
    let mut list = args(["copy", "--quiet", &format!("docker://{resource}@{digest}")]);
    list.push(target);
    list
}

fn oras_manifest(reference: &str) -> Vec<OsString> {
    args(["manifest", "fetch", reference])
}

fn oras_blob(resource: &str, layer: &str, to: &Path) -> Vec<OsString> {
    let mut list = args(["blob", "fetch", "--output"]);
    list.push(to.into());
    list.push(format!("{resource}@{layer}").into());
    list
}

/// `-q` first: the user's settings could say where to write, or to believe any certificate.
fn curl_args(address: &str, to: &Path) -> Vec<OsString> {
    let mut list =
        args(["-q", "-fsSL", "--proto", "=https", "--max-redirs", "10", "--max-filesize", "268435456", "-o"]);
    list.push(to.into());
    list.extend(args(["--", address]));
    list
}

fn ask(program: &Path, args: &[OsString], time: Duration) -> Result<Vec<u8>> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut command = Command::new(program);
    // Not in the repo: a tool may look for settings where it stands.
    command.args(args).current_dir("/").stdin(Stdio::null());
    let output = capture::run(command, time).map_err(|e| Error::new(format!("{name}: {}", reason(&e))))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a word");
    Err(Error::new(format!("{name}: {}", plain(line))))
}

/// Of a log line, its message.
fn plain(line: &str) -> String {
    let message = line.split_once("msg=\"").map_or(line, |(_, rest)| rest.trim_end_matches('"'));
    let message = message.replace("\\\"", "\"");
    let message = message.trim().trim_start_matches("Error: ");
    sanitize::text(&message.chars().take(300).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn joined(list: &[OsString]) -> String {
        list.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_tool_is_asked_in_its_own_words() {
        let dir = Path::new("/c");
        assert_eq!(joined(&skopeo_manifest("r.example/a/b:1")), "inspect --raw docker://r.example/a/b:1");
        assert_eq!(
            joined(&skopeo_copy("r.example/a/b", "sha256:12", dir)),
            "copy --quiet docker://r.example/a/b@sha256:12 dir:/c"
        );
        assert_eq!(joined(&oras_manifest("r.example/a/b:1")), "manifest fetch r.example/a/b:1");
        assert_eq!(
            joined(&oras_blob("r.example/a/b", "sha256:12", dir)),
            "blob fetch --output /c r.example/a/b@sha256:12"
        );
        let curl = joined(&curl_args("https://h.example/x.tgz", dir));
        assert!(
            curl.starts_with("-q ")
                && curl.contains("--proto =https")
                && curl.ends_with("-o /c -- https://h.example/x.tgz")
        );
    }

    #[test]
    fn what_a_tool_says_is_one_plain_line() {
        let said = "time=\"2024-05-01T10:00:00Z\" level=fatal msg=\"pinging r.example: Get \\\"https://r.example/v2/\\\": no such host\"";
        assert_eq!(plain(said), "pinging r.example: Get \"https://r.example/v2/\": no such host");
        assert_eq!(
            plain("Error: failed to fetch: r.example/a:1: not found"),
            "failed to fetch: r.example/a:1: not found"
        );
        assert_eq!(plain("\x1b[31mred"), "\\u{1b}[31mred");
    }

    #[test]
    fn skopeo_is_taken_before_oras_and_nothing_is_taken_that_cannot_run() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = [dir.path().to_path_buf()];
        let put = |name: &str, mode: u32| {
            fs::write(dir.path().join(name), "#!/bin/sh\n").unwrap();
            fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        assert!(Tools::find(&dirs).registry().is_none());
        put("skopeo", 0o644);
        put("oras", 0o755);
        assert!(matches!(Tools::find(&dirs).registry(), Some(Registry::Oras(_))));
        put("skopeo", 0o755);
        assert!(matches!(Tools::find(&dirs).registry(), Some(Registry::Skopeo(_))));
    }
}
