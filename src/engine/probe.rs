//! Really trying an engine: an overlay over a scratch repo, a program that reads, writes and removes
//! in it, and a look whether the repo stayed as it was.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::client::Client;
use super::{Engine, Kind, guest};
use crate::error::{Error, Result, show};
use crate::layer::create;
use crate::layer::filesystem::{self, CANNOT_HOLD};
use crate::plan::{Mount, Plan};
use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::policy::limits::Limits;
use crate::policy::mounts::Access;
use crate::process::supervise;
use crate::settings::Places;
use crate::ui::Ui;

/// Where the helper stands in a native trial: the cache may lie in a place that native covers.
const NATIVE_GUEST: &str = "/run/.cowbox-guest";

/// Tries `engine` with its layers where sessions have theirs. `Ok` means: it ran, the overlay works, the repo is whole.
pub fn try_out(engine: &dyn Engine, places: &Places, ui: &Ui) -> Result<()> {
    let (state, cache) = (&places.state, &places.cache);
    fs::create_dir_all(state).map_err(|e| Error::io("create", state, e))?;
    let scratch = tempfile::Builder::new()
        .prefix("probe-")
        .tempdir_in(state)
        .map_err(|e| Error::io("create a directory in", state, e))?;
    let repo = scratch.path().join("repo");
    // Named like no other, for the native engine keeps a home layer under that name.
    let session_dir = scratch.path().join(scratch.path().file_name().unwrap_or_default());
    for dir in [&repo, &session_dir] {
        fs::create_dir(dir).map_err(|e| Error::io("create", dir, e))?;
    }
    fs::write(repo.join("lower"), "x").map_err(|e| Error::io("write", &repo, e))?;

    let kind = engine.record().kind;
    let image = match kind {
        Kind::Native => None,
        Kind::Podman | Kind::Docker => Some(Image::import(kind)?),
    };
    let name = image.as_ref().map(|image| image.name.clone());
    let mut plan = plan(name, &repo, &session_dir, cache)?;
    let ran = run(engine, &mut plan, ui);
    let kept = check(&repo, &session_dir);
    // A daemon leaves its own files in `work`, some of them a moment after the container has ended.
    for _ in 0..5 {
        if crate::layer::remove::tree(&session_dir).is_ok() {
            break;
        }
        let _ = engine.reclaim(plan.image.as_deref(), &session_dir);
    }
    let _ = super::native::remove_home_layer(&session_dir);
    drop(image);
    ran.and(kept).map_err(|error| match filesystem::unfit(state).filter(|_| !error.message().contains(CANNOT_HOLD)) {
        Some(what) => Error::new(format!(
            "{} {CANNOT_HOLD}: it is on {what}. Set COWBOX_STATE_DIR to a directory on ext4, xfs, btrfs or tmpfs ({})",
            show(state),
            error.message()
        )),
        None => error,
    })
}

fn plan(image: Option<String>, repo: &Path, session_dir: &Path, cache: &Path) -> Result<Plan> {
    let native = image.is_none();
    let workspace = if native { repo.to_path_buf() } else { PathBuf::from("/workspace") };
    let program = if native { NATIVE_GUEST } else { guest::INSIDE };
    let helper = || -> Result<Mount> {
        Ok(Mount { source: guest::path(cache)?, target: NATIVE_GUEST.into(), access: Access::Ro })
    };
    Ok(Plan {
        repo: repo.to_path_buf(),
        workdir: workspace.clone(),
        command: vec![program.into(), "probe".into(), workspace.clone().into()],
        env: Environment::default(),
        network: Network::None,
        limits: Limits::default(),
        user: None,
        runtime: None,
        image,
        mounts: if native { vec![helper()?] } else { Vec::new() },
        gitdir: None,
        terminal: false,
        ephemeral: true,
        masked: Vec::new(),
        log: Some(session_dir.join("log")),
        session_dir: session_dir.to_path_buf(),
        private_dirs: Vec::new(),
        workspace,
    })
}

fn run(engine: &dyn Engine, plan: &mut Plan, ui: &Ui) -> Result<()> {
    engine.prepare(plan, ui)?;
    for overlay in plan.overlays() {
        create::layers(&overlay)?;
    }
    let signals = supervise::watch()?;
    let container = format!("cowbox-probe-{}", std::process::id());
    let mut sandbox = engine.start(plan, &container, &mut |_| Ok(()))?;
    let outcome = supervise::wait(sandbox.as_mut(), &signals, Some(std::time::Duration::from_secs(60)))?;
    match outcome.code {
        0 => Ok(()),
        10 | 11 => Err(Error::new("the sandbox does not show the repository")),
        12 | 13 => Err(Error::new("the sandbox cannot write to its layer")),
        124 => Err(Error::new("the sandbox did not end within a minute")),
        code => Err(Error::new(format!("a trial run ended with {code}: {}", last_words(plan)))),
    }
}

/// What the engine said about it.
fn last_words(plan: &Plan) -> String {
    let text = plan.log.as_ref().and_then(|log| fs::read(log).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().map(str::trim).rfind(|l| !l.is_empty() && !l.starts_with("Run '"));
    crate::ui::sanitize::text(
        line.unwrap_or("no word why").trim_start_matches("Error: ").trim_start_matches("docker: "),
    )
}

/// The repo as it was, the layer as it should be.
fn check(repo: &Path, session_dir: &Path) -> Result<()> {
    if !repo.join("lower").exists() || repo.join("probe").exists() {
        return Err(Error::new("the sandbox reached the repository itself"));
    }
    let upper = session_dir.join("upper");
    let whiteout = fs::symlink_metadata(upper.join("lower")).is_ok_and(|m| m.file_type().is_char_device());
    if !upper.join("probe").exists() || !whiteout {
        return Err(Error::new("what the sandbox wrote did not arrive in its layer"));
    }
    Ok(())
}

/// An image with nothing in it: the helper needs nothing. Dropped, it is removed again.
struct Image {
    client: Client,
    name: String,
}

impl Image {
    fn import(kind: Kind) -> Result<Self> {
        let client = Client::find(&kind.to_string())
            .or_else(|| Client::find("docker"))
            .ok_or_else(|| Error::new(format!("{kind} is not installed")))?;
        let failed = |why: String| Error::new(format!("{kind} cannot import an image: {why}"));
        // Two first starts at the same time must not take it away from each other.
        let name = format!("localhost/cowbox-probe:{}", std::process::id());
        let mut command = client.command();
        command.args(["import", "-", &name]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| failed(crate::error::reason(&e)))?;
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(&archive());
        }
        let output = child.wait_with_output().map_err(|e| failed(crate::error::reason(&e)))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = said.lines().last().unwrap_or_default().trim_start_matches("Error: ").to_owned();
            return Err(failed(crate::ui::sanitize::text(&last)));
        }
        Ok(Self { client, name })
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.client.attempt(&["rmi", "--force", &self.name]);
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
