//! What a native sandbox sees: the host's root, read-only, with private places laid over it.
//!
//! All of it happens in the sandbox's own mount namespace. What is to be writable is made first, as
//! mounts that hang nowhere yet; then everything inherited becomes read-only in one call; then the
//! new mounts are put in their places. Paths reach the kernel as descriptors, never inside an option
//! string, so a repo may be called anything.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount, mount_bind, mount_change,
    move_mount, open_tree,
};

use crate::error::{Error, Result, reason, show};
use crate::layer::filesystem::{self, CANNOT_HOLD};
use crate::plan::Overlay;
use crate::sys::mount::{NO_DEV, NO_SUID, READ_ONLY, set_attributes};

/// Devices that every program expects.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Parts of `/proc` and `/sys` that tell about the host or change it.
const HIDDEN: [&str; 10] = [
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/acpi",
    "/proc/asound",
    "/proc/kpagecount",
    "/sys/firmware",
];
/// Root without a capability may still write its own files: these are the kernel's levers.
const FROZEN: [&str; 6] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/mtrr"];

/// Pieces of `/run` that are part of the system, not of its state.
const KEPT_IN_RUN: [&str; 2] = ["/run/current-system", "/run/opengl-driver"];

const EMPTY: &str = "/run/.cowbox";

/// The sandbox's view, decided before the fork.
#[derive(Debug)]
pub struct Root {
    /// Overlays, outermost first.
    pub overlays: Vec<Overlay>,
    /// The home, overlaid; with no layer on disk its changes are in memory.
    pub home: Option<Home>,
    /// Host path, path inside, read-only.
    pub binds: Vec<(PathBuf, PathBuf, bool)>,
    /// Hidden, if there.
    pub masked: Vec<PathBuf>,
    /// Root's files are the command's own; to everybody else they are closed anyway.
    pub as_root: bool,
}

/// The home of the sandbox.
#[derive(Debug)]
pub struct Home {
    /// Host path, the same inside.
    pub path: PathBuf,
    /// What preparing wrote into it.
    pub prepared: Option<PathBuf>,
    /// `upper` and `work` in here; `None`: in memory.
    pub layer: Option<PathBuf>,
    /// It cannot be overlaid, and is shown as it is.
    pub read_only: bool,
}

/// A mount that hangs nowhere yet, and where it goes.
struct Pending {
    tree: OwnedFd,
    target: PathBuf,
    is_dir: bool,
}

impl Root {
    /// Builds it around this process, which must be in a mount namespace of its own.
    pub fn build(&self) -> Result<()> {
        step(
            "make the mounts private",
            mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE),
        )?;
        let devices: Vec<_> = DEVICES
            .iter()
            .filter_map(|name| clone_tree(&Path::new("/dev").join(name)).ok().map(|t| (*name, t)))
            .collect();
        let system = kept_in_run().into_iter().filter(|path| path.exists()).map(|path| protected(&path, &path));
        let system: Vec<Pending> = system.collect::<Result<_>>()?;
        let mut pending = Vec::new();
        for overlay in &self.overlays {
            pending.push(Pending { tree: overlay_mount(overlay)?, target: overlay.target.clone(), is_dir: true });
        }
        for (source, target, read_only) in &self.binds {
            pending.push(if *read_only {
                protected(source, target)?
            } else {
                with_attributes(source, target, NO_SUID | NO_DEV)?
            });
        }
        match &self.home {
            // Last, for it may cover /tmp; but put in place first, for the repo may lie in it.
            Some(home) if !home.read_only => {
                pending.insert(0, Pending { tree: home.mount()?, target: home.path.clone(), is_dir: true });
            }
            Some(home) => pending.insert(0, protected(&home.path, &home.path)?),
            None => {}
        }

