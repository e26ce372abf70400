//! Overlays with several layers below, for podman.
//!
//! Its `:O` knows one lower directory, and a volume with more costs a call of its own. So the overlay is
//! mounted by a hook of the OCI runtime: cowbox itself, called when the container's mounts are made and before
//! its root is entered. The container's own processes have no part in it. The same hook gives the root of a volume
//! back its owner and mode, where podman has taken those of the image's directory there.

use std::ffi::{CString, OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount};
use serde::Deserialize;

use crate::engine::image::Identity;
use crate::error::{Error, Result, reason};

/// First argument of a cowbox that is such a hook.
pub const VERB: &str = "__overlay";

/// One overlay to mount: where inside, and the kernel's options.
#[derive(Debug)]
pub struct HookMount {
    /// Path inside.
    pub target: PathBuf,
    /// `lowerdir=…,upperdir=…`
    pub options: String,
}

/// What a directory inside has to look like.
#[derive(Debug)]
pub struct Looks {
    /// Path inside.
    pub target: PathBuf,
    /// Its mode.
    pub mode: u32,
    /// Whose it is, inside.
    pub owner: Identity,
}

/// How an argument begins that is about looks.
const LOOKS: &str = "looks=";

/// Writes the hook's description into a directory for `--hooks-dir`.
pub fn write(dir: &Path, mounts: &[HookMount], looks: &[Looks]) -> Result<()> {
    let own = std::env::current_exe()
        .map_err(|e| Error::new(format!("cannot tell where cowbox itself is: {}", reason(&e))))?;
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Error::new(format!("{} is not UTF-8, and podman's hooks can only name what is", crate::error::show(path)))
                .hint("give it another name, or use `--engine native`")
        })
    };
    let mut args = vec!["cowbox".to_owned(), VERB.to_owned()];
    for mount in mounts {
        args.extend([text(&mount.target)?, mount.options.clone()]);
    }
    for Looks { target, mode, owner } in looks {
        args.extend([text(target)?, format!("{LOOKS}{mode}:{}:{}", owner.uid, owner.gid)]);
    }
    let hook = serde_json::json!({
        "version": "1.0.0",
        "hook": { "path": text(&own)?, "args": args },
        "when": { "always": true },
        "stages": ["createContainer"],
    });
    let failed = |e: std::io::Error| Error::io("write", dir, e);
    std::fs::create_dir_all(dir).map_err(failed)?;
    std::fs::write(dir.join("overlay.json"), hook.to_string()).map_err(failed)
}

/// What a runtime tells a hook; crun names the root, others only where the rest is written.
#[derive(Deserialize)]
struct State {
    root: Option<PathBuf>,
    bundle: PathBuf,
}

/// The hook itself: `TARGET OPTIONS` pairs, the container's state on stdin. The message goes to the runtime,
/// and from there to podman's error.
pub fn run(args: &[OsString]) -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().lock().take(1 << 20).read_to_string(&mut text).map_err(|e| reason(&e))?;
    let state: State = serde_json::from_str(&text).map_err(|e| format!("the runtime's state is unreadable: {e}"))?;
    let root = match state.root {
        Some(root) => root,
        None => root_of(&state.bundle)?,
    };
    for pair in args.chunks_exact(2) {
        let [target, options] = pair else { continue };
        let target = inside(&root, Path::new(target))?;
        if let Some(looks) = options.to_str().and_then(|text| text.strip_prefix(LOOKS)) {
            restore(&target, looks)?;
            continue;
        }
        let options = CString::new(options.as_bytes()).map_err(|_| "an option with a zero byte".to_owned())?;
        mount("cowbox", &target, "overlay", MountFlags::NODEV | MountFlags::NOSUID, Some(options.as_c_str()))
            .map_err(|e| format!("the kernel refuses the overlay: {}", reason(&e.into())))?;
    }
    Ok(())
}

/// `MODE:UID:GID`
fn restore(target: &Path, looks: &str) -> Result<(), String> {
    use rustix::fs::{AtFlags, CWD, Gid, Mode, Uid, chmod, chownat};
    let failed = |why: String| format!("the looks of {} cannot be restored: {why}", target.display());
    let numbers: Vec<u32> = looks.split(':').filter_map(|number| number.parse().ok()).collect();
    let [mode, uid, gid] = numbers[..] else { return Err(failed(format!("`{looks}` is not three numbers"))) };
    let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    chownat(CWD, target, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW)
        .and_then(|()| chmod(target, Mode::from_raw_mode(mode)))
        .map_err(|e| failed(reason(&e.into())))
}

fn root_of(bundle: &Path) -> Result<PathBuf, String> {
    #[derive(Deserialize)]
    struct Config {
        root: Root,
    }
    #[derive(Deserialize)]
    struct Root {
        path: PathBuf,
    }
    let text = std::fs::read(bundle.join("config.json")).map_err(|e| reason(&e))?;
    let config: Config = serde_json::from_slice(&text).map_err(|e| format!("config.json is unreadable: {e}"))?;
    Ok(bundle.join(config.root.path))
}

/// The mount point in the container's root, made if the image lacks it. The image may hold links: none is followed.
fn inside(root: &Path, target: &Path) -> Result<PathBuf, String> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
    let failed = |e: rustix::io::Errno| format!("cannot make {} in the image: {}", target.display(), reason(&e.into()));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, root, flags, Mode::empty()).map_err(failed)?;
    let names = target.components().filter_map(|c| match c {
        std::path::Component::Normal(name) => Some(name),
        _ => None,
    });
    for name in names.collect::<Vec<&OsStr>>() {
        match mkdirat(&dir, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(e) => return Err(failed(e)),
        }
        dir = openat2(&dir, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
            .map_err(failed)?;
    }
    // By name again, for the kernel takes no descriptor here; `/proc` may not be there yet.
    Ok(root.join(target.strip_prefix("/").unwrap_or(target)))
}
