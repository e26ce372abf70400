//! Whether nobody is left who could write into a session's layer.
//!
//! That its processes are gone does not prove it: one of them may have handed a descriptor to another sandbox, and such
//! a descriptor keeps the whole overlay. Only the kernel knows, and tells by refusing a second overlay.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsOpenFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsopen};
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use crate::sys::process::{Side, exit_now, fork_into};

/// The kernel takes an overlay down a while after the last process has gone, for it syncs what is below.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a child says that the layer is in use.
const IN_USE: i32 = 2;

/// Whether no overlay has the upper layer of a session over `repo`. Where that cannot be asked: false.
pub fn is_idle(session_dir: &Path, repo: &Path) -> bool {
    let start = Instant::now();
    loop {
        match ask(session_dir, repo) {
            Some(IN_USE) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            Some(0) => {
                // With the mark of a volatile overlay in it the next one would be refused.
                let _ = super::remove::tree(&session_dir.join("work/work"));
                return true;
            }
            _ => return false,
        }
    }
}

fn ask(session_dir: &Path, repo: &Path) -> Option<i32> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    match fork_into(UnshareFlags::NEWUSER | UnshareFlags::NEWNS).ok()? {
        Side::Child => exit_now(match become_root(user, group).and_then(|()| mount(session_dir, repo)) {
            Ok(()) => 0,
            Err(e) if e.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => IN_USE,
            Err(_) => 1,
        }),
        Side::Parent(child) => waitpid(Some(child), WaitOptions::empty()).ok()??.1.exit_status(),
    }
}

/// Over one's own files alone: the kernel's scratch directory is closed to everybody else.
fn become_root(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))
}

/// Makes an overlay that is seen nowhere, and goes with this process.
fn mount(session_dir: &Path, repo: &Path) -> io::Result<()> {
    let open = |path: &Path| openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (lower, upper, work) = (open(repo)?, open(&session_dir.join("upper"))?, open(&session_dir.join("work"))?);
    let name = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(overlay.as_fd(), "lowerdir", name(&lower))?;
    fsconfig_set_string(overlay.as_fd(), "upperdir", name(&upper))?;
    fsconfig_set_string(overlay.as_fd(), "workdir", name(&work))?;
    fsconfig_set_flag(overlay.as_fd(), "userxattr")?;
    // Without it a layer in use is no more than a warning in the kernel's log.
    fsconfig_set_string(overlay.as_fd(), "index", "on")?;
    // Else its end would sync the whole file system.
    fsconfig_set_flag(overlay.as_fd(), "volatile")?;
    Ok(fsconfig_create(overlay.as_fd())?)
}