        set_attributes(c"/", READ_ONLY | NO_SUID | NO_DEV, true)
            .map_err(|e| Error::new(format!("cannot make the host's root read-only: {}", reason(&e))))?;
        for place in ["/tmp", "/var/tmp", "/run"] {
            if Path::new(place).is_dir() {
                let mode = if place == "/run" { c"mode=0755" } else { c"mode=1777" };
                step("make a private directory", tmpfs(place, mode))?;
            }
        }
        make_dev(devices)?;
        for mount in system.into_iter().chain(pending) {
            mount.put()?;
        }
        self.make_proc()
    }

    fn make_proc(&self) -> Result<()> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", flags, None).map_err(|e| {
            Error::new(format!("cannot mount a private /proc: {}", reason(&e.into())))
                .hint("inside a container this needs an unmasked /proc")
        })?;
        make_empty()?;
        for path in HIDDEN.iter().map(Path::new).chain(self.masked.iter().map(PathBuf::as_path)) {
            hide(path)?;
        }
        for path in FROZEN {
            if self.as_root && Path::new(path).exists() {
                step("freeze a part of /proc", mount_bind(path, path))?;
                set_attributes(&c_path(Path::new(path))?, READ_ONLY | NO_SUID | NO_DEV, false)
                    .map_err(|e| Error::io("make read-only", Path::new(path), e))?;
            }
        }
        Ok(())
    }
}

impl Home {
    /// What is below its layer, the topmost first.
    pub fn lowers(&self) -> Vec<PathBuf> {
        self.prepared.iter().chain([&self.path]).cloned().collect()
    }

    fn mount(&self) -> Result<OwnedFd> {
        if let Some(layer) = &self.layer {
            let overlay = Overlay {
                lowers: self.lowers(),
                target: self.path.clone(),
                upper: layer.join("upper"),
                work: layer.join("work"),
                volatile: true,
            };
            // Only where it can never work is memory used instead: what was kept must be seen again.
            if filesystem::unfit(layer).is_none() {
                return overlay_mount(&overlay);
            }
        }
        // In memory: a tmpfs that hangs in /tmp for a moment, until /tmp itself is covered.
        step("make a private directory", tmpfs("/tmp", c"mode=0700"))?;
        let base = PathBuf::from("/tmp/home");
        let overlay = Overlay {
            lowers: self.lowers(),
            target: self.path.clone(),
            upper: base.join("upper"),
            work: base.join("work"),
            volatile: true,
        };
        for dir in [&overlay.upper, &overlay.work] {
            fs::create_dir_all(dir).map_err(|e| Error::io("create", dir, e))?;
        }
        if let Ok(meta) = fs::metadata(&self.path) {
            let _ = fs::set_permissions(&overlay.upper, meta.permissions());
        }
        overlay_mount(&overlay)
    }
}

impl Pending {
    fn put(self) -> Result<()> {
        let failed = |e: std::io::Error| Error::io("mount at", &self.target, e);
        if fs::symlink_metadata(&self.target).is_err() {
            let made = if self.is_dir {
                fs::create_dir_all(&self.target)
            } else {
                let parent = self.target.parent().map_or(Ok(()), fs::create_dir_all);
                parent.and_then(|()| fs::write(&self.target, ""))
            };
            made.map_err(|e| {
                Error::io("make the mount point", &self.target, e)
                    .hint("the native engine cannot add names to the host's root: mount below /tmp, /run or your home")
            })?;
        }
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&self.tree, "", CWD, self.target.as_path(), flags).map_err(|e| failed(e.into()))
    }
}

/// An overlay that hangs nowhere yet.
fn overlay_mount(overlay: &Overlay) -> Result<OwnedFd> {
    let dir = |path: &Path| {
        openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Error::io("open", path, e))
    };
    let lowers: Vec<OwnedFd> = overlay.lowers.iter().map(|lower| dir(lower)).collect::<Result<_>>()?;
    let (upper, work) = (dir(&overlay.upper)?, dir(&overlay.work)?);
    let mount = || -> rustix::io::Result<OwnedFd> {
        let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(fs.as_fd(), "source", "cowbox")?;
        let lowers: Vec<String> = lowers.iter().map(|fd| fd_path(fd).to_string_lossy().into_owned()).collect();
        fsconfig_set_string(fs.as_fd(), "lowerdir", lowers.join(":"))?;
        fsconfig_set_string(fs.as_fd(), "upperdir", fd_path(&upper).as_path())?;
        fsconfig_set_string(fs.as_fd(), "workdir", fd_path(&work).as_path())?;
        fsconfig_set_flag(fs.as_fd(), "userxattr")?;
        // Where it is on by default, `work` would be refused as long as anybody holds an older overlay with it.
        fsconfig_set_string(fs.as_fd(), "index", "off")?;
        if overlay.volatile {
            // Without it, taking the overlay down syncs the whole file system below it.
            fsconfig_set_flag(fs.as_fd(), "volatile")?;
        }
        fsconfig_create(fs.as_fd())?;
        fsmount(
            fs.as_fd(),
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
        )
    };
    mount().map_err(|e| {
        if let Some(what) = filesystem::unfit(&overlay.upper) {
            return Error::new(format!(
                "{} {CANNOT_HOLD}: it is on {what}. Set COWBOX_STATE_DIR to a directory on ext4, xfs, btrfs or tmpfs",
                show(&overlay.upper)
            ));
        }
        Error::new(format!("the kernel refuses an overlay over {} with its layer in {}: {}", show(overlay.bottom()), show(&overlay.upper), reason(&e.into())))
            .hint("overlays need a state directory on ext4, xfs, btrfs or tmpfs: set COWBOX_STATE_DIR; `cowbox doctor` tries it")
    })
}

