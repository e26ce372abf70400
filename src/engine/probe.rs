//! Really trying an engine: an overlay over a scratch repo, a program that reads, writes and removes
//! in it, and a look whether the repo stayed as it was.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use super::client::Client;
use super::image::EmptyImage;
use super::{Engine, guest};
use crate::error::{Error, Result, show};
use crate::layer::filesystem::{self, CANNOT_HOLD};
use crate::layer::{create, marks};
use crate::plan::{Mount, Plan};
use crate::policy::Network;
use crate::policy::environment::Environment;
use crate::policy::limits::Limits;
use crate::policy::mounts::Access;
use crate::process::supervise;
use crate::settings::Places;
use crate::sys::signal::Signals;
use crate::ui::Ui;

/// Where the helper stands in a native trial: the cache may lie in a place that native covers.
const NATIVE_GUEST: &str = "/run/.cowbox-guest";

/// Tries `engine`, which `client` belongs to, with its layers where sessions have theirs. `Ok` means: it ran, the overlay works, the repo is whole.
pub fn try_out(engine: &dyn Engine, client: Option<&Client>, places: &Places, ui: &Ui) -> Result<()> {
    let (state, cache) = (&places.state, &places.cache);
    // Until everything is cleared away: a signal in between must leave nothing behind.
    let signals = supervise::watch()?;
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
    fs::create_dir(repo.join("replaced")).map_err(|e| Error::io("write", &repo, e))?;

    let image = client.map(EmptyImage::import).transpose()?;
    let name = image.as_ref().map(|image| image.name().to_owned());
    let mut plan = plan(name, &repo, &session_dir, cache)?;
    let ran = run(engine, &mut plan, &signals, ui);
    let kept = check(&repo, &session_dir);
    // A daemon leaves its own files in `work`, some of them a moment after the container has ended.
    for _ in 0..5 {
        if crate::layer::remove::tree(&session_dir).is_ok() {
            break;
        }
        let _ = engine.reclaim(&session_dir);
    }
    let _ = super::native::remove_home_layer(&session_dir);
    drop(image);
    let meant_for_us = ran.as_ref().ok().copied().flatten().or_else(|| pending(&signals));
    if let Some(signal) = meant_for_us {
        drop(scratch);
        crate::sys::signal::die_of(signal);
    }
    ran.map(|_| ()).and(kept).map_err(|error| match filesystem::unfit(state).filter(|_| !error.message().contains(CANNOT_HOLD)) {
        Some(what) => Error::new(format!(
            "{} {CANNOT_HOLD}: it is on {what}. Set COWBOX_STATE_DIR to a directory on ext4, xfs, btrfs or tmpfs ({})",
            show(state),
            error.message()
        )),
        None => error,
    })
}

/// A signal that came while we cleared away.
fn pending(signals: &Signals) -> Option<Signal> {
    let ends = |s: Signal| matches!(s, Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM | Signal::SIGHUP);
    std::iter::from_fn(|| signals.next().ok().flatten()).map(|arrived| arrived.signal).find(|s| ends(*s))
}

fn plan(image: Option<String>, repo: &Path, session_dir: &Path, cache: &Path) -> Result<Plan> {
    let native = image.is_none();
    let workspace = if native { repo.to_path_buf() } else { PathBuf::from("/workspace") };
    let program = if native { NATIVE_GUEST } else { guest::INSIDE };
    let helper = || -> Result<Mount> {
        Ok(Mount { source: guest::path(cache)?, target: NATIVE_GUEST.into(), access: Access::Ro })
    };
    Ok(Plan {
        setup_layer: None,
        below: Vec::new(),
        before: Vec::new(),
        setup_key: None,
        setup_image: None,
        given: Vec::new(),
        home_layer: None,
        repo: repo.to_path_buf(),
        workdir: workspace.clone(),
        profile: None,
        command: vec![program.into(), "probe".into(), workspace.clone().into()],
        env: Environment::default(),
        network: Network::None,
        limits: Limits::default(),
        user: None,
        setup_user: None,
        runtime: None,
        image,
        mounts: if native { vec![helper()?] } else { Vec::new() },
        tmpfs: Vec::new(),
        container: Default::default(),
        own_command: Vec::new(),
        service: None,
        services: Vec::new(),
        service_data: Default::default(),
        account: None,
        gitdir: None,
        terminal: false,
        ephemeral: true,
        masked: Vec::new(),
        log: Some(session_dir.join("log")),
        session_dir: session_dir.to_path_buf(),
        announce: None,
        private_dirs: Vec::new(),
        workspace,
    })
}

fn run(engine: &dyn Engine, plan: &mut Plan, signals: &Signals, ui: &Ui) -> Result<Option<Signal>> {
    engine.prepare(plan, ui)?;
    for overlay in plan.overlays() {
        create::layers(&overlay)?;
    }
    let container = format!("cowbox-probe-{}", std::process::id());
    let mut sandbox = engine.start(plan, &container, &mut |_| Ok(()))?;
    let outcome = supervise::wait(sandbox.as_mut(), signals, Some(std::time::Duration::from_secs(60)))?;
    if outcome.ended_by.is_some() {
        return Ok(outcome.ended_by);
    }
    match outcome.code {
        0 => Ok(None),
        10 | 11 => Err(Error::new("the sandbox does not show the repository")),
        12..=14 => Err(Error::new("the sandbox cannot write to its layer")),
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
        return Err(Error::new("the sandbox wrote to the repository itself, not to its layer"));
    }
    let upper = session_dir.join("upper");
    let whiteout = fs::symlink_metadata(upper.join("lower")).is_ok_and(|m| m.file_type().is_char_device());
    if !upper.join("probe").exists() || !whiteout {
        return Err(Error::new("what the sandbox wrote did not arrive in its layer"));
    }
    // Every overlay deletes by devices. That a directory replaces another is where fuse-overlayfs and root's overlay
    // leave marks of their own, and what is not understood there would be a deletion that goes unseen.
    let replaced = fs::File::open(upper.join("replaced")).and_then(marks::is_opaque);
    if !replaced.is_ok_and(|opaque| opaque) {
        return Err(Error::new("its overlay does not write the marks of the kernel's own (userxattr)"));
    }
    Ok(())
}