/// The pieces of `/run`, and the file that says who answers names.
fn kept_in_run() -> Vec<PathBuf> {
    let resolver = Path::new("/etc/resolv.conf").canonicalize().ok().filter(|path| path.starts_with("/run"));
    KEPT_IN_RUN.iter().map(PathBuf::from).chain(resolver).collect()
}

/// A read-only copy of the mount at `source`, for `target`.
fn protected(source: &Path, target: &Path) -> Result<Pending> {
    with_attributes(source, target, READ_ONLY | NO_SUID | NO_DEV)
}

fn with_attributes(source: &Path, target: &Path, attributes: u64) -> Result<Pending> {
    let tree = clone_tree(source).map_err(|e| Error::io("mount", source, e))?;
    let path = c_path(&fd_path(&tree))?;
    set_attributes(&path, attributes, true).map_err(|e| Error::io("protect", source, e))?;
    Ok(Pending { tree, target: target.to_path_buf(), is_dir: source.is_dir() })
}

/// A copy of the mount at `path`, hanging nowhere yet.
fn clone_tree(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

fn make_dev(devices: Vec<(&str, OwnedFd)>) -> Result<()> {
    step("make a private /dev", tmpfs("/dev", c"mode=0755"))?;
    for (name, tree) in devices {
        Pending { tree, target: Path::new("/dev").join(name), is_dir: false }.put()?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, Path::new("/dev").join(name)).map_err(|e| Error::io("create", Path::new("/dev"), e))?;
    }
    for name in ["/dev/pts", "/dev/shm"] {
        fs::create_dir(name).map_err(|e| Error::io("create", Path::new(name), e))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    step(
        "make private terminals",
        mount("devpts", "/dev/pts", "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620")),
    )?;
    step("make private shared memory", tmpfs("/dev/shm", c"mode=1777"))
}

/// An empty directory and an empty file to lay over what is hidden.
fn make_empty() -> Result<()> {
    let make = || -> std::io::Result<()> {
        fs::create_dir(EMPTY)?;
        tmpfs(EMPTY, c"mode=0755")?;
        fs::create_dir(format!("{EMPTY}/dir"))?;
        fs::write(format!("{EMPTY}/file"), "")?;
        set_attributes(&c_path(Path::new(EMPTY)).unwrap_or_default(), READ_ONLY | NO_SUID | NO_DEV, false)
    };
    make().map_err(|e| Error::new(format!("cannot prepare what is laid over hidden files: {}", reason(&e))))
}

/// Lays emptiness over a path. Fails closed: what exists and cannot be hidden is an error.
fn hide(path: &Path) -> Result<()> {
    let Ok(meta) = fs::metadata(path) else { return Ok(()) };
    let empty = format!("{EMPTY}/{}", if meta.is_dir() { "dir" } else { "file" });
    match mount_bind(empty.as_str(), path) {
        // It went between our look and our mount: sockets of other programs come and go. The overlay of the
        // home may still show the name, with nothing behind it.
        Err(rustix::io::Errno::NOENT) if meta.file_type().is_socket() => Ok(()),
        other => other.map_err(|e| Error::io("hide", path, e)),
    }
}

fn tmpfs(target: &str, options: &std::ffi::CStr) -> rustix::io::Result<()> {
    mount("tmpfs", target, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options))
}

fn fd_path(fd: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::new("a path holds a NUL byte"))
}

fn step<E: Into<std::io::Error>>(what: &str, result: std::result::Result<(), E>) -> Result<()> {
    result.map_err(|e| Error::new(format!("cannot {what}: {}", reason(&e.into()))))
}
